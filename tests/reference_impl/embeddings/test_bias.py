"""WEAT: against scipy's permutation test, a case by hand, and the signs of the paper's effects."""

import numpy as np
import pytest
import torch
from scipy import stats

from reference_impl import corpora
from reference_impl.embeddings import bias
from reference_impl.embeddings.vectors import Vectors


def drawn(seed, *sizes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes]


def test_a_case_by_hand():
    """Targets along the axes: associations 1, 1, -1, -1, whose sample deviation is 2/sqrt(3)."""
    words = ["x1", "x2", "y1", "y2", "a1", "a2", "b1", "b2"]
    matrix = torch.tensor([[1.0, 0]] * 2 + [[0, 3.0]] * 2 + [[2.0, 0]] * 2 + [[0, 1.0]] * 2)
    found = bias.weat(Vectors(words, matrix), *(words[i : i + 2] for i in (0, 2, 4, 6)))
    assert found.effect_size == pytest.approx(3**0.5)
    assert (found.p_value, found.partitions, found.missing) == (1 / 6, 6, [])


def test_lengths_play_no_part_and_the_sides_have_signs():
    x, a, b = (torch.randn(n, 5, generator=torch.Generator().manual_seed(n)) for n in (4, 3, 6))
    found = bias.association(x, a, b)
    assert torch.allclose(found, bias.association(7 * x, 0.1 * a, 3 * b), atol=1e-6)
    assert torch.allclose(found, -bias.association(x, b, a))


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (2, 6)])
def test_the_exact_p_value_is_scipys(sizes):
    x, y = drawn(0, *sizes)
    found, partitions = bias.permutation_p_value(x, y)
    theirs = stats.permutation_test(
        (x.numpy(), y.numpy()),
        lambda one, other, axis: np.mean(one, axis=axis) - np.mean(other, axis=axis),
        vectorized=True,
        n_resamples=np.inf,
        alternative="greater",
    )
    assert found == pytest.approx(theirs.pvalue)
    assert partitions == len(theirs.null_distribution)


def test_a_drawn_p_value_is_close_to_the_exact_one_and_never_zero():
    x, y = drawn(3, 8, 8)
    exact, partitions = bias.permutation_p_value(x, y)
    assert partitions == 12_870
    assert bias.permutation_p_value(x, y, draws=10_000)[0] == pytest.approx(exact, abs=0.02)
    assert bias.permutation_p_value(x + 100, y, draws=500)[0] >= 1 / 501


def test_under_no_difference_the_p_value_is_small_as_often_as_it_says():
    small = sum(bias.permutation_p_value(*drawn(seed, 4, 4))[0] <= 0.1 for seed in range(200))
    assert 8 <= small <= 33  # 20 expected


def test_the_effects_of_the_paper_have_their_signs_in_the_released_vectors():
    glove = corpora.load("glove_6b_50d")
    for name, sets in bias.TESTS.items():
        found = bias.weat(glove, *sets)
        assert found.effect_size > 0.5 and found.p_value < 0.1, name
        assert set(found.missing) <= {"gladiola"}, name


def test_missing_words_are_named_and_too_few_refused():
    vectors = Vectors(["he", "man", "she", "woman"], torch.randn(4, 3))
    with pytest.raises(ValueError, match="at least two words with a vector; missing are algebra"):
        bias.weat(vectors, ["he", "man"], ["she", "woman"], ["algebra"], ["art"])


def test_the_lists_have_the_papers_sizes():
    assert [len(words) for words in bias.TESTS["flowers, insects: pleasant, unpleasant"]] == [
        25
    ] * 4
    for sets in list(bias.TESTS.values())[1:]:
        assert [len(words) for words in sets] == [8] * 4
