"""Unigram: every piece has a probability, and a word is cut so that the product of its
pieces is the largest.

Kudo 2018, "Subword Regularization", section 3.2; the model of SentencePiece, and of T5,
ALBERT and XLNet. A word has many cuts. They form a lattice: its nodes are the places
between characters, its edges the pieces of the vocabulary that stand there. A path from
start to end is a cut, and its score is the sum of the log probabilities on the way.

    best path                Viterbi: for each node the best way to reach it
    n best paths             A*: Viterbi's scores say exactly how good the rest of a
                             path can be
    a random path            draw p(cut) ^ theta / sum, backwards, from the sums over
                             all ways to each node
    expected piece counts    forward and backward sums (the E step of training,
                             `unigram_training.py`)

A character without a piece gets an unknown edge, ten below the worst score, so that it
is used only where it must be.

But:
- Scores are added in float64. `sentencepiece` adds in float32, so among nearly equal
  cuts it may choose another.
- `tokenizers` raises a sample's partial sums to theta again at each node; here the
  drawn probability is exactly proportional to p ^ theta, as in the paper.
"""

import heapq
import math
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reference_impl.tokenizers.vocabulary import Piece, TokenizerError, Vocabulary

UNKNOWN_PENALTY = 10.0


class Edge(NamedTuple):
    """A piece that may stand between two places of a word."""

    id: int
    start: int
    end: int
    score: float


class Unigram:
    """Pieces with their log probabilities.

    `unknown` is the token for characters without a piece.

    Without one, a word that can't be cut is an error.
    """

    def __init__(
        self,
        pieces: Iterable[tuple[str, float]],
        unknown: str | None = "<unk>",
        never_in_text: Iterable[str] = (),
    ):
        pieces = list(pieces)
        self.vocabulary = Vocabulary(token for token, _ in pieces)
        self.scores = [score for _, score in pieces]
        self.unknown_id = None if unknown is None else self.vocabulary.id(unknown)
        self._unknown_score = min(self.scores, default=0.0) - UNKNOWN_PENALTY
        # Control tokens such as </s> stand for no text, so no edge may carry them.
        hidden = {*never_in_text} | ({unknown} if unknown else set())
        self._id_of = {
            token: i
            for token, i in self.vocabulary.id_of.items()
            if token not in hidden
        }
        self._longest = max(map(len, self._id_of), default=1)

    def edges(self, word: str) -> list[list[Edge]]:
        """The lattice: entry i lists the edges that begin before character i, shortest
        first.
        """
        return [self._edges_from(word, start) for start in range(len(word))]

    def _edges_from(self, word: str, start: int) -> list[Edge]:
        found = [
            Edge(id, start, end, self.scores[id])
            for end in range(start + 1, min(len(word), start + self._longest) + 1)
            if (id := self._id_of.get(word[start:end])) is not None
        ]
        if self.unknown_id is not None and (not found or found[0].end > start + 1):
            found.insert(
                0, Edge(self.unknown_id, start, start + 1, self._unknown_score)
            )
        return found

    def best(self, word: str) -> list[Edge]:
        """The best path (Viterbi).

        Of equally good ones, the one whose last piece is the longest.
        """
        scores, arrivals = _best_scores(self.edges(word))
        path, end = [], len(word)
        while end > 0:
            if arrivals[end] is None:
                raise TokenizerError(
                    f"{word!r} can't be cut into the {len(self.vocabulary)} pieces of"
                    " the vocabulary, which has no piece for unknown characters"
                )
            path.append(arrivals[end])
            end = arrivals[end].start
        return path[::-1]

    def tokenize(self, word: str) -> list[Piece]:
        """The tokens of the best path with their places.

        Neighbouring unknown characters become one unknown token.
        """
        return self.fuse_unknown(self.best(word))

    def fuse_unknown(self, path: Sequence[Edge]) -> list[Piece]:
        """A path as tokens, runs of unknown characters made one."""
        pieces: list[Piece] = []
        for edge in path:
            if (
                edge.id == self.unknown_id
                and pieces
                and pieces[-1].id == self.unknown_id
            ):
                pieces[-1] = Piece(edge.id, pieces[-1].start, edge.end)
            else:
                pieces.append(Piece(edge.id, edge.start, edge.end))
        return pieces

    def split(self, word: str) -> list[str]:
        """The best cut, as strings."""
        return [word[piece.start : piece.end] for piece in self.tokenize(word)]

    def n_best(self, word: str, n: int) -> list[tuple[list[str], float]]:
        """The n best cuts with their log probabilities, best first; fewer if there are
        not so many.
        """
        edges = self.edges(word)
        scores, _ = _best_scores(edges)
        arriving = _by_end(edges, len(word))
        # An entry: minus the best total that this ending allows, its place, its own
        # score, the pieces from there on.
        agenda: list[tuple[float, int, float, tuple[str, ...]]] = [
            (-scores[-1], len(word), 0.0, ())
        ]
        found = []
        while agenda and len(found) < n:
            _, place, score, pieces = heapq.heappop(agenda)
            if place == 0:
                found.append((list(pieces), score))
                continue
            for edge in arriving[place]:
                so_far = edge.score + score
                if scores[edge.start] > -math.inf:
                    entry = (
                        -(scores[edge.start] + so_far),
                        edge.start,
                        so_far,
                        (word[edge.start : place], *pieces),
                    )
                    heapq.heappush(agenda, entry)
        return found

    def sample(self, word: str, theta: float, rng: random.Random) -> list[str]:
        """A random cut, drawn with probability p ^ theta / Z.

        theta = 0: all cuts alike; large: nearly always the best.

        Kudo's subword regularisation: a model that sees a word cut in many ways learns
        what the pieces share.
        """
        edges = [
            [edge._replace(score=theta * edge.score) for edge in starting]
            for starting in self.edges(word)
        ]
        forward = _forward(edges)
        if forward[-1] == -math.inf:
            self.best(word)  # raises the error that says so
        arriving = _by_end(edges, len(word))
        pieces, place = [], len(word)
        while place > 0:
            weights = [
                math.exp(forward[edge.start] + edge.score - forward[place])
                for edge in arriving[place]
            ]
            edge = rng.choices(arriving[place], weights)[0]
            pieces.append(word[edge.start : edge.end])
            place = edge.start
        return pieces[::-1]

    def expected_counts(self, word: str) -> tuple[dict[int, float], float]:
        """How often each piece occurs in a cut of the word, on average over all cuts,
        and log p(word).
        """
        edges = self.edges(word)
        forward, backward = _forward(edges), _backward(edges)
        total = forward[-1]
        counts: dict[int, float] = {}
        for edge in (edge for starting in edges for edge in starting):
            through = math.exp(
                forward[edge.start] + edge.score + backward[edge.end] - total
            )
            counts[edge.id] = counts.get(edge.id, 0.0) + through
        return counts, total

    def decode(self, ids: Sequence[int]) -> str:
        """The pieces of the ids, joined without anything between."""
        return "".join(map(self.vocabulary.token, ids))


def _best_scores(edges: list[list[Edge]]) -> tuple[list[float], list[Edge | None]]:
    """For each place the best score with which it can be reached, and the last edge on
    that way.
    """
    scores = [0.0] + [-math.inf] * len(edges)
    arrivals: list[Edge | None] = [None] * len(scores)
    for starting in edges:
        for edge in starting:
            score = scores[edge.start] + edge.score
            if score > scores[edge.end]:
                scores[edge.end], arrivals[edge.end] = score, edge
    return scores, arrivals


def _by_end(edges: list[list[Edge]], length: int) -> list[list[Edge]]:
    arriving: list[list[Edge]] = [[] for _ in range(length + 1)]
    for edge in (edge for starting in edges for edge in starting):
        arriving[edge.end].append(edge)
    return arriving


def _forward(edges: list[list[Edge]]) -> list[float]:
    """The log of the summed probability of all ways from the start to each place."""
    arriving = _by_end(edges, len(edges))
    sums = [0.0]
    for place in range(1, len(edges) + 1):
        sums.append(
            log_sum_exp([sums[edge.start] + edge.score for edge in arriving[place]])
        )
    return sums


def _backward(edges: list[list[Edge]]) -> list[float]:
    """The log of the summed probability of all ways from each place to the end."""
    sums = [-math.inf] * len(edges) + [0.0]
    for place in range(len(edges) - 1, -1, -1):
        sums[place] = log_sum_exp(
            [edge.score + sums[edge.end] for edge in edges[place]]
        )
    return sums


def log_sum_exp(values: Sequence[float]) -> float:
    """log(sum(exp(values))) without overflow; minus infinity for no values."""
    largest = max(values, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(sum(math.exp(value - largest) for value in values))
