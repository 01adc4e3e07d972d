"""From lines of text to numbers: words, how often each occurs, and sentences as arrays
of ids.

A word here is a run of the letters a to z, in lower case, with at most one apostrophe
inside. Digits, other alphabets and punctuation are dropped. Chapter 2 shows better ways
to cut text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int

# The ids of one sentence: an array, or any sequence of numbers.
Sentence = Int[np.ndarray, " _"] | Sequence[int]

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def tokenize(line: str) -> list[str]:
    """The words of a line, in lower case: "The bank's 2 doors" gives ["the", "bank's",
    "doors"].
    """
    return _WORD.findall(line.lower())


class Vocabulary:
    """The words that get a vector, the most frequent first, and how often each was
    seen.

    `words[i]` is the word with id i, `counts[i]` how often it occurs, `index[word]` its
    id.
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int]):
        if len(words) != len(counts):
            raise ValueError(
                f"{len(words)} words but {len(counts)} counts: give one count for each"
                " word"
            )
        self.words = list(words)
        self.counts = np.asarray(counts, dtype=np.int64)  # (V,)
        self.index = {word: i for i, word in enumerate(self.words)}
        if len(self.index) != len(self.words):
            raise ValueError(
                "a word occurs twice in the vocabulary: ids would not be unique"
            )

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Sequence[str]], min_count: int = 1
    ) -> "Vocabulary":
        """Count the words of tokenized sentences and keep those seen at least
        `min_count` times.

        Words of equal count are ordered by spelling, so that the ids do not depend on
        the order of the sentences.
        """
        counts = Counter(word for sentence in sentences for word in sentence)
        kept = sorted(
            ((word, n) for word, n in counts.items() if n >= min_count),
            key=lambda pair: (-pair[1], pair[0]),
        )
        return cls([word for word, _ in kept], [n for _, n in kept])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index


def encode(
    sentences: Iterable[Sequence[str]], vocabulary: Vocabulary
) -> list[Int[np.ndarray, " _"]]:
    """Each tokenized sentence as an array of ids.

    Words outside the vocabulary are dropped, and neighbours close up.
    """
    index = vocabulary.index
    return [
        np.array([index[word] for word in sentence if word in index], dtype=np.int64)
        for sentence in sentences
    ]


def flatten(
    sentences: Sequence[Sentence],
) -> tuple[Int[np.ndarray, "T"], Int[np.ndarray, "T"]]:
    """All ids in one array, and beside it the number of the sentence that each came
    from.
    """
    lengths = [len(sentence) for sentence in sentences]
    ids = (
        np.concatenate([np.asarray(s, dtype=np.int64) for s in sentences])
        if lengths
        else np.empty(0, np.int64)
    )
    return ids, np.repeat(np.arange(len(lengths)), lengths)
