"""Variants of byte-pair encoding: dropout of merges, and merges across spaces.

BPE-dropout (Provilkov, Emelianenko and Voita 2020, section 3) encodes as BPE does, but
at each step every possible merge is left out with probability p. So a model meets many
segmentations of a word in training. At inference p is 0.

SuperBPE (Liu et al. 2025, section 2) trains in two stages. Until the vocabulary has
`transition` tokens, merges stay inside words, as in BPE. Then the words are joined to
whole texts, and merges may cross spaces: "by the way" can become one token.

    merge_with_dropout("bank", rank, p=0.1, draw=random.Random(0))
    train_superbpe(["by the way", ...], size=600, transition=400).split("by the way")

But: both are written to be read. A text of the second stage is one sequence, so its
time is the number of merges times the length of all texts.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import regex

from reference_impl.tokenizers.bpe import BPE, Pair, count_pairs, merge_pair
from reference_impl.tokenizers.pretokenizers import GPT2
from reference_impl.tokenizers.vocabulary import Vocabulary


def merge_with_dropout(
    symbols: Sequence[str],
    rank: Callable[[str, str], int | None],
    p: float,
    draw: random.Random,
) -> list[str]:
    """BPE encoding in which each possible merge is dropped with probability `p` at each
    step; a step that drops all of them is the last.
    """
    symbols = list(symbols)
    while True:
        ranked = [
            (r, i)
            for i, pair in enumerate(pairwise(symbols))
            if (r := rank(*pair)) is not None and draw.random() >= p
        ]
        if not ranked:
            return symbols
        _, i = min(ranked)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def train_superbpe(
    texts: Sequence[str], size: int, transition: int, pattern: regex.Pattern = GPT2
) -> BPE:
    """Learn a vocabulary of `size` tokens: the first `transition` inside the words that
    `pattern` finds, the others across them.
    """
    words = Counter(tuple(word) for text in texts for word in pattern.findall(text))
    id_of = {symbol: i for i, symbol in enumerate(sorted({*"".join(texts)}))}
    merges: list[Pair] = []
    _merge_until(min(transition, size), words, id_of, merges)
    inside = BPE(Vocabulary(id_of), merges)
    whole = Counter(
        tuple(token for word in pattern.findall(text) for token in inside.split(word))
        for text in texts
    )
    _merge_until(size, whole, id_of, merges)
    return BPE(Vocabulary(id_of), merges)


def _merge_until(
    size: int,
    words: Counter[tuple[str, ...]],
    id_of: dict[str, int],
    merges: list[Pair],
) -> None:
    """Merge the most frequent pair of `words` until there are `size` tokens."""
    while len(id_of) < size and (pairs := count_pairs(words)):
        best = min(
            pairs, key=lambda pair: (-pairs[pair], id_of[pair[0]], id_of[pair[1]])
        )
        merges.append(best)
        id_of.setdefault(best[0] + best[1], len(id_of))
        words = Counter({merge_pair(word, best): n for word, n in words.items()})
