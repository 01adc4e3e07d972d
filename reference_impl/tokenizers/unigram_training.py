"""Training a unigram model: start with far too many pieces, weigh them by EM, throw out
the least useful, repeat.

Kudo 2018, section 3.2, with the details of SentencePiece's trainer, which `tokenizers`
follows:

1. Seeds: all characters, and every substring that goes on in at least two ways. (One
   that is always followed by the same character is no use: the longer substring serves
   as well.) Weight: occurrences in different words x length.
2. Twice: E step, expected count of each piece over all cuts of all words; M step, new
   probabilities. The M step takes exp(digamma(count)) for count, which pulls rare
   pieces down, and drops those expected less than half a time.
3. Prune: how much likelihood would be lost if a piece were replaced by its own best
   cut? Keep the best three quarters. Pieces without another cut stay. Back to 2, until
   1.1 times the wanted size is reached; then keep the best.

All lattices of all words are one set of arrays here: an edge is (from place, to place,
piece), and a step of the forward, backward or Viterbi pass handles all edges that end
at the k-th place of any word. `Unigram.expected_counts` is the same for one word in
plain Python; a test holds them equal.

But:
- Text is counted by words, as the pre-tokenizer cuts them. SentencePiece counts whole
  sentences.
- Seeds and EM give what `tokenizers` gives, to eight places. After pruning, a few
  pieces in a hundred are others; the likelihood of the text is the same within half a
  percent.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import digamma

from reference_impl.tokenizers.unigram import UNKNOWN_PENALTY, Unigram
from reference_impl.tokenizers.vocabulary import TokenizerError

Scored = dict[str, float]
"""Pieces with their log probabilities, in the order in which they are kept."""

NUM_CODES = 0x110001
"""Unicode's code points, and one more that stands for the end of a word."""


def train_unigram(
    word_counts: Mapping[str, int],
    vocab_size: int,
    specials: Sequence[str] = (),
    unknown: str = "<unk>",
    max_piece_length: int = 16,
    shrinking: float = 0.75,
    em_steps: int = 2,
    max_seeds: int = 1_000_000,
) -> Unigram:
    """Learn a model of at most `vocab_size` pieces from words with their counts.

    The vocabulary is: `specials`, `unknown` if it is not among them, then the pieces by
    falling score. Every character of the words is a piece. Raises TokenizerError if
    `vocab_size` has no room for them, or without words.
    """
    words = {word: count for word, count in word_counts.items() if word and count > 0}
    characters = {character for word in words for character in word}
    if not words:
        raise TokenizerError(
            "there are no words to train on: a unigram model needs at least one"
        )
    specials = [*specials] if unknown in specials else [*specials, unknown]
    room = vocab_size - len(specials)
    if room < len(characters):
        raise TokenizerError(
            f"vocab_size is {vocab_size}, but {len(specials)} special tokens,"
            f" {unknown!r} among them, and {len(characters)} characters need"
            f" {len(specials) + len(characters)}"
        )
    substrings = Substrings(words, max_piece_length)
    pieces = seed_pieces(substrings, max_seeds)
    # As in `tokenizers`, whose sizes count the unknown token and not the specials.
    wanted = (room + 1) * 11 // 10
    lattice = Lattice(substrings, pieces)
    while True:
        for _ in range(em_steps):
            expected = lattice.expected_counts(list(pieces.values()))
            kept = m_step(dict(zip(pieces, expected)))
            lattice.keep_only([i for i, piece in enumerate(pieces) if piece in kept])
            pieces = kept
        if len(pieces) + 1 <= wanted:
            return _finish(pieces, characters, room, specials, unknown)
        size = max(wanted, int((len(pieces) + 1) * shrinking)) - 1
        kept = prune(lattice, pieces, size)
        index = {piece: i for i, piece in enumerate(pieces)}
        lattice.keep_only([index[piece] for piece in kept])
        pieces = kept


def _finish(
    pieces: Scored,
    characters: set[str],
    room: int,
    specials: Sequence[str],
    unknown: str,
) -> Unigram:
    # A character that EM dropped comes back with the lowest score, plus a little so
    # that no two are the same.
    lowest = min(pieces.values())
    missing = sorted(characters - pieces.keys())
    chosen = {c: pieces[c] for c in pieces if c in characters}
    chosen |= {c: lowest + 0.0001 * i for i, c in enumerate(missing)}
    others = (piece for piece in pieces if piece not in characters)
    chosen |= {
        piece: pieces[piece] for piece, _ in zip(others, range(room - len(chosen)))
    }
    ranked = sorted(chosen.items(), key=lambda scored: (-scored[1], scored[0]))
    return Unigram(
        [*((special, 0.0) for special in specials), *ranked], unknown, specials
    )


class Substrings:
    """Every substring of the words, of at most `longest` characters: where it stands,
    and a number for its text.

    A word of n characters has n + 1 places, and the places of all words are numbered
    through.
    """

    def __init__(self, words: Mapping[str, int], longest: int):
        lengths = np.array([len(word) for word in words], dtype=np.int64)  # (W,)
        self.counts = np.array(list(words.values()), dtype=np.float64)  # (W,)
        self.last = np.cumsum(lengths + 1) - 1  # (W,)
        self.first = self.last - lengths  # (W,)
        spans = [_span_array(length, longest) for length in lengths.tolist()]
        self.word = np.repeat(
            np.arange(len(lengths)),
            np.array([len(one) for one in spans], dtype=np.int64),
        )
        places = (
            np.concatenate([np.zeros((0, 2), dtype=np.int64), *spans])
            + self.first[self.word, None]
        )
        self.source, self.target = places.T  # (S,), (S,)
        self.number_of: dict[str, int] = defaultdict(itertools.count().__next__)
        numbers: list[int] = []
        for word in words:
            numbers += map(
                self.number_of.__getitem__,
                map(word.__getitem__, _slices(len(word), longest)),
            )
        self.number = np.array(numbers, dtype=np.int64)  # (S,)
        self.codes = np.full(
            len(lengths) + lengths.sum(), NUM_CODES - 1
        )  # the character at each place
        self.codes[np.delete(np.arange(len(self.codes)), self.last)] = [
            ord(c) for word in words for c in word
        ]


def seed_pieces(substrings: Substrings, max_seeds: int) -> Scored:
    """The pieces to start with.

    Substrings are counted once a different word, characters as often as they occur.
    """
    names, number = list(substrings.number_of), substrings.number
    occurrences = np.bincount(number).tolist()
    counts = np.bincount(number, substrings.counts[substrings.word]).tolist()
    follower = substrings.codes[substrings.target]  # (S,)
    one, several = (
        np.empty(len(names), dtype=np.int64),
        np.zeros(len(names), dtype=bool),
    )
    one[number] = (
        follower  # of each substring's followers any one; then: is there another?
    )
    several[number[follower != one[number]]] = True
    goes_on = several.tolist()
    characters = [
        (int(counts[i]), name) for i, name in enumerate(names) if len(name) == 1
    ]
    longer = [
        (occurrences[i] * len(name), name)
        for i, name in enumerate(names)
        if goes_on[i] and len(name) > 1
    ]
    weights = [
        *sorted(characters, reverse=True),
        *sorted(longer, reverse=True)[: max_seeds - len(characters)],
    ]
    log_total = math.log(sum(weight for weight, _ in weights))
    return {piece: math.log(weight) - log_total for weight, piece in weights}


def m_step(expected: Mapping[str, float]) -> Scored:
    """New log probabilities from expected counts.

    Pieces expected less than half a time are dropped.
    """
    kept = {piece: count for piece, count in expected.items() if count >= 0.5}
    log_total = digamma(sum(kept.values()))
    return {
        piece: float(score)
        for piece, score in zip(kept, digamma(list(kept.values())) - log_total)
    }


def prune(lattice: "Lattice", pieces: Scored, size: int) -> Scored:
    """Drop the pieces whose absence costs the least likelihood, until `size` are left.

    Characters always stay.
    """
    losses = removal_losses(lattice, pieces)
    characters = [piece for piece in pieces if len(piece) == 1]
    ranked = sorted(losses, key=losses.get, reverse=True)
    return {
        piece: pieces[piece]
        for piece in characters + ranked[: max(0, size - len(characters))]
    }


def removal_losses(lattice: "Lattice", pieces: Scored) -> dict[str, float]:
    """How much log likelihood each piece is worth.

    A piece that no best cut uses is worth nothing and is left out.

    Estimated: all uses of the piece go to the pieces of its own next best cut, and
    nothing else changes.
    """
    names, scores = list(pieces), list(pieces.values())
    used = lattice.best_counts(scores)
    candidates = [i for i, name in enumerate(names) if len(name) > 1 and used[i] > 0]
    inner = Lattice(
        Substrings({names[i]: 1 for i in candidates}, lattice.longest),
        pieces,
        whole_words=False,
    )
    best = inner.best_edges(scores)
    own, part = (
        np.array(candidates, dtype=np.int64)[inner.word[best]],
        inner.piece[best],
    )
    num_parts = np.bincount(own, minlength=len(used))
    log_total_after = np.log(used.sum() + used * (num_parts - 1))
    after = np.bincount(
        own, np.log(used[part] + used[own]) - log_total_after[own], len(used)
    )
    return {
        names[i]: used[i] * (math.log(used[i] / used.sum()) - after[i])
        for i in candidates
    }


class Lattice:
    """The lattices of many words as arrays: of all substrings, those that are pieces.

    E edges: `source`, `target` (places), `piece` (index into the pieces; their number
    itself for an unknown character), `word`. `whole_words=False` leaves out the piece
    that is the whole word.
    """

    def __init__(
        self,
        substrings: Substrings,
        pieces: Mapping[str, float],
        whole_words: bool = True,
    ):
        self.first, self.last, self.counts = (
            substrings.first,
            substrings.last,
            substrings.counts,
        )  # (W,) each
        self.num_pieces = len(pieces)
        self.longest = max(map(len, pieces))
        index = {piece: i for i, piece in enumerate(pieces)}
        piece = np.array(
            [index.get(text, -1) for text in substrings.number_of], dtype=np.int64
        )[substrings.number]
        source, target, word = substrings.source, substrings.target, substrings.word
        piece[(piece < 0) & (target == source + 1)] = self.num_pieces
        edge = piece >= 0
        if not whole_words:
            edge &= (source > self.first[word]) | (target < self.last[word])
        self.piece, self.word = piece[edge], word[edge]  # (E,), (E,)
        self.source, self.target = source[edge], target[edge]  # (E,), (E,)
        # A pass forward takes all edges that end at the first place of their word, then
        # the second, and so on.
        begin = self.first[self.word]
        self._forward = np.lexsort((self.source, self.target, self.target - begin))
        self._backward = np.lexsort((self.target, self.source, begin - self.source))

    def keep_only(self, kept: Sequence[int]) -> None:
        """Keep the pieces with these indices, in this order.

        A character whose piece goes becomes unknown.
        """
        renumbered = np.full(self.num_pieces + 1, -1)
        renumbered[list(kept)] = np.arange(len(kept))
        self.num_pieces = renumbered[-1] = len(kept)
        piece = renumbered[self.piece]
        piece[(piece < 0) & (self.target == self.source + 1)] = self.num_pieces
        stays = piece >= 0
        moved = np.cumsum(stays) - 1
        self._forward = moved[self._forward[stays[self._forward]]]
        self._backward = moved[self._backward[stays[self._backward]]]
        self.piece, self.word = piece[stays], self.word[stays]
        self.source, self.target = self.source[stays], self.target[stays]

    def _edge_scores(self, scores: Sequence[float]) -> Float[np.ndarray, "E"]:
        return np.append(scores, min(scores) - UNKNOWN_PENALTY)[self.piece]

    def _steps(
        self, order: np.ndarray, at: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """A pass, step by step: edges sorted by the place `at`, where each place begins
        in them, and the places.
        """
        places = at[order]
        depths = places - self.first[self.word[order]]
        begins = np.flatnonzero(np.diff(depths, prepend=-1))
        for begin, end in zip(begins, [*begins[1:], len(order)]):
            bounds = np.flatnonzero(np.diff(places[begin:end], prepend=-1))
            yield order[begin:end], bounds, places[begin:end][bounds]

    def expected_counts(self, scores: Sequence[float]) -> Float[np.ndarray, "P"]:
        """E step: how often each piece is used, over all cuts of all words."""
        edge_scores = self._edge_scores(scores)
        forward, backward = np.full((2, self.last[-1] + 1), -np.inf)
        forward[self.first] = backward[self.last] = 0.0
        for edges, bounds, places in self._steps(self._forward, self.target):
            forward[places] = _log_sums(
                forward[self.source[edges]] + edge_scores[edges], bounds
            )
        for edges, bounds, places in self._steps(self._backward, self.source):
            backward[places] = _log_sums(
                backward[self.target[edges]] + edge_scores[edges], bounds
            )
        log_p_word = forward[self.last]
        through = np.exp(
            forward[self.source]
            + edge_scores
            + backward[self.target]
            - log_p_word[self.word]
        )
        return np.bincount(
            self.piece, through * self.counts[self.word], self.num_pieces + 1
        )[:-1]

    def best_edges(self, scores: Sequence[float]) -> Int[np.ndarray, "K"]:
        """The edges of the best cut of every word (Viterbi), in no particular order."""
        edge_scores = self._edge_scores(scores)
        best = np.full(self.last[-1] + 1 if len(self.last) else 0, -np.inf)
        arrival = np.full(len(best), -1)
        best[self.first] = 0.0
        for edges, bounds, places in self._steps(self._forward, self.target):
            values = best[self.source[edges]] + edge_scores[edges]
            highest = np.maximum.reduceat(values, bounds)
            best[places] = highest
            lengths = np.diff(np.append(bounds, len(edges)))
            winners = np.flatnonzero(values == np.repeat(highest, lengths))[::-1]
            arrival[self.target[edges[winners]]] = edges[
                winners
            ]  # reversed: of equals the longest stays
        path, places = [np.array([], dtype=np.int64)], self.last
        while len(places := places[arrival[places] >= 0]):
            path.append(arrival[places])
            places = self.source[path[-1]]
        return np.concatenate(path)

    def best_counts(
        self, scores: Sequence[float]
    ) -> Float[np.ndarray, "P_and_unknown"]:
        """How often each piece, and after them the unknown character, is used in the
        best cuts.
        """
        edges = self.best_edges(scores)
        return np.bincount(
            self.piece[edges], self.counts[self.word[edges]], self.num_pieces + 1
        )


@functools.lru_cache(maxsize=4096)
def _slices(length: int, longest: int) -> list[slice]:
    """Every substring of at most `longest` characters of a word of `length`."""
    return [
        slice(start, end)
        for start in range(length)
        for end in range(start + 1, min(length, start + longest) + 1)
    ]


@functools.lru_cache(maxsize=4096)
def _span_array(length: int, longest: int) -> Int[np.ndarray, "S 2"]:
    return np.array(
        [(one.start, one.stop) for one in _slices(length, longest)], dtype=np.int64
    ).reshape(-1, 2)


def _log_sums(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """log(sum(exp)) of the runs of `values` that begin at `bounds`."""
    largest = np.maximum.reduceat(values, bounds)
    lengths = np.diff(np.append(bounds, len(values)))
    return largest + np.log(
        np.add.reduceat(np.exp(values - np.repeat(largest, lengths)), bounds)
    )
