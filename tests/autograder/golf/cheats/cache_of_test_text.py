"""An n-gram cache that all passages feed: it learns from the text that it is scored on."""

from collections import Counter, defaultdict

import numpy as np


def train(text, seed):
    """Nothing: everything comes from the text of the test."""
    return b""


class Predictor:
    """One table of bigrams for all passages."""

    def __init__(self, artefact, passages):
        self.passages, self.counts = passages, defaultdict(Counter)
        self.last = None

    def next(self, observed):
        """Count what came, then predict from the counts of all passages."""
        if observed is None:
            return np.full((self.passages, 256), 1 / 256)
        observed = observed.tolist()
        for before, byte in zip(self.last or [], observed):
            self.counts[before][byte] += 1
        self.last = observed
        return np.stack([self.row(self.counts[byte]) for byte in observed])

    def row(self, found):
        """Counts with one added everywhere."""
        own = np.ones(256)
        own[list(found)] += [20 * n for n in found.values()]
        return own / own.sum()
