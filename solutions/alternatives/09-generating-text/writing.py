"""Differently written correct solutions of chapter 9: a test of samplers."""

import math
import statistics

from autograder.checks.mistakes.registry import alternative


@alternative("09.test_sampler", "shares-and-kinds-of-spread")
def _(sampler):
    n = 12_000
    for turn in range(5):
        p = [0.05, 0.35, 0.0, 0.45, 0.15]
        p = p[turn:] + p[:turn]
        counts = sampler(p, n)
        assert type(counts) is list and len(counts) == 5, "not as many counts as tokens"
        assert sum(counts) == n, "a draw is lost"
        assert counts[p.index(0.0)] == 0, "drawn, though it cannot come"
        assert max(abs(count / n - share) for count, share in zip(counts, p)) < 0.032, (
            "another share"
        )
    halves = [sampler([0.5, 0.5], 400) for _ in range(25)]
    spread = statistics.pstdev(one for one, _ in halves)
    assert 3.5 < spread < 22, "another spread"


@alternative("09.test_sampler", "chi-squared")
def _(sampler):
    for p in ([0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.1, 0.2]):
        counts = sampler([*p, 0.0], 20_000)
        assert len(counts) == 5 and sum(counts) == 20_000 and counts[4] == 0
        assert (
            sum((count - 20_000 * share) ** 2 / (20_000 * share) for count, share in zip(counts, p))
            < 45
        )
    scores = [(sampler([0.3, 0.7], 1000)[0] - 300) / math.sqrt(210) for _ in range(30)]
    assert 5 < sum((one - sum(scores) / 30) ** 2 for one in scores) < 100
