"""How often each byte occurs, mixed with the uniform distribution."""

import numpy as np


def train(text, seed):
    """256 counts."""
    return np.bincount(np.frombuffer(text, np.uint8), minlength=256).astype("<u4").tobytes()


class Predictor:
    """The same distribution at each position."""

    def __init__(self, artefact, passages):
        counts = np.frombuffer(artefact, "<u4").astype(float)
        mixed = 0.999 * counts / counts.sum() + 0.001 / 256
        self.rows = np.tile(mixed, (passages, 1))

    def next(self, observed):
        """Whatever was observed."""
        return self.rows
