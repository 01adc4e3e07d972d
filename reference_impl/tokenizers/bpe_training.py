"""Training BPE in the time of its changes: the merges of `bpe.train_bpe_plain`, found
from an index.

Three ideas, each of which makes a merge cheaper:

1. A text has few different words. Train on those, each with its count.
2. A merge changes few words. An index from each pair to the words that hold it finds
   them, and only the counts of the pairs around the merge are changed.
3. The most frequent pair is on top of a heap. An entry of the heap may be out of date:
   when it comes to the top, it is compared with the count as it is now, and put back if
   it was too high. A pair whose count grew gets a new entry at once, so the highest
   count is never missed.

Measured against `tokenizers` and against the plain form: `bench/tokenization.py`.

But: like `tokenizers`, and unlike the 1994 compression program, a merge is never made
across words.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from reference_impl.tokenizers.bpe import BPE, Pair
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary

IdPair = tuple[int, int]


def train_bpe(
    word_counts: Mapping[str, int],
    vocab_size: int,
    specials: Sequence[str] = (),
    alphabet: Iterable[str] = (),
    min_count: int = 1,
    unknown: str | None = None,
) -> BPE:
    """Learn merges until the vocabulary has `vocab_size` tokens, or until no pair
    occurs `min_count` times.

    The vocabulary is: `specials` in their order, then the characters of the words and
    of `alphabet`, sorted, then the merges. Raises TokenizerError if `vocab_size` is
    less than the specials and characters need.
    """
    characters = sorted(
        {*alphabet, *(character for word in word_counts for character in word)}
    )
    tokens = [
        *specials,
        *(character for character in characters if character not in set(specials)),
    ]
    if vocab_size < len(tokens):
        raise TokenizerError(
            f"vocab_size is {vocab_size}, but {len(specials)} special tokens and"
            f" {len(characters)} characters need {len(tokens)}; raise it, or train on"
            " bytes"
        )
    words = {tuple(word): count for word, count in word_counts.items() if len(word) > 1}
    merges = learn_merges(words, tokens, vocab_size, str.__add__, min_count)
    return BPE(Vocabulary(tokens), merges, unknown)


def learn_merges(
    words: Mapping[tuple[str, ...], int],
    tokens: list[str],
    vocab_size: int,
    join: Callable[[str, str], str],
    min_count: int = 1,
) -> list[Pair]:
    """The merges, in order.

    Appends the new tokens to `tokens`, which must hold every symbol of the words.

    `join(left, right)` writes the token that two symbols make: BPE sets them side by
    side, WordPiece takes off the "##" of the right one.
    """
    id_of = {token: i for i, token in enumerate(tokens)}
    state = IndexedWords(words, id_of)
    heap = [(-count, pair) for pair, count in state.pair_counts.items()]
    heapq.heapify(heap)
    merges: list[Pair] = []
    while len(tokens) < vocab_size and heap:
        negative, pair = heapq.heappop(heap)
        count = state.pair_counts.get(pair, 0)
        if count != -negative:
            if count >= min_count:
                heapq.heappush(heap, (-count, pair))
            continue
        if count < min_count:
            break
        left, right = tokens[pair[0]], tokens[pair[1]]
        joined = join(left, right)
        if (
            joined not in id_of
        ):  # two merges may give the same string: it keeps its first id
            id_of[joined] = len(tokens)
            tokens.append(joined)
        merges.append((left, right))
        for grown in state.merge(pair, id_of[joined]):
            heapq.heappush(heap, (-state.pair_counts[grown], grown))
    return merges


class IndexedWords:
    """The different words as lists of ids, with the count of every pair and the words
    where it may be found.

    Also counts how often each symbol occurs: BPE does not ask for it, WordPiece's score
    does.
    """

    def __init__(self, words: Mapping[tuple[str, ...], int], id_of: Mapping[str, int]):
        self.words = [[id_of[symbol] for symbol in word] for word in words]
        self.counts = list(words.values())
        self.pair_counts: dict[IdPair, int] = Counter()
        self.symbol_counts: dict[int, int] = Counter()
        self.where: dict[IdPair, list[int]] = defaultdict(list)
        for index, (word, count) in enumerate(zip(self.words, self.counts)):
            for symbol in word:
                self.symbol_counts[symbol] += count
            for pair in zip(word, word[1:]):
                self.pair_counts[pair] += count
                self.where[pair].append(index)

    def merge(self, pair: IdPair, new: int) -> set[IdPair]:
        """Join `pair` to `new` in every word that has it.

        Returns the pairs that occur more often now.
        """
        grown: set[IdPair] = set()
        merged = 0
        for index in self.where.pop(pair):
            # The index may be out of date, or name a word twice: then the word has no
            # such pair, and nothing happens.
            merged += self._merge_in(index, pair, new, grown) * self.counts[index]
        self.pair_counts.pop(pair)
        self.symbol_counts[pair[0]] -= merged
        self.symbol_counts[pair[1]] -= merged
        self.symbol_counts[new] += merged
        return grown

    def _merge_in(self, index: int, pair: IdPair, new: int, grown: set[IdPair]) -> int:
        """Join the pair in one word, keep the counts right, and return how often it was
        joined.
        """
        word, count, pair_counts, where = (
            self.words[index],
            self.counts[index],
            self.pair_counts,
            self.where,
        )
        left, right = pair
        i, before_merging = 0, len(word)
        while (i := _find(word, left, i)) >= 0 and i + 1 < len(word):
            if word[i + 1] != right:
                i += 1
                continue
            word[i : i + 2] = [new]
            if i > 0:
                before = word[i - 1]
                pair_counts[before, left] -= count
                pair_counts[before, new] += count
                where[before, new].append(index)
                grown.add((before, new))
            i += 1
            if i < len(word):
                after = word[i]
                pair_counts[right, after] -= count
                pair_counts[new, after] += count
                where[new, after].append(index)
                grown.add((new, after))
        return before_merging - len(word)


def _find(word: list[int], symbol: int, start: int) -> int:
    """The first place of `symbol` in `word` from `start` on, or -1."""
    try:
        return word.index(symbol, start)
    except ValueError:
        return -1
