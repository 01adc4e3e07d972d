"""GLUE's metrics against scikit-learn and scipy, perplexity by hand."""

import math

import pytest
import scipy.stats
import sklearn.metrics
import torch

from reference_impl.measure.metrics import (
    MetricError,
    accuracy,
    binary_scores,
    bits_per_byte,
    macro_f1,
    matthews,
    pearson,
    perplexity,
    scores,
)


def labelled(num_classes, seed=0, number=60):
    """Labels, and predictions that are right more often than by chance."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(num_classes, (number,), generator=generator)
    guesses = torch.randint(num_classes, (number,), generator=generator)
    return guesses.where(torch.rand(number, generator=generator) < 0.5, labels), labels


@pytest.mark.parametrize("num_classes", [2, 3, 7])
def test_accuracy_f1_and_matthews_are_scikit_learns(num_classes):
    predicted, labels = labelled(num_classes)
    assert accuracy(predicted, labels) == pytest.approx(
        sklearn.metrics.accuracy_score(labels, predicted)
    )
    assert matthews(predicted, labels) == pytest.approx(
        sklearn.metrics.matthews_corrcoef(labels, predicted)
    )
    assert macro_f1(predicted, labels) == pytest.approx(
        sklearn.metrics.f1_score(labels, predicted, average="macro")
    )
    for positive in range(num_classes):
        expected = sklearn.metrics.precision_recall_fscore_support(
            labels == positive, predicted == positive, average="binary"
        )
        assert binary_scores(predicted, labels, positive) == pytest.approx(expected[:3])


def test_classes_that_one_side_lacks_count_as_in_scikit_learn():
    predicted, labels = torch.tensor([0, 0, 5, 1]), torch.tensor([0, 2, 1, 1])
    assert macro_f1(predicted, labels) == pytest.approx(
        sklearn.metrics.f1_score(labels, predicted, average="macro")
    )
    assert matthews(predicted, labels) == pytest.approx(
        sklearn.metrics.matthews_corrcoef(labels, predicted)
    )


def test_one_class_only_gives_zero_and_not_nan():
    ones, mixed = torch.ones(4, dtype=torch.long), torch.tensor([0, 1, 0, 1])
    assert matthews(ones, mixed) == matthews(mixed, ones) == 0
    assert binary_scores(1 - ones, mixed) == (0, 0, 0)


def test_pearson_is_scipys_and_sees_the_line_and_not_the_level():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, generator=generator) + 100
    y = 3 * x + torch.randn(50, generator=generator)
    assert pearson(x, y) == pytest.approx(
        scipy.stats.pearsonr(x.double(), y.double())[0], abs=1e-12
    )
    assert pearson(x, -2 * x) == pytest.approx(-1)
    assert pearson(torch.ones(3), torch.tensor([1.0, 2.0, 3.0])) == 0


def test_scores_are_those_of_the_published_conlleval_example():
    # https://www.clips.uantwerpen.be/conll2000/chunking/output.html: "459 phrases; found: 539
    # phrases; correct: 371. precision: 68.83%; recall: 80.83%; FB1: 74.35"
    assert [round(100 * value, 2) for value in scores(371, 539, 459)] == [68.83, 80.83, 74.35]
    assert scores(0, 0, 5) == scores(0, 5, 0) == (0, 0, 0)


def test_perplexity_and_bits_per_byte_by_hand():
    assert perplexity(3 * math.log(8), 3) == pytest.approx(8)
    assert bits_per_byte(3 * math.log(8), 4) == pytest.approx(9 / 4)
    assert perplexity(math.inf, 3) == perplexity(1e6, 3) == math.inf


@pytest.mark.usefixtures("as_students_run_it")
def test_what_cannot_be_compared_is_refused():
    with pytest.raises(MetricError, match=r"\(2,\) predictions and \(3,\) labels"):
        pearson(torch.ones(2), torch.ones(3))
    with pytest.raises(MetricError, match="at least one example"):
        accuracy(torch.tensor([], dtype=torch.long), torch.tensor([], dtype=torch.long))
    with pytest.raises(MetricError, match="0 tokens"):
        perplexity(1.0, 0)
    with pytest.raises(MetricError, match="0 bytes"):
        bits_per_byte(1.0, 0)
