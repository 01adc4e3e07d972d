"""A cut table of n-grams: with nothing cut it is Kneser-Ney, and whatever is cut it stays a
distribution.
"""

import numpy as np
import pytest
import torch

from reference_impl.models.ngram import START, KneserNey, NGramError
from reference_impl.models.ngram_table import BackoffTable

VOCABULARY = 6
TEXTS = [
    [0, 1, 2, 0, 1, 3, 0, 1, 2, 4, 0, 1, 2],
    [3, 3, 1, 2, 0, 4, 4, 1, 2, 0, 1],
]  # 5 is never seen


@pytest.fixture(scope="module")
def model():
    return KneserNey(TEXTS, VOCABULARY, 3)


def contexts():
    return [(), (0,), (5,), (0, 1), (1, 2), (5, 5), (4, 1), (3, 3, 1)]


def test_with_nothing_cut_it_gives_what_the_counted_model_gives(model):
    table = BackoffTable.cut(model, (1, 1))
    for context in contexts():
        assert np.allclose(table.distribution(context), model.distribution(context), atol=1e-12), (
            context
        )


@pytest.mark.parametrize("min_counts", [(1, 2), (2, 2), (3, 1), (99, 99)])
def test_a_cut_table_keeps_what_was_seen_often_and_sums_to_one_after_every_context(
    model, min_counts
):
    table = BackoffTable.cut(model, min_counts)
    for context in contexts():
        shares = table.distribution(context)
        assert shares.sum() == pytest.approx(1, abs=1e-12) and shares.min() > 0
    for length, least in enumerate(min_counts, 1):
        for context, entry in table.levels[length].items():
            counts = model.levels[length][context].counts
            assert entry.tokens.tolist() == sorted(
                token for token, count in counts.items() if count >= least
            )
            true = (
                model.distribution([token for token in context if token != START])
                if START not in context
                else None
            )
            if true is not None and length == 2:
                assert np.allclose(
                    table.distribution(context)[entry.tokens], true[entry.tokens], atol=1e-12
                )


def test_an_ids_that_was_cut_has_the_share_of_the_shorter_context_times_the_backoff(model):
    table = BackoffTable.cut(model, (1, 2))
    entry = table.levels[2][(0, 1)]
    assert entry.tokens.tolist() == [2]  # 3 followed once only
    expected = entry.backoff * table.distribution((1,))
    assert table.distribution((0, 1))[3] == pytest.approx(expected[3], rel=1e-9)


def test_tensors_in_half_precision_give_the_same_table_back_within_their_rounding(model):
    table = BackoffTable.cut(model, (1, 2))
    half = {
        name: tensor.half().float() if tensor.is_floating_point() else tensor
        for name, tensor in table.tensors().items()
    }
    again = BackoffTable.from_tensors(half, VOCABULARY, 3)
    for context in contexts():
        assert np.allclose(again.distribution(context), table.distribution(context), atol=2e-3)
    assert torch.equal(again.tensors()["tokens.2"], table.tensors()["tokens.2"])


def test_bits_a_byte_are_those_of_the_counted_model_where_nothing_is_cut(model):
    text = [0, 1, 2, 3, 4, 0]
    assert BackoffTable.cut(model, (1, 1)).bits_per_byte(text, 9) == pytest.approx(
        model.bits_per_byte([text], 9), rel=1e-9
    )


def test_a_wrong_number_of_smallest_counts_is_refused(model):
    with pytest.raises(NGramError, match="1 smallest counts for a model of order 3: give 2"):
        BackoffTable.cut(model, (2,))
