"""Boundaries of patches against scipy's entropy and cosine, and by hand."""

import pytest
import torch
from scipy.spatial.distance import cosine
from scipy.stats import entropy

from reference_impl.tokenizers.patches import (
    boundary_probabilities,
    entropy_bits,
    next_byte_entropies,
    patch_starts,
    patches,
)


@pytest.mark.parametrize("counts", [[1], [1, 1], [5, 2, 1], [1] * 256])
def test_the_entropy_is_scipys_in_bits(counts):
    found = entropy_bits(dict(enumerate(counts)))
    assert found == pytest.approx(entropy(counts, base=2), abs=1e-12)


def test_the_entropy_is_of_the_longest_context_that_occurred():
    # after "a" come b, b, c; after "x" nothing is known, so all six bytes count
    training = b"abab" + b"ac"
    after_a, of_all = entropy([2, 1], base=2), entropy([3, 2, 1], base=2)
    found = next_byte_entropies(b"abx?", training, order=1)
    # of "x": after "b" came "a" twice, which is certain; of "?": nothing followed an "x"
    assert found == pytest.approx([of_all, after_a, 0.0, of_all])


def test_a_patch_begins_above_the_threshold_and_all_bytes_are_kept():
    starts = patch_starts([0.0, 2.0, 1.0, 1.01, 0.5], threshold=1.0)
    assert starts == [0, 1, 3]
    assert patches(b"abcde", starts) == [b"a", b"bc", b"de"]


def test_a_boundary_is_probable_where_a_vector_is_unlike_the_one_before():
    torch.manual_seed(0)
    q, k = torch.randn(7, 5, dtype=torch.float64), torch.randn(7, 5, dtype=torch.float64)
    found = boundary_probabilities(q, k)
    expected = [1.0] + [cosine(q[t].numpy(), k[t - 1].numpy()) / 2 for t in range(1, 7)]
    assert found.tolist() == pytest.approx(expected)
    same = torch.ones(2, 3)
    assert boundary_probabilities(same, same).tolist() == pytest.approx([1, 0], abs=1e-6)
    assert boundary_probabilities(same, -same).tolist() == pytest.approx([1, 1])
