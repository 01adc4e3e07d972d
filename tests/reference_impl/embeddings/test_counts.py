"""Counting, PMI and SVD: against cases worked by hand, a slow twin, and numpy."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch

from reference_impl.embeddings.counts import (
    pmi,
    ppmi,
    sparse_ppmi,
    svd_vectors,
    window_counts,
    window_counts_plain,
)


@pytest.fixture
def sentences():
    rng = np.random.default_rng(5)
    return [rng.integers(0, 12, size=n) for n in (0, 1, 2, 3, 7, 15, 30)]


def test_a_window_of_one_counts_each_neighbour_in_both_directions():
    # "0 1 0 2": 0-1 twice, 0-2 once.
    assert window_counts([[0, 1, 0, 2]], 3, 1).toarray().tolist() == [
        [0, 2, 1],
        [2, 0, 0],
        [1, 0, 0],
    ]


def test_a_word_two_places_away_counts_only_in_a_wider_window():
    assert window_counts([[0, 1, 2]], 3, 1)[0, 2] == 0
    assert window_counts([[0, 1, 2]], 3, 2)[0, 2] == 1


def test_a_word_can_be_its_own_neighbour_but_not_at_its_own_place():
    assert window_counts([[0, 0]], 1, 5)[0, 0] == 2


def test_windows_do_not_reach_into_the_next_sentence():
    assert window_counts([[0], [1]], 2, 3).nnz == 0


@pytest.mark.parametrize("window", [1, 2, 5, 40])
def test_the_fast_counts_equal_the_plain_ones(sentences, window):
    fast, plain = window_counts(sentences, 12, window), window_counts_plain(sentences, 12, window)
    assert np.array_equal(fast.toarray(), plain.toarray())


def test_harmonic_counts_weigh_a_pair_by_one_over_its_distance():
    assert window_counts([[0, 1, 2, 3]], 4, 3, "harmonic").toarray()[0].tolist() == pytest.approx(
        [0, 1, 1 / 2, 1 / 3]
    )


def test_a_window_below_one_is_refused():
    with pytest.raises(ValueError, match="window is 0"):
        window_counts([[0, 1]], 2, 0)


def test_independent_words_have_a_pmi_of_zero():
    counts = torch.outer(torch.tensor([2.0, 3.0, 5.0]), torch.tensor([1.0, 4.0]))
    assert torch.allclose(pmi(counts), torch.zeros(3, 2), atol=1e-6)


def test_pmi_of_a_case_worked_by_hand():
    # Total 10. P(0, 0) = .4, P(w=0) = .5, P(c=0) = .5: log(.4 / .25).
    counts = torch.tensor([[4.0, 1.0], [1.0, 4.0]])
    expected = torch.tensor([[math.log(1.6), math.log(0.4)], [math.log(0.4), math.log(1.6)]])
    assert torch.allclose(pmi(counts), expected)
    assert torch.allclose(ppmi(counts), expected.clamp(min=0))


def test_words_that_never_meet_have_minus_infinity_and_then_zero():
    counts = torch.tensor([[3.0, 0.0], [1.0, 2.0]])
    assert pmi(counts)[0, 1] == -torch.inf
    assert ppmi(counts)[0, 1] == 0


def test_a_word_without_any_count_gives_zeros_not_nan():
    assert ppmi(torch.tensor([[3.0, 1.0], [0.0, 0.0]]))[1].tolist() == [0, 0]


def test_pmi_does_not_change_when_all_counts_are_multiplied():
    counts = torch.rand(4, 5, generator=torch.Generator().manual_seed(1)) + 0.1
    assert torch.allclose(pmi(counts), pmi(7 * counts), atol=1e-6)


def test_sparse_ppmi_equals_the_dense_one(sentences):
    counts = window_counts(sentences, 12, 3)
    dense = ppmi(torch.from_numpy(counts.toarray()))
    assert np.allclose(sparse_ppmi(counts).toarray(), dense.numpy())


def test_smoothing_lowers_the_score_of_a_rare_context():
    counts = scipy.sparse.csr_matrix(np.array([[10.0, 5.0], [90.0, 0.0]]))
    assert 0 < sparse_ppmi(counts, smoothing=0.75)[0, 1] < sparse_ppmi(counts)[0, 1]


def test_a_shift_is_subtracted_before_clipping(sentences):
    counts = window_counts(sentences, 12, 3)
    dense = pmi(torch.from_numpy(counts.toarray())) - math.log(2)
    assert np.allclose(sparse_ppmi(counts, shift=math.log(2)).toarray(), dense.clamp(min=0).numpy())


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_svd_vectors_are_numpys_left_singular_vectors_scaled(sparse, power):
    dense = np.random.default_rng(2).random((9, 7))
    u, s, _ = np.linalg.svd(dense)
    expected = np.abs(u[:, :3] * s[:3] ** power)
    matrix = scipy.sparse.csr_matrix(dense) if sparse else torch.from_numpy(dense)
    assert np.allclose(svd_vectors(matrix, 3, power).abs().numpy(), expected, atol=1e-8)


def test_the_dot_products_of_full_power_vectors_are_the_best_approximation_of_rank_dim():
    dense = np.random.default_rng(3).random((8, 8))
    matrix = dense + dense.T
    u, s, _ = np.linalg.svd(matrix)
    vectors = svd_vectors(torch.from_numpy(matrix), 4, power=1.0).numpy()
    assert np.allclose(vectors @ vectors.T, (u[:, :4] * s[:4] ** 2) @ u[:, :4].T)


def test_dense_and_sparse_svd_agree_in_sign():
    dense = np.random.default_rng(4).random((10, 6))
    assert np.allclose(
        svd_vectors(torch.from_numpy(dense), 2).numpy(),
        svd_vectors(scipy.sparse.csr_matrix(dense), 2).numpy(),
        atol=1e-8,
    )


def test_more_dimensions_than_singular_values_are_refused():
    with pytest.raises(ValueError, match="dim is 5, but a 3 x 4 matrix has only 3"):
        svd_vectors(torch.ones(3, 4), 5)
