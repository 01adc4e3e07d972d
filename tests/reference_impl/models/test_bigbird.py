"""BigBird against transformers with its own random blocks, and against attention with a
dense mask.
"""

import math
from dataclasses import replace

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.big_bird import modeling_big_bird

from reference_impl.layers.checks import ModelInputError
from reference_impl.measure.tensors import TensorCounter
from reference_impl.models import bigbird
from reference_impl.models.bigbird import (
    BigBird,
    BigBirdAttention,
    BigBirdConfig,
    BigBirdForMaskedLM,
    pattern,
    random_blocks,
)
from reference_impl.weights.pretrained import config_from

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 300,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
# lengths: not a multiple of the block, a last block of one token, padding of many blocks
SPARSE = [
    ({"block_size": 4, "num_random_blocks": 1, "num_hidden_layers": 1}, [45, 33, 5]),
    (
        {
            "block_size": 3,
            "num_random_blocks": 2,
            "num_attention_heads": 1,
            "layer_norm_eps": 0.1,
            "hidden_act": "relu",
        },
        [31, 31],
    ),
    (
        {"block_size": 7, "num_random_blocks": 3, "num_attention_heads": 6, "num_hidden_layers": 3},
        [293, 113],
    ),
]
FULL = [
    ({"block_size": 4, "num_random_blocks": 1}, [28, 9]),
    ({"attention_type": "original_full", "block_size": 3}, [45, 33]),
    ({"num_attention_heads": 1, "type_vocab_size": 3}, [5, 5, 1]),
]


@pytest.fixture
def their_draws(monkeypatch):
    """Which blocks the library draws for each layer, and our model drawing the same."""
    drawn, original = (
        {},
        modeling_big_bird.BigBirdBlockSparseAttention._bigbird_block_rand_mask_with_head,
    )

    def noted(self, *arguments, **keywords):
        drawn[self.seed] = original(self, *arguments, **keywords)
        return drawn[self.seed]

    monkeypatch.setattr(
        modeling_big_bird.BigBirdBlockSparseAttention, "_bigbird_block_rand_mask_with_head", noted
    )
    monkeypatch.setattr(
        bigbird,
        "random_blocks",
        lambda blocks, number, heads, seed: torch.stack(
            [torch.as_tensor(head).long() for head in drawn[seed]]
        ),
    )
    return drawn


def compare(parity, ragged, settings, lengths, training):
    theirs = transformers.BigBirdForMaskedLM(transformers.BigBirdConfig(**SMALL | settings))
    theirs.bert.pooler = None  # unused with this head
    config = replace(config_from(BigBirdConfig, theirs.config.to_dict()), draws_in_evaluation=True)
    ours, theirs = parity.make_same(BigBirdForMaskedLM(config), theirs)
    theirs.train(training)
    ids, mask = ragged(61, lengths)
    segments = torch.arange(ids.numel()).view(ids.shape) % theirs.config.type_vocab_size
    labels = ids.where(mask & (torch.arange(ids.shape[1]) % 3 == 0), -100)
    output = theirs(ids, attention_mask=mask.long(), token_type_ids=segments, labels=labels)
    logits = ours(ids, segments, mask)
    parity.assert_close(logits[mask], output.logits[mask])
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), labels.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)
    return ours


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("settings, lengths", SPARSE)
def test_logits_loss_and_gradients_are_transformers_with_its_blocks(
    their_draws, parity, ragged, settings, lengths, training
):
    compare(parity, ragged, settings, lengths, training)
    assert any(head.any() for layer in their_draws.values() for head in layer) == training


@pytest.mark.parametrize("settings, lengths", FULL)
def test_short_texts_and_full_attention_are_transformers(parity, ragged, settings, lengths):
    ours = compare(parity, ragged, settings, lengths, training=False)
    assert not ours.config.is_sparse(max(lengths))


@pytest.mark.parametrize("settings, lengths", SPARSE)
def test_blocks_give_what_a_dense_mask_gives(parity, ragged, settings, lengths):
    config = config_from(BigBirdConfig, {"model_type": "big_bird"} | SMALL | settings)
    layer = BigBirdAttention(replace(config, draws_in_evaluation=True), 5).double().eval()
    _, tokens = ragged(61, lengths)
    x = torch.randn(
        *tokens.shape,
        12,
        dtype=torch.float64,
        generator=torch.Generator().manual_seed(0),
        requires_grad=True,
    )
    sparse, dense = layer(x, tokens)[tokens], layer.dense(x, tokens)[tokens]
    parity.assert_close(sparse, dense)
    for one, other in zip(
        torch.autograd.grad(sparse.square().sum(), [x, *layer.parameters()]),
        torch.autograd.grad(dense.square().sum(), [x, *layer.parameters()]),
        strict=True,
    ):
        parity.assert_close(one, other)


def test_no_tensor_grows_with_the_square_of_the_length(monkeypatch):
    model = BigBird(
        BigBirdConfig(
            vocab_size=11,
            hidden_size=8,
            num_layers=1,
            num_heads=1,
            intermediate_size=8,
            block_size=8,
            num_random_blocks=2,
            max_position_embeddings=1100,
        )
    )

    def largest(num_tokens):
        with TensorCounter() as counter:
            model(torch.ones(1, num_tokens).long()).sum().backward()
        return counter.largest

    assert (
        largest(512) == 62 * 7 * 8 * 8
    )  # keys of the seven blocks that each of the 62 inner ones sees
    assert largest(1023) == 126 * 7 * 8 * 8
    monkeypatch.setattr(BigBirdAttention, "forward", BigBirdAttention.dense)
    assert largest(512) >= 512 * 512  # the counter sees what it should


def test_an_inner_block_sees_both_ends_its_neighbours_and_its_random_ones():
    random = torch.tensor([[[3], [4], [5], [1], [2], [3]]])  # of blocks 1 to 6 among eight
    assert pattern(8, random)[0].int().tolist() == [
        [1, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 0, 0, 1],
        [1, 1, 1, 1, 1, 0, 0, 1],
        [1, 0, 1, 1, 1, 1, 0, 1],
        [1, 1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 0, 1, 1, 1, 1],
        [1, 0, 0, 1, 0, 1, 1, 1],
        [1, 1, 1, 1, 1, 1, 1, 1],
    ]


def test_random_blocks_are_new_to_the_block_never_twice_and_equally_likely():
    draws = random_blocks(12, 3, 2000, seed=1)  # 2000 heads: as many draws for each block
    assert draws.shape == (2000, 10, 3) and torch.equal(draws, random_blocks(12, 3, 2000, seed=1))
    assert not torch.equal(draws, random_blocks(12, 3, 2000, seed=2))
    for i in range(1, 11):
        free = [block for block in range(12) if block not in (0, i - 1, i, i + 1, 11)]
        counts = draws[:, i - 1].flatten().bincount(minlength=12)
        assert all(len(set(row)) == 3 for row in draws[:, i - 1].tolist())
        assert counts[free].sum() == 6000
        share = 3 / len(free)  # five standard deviations of a binomial
        assert (
            (counts[free] - 2000 * share).abs() < 5 * math.sqrt(2000 * share * (1 - share))
        ).all()


def test_evaluation_draws_what_training_drew():
    torch.manual_seed(0)
    config = BigBirdConfig(
        hidden_size=8, num_heads=2, block_size=2, num_random_blocks=2, attention_dropout=0.0
    )
    layers = [BigBirdAttention(config, seed) for seed in (3, 3, 4)]
    for layer in layers:
        layer.load_state_dict(layers[0].state_dict())
    x, tokens = torch.randn(1, 41, 8), torch.ones(1, 41, dtype=torch.bool)
    assert torch.equal(layers[0].train()(x, tokens), layers[1].eval()(x, tokens))
    assert not torch.equal(layers[1](x, tokens), layers[2](x, tokens))


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.BigBirdForMaskedLM(
        transformers.BigBirdConfig(**SMALL | FULL[0][0])
    ).eval()
    theirs.save_pretrained(tmp_path)
    ids, mask = ragged(61, [11, 7])
    torch.testing.assert_close(
        BigBirdForMaskedLM.from_pretrained(tmp_path)(ids, mask=mask)[mask],
        theirs(ids, attention_mask=mask.long()).logits[mask],
    )
    torch.testing.assert_close(
        BigBird.from_pretrained(tmp_path)(ids, mask=mask)[mask],
        theirs.bert(ids, attention_mask=mask.long()).last_hidden_state[mask],
    )


@pytest.mark.usefixtures("as_students_run_it")
def test_what_a_model_cannot_take_is_refused_in_words():
    model = BigBird(
        BigBirdConfig(
            vocab_size=11,
            hidden_size=4,
            num_layers=1,
            num_heads=1,
            intermediate_size=4,
            max_position_embeddings=8,
        )
    )
    with pytest.raises(ModelInputError, match="9 tokens but 8 positions"):
        model(torch.zeros(1, 9, dtype=torch.long))
    with pytest.raises(ModelInputError, match="the mask is torch.float32"):
        model(torch.zeros(1, 2, dtype=torch.long), mask=torch.ones(1, 2))
