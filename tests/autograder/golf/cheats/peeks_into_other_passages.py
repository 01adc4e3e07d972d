"""Hopes that another passage holds the same text, and copies what followed there."""

import numpy as np


def train(text, seed):
    """Nothing."""
    return b""


class Predictor:
    """Each passage expects the byte that the next passage has just shown."""

    def __init__(self, artefact, passages):
        self.passages = passages

    def next(self, observed):
        """Half of the probability for the neighbour's byte."""
        rows = np.full((self.passages, 256), 0.5 / 256)
        if observed is None:
            return 2 * rows
        rows[np.arange(self.passages), np.roll(observed.numpy(), 1)] += 0.5
        return rows
