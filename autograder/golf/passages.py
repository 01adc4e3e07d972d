"""The draw: which passages are held out, and what is left to train on.

The text is cut into blocks, and a draw shuffles the blocks. Each passage comes from a block of its
own, and no byte of that block is in the training text. The draw is made after the entry is in, so
its author cannot know which passages are held out. A passage that the training text repeats (the
Bible has parallel chapters) is passed over.
"""

from dataclasses import dataclass
from random import Random

import numpy as np

from autograder.common.errors import CourseError
from autograder.golf.rules import Rules

BLOCK = 4096  # bytes of the public text, of which at most one passage is drawn
WINDOW, STRIDE = 48, 64  # a passage is repeated if half of its windows are in the training text


@dataclass(frozen=True)
class Draw:
    """The training text, the passages (B, T) to score, and as many others to replace parts with."""

    training: bytes
    passages: np.ndarray
    others: np.ndarray


def draw(public: bytes, rules: Rules, random: Random, private: bytes = b"") -> Draw:
    """One draw. Passages come from `private` where it is given, else from held-out blocks.

    Raises CourseError for a text that is too short.
    """
    wanted = 2 * rules.passages
    blocks = _blocks(public, max(BLOCK, rules.length))
    random.shuffle(blocks)
    if private:
        candidates = _blocks(private, rules.length)
        random.shuffle(candidates)
        kept = blocks
    else:
        spare = wanted // 2 + 4  # for passages that are repeated
        candidates, kept = blocks[: wanted + spare], blocks[wanted + spare :]
    kept = sorted(kept[: max(1, rules.text_bytes // BLOCK)])
    training = b"".join(text for _, text in kept)
    chosen = []
    for _, block in candidates:
        start = random.randrange(len(block) - rules.length + 1)
        passage = block[start : start + rules.length]
        if not is_repeated(passage, training):
            chosen.append(np.frombuffer(passage, np.uint8))
        if len(chosen) == wanted:
            break
    if len(chosen) < wanted or not kept:
        raise CourseError(
            f"the text is too short for {wanted} passages of {rules.length} bytes"
            f" ({len(private or public):,} bytes): give a longer one"
        )
    stacked = np.stack(chosen)
    return Draw(training, stacked[: rules.passages], stacked[rules.passages :])


def _blocks(text: bytes, size: int) -> list[tuple[int, bytes]]:
    starts = range(0, len(text) - size + 1, size)
    return [(start, text[start : start + size]) for start in starts]


def is_repeated(passage: bytes, training: bytes) -> bool:
    """Whether half of a passage's windows or more are in the training text."""
    starts = range(0, max(1, len(passage) - WINDOW + 1), STRIDE)
    found = sum(passage[start : start + WINDOW] in training for start in starts)
    return 2 * found >= len(starts)


def public_text() -> bytes:
    """The King James text and the WordNet glosses, from the cache. Raises CourseError."""
    from reference_impl.corpora import CorpusError, load

    try:
        return (load("kjv") + "\n" + "\n".join(load("oewn_glosses"))).encode()
    except CorpusError as error:
        raise CourseError(f"{error}") from None
