"""Rankings against scikit-learn's nDCG, and by hand."""

import math

import numpy as np
import pytest
import sklearn.metrics

from reference_impl.measure.metrics import MetricError
from reference_impl.measure.retrieval import (
    ndcg_at,
    recall_at,
    reciprocal_rank_at,
    retrieval_scores,
)


@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_ndcg_with_grades_is_scikit_learns(k):
    draw = np.random.default_rng(0)
    for _ in range(5):
        grades = draw.integers(0, 4, 20)
        scores = draw.permutation(20)
        ranking = np.argsort(-scores).tolist()
        expected = sklearn.metrics.ndcg_score([grades], [scores], k=k)
        assert ndcg_at(ranking, dict(enumerate(grades.tolist())), k) == pytest.approx(expected)


def test_all_three_by_hand():
    ranking, grades = ["x", "a", "y", "b", "z"], {"a": 1, "b": 1, "c": 1, "z": 0}
    best = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg_at(ranking, grades) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)
    assert ndcg_at(ranking, grades, 2) == pytest.approx(1 / math.log2(3) / (1 + 1 / math.log2(3)))
    assert recall_at(ranking, grades, 3) == pytest.approx(1 / 3)
    assert recall_at(ranking, grades, 4) == pytest.approx(2 / 3)
    assert reciprocal_rank_at(ranking, grades) == 1 / 2
    assert reciprocal_rank_at(ranking, grades, 1) == 0


def test_a_grade_of_two_is_worth_twice_a_grade_of_one():
    # trec_eval's gain is the grade; with 2 ** grade - 1 as gain this would be (1 + 3 / log2(3)) /
    # (3 + 1 / log2(3)).
    expected = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert ndcg_at(["one", "two"], {"one": 1, "two": 2}) == pytest.approx(expected)


def test_the_means_are_over_all_queries_also_those_that_found_nothing():
    found = retrieval_scores({"p": ["a"], "q": []}, {"p": {"a": 1, "b": 1}, "q": {"b": 1}}, k=1)
    assert found == (0.5, 0.25, 0.5)


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(MetricError, match="1 rankings and 2 judged queries, 'q' in one only"):
        retrieval_scores({"p": ["a"]}, {"p": {"a": 1}, "q": {"b": 1}})
    with pytest.raises(MetricError, match="stands twice"):
        ndcg_at(["a", "a"], {"a": 1})
    with pytest.raises(MetricError, match="no document is relevant"):
        recall_at(["a"], {"a": 0})
    with pytest.raises(MetricError, match="k is 0"):
        reciprocal_rank_at(["a"], {"a": 1}, 0)
