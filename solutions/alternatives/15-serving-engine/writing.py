"""Differently written tests of chapter 15, part 4."""

import itertools
import math
import random

import numpy as np

from autograder.checks.mistakes.registry import alternative


@alternative("15.test_load", "numpy-as-oracle")
def _(report):
    chance = np.random.default_rng(7)
    for number, failing in itertools.product(
        (1, 2, 3, 7, 19, 21, 25, 33, 41, 47, 58, 60), (0.0, 0.2, 1.0)
    ):
        warm = 6
        due = np.concatenate(
            (chance.permutation(40)[:warm], [50], 51 + chance.permutation(100)[: number - 1])
        ).astype(float)
        sent = due + chance.integers(10, 300, len(due)) / 8
        first = sent + chance.integers(1, 100, len(due)) / 8
        tokens = chance.choice([1, 2, 3, 9, 30], len(due))
        last = first + (tokens - 1) * chance.integers(1, 9, len(due)) / 4
        dead = chance.random(len(due)) < failing
        log = [
            {
                "due": float(a),
                "sent": float(b),
                "first": None if f else float(c),
                "last": None if f else float(d),
                "tokens": 0 if f else int(e),
                "places": int(e) + 11,
            }
            for a, b, c, d, e, f in zip(due, sent, first, last, tokens, dead)
        ]
        chance.shuffle(log)
        came = report(log, 50.0)
        counts = due >= 50
        times = np.sort(np.where(dead, np.inf, first - due)[counts])
        alive = counts & ~dead
        long = alive & (tokens > 1)
        assert (
            abs(
                came["per_token"]
                - (((last - first)[long] / (tokens[long] - 1)).mean() if long.any() else 0)
            )
            < 1e-6
        )
        assert np.isclose(
            came["per_second"],
            tokens[alive].sum() / (last[alive].max() - due[counts].min()) if alive.any() else 0,
            rtol=1e-7,
        )
        wanted = times[int(np.ceil(np.round(0.95 * number, 6))) - 1]
        assert came["first_p95"] == wanted or abs(came["first_p95"] - wanted) < 1e-6


@alternative("15.test_load", "built-by-hand")
def _(report):
    draw = random.Random(11)
    for number in [*range(1, 24), 37, 40, 41, 55, 60]:
        for dead in ((), (0,), (number - 1, number // 2), tuple(range(number))):
            log, times, per, total, last = [], [], [], 0, None
            for i in range(number):
                wait, think, tokens, gap = (
                    draw.randint(9, 99) / 8,
                    draw.randint(1, 99) / 8,
                    draw.choice((1, 2, 4, 8, 16)),
                    draw.randint(1, 9) / 8,
                )
                due = 30.0 + (0 if i == 0 else i / 2)
                if i in dead:
                    log.append(
                        dict(due=due, sent=due + wait, first=None, last=None, tokens=0, places=7)
                    )
                    times.append(float("inf"))
                    continue
                first = due + wait + think
                end = first + gap * (tokens - 1)
                log.append(
                    dict(
                        due=due,
                        sent=due + wait,
                        first=first,
                        last=end,
                        tokens=tokens,
                        places=tokens + 9,
                    )
                )
                times.append(wait + think)
                if tokens > 1:
                    per.append(gap)
                total, last = total + tokens, end if last is None else max(last, end)
            for i in range(4):
                log.insert(
                    0,
                    dict(
                        due=29.0 - i,
                        sent=33.0,
                        first=90.0 + i,
                        last=99.0 + 5 * i,
                        tokens=6,
                        places=30,
                    ),
                )
            times.sort()
            place = number - number // 20
            found = report(log, 30.0)
            assert math.isclose(found["first_p95"], times[place - 1], rel_tol=1e-6)
            assert math.isclose(
                found["per_token"], sum(per) / len(per) if per else 0.0, rel_tol=1e-6, abs_tol=1e-9
            )
            assert math.isclose(
                found["per_second"],
                total / (last - 30.0) if total else 0.0,
                rel_tol=1e-6,
                abs_tol=1e-9,
            )
