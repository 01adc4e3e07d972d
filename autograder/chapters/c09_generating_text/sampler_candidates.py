"""Samplers that a student's test must tell apart (exercise 09.test_sampler).

Each takes probabilities and n, and returns counts. `honest` makes right ones, each with chance of
its own; WRONG holds those that break a promise of the card, by kind. A student never sees this.
"""

from collections.abc import Callable

import numpy as np

Sampler = Callable[[list[float], int], list[int]]


def checked(probabilities: list[float], n: int) -> np.ndarray:
    """The probabilities as an array; ValueError for what the exercise rules out."""
    p = np.asarray(probabilities, dtype=np.float64)
    if (
        type(probabilities) is not list
        or p.ndim != 1
        or not 2 <= len(p) <= 20
        or (p < 0).any()
        or abs(p.sum() - 1) > 1e-6
    ):
        raise ValueError("a list of 2 to 20 probabilities is needed that add up to 1")
    if type(n) is not int or not 1 <= n <= 20_000:
        raise ValueError("n is an int from 1 to 20,000")
    return p / p.sum()


def honest(seed: int, inverted: bool = False) -> Sampler:
    """A right one with chance of its own; inverted: draw by draw, from the sums of the
    probabilities.
    """
    chance = np.random.default_rng(seed)

    def sampler(probabilities: list[float], n: int) -> list[int]:
        p = checked(probabilities, n)
        if not inverted:
            return chance.multinomial(n, p).tolist()
        last = int(np.nonzero(p)[0][-1])
        return np.bincount(
            np.searchsorted(p.cumsum(), chance.random(n), side="right").clip(max=last),
            minlength=len(p),
        ).tolist()

    return sampler


def bent(change: Callable[[np.ndarray], np.ndarray], seed: int) -> Sampler:
    """Draws from other probabilities than it was given."""
    chance = np.random.default_rng(seed)

    def sampler(probabilities: list[float], n: int) -> list[int]:
        p = change(checked(probabilities, n).copy())
        return chance.multinomial(n, p / p.sum()).tolist()

    return sampler


def moved(rank: int, way: int, seed: int) -> Sampler:
    """The token of this rank by its probability comes too often (way 1) or too rarely (-1), by five
    in a hundred draws; the others share the difference, each with so little of it that it alone
    would hardly show. Of large n forty times as many are drawn: it is always off by more than five
    in a hundred, as the card promises.
    """
    chance = np.random.default_rng(seed)

    def sampler(probabilities: list[float], n: int) -> list[int]:
        p = checked(probabilities, n)
        place = np.argsort(-p)[min(rank, int((p > 0).sum()) - 1)]
        others = np.sqrt(p * (1 - p)) * (np.arange(len(p)) != place)
        if not others.any():
            return chance.multinomial(n, p).tolist()
        step = 0.053 * (way if p[place] > 0.06 else 1)
        q = p - step * others / others.sum()
        q[place] = p[place] + step
        q = q.clip(min=0) / q.clip(min=0).sum()
        counts = chance.multinomial(n, q, size=40 if n >= 5000 else 1)  # (40, V)
        off = abs(counts - n * p)
        enough = off[:, place] >= min(0.0505 * n, off[:, place].max())
        return counts[
            np.where(
                enough, (off * (others > 0) / np.maximum(others, 1e-9)).max(1), np.inf
            ).argmin()
        ].tolist()

    return sampler


def after(change: Callable[[list[int]], list[int]], seed: int) -> Sampler:
    """Draws rightly and changes the counts."""
    draw = honest(seed)
    return lambda probabilities, n: change(draw(probabilities, n))


def without(place: int) -> Callable[[np.ndarray], np.ndarray]:
    """The token at this place never comes, unless it is the only one that can."""

    def change(p: np.ndarray) -> np.ndarray:
        if p[place] < 1:
            p[place] = 0
        return p

    return change


def exchanged(p: np.ndarray) -> np.ndarray:
    """The second and the first token change places."""
    p[[0, 1]] = p[[1, 0]]
    return p


def one_less(counts: list[int]) -> list[int]:
    """A draw of the token that came most is lost."""
    return [count - (place == counts.index(max(counts))) for place, count in enumerate(counts)]


def one_more(counts: list[int]) -> list[int]:
    """The last token is counted once more."""
    return [*counts[:-1], counts[-1] + 1]


def dealt(probabilities: list[float], n: int) -> list[int]:
    """No chance at all: n p, rounded so that the sum is n."""
    sums = np.round(checked(probabilities, n).cumsum() * n).astype(int)
    return np.diff(sums, prepend=0).tolist()


def nearly(seed: int) -> Sampler:
    """As `dealt`, and then at most one draw moves from one token to another."""
    chance = np.random.default_rng(seed)

    def sampler(probabilities: list[float], n: int) -> list[int]:
        counts = dealt(probabilities, n)
        there = [place for place, count in enumerate(counts) if count]
        if len(there) > 1:
            one, other = chance.choice(there, 2, replace=False)
            counts[one], counts[other] = counts[one] - 1, counts[other] + 1
        return counts

    return sampler


def nailed(seed: int) -> Sampler:
    """The first count is n p each time, as nearly as it can be, and the others are chance."""
    chance = np.random.default_rng(seed)

    def sampler(probabilities: list[float], n: int) -> list[int]:
        p = checked(probabilities, n)
        first, rest = round(n * p[0]), p[1:].sum()
        return (
            [
                first,
                *(
                    chance.multinomial(n - first, p[1:] / rest)
                    if rest and first < n
                    else np.zeros(len(p) - 1, dtype=int)
                ).tolist(),
            ]
            if rest
            else [n, *[0] * (len(p) - 1)]
        )

    return sampler


def frozen(probabilities: list[float], n: int) -> list[int]:
    """Begins with the same seed in each call."""
    return np.random.default_rng(0).multinomial(n, checked(probabilities, n)).tolist()


def clumped(seed: int) -> Sampler:
    """One random number for all draws of a call."""
    chance = np.random.default_rng(seed)
    return lambda probabilities, n: (chance.multinomial(1, checked(probabilities, n)) * n).tolist()


def wrong(seed: int) -> dict[str, list[Sampler]]:
    """The wrong ones by kind, with chance from this seed."""
    return {
        "shares": [
            bent(lambda p: (p == p.max()) * 1.0, seed),
            bent(np.ones_like, seed),
            bent(lambda p: (p > 0) * 1.0, seed),
            bent(np.square, seed),
            bent(np.sqrt, seed),
            *(moved(rank, way, seed) for rank in (0, 1, 3) for way in (1, -1)),
        ],
        "places": [
            bent(without(-1), seed),
            bent(without(0), seed),
            bent(lambda p: np.roll(p, 1), seed),
            bent(lambda p: np.roll(p, -1), seed),
            bent(lambda p: p[::-1].copy(), seed),
            bent(exchanged, seed),
            bent(lambda p: p + 0.02, seed),
            bent(np.sort, seed),
        ],
        "total": [
            after(one_less, seed),
            after(one_more, seed),
            after(lambda counts: [*counts, 0], seed),
            after(lambda counts: [*counts[:-2], counts[-2] + counts[-1]], seed),
            after(lambda counts: counts[:-1] + [counts[-1] + 1, 0], seed),
        ],
        "spread": [dealt, nearly(seed), nailed(seed), frozen, clumped(seed)],
    }


PROBES = {
    "Your test accepts a sampler that returns nothing but zeros.": lambda probabilities, n: (
        [0] * len(probabilities)
    ),
    "Your test accepts a sampler that returns an empty list.": lambda probabilities, n: [],
    (
        "Your test accepts a sampler whose draws are all the first token, whatever the "
        "probabilities are."
    ): lambda probabilities, n: [n] + [0] * (len(probabilities) - 1),
}
