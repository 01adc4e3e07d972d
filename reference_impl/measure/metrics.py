"""How good predictions are, in one number: the metrics of GLUE, and those of a language
model.

GLUE (Wang et al. 2019, section 3): accuracy, F1 (MRPC, QQP), Matthews' correlation
(CoLA), Pearson's and Spearman's (STS-B; Spearman's is in `embeddings.evaluation`).
Matthews 1975 for two classes, Gorodkin 2004 for more.

Not here: spans and entities (`spans`), answers (`answers`), rankings (`retrieval`),
averages over several tasks.
"""

from math import exp, inf, log
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.embeddings.evaluation import cosine_similarity


class MetricError(ValueError):
    """Predictions and truths that can't be compared."""


class Scores(NamedTuple):
    """Precision: the share of what was found that is right.

    Recall: the share of what is right that was found.

    F1 is their harmonic mean. A share of nothing is 0.
    """

    precision: float
    recall: float
    f1: float


def scores(correct: int, found: int, wanted: int) -> Scores:
    """From three counts."""
    return Scores(
        correct / found if found else 0.0,
        correct / wanted if wanted else 0.0,
        2 * correct / (found + wanted) if found + wanted else 0.0,
    )


def accuracy(predicted: Int[Tensor, "N"], labels: Int[Tensor, "N"]) -> float:
    """The share of predictions that are the label."""
    _comparable(predicted, labels)
    return float((predicted == labels).double().mean())


def binary_scores(
    predicted: Int[Tensor, "N"], labels: Int[Tensor, "N"], positive: int = 1
) -> Scores:
    """Precision, recall and F1 of one class; the others' mistakes among themselves
    don't count.
    """
    _comparable(predicted, labels)
    found, wanted = predicted == positive, labels == positive
    return scores(int((found & wanted).sum()), int(found.sum()), int(wanted.sum()))


def macro_f1(predicted: Int[Tensor, "N"], labels: Int[Tensor, "N"]) -> float:
    """The mean of the classes' F1, rare ones as heavy as frequent ones; classes are
    those that occur in either.
    """
    _comparable(predicted, labels)
    classes = torch.cat((predicted, labels)).unique().tolist()
    return sum(binary_scores(predicted, labels, label).f1 for label in classes) / len(
        classes
    )


def matthews(predicted: Int[Tensor, "N"], labels: Int[Tensor, "N"]) -> float:
    """The correlation of prediction and truth: 1 if all is right, 0 for chance, also if
    the classes are uneven.

    0, too, if all predictions, or all labels, are of one class.
    """
    _comparable(predicted, labels)
    classes = torch.cat((predicted, labels)).unique()
    found = (predicted[:, None] == classes).double()  # (N, K), a one in each row
    wanted = (labels[:, None] == classes).double()
    return pearson_of_all(found - found.mean(0), wanted - wanted.mean(0))


def pearson_of_all(x: Float[Tensor, "N *K"], y: Float[Tensor, "N *K"]) -> float:
    """The cosine of two centred tables, taken as two long vectors; 0 if one of them is
    constant.
    """
    return float(cosine_similarity(x.flatten(), y.flatten()))


def pearson(x: Float[Tensor, "N"], y: Float[Tensor, "N"]) -> float:
    """Pearson's r: the cosine of what is left of two rows when their means are taken
    away. 0 if one is constant.
    """
    _comparable(x, y)
    return pearson_of_all(
        x.double() - x.double().mean(), y.double() - y.double().mean()
    )


def perplexity(nats: float, num_tokens: int) -> float:
    """exp(nats / token): among how many equally likely tokens the model has to choose.

    `nats` is a sum of -ln p.

    Comparable only between models that have the same tokens.
    """
    if num_tokens < 1:
        raise MetricError(f"{num_tokens} tokens: there is nothing to take a mean over")
    return inf if nats / num_tokens > 700 else exp(nats / num_tokens)


def bits_per_byte(nats: float, num_bytes: int) -> float:
    """log2 in place of ln, and bytes of the text in place of tokens: comparable between
    tokenizers.
    """
    if num_bytes < 1:
        raise MetricError(f"{num_bytes} bytes: there is nothing to take a mean over")
    return nats / log(2) / num_bytes


def _comparable(predicted: Tensor, labels: Tensor) -> None:
    if predicted.shape != labels.shape or not predicted.numel():
        raise MetricError(
            f"{tuple(predicted.shape)} predictions and {tuple(labels.shape)} labels:"
            " give one of each for every example, and at least one example"
        )
