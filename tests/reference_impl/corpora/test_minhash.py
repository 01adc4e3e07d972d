"""MinHash beside exact Jaccard similarities and the published variance and banding formulas."""

import itertools
import statistics

import numpy as np
import pytest

from reference_impl.corpora.minhash import (
    MinHash,
    candidate_pairs,
    estimate,
    jaccard,
    kept,
    match_probability,
    near_duplicates,
    shingles,
)

SEEDS = 400


def pair_of(similarity: float, size: int, seed: int) -> tuple[set[int], set[int]]:
    """Two sets of random elements whose union has `size` and whose Jaccard is `similarity`."""
    elements = np.random.default_rng(seed).choice(2**32, size, replace=False).tolist()
    both = round(similarity * size)
    half = (size - both) // 2
    return set(elements[: both + half]), set(elements[:both] + elements[both + half :])


@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.8])
def test_the_estimate_has_the_mean_and_the_variance_of_a_binomial(similarity):
    one, other = pair_of(similarity, 200, 0)
    true = jaccard(one, other)
    assert true == pytest.approx(similarity, abs=0.01)
    hashes = [MinHash(64, seed) for seed in range(SEEDS)]
    values = [estimate(each.signature(one), each.signature(other)) for each in hashes]
    deviation = (true * (1 - true) / 64) ** 0.5
    assert statistics.mean(values) == pytest.approx(true, abs=4 * deviation / SEEDS**0.5)
    assert statistics.stdev(values) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("similarity", [0.3, 0.6, 0.8])
def test_pairs_become_candidates_as_often_as_the_banding_formula_says(similarity):
    expected, found = match_probability(similarity, 8, 4), 0
    for seed in range(SEEDS):
        documents = pair_of(similarity, 100, seed)
        hashes = MinHash(32, seed)
        found += bool(candidate_pairs(np.stack([hashes.signature(d) for d in documents]), 8))
    error = (expected * (1 - expected) / SEEDS) ** 0.5
    assert found / SEEDS == pytest.approx(expected, abs=4 * error + 0.01)


def test_near_duplicates_are_those_of_all_exact_comparisons():
    draw = np.random.default_rng(3)
    texts = [" ".join(draw.choice(list("abcdefghij"), 30)) for _ in range(40)]
    texts += [text + " and one more word" for text in texts[::4]] + ["", texts[0]]
    documents = [shingles(text, 3) for text in texts]
    exact = {
        (i, j, jaccard(documents[i], documents[j]))
        for i, j in itertools.combinations(range(len(texts)), 2)
        if jaccard(documents[i], documents[j]) >= 0.7
    }
    assert len(exact) >= 11
    assert set(near_duplicates(documents, 0.7, bands=40, rows=3)) == exact


def test_shingles_are_runs_of_words_whatever_case_and_punctuation():
    assert shingles("The bank lends money.", 3) == shingles("the BANK -- lends money", 3)
    assert len(shingles("the bank lends money", 3)) == 2
    assert len(shingles("the bank", 3)) == 1 and shingles("...", 3) == set()
    assert len(shingles("a b c a b c", 3)) == 3


def test_one_document_of_every_connected_group_is_kept():
    assert kept(6, [(0, 2), (2, 4), (1, 5)]) == [0, 1, 3]
    assert kept(3, []) == [0, 1, 2]
    assert kept(4, [(2, 3), (1, 2), (0, 1)]) == [0]


def test_an_empty_document_has_no_signature():
    with pytest.raises(ValueError, match="an empty document"):
        MinHash(4).signature(set())
