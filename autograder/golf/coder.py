"""An arithmetic coder (Witten, Neal and Cleary 1987), and the whole numbers that it works with.

Probabilities become frequencies of at least 1 out of about 2^24, so every byte can be coded. The
score is taken from the same frequencies: it is the length of a file that a decoder can read.
"""

from collections.abc import Sequence

import numpy as np

TOTAL = 1 << 24
BITS = 48  # of the coder's interval, well above those of TOTAL
TOP, HALF, QUARTER = 1 << BITS, 1 << BITS - 1, 1 << BITS - 2


def frequencies(probabilities: np.ndarray) -> np.ndarray:
    """Whole numbers in proportion to the last axis, each at least 1, in int64."""
    normal = probabilities / probabilities.sum(-1, keepdims=True)
    return 1 + np.floor(normal * (TOTAL - normal.shape[-1])).astype(np.int64)


def bits_of(counts: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """The bits that each symbol costs under its frequencies (..., 256)."""
    own = np.take_along_axis(counts, symbols[..., None].astype(np.int64), -1)[..., 0]
    return np.log2(counts.sum(-1)) - np.log2(own)


class Encoder:
    """Symbols to bits; `finish` gives them all."""

    def __init__(self):
        self._low, self._high, self._pending = 0, TOP - 1, 0
        self._bits: list[int] = []

    def encode(self, counts: np.ndarray, symbol: int) -> None:
        """Append one symbol under its frequencies (256,)."""
        self._low, self._high = _narrowed(self._low, self._high, counts, symbol)
        while (move := _move(self._low, self._high)) is not None:
            if move == QUARTER:
                self._pending += 1
            else:
                self._emit(int(move == HALF))
            self._low, self._high = 2 * (self._low - move), 2 * (self._high - move) + 1

    def _emit(self, bit: int) -> None:
        self._bits += [bit] + self._pending * [1 - bit]
        self._pending = 0

    def finish(self) -> list[int]:
        """The bits of all symbols, with two more that name the last interval."""
        self._pending += 1
        self._emit(int(self._low >= QUARTER))
        return self._bits


class Decoder:
    """Bits back to symbols; what is missing at the end reads as 0."""

    def __init__(self, bits: Sequence[int]):
        self._bits, self._next = bits, 0
        self._low, self._high, self._value = 0, TOP - 1, 0
        for _ in range(BITS):
            self._value = 2 * self._value + self._bit()

    def _bit(self) -> int:
        self._next += 1
        return self._bits[self._next - 1] if self._next <= len(self._bits) else 0

    def decode(self, counts: np.ndarray) -> int:
        """The next symbol, under the frequencies (256,) that it was encoded with."""
        total = int(counts.sum())
        target = ((self._value - self._low + 1) * total - 1) // (self._high - self._low + 1)
        symbol = int(np.searchsorted(counts.cumsum(), target, side="right"))
        self._low, self._high = _narrowed(self._low, self._high, counts, symbol)
        while (move := _move(self._low, self._high)) is not None:
            self._low, self._high = 2 * (self._low - move), 2 * (self._high - move) + 1
            self._value = 2 * (self._value - move) + self._bit()
        return symbol


def _narrowed(low: int, high: int, counts: np.ndarray, symbol: int) -> tuple[int, int]:
    """The part of the interval that belongs to a symbol."""
    total, before = int(counts.sum()), int(counts[:symbol].sum())
    width = high - low + 1
    after = before + int(counts[symbol])
    return low + width * before // total, low + width * after // total - 1


def _move(low: int, high: int) -> int | None:
    """What to take from both ends before they are doubled; None if the interval is wide."""
    if high < HALF:
        return 0
    if low >= HALF:
        return HALF
    if low >= QUARTER and high < HALF + QUARTER:
        return QUARTER
    return None
