"""Keeps the whole training text."""


def train(text, seed):
    """One byte too many."""
    return bytes(1_000_001)


class Predictor:
    """Never reached."""

    def __init__(self, artefact, passages):
        self.passages = passages

    def next(self, observed):
        """Nothing."""
