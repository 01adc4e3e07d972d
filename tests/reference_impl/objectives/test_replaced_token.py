"""Sampling counted; labels by hand; losses against ELECTRA's two heads in transformers."""

import pytest
import torch
import transformers

from reference_impl.models.electra import ElectraForMaskedLM, ElectraForPreTraining
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.masked_lm import Masking
from reference_impl.objectives.replaced_token import (
    GeneratorAndDiscriminator,
    ReplacedTokens,
    replaced_token,
    sample,
)
from reference_impl.objectives.terms import IGNORED

MASKING = Masking(
    mask_id=3, vocab_size=41, special_ids=range(4), masked=1.0, replaced=0.0, share=0.4
)
COLLATOR = ReplacedTokens(MASKING)
ROWS = [[1, *range(5, 30), 2], [1, *range(8, 20), 2]]


@pytest.fixture
def models(same, tiny_bert):
    config = transformers.ElectraConfig(**tiny_bert, embedding_size=6)
    theirs = transformers.ElectraForMaskedLM(config), transformers.ElectraForPreTraining(config)
    ours = same(ElectraForMaskedLM, theirs[0]), same(ElectraForPreTraining, theirs[1])
    return GeneratorAndDiscriminator(*ours), theirs


def test_samples_follow_the_softmax_and_a_token_without_chance_never_comes(generator):
    shares = torch.tensor([0.1, 0.0, 0.6, 0.3], dtype=torch.float64)
    found = sample(shares.log().expand(20_000, 4), torch.rand(20_000, generator=generator))
    counts = found.bincount(minlength=4)
    assert counts[1] == 0
    expected = 20_000 * shares[[0, 2, 3]]
    assert (
        float(((counts[[0, 2, 3]] - expected) ** 2 / expected).sum()) < 13.8
    )  # chi-square, two degrees: p = 0.001


@pytest.mark.parametrize("chance, token", [(0.0, 1), (0.999_999_9, 2)])
def test_the_ends_of_the_chances_give_tokens_that_have_a_chance(chance, token):
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]])
    assert sample(logits, torch.tensor([chance])).item() == token


def test_the_joint_loss_is_that_of_both_heads_in_transformers(models, generator):
    ours, (maker, judge) = models
    batch = COLLATOR(ROWS, generator)
    chosen, attention = batch["labels"] != IGNORED, batch["mask"].long()
    assert (batch["ids"][chosen] == 3).all()
    output = maker(batch["ids"], attention_mask=attention, labels=batch["labels"])
    filled = torch.where(chosen, batch["labels"], batch["ids"])
    original = filled.clone()
    filled[chosen] = sample(output.logits[chosen], batch["chances"][chosen])
    assert (filled != original).sum() > 5
    detected = judge(filled, attention_mask=attention, labels=(filled != original).long())
    found = replaced_token(ours, batch)
    torch.testing.assert_close(
        found.mean, output.loss + 50 * detected.loss, rtol=1e-6, atol=0
    )  # float32 labels there
    assert found.count == 27 + 14


def test_a_guess_that_is_right_counts_as_original(models, generator):
    batch = COLLATOR(ROWS, generator)

    class Knows(torch.nn.Module):
        def forward(self, ids, mask):
            truth = torch.where(batch["labels"] == IGNORED, ids, batch["labels"])
            return torch.nn.functional.one_hot(truth, 41) * 100.0

    class Sure(torch.nn.Module):
        def forward(self, ids, mask):
            return torch.full(ids.shape, -100.0)  # nothing was replaced

    assert float(replaced_token(GeneratorAndDiscriminator(Knows(), Sure()), batch).mean) < 1e-6


def test_the_generator_learns_from_its_own_loss_only(models, generator):
    ours, _ = models
    batch = COLLATOR(ROWS, generator)
    grads = []
    for weight in (50.0, 0.0):
        ours.zero_grad()
        replaced_token(ours, batch, weight).mean.backward()
        grads.append(ours.generator.electra.embeddings.word.weight.grad.clone())
    torch.testing.assert_close(*grads)
    assert grads[0].abs().max() > 1e-4


def test_the_same_batch_gives_the_same_loss_and_chances_belong_to_it(models, generator):
    batch = COLLATOR(ROWS, generator)
    assert torch.equal(replaced_token(models[0], batch).mean, replaced_token(models[0], batch).mean)
    with pytest.raises(ObjectiveError, match="no chances"):
        replaced_token(
            models[0], {name: value for name, value in batch.items() if name != "chances"}
        )
