"""An interpolated 5-gram over bytes (Witten and Bell), counted when the predictor is made.

The artefact is the training text, compressed: a count for each context would be larger.
"""

import lzma
from collections import Counter, defaultdict

import numpy as np

ORDER = 4  # bytes before the one to predict


def train(text, seed):
    """The first 2 MB, compressed; shorter if that does not fit."""
    size = 2_000_000
    while len(packed := lzma.compress(text[:size], preset=9)) > 1_000_000:
        size = size * 9 // 10
    return packed


class Predictor:
    """Mixes the counts of all orders; a context weighs as much as it has repeated."""

    def __init__(self, artefact, passages):
        text = lzma.decompress(artefact)
        self.counts = [defaultdict(Counter) for _ in range(ORDER + 1)]
        for order in range(ORDER + 1):
            for at in range(order, len(text)):
                self.counts[order][text[at - order : at]][text[at]] += 1
        self.seen = [b""] * passages

    def next(self, observed):
        """Look the last bytes of each passage up."""
        if observed is not None:
            self.seen = [(old + bytes([b]))[-ORDER:] for old, b in zip(self.seen, observed)]
        return np.stack([self.row(seen) for seen in self.seen])

    def row(self, seen):
        """From the uniform distribution to the longest context."""
        mixed = np.full(256, 1 / 256)
        for order in range(min(ORDER, len(seen)) + 1):
            found = self.counts[order].get(seen[len(seen) - order :])
            if found:
                own = np.zeros(256)
                own[list(found)] = list(found.values())
                mixed = (own + len(found) * mixed) / (own.sum() + len(found))
        return mixed
