"""Next-token loss against GPT-2's in transformers; chunks by hand."""

import pytest
import torch
import transformers

from reference_impl.models.gpt import GPT
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.causal_lm import (
    causal_lm,
    chunk_batch,
    cut_chunks,
    join_documents,
    ragged_batch,
)
from reference_impl.objectives.terms import IGNORED


@pytest.fixture
def models(same):
    config = transformers.GPT2Config(vocab_size=31, n_embd=12, n_layer=2, n_head=3, n_positions=16)
    theirs = transformers.GPT2LMHeadModel(config)
    return same(GPT, theirs), theirs


def test_documents_are_joined_with_the_end_after_each_and_none_for_empty_ones():
    assert join_documents([[5, 6], [], [7]], end_id=0).tolist() == [5, 6, 0, 7, 0]


def test_every_token_of_the_stream_but_the_first_is_predicted_once_from_the_one_before():
    chunks = cut_chunks(torch.arange(12), 3)
    assert chunks.tolist() == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]
    assert chunks[:, 1:].flatten().tolist() == list(range(1, 10))
    assert cut_chunks(torch.arange(13), 3)[:, 1:].flatten().tolist() == list(range(1, 13))


def test_the_loss_of_ragged_texts_is_that_of_gpt2_in_transformers(models):
    ours, theirs = models
    batch = ragged_batch([[3, 4, 5, 6, 7, 8], [9, 10], [11, 12, 13]])
    expected = theirs(
        batch["ids"], attention_mask=batch["mask"].long(), labels=batch["labels"]
    ).loss
    found = causal_lm(ours, batch)
    torch.testing.assert_close(found.mean, expected, rtol=1e-6, atol=0, check_dtype=False)
    assert found.count == 5 + 1 + 2


def test_a_batch_cut_in_parts_has_the_loss_of_the_whole_and_a_mean_of_means_has_not(models):
    rows = [[3, 4, 5, 6, 7, 8], [9, 10], [11, 12, 13]]
    whole = causal_lm(models[0], ragged_batch(rows))
    parts = [causal_lm(models[0], ragged_batch([row])) for row in rows]
    torch.testing.assert_close(
        sum(part.total for part in parts) / sum(part.count for part in parts), whole.mean
    )
    assert abs((sum(part.mean for part in parts) / 3 - whole.mean).item()) > 1e-3


def test_a_block_of_the_models_full_length_is_taken_and_its_last_token_is_predicted(models):
    chunks = cut_chunks(torch.arange(3, 20), 16)
    terms = causal_lm(models[0], chunk_batch(chunks))
    assert terms.count == 16
    unchanged = models[0](chunks[:, :16]).log_softmax(-1)[0, torch.arange(16), chunks[0, 1:]]
    torch.testing.assert_close(terms.total, -unchanged.sum())


def test_labels_that_are_ignored_do_not_count(models):
    batch = ragged_batch([[3, 4, 5, 6]])
    batch["labels"][:, :3] = IGNORED
    terms = causal_lm(models[0], batch)
    torch.testing.assert_close(terms.total, -models[0](batch["ids"]).log_softmax(-1)[0, 2, 6])
    assert terms.count == 1


def test_a_batch_without_labels_to_learn_from_gives_zero_and_no_nan(models):
    batch = ragged_batch([[3, 4, 5]])
    batch["labels"] = torch.full_like(batch["labels"], IGNORED)
    terms = causal_lm(models[0], batch)
    terms.mean.backward()
    assert (terms.mean.item(), terms.count) == (0.0, 0)
    assert not models[0].embedding.weight.grad.any()


@pytest.mark.parametrize(
    "make, says",
    [
        (
            lambda: cut_chunks(torch.arange(4), 4),
            "4 tokens do not fill a chunk of 4 and the token after it",
        ),
        (lambda: cut_chunks(torch.arange(4), 0), "chunk_size is 0"),
        (lambda: ragged_batch([[3, 4], []]), "example 1 has no tokens"),
        (lambda: ragged_batch([[3, 4], [5]]), "example 1 is one token long"),
        (lambda: ragged_batch([]), "no examples"),
    ],
)
def test_texts_too_short_are_refused_in_words(make, says):
    with pytest.raises(ObjectiveError, match=says):
        make()


def test_a_label_outside_the_vocabulary_and_a_batch_of_another_objective_are_refused(models):
    batch = ragged_batch([[3, 4, 5]])
    batch["labels"][0, 1] = 31
    with pytest.raises(ObjectiveError, match="label 31 but 31 classes"):
        causal_lm(models[0], batch)
    with pytest.raises(ObjectiveError, match="the batch has ids but no labels"):
        causal_lm(models[0], {"ids": batch["ids"]})
