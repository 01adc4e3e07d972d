"""Byte-pair encoding in its plain form: join the most frequent pair of neighbours,
again and again.

Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword
Units", section 3.2. Training starts from characters. It counts each pair of neighbours
over all words, joins the most frequent pair everywhere, and repeats. Each join adds one
token; the list of joins, in order, is the model. To encode a word, start from its
characters again and make the joins in the order in which they were learned.

    train_bpe_plain({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 4).merges
    [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")]

But:
- Training counts all pairs anew for each merge. `bpe_training.train_bpe` gives the same
  merges from an index.
- Pairs with the same count are taken in the order of their ids, as in `tokenizers`.
  Other programs choose otherwise, and from then on learn other merges.
- Characters that training did not see have no token. Byte-level BPE (`byte_level.py`)
  has no such characters.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, repeat

from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary

Pair = tuple[str, str]
LONG_WORD = 64
"""Characters from which on a word is encoded with a heap: below, looking at all ranks
again is quicker."""

NO_MERGE = 1 << 60
"""Higher than any rank."""


def count_pairs(words: Mapping[tuple[str, ...], int]) -> Counter[Pair]:
    """How often each pair of neighbours occurs.

    `words` maps a word, as a tuple of symbols, to its count.

    "aaa" has the pair ("a", "a") twice, although only one of the two can be merged.
    """
    pairs: Counter[Pair] = Counter()
    for symbols, count in words.items():
        for pair in pairwise(symbols):
            pairs[pair] += count
    return pairs


def merge_pair(symbols: Sequence[str], pair: Pair) -> tuple[str, ...]:
    """Join every occurrence of `pair`, from the left, without overlap: ("a", "a") in
    "aaa" gives "aa", "a".
    """
    merged, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            merged.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return tuple(merged)


def train_bpe_plain(word_counts: Mapping[str, int], num_merges: int) -> "BPE":
    """Learn `num_merges` merges from words with their counts; fewer, if no pair is
    left. Time: merges x text.
    """
    tokens = sorted({character for word in word_counts for character in word})
    id_of = {token: i for i, token in enumerate(tokens)}
    words = {tuple(word): count for word, count in word_counts.items()}
    merges: list[Pair] = []
    while len(merges) < num_merges and (pairs := count_pairs(words)):
        best = min(
            pairs, key=lambda pair: (-pairs[pair], id_of[pair[0]], id_of[pair[1]])
        )
        merges.append(best)
        # Two different merges may give the same string, "a" + "bc" and "ab" + "c": it
        # keeps its first id.
        id_of.setdefault(best[0] + best[1], len(id_of))
        words = {merge_pair(symbols, best): count for symbols, count in words.items()}
    return BPE(Vocabulary(id_of), merges)


def merge_by_rank(
    symbols: Sequence[str], rank: Callable[[str, str], int | None]
) -> list[str]:
    """Join, while there is one, the pair of neighbours with the lowest rank, the
    leftmost of equals.

    `rank(left, right)` is the number of the merge, None if there is no such merge.
    Looks at all pairs after each merge, so the time is the square of the length.
    """
    symbols = list(symbols)
    while True:
        ranked = [
            (r, i)
            for i, pair in enumerate(pairwise(symbols))
            if (r := rank(*pair)) is not None
        ]
        if not ranked:
            return symbols
        _, i = min(ranked)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def merge_by_table(symbols: Sequence[str], ranks: Mapping[Pair, int]) -> list[str]:
    """The same result as `merge_by_rank`, quickest for words of usual length: only the
    ranks around a merge change.
    """
    parts, rank = list(symbols), ranks.get
    found = list(
        map(rank, pairwise(parts), repeat(NO_MERGE))
    )  # of each part with the one after it
    while found and (lowest := min(found)) != NO_MERGE:
        i = found.index(lowest)
        parts[i] += parts.pop(i + 1)
        del found[i]
        if i:
            found[i - 1] = rank((parts[i - 1], parts[i]), NO_MERGE)
        if i < len(found):
            found[i] = rank((parts[i], parts[i + 1]), NO_MERGE)
    return parts


def merge_by_rank_heap(
    symbols: Sequence[str], rank: Callable[[str, str], int | None]
) -> list[str]:
    """The same result as `merge_by_rank`, in n log n time: a heap of the possible
    merges over a linked list.
    """
    return [part for part, _, _ in merged_with_places(symbols, rank)]


def merged_with_places(
    symbols: Sequence[str],
    rank: Callable[[str, str], int | None],
    join: Callable[[str, str], str] = str.__add__,
) -> list[tuple[str, int, int]]:
    """The tokens of `merge_by_rank`, each with its first symbol and the end of its
    last. `join` writes a merge.
    """
    parts: list[str | None] = list(symbols)
    n = len(parts)
    following, preceding = list(range(1, n + 1)), list(range(-1, n - 1))
    heap: list[tuple[int, int, str, str]] = []

    def propose(i: int) -> None:
        if (
            i >= 0
            and (j := following[i]) < n
            and (r := rank(parts[i], parts[j])) is not None
        ):
            heapq.heappush(heap, (r, i, parts[i], parts[j]))

    for i in range(n):
        propose(i)
    while heap:
        _, i, left, right = heapq.heappop(heap)
        j = following[i]
        if parts[i] != left or j == n or parts[j] != right:
            continue  # one of the two has been merged with another neighbour since
        parts[i], parts[j] = join(left, right), None
        following[i] = following[j]
        if following[j] < n:
            preceding[following[j]] = i
        propose(preceding[i])
        propose(i)
    return [(part, i, following[i]) for i, part in enumerate(parts) if part is not None]


class BPE:
    """A vocabulary with merges in the order in which they are made.

    Without merges, any two neighbours that together are a token may be joined, the
    lowest id first: so `tiktoken` reads the vocabularies of GPT-4. `unknown` is the
    token that stands for a character without a token; without one, such a character is
    an error. Raises TokenizerError if a merge joins, or gives, a token that the
    vocabulary lacks.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        merges: Sequence[Pair] | None,
        unknown: str | None = None,
    ):
        for left, right in merges or ():
            if missing := [
                token
                for token in (left, right, self.join(left, right))
                if token not in vocabulary
            ]:
                raise TokenizerError(
                    f"the merge {left!r} + {right!r} needs {missing[0]!r}, which is not"
                    f" among the {len(vocabulary)} tokens of the vocabulary"
                )
        self.vocabulary, self.merges = (
            vocabulary,
            None if merges is None else list(merges),
        )
        self.unknown_id = None if unknown is None else vocabulary.id(unknown)
        self._ranks = {pair: rank for rank, pair in enumerate(merges or ())}

    def join(self, left: str, right: str) -> str:
        """The token that two neighbours make."""
        return left + right

    def rank(self, left: str, right: str) -> int | None:
        """The place of a merge in the list: the lower, the earlier it is made.

        None if there is no such merge.
        """
        return (
            self.vocabulary.id_of.get(left + right)
            if self.merges is None
            else self._ranks.get((left, right))
        )

    def split(self, word: str) -> list[str]:
        """The word cut into tokens; together they are the word.

        Unknown characters stay, each by itself.
        """
        return self.merged(word)

    def merged(self, symbols: Sequence[str]) -> list[str]:
        """The symbols with all merges made, by whichever of the three forms is quickest
        for so many.
        """
        if len(symbols) >= LONG_WORD:
            return merge_by_rank_heap(symbols, self.rank)
        return (
            merge_by_rank(symbols, self.rank)
            if self.merges is None
            else merge_by_table(symbols, self._ranks)
        )

    def tokenize(self, word: str) -> list[Piece]:
        """The tokens of one word, with their places in it."""
        pieces, start = [], 0
        for token in self.split(word):
            id = self.vocabulary.id_of.get(token, self.unknown_id)
            if id is None:
                raise TokenizerError(
                    f"{token!r} in {word!r} has no token, and this vocabulary of "
                    f"{len(self.vocabulary)} tokens has none for unknown characters"
                )
            pieces.append(Piece(id, start, start + len(token)))
            start += len(token)
        return pieces

    def decode(self, ids: Sequence[int]) -> str:
        """The tokens of the ids, joined without anything between."""
        return "".join(map(self.vocabulary.token, ids))
