"""Answers to questions about a text: choosing the span that a model points at, and
comparing it with people's.

Rajpurkar et al. 2016, section 6.1, and the program that is released with SQuAD (exact
match, F1 of words); Devlin et al. 2019, section 4.2 (the best span: the largest sum of
both logits, the end not before the start).

Not here: questions without an answer (SQuAD 2), texts longer than the model's input.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from reference_impl.measure.metrics import MetricError, scores


class Span(NamedTuple):
    """Tokens `start` to `end`, both included, and the sum of their logits."""

    start: int
    end: int
    score: float


def best_spans(
    start: Float[Tensor, "T"],
    end: Float[Tensor, "T"],
    allowed: Bool[Tensor, "T"] | None = None,
    max_tokens: int = 30,
    count: int = 1,
) -> list[Span]:
    """The `count` spans with the largest start + end, best first, of 1 to `max_tokens`
    tokens; fewer, if there are.

    `allowed` is True for the text's tokens: an answer neither begins nor ends in the
    question or the padding. The two best tokens by themselves need not make a span.
    Raises MetricError if no span is allowed.
    """
    if max_tokens < 1 or count < 1:
        raise MetricError(
            f"max_tokens is {max_tokens} and count {count}: give 1 or more"
        )
    possible = (
        torch.ones(len(start), len(end), dtype=torch.bool, device=start.device)
        .triu()
        .tril(max_tokens - 1)
    )
    if allowed is not None:
        possible &= allowed[:, None] & allowed
    places = possible.nonzero()  # (N, 2)
    if not len(places):
        raise MetricError("no token is allowed, so there is no span to choose")
    sums = start[places[:, 0]] + end[places[:, 1]]  # (N,)
    best = sums.topk(min(count, len(sums)))
    return [
        Span(*places[index].tolist(), score)
        for score, index in zip(
            best.values.tolist(), best.indices.tolist(), strict=True
        )
    ]


def normalise_answer(text: str) -> str:
    """Lower case, without ASCII punctuation and the articles a, an, the; one space
    between words.
    """
    text = "".join(
        character for character in text.lower() if character not in string.punctuation
    )
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact_match(answer: str, truths: Sequence[str]) -> float:
    """1 if the answer, normalised, is one of the truths, normalised; else 0."""
    return max(
        float(normalise_answer(answer) == normalise_answer(truth))
        for truth in _some(truths)
    )


def token_f1(answer: str, truths: Sequence[str]) -> float:
    """F1 of the words that answer and truth share, as often as they share them; the
    best over the truths.

    If nothing is left of one of the two, 1 if nothing is left of the other, else 0.
    """
    return max(
        _shared(normalise_answer(answer).split(), normalise_answer(truth).split())
        for truth in _some(truths)
    )


def _shared(said: list[str], true: list[str]) -> float:
    if not said or not true:
        return float(said == true)
    return scores((Counter(said) & Counter(true)).total(), len(said), len(true)).f1


def _some(truths: Sequence[str]) -> Sequence[str]:
    if isinstance(truths, str) or not truths:
        raise MetricError(f"truths are {truths!r}: give a list of at least one answer")
    return truths
