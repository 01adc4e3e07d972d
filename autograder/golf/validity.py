"""The checks of how an entry predicts: each is a run of the entry, none reads its source.

Three passes, each in a fresh sandbox. The first gives the score. The second decodes: it shows the
entry only what a decoder has recovered, so nothing of a passage reaches it in another way. The
third changes the passages: a third of the rows stays as it is among other rows (frozen state), a
third has another distant past (context), and a third has another continuation (no reading ahead).
An entry cannot tell the passes apart.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Protocol

import numpy as np

from autograder.golf.coder import Decoder, Encoder, bits_of, frequencies
from autograder.golf.rules import ALPHABET, KNOWN_BY_HEART, Invalid, Rules

CLOSE = (1e-3, 1e-6)  # two predictions are the same: relative and absolute difference


class Predicts(Protocol):
    """What is driven: see `sandboxed.Predictor`."""

    spent: float

    def next(self, observed: np.ndarray | None) -> np.ndarray:
        """The distributions (B, 256) after one more byte of each passage."""
        ...


Opener = Callable[[], AbstractContextManager[Predicts]]  # each time a fresh predictor


@dataclass(frozen=True)
class Pass:
    """One pass: the distributions (T, B, 256) in float32, and the seconds it took."""

    predicted: np.ndarray
    spent: float


@dataclass(frozen=True)
class Changed:
    """Passages (B, T) with parts replaced, and the positions (B, T) at which nothing may differ."""

    passages: np.ndarray
    same: dict[str, np.ndarray]  # by check


def read(opener: Opener, passages: np.ndarray) -> Pass:
    """One left-to-right pass over passages (B, T)."""
    predicted = np.empty((passages.shape[1], passages.shape[0], ALPHABET), np.float32)
    with opener() as predictor:
        observed = None
        for position in range(passages.shape[1]):
            predicted[position] = predictor.next(observed)
            observed = passages[:, position]
        return Pass(predicted, predictor.spent)


def encoded(first: Pass, passages: np.ndarray) -> list[list[int]]:
    """The code of each passage, in bits, under the predictions of a pass."""
    encoders = [Encoder() for _ in passages]
    for predicted, column in zip(first.predicted, passages.T):
        for encoder, counts, symbol in zip(encoders, frequencies(np.float64(predicted)), column):
            encoder.encode(counts, int(symbol))
    return [encoder.finish() for encoder in encoders]


def check_decodes(opener: Opener, codes: list[list[int]], passages: np.ndarray) -> None:
    """Decode with a fresh predictor that is shown what was decoded, and nothing else."""
    decoders = [Decoder(code) for code in codes]
    with opener() as predictor:
        observed = None
        for position, wanted in enumerate(passages.T):
            counts = frequencies(np.float64(np.float32(predictor.next(observed))))
            pairs = zip(decoders, counts)
            observed = np.array([decoder.decode(row) for decoder, row in pairs], np.uint8)
            if (observed != wanted).any():
                raise Invalid(
                    "decodes", f"the byte at position {position} is not the one that was encoded"
                )


def change(
    passages: np.ndarray,
    others: np.ndarray,
    context: int,
    random: Random,
) -> Changed:
    """Replace a part of two thirds of the passages, at random positions."""
    count, length = passages.shape
    rows = random.sample(range(count), count)
    changed = passages.copy()
    same = {
        name: np.zeros((count, length), bool)
        for name in ("frozen state", "context", "no reading ahead")
    }
    for order, row in enumerate(rows):
        name = list(same)[order % 3]
        if name == "frozen state":
            same[name][row] = True
        elif name == "context":
            # From here on every prediction has the same `context` bytes before it.
            start = random.randrange(context + 1, length)
            changed[row, : start - context] = others[row, : start - context]
            same[name][row, start:] = True
        else:
            start = random.randrange(1, length)
            changed[row, start:] = others[row, start:]
            same[name][row, : start + 1] = True
    return Changed(changed, same)


def check_changed(first: Pass, second: Pass, same: dict[str, np.ndarray]) -> None:
    """Raise Invalid where two passes differ although they may not."""
    close = np.isclose(first.predicted, second.predicted, *CLOSE).all(-1).T  # (B, T)
    for name, mask in same.items():
        wrong = np.argwhere(mask & ~close)
        if len(wrong):
            row, position = wrong[0]
            raise Invalid(
                name, f"at position {position} of passage {row} the prediction changed with them"
            )


def check_hidden(bits: np.ndarray) -> None:
    """Raise Invalid for a passage that costs next to nothing. bits: (B, T)."""
    rates = bits.mean(1)
    if rates.min() < KNOWN_BY_HEART:
        raise Invalid(
            "hidden text",
            f"passage {rates.argmin()} costs {rates.min():.3f} bits per byte: it is in the entry",
        )


@dataclass(frozen=True)
class Measured:
    """Bits per byte over all passages, and the seconds of the scored pass."""

    bits_per_byte: float
    spent: float


def examine(
    opener: Opener, passages: np.ndarray, others: np.ndarray, rules: Rules, random: Random
) -> Measured:
    """Score an entry and run every check of its predictions. Raises Invalid for the first fault."""
    first = read(opener, passages)
    counts = frequencies(np.float64(first.predicted))
    bits = bits_of(counts, passages.T).T  # (B, T)
    check_hidden(bits)
    check_decodes(opener, encoded(first, passages), passages)
    changed = change(passages, others, rules.context, random)
    check_changed(first, read(opener, changed.passages), changed.same)
    return Measured(float(bits.mean()), first.spent)
