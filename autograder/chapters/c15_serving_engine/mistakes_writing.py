"""Plausible poor tests of chapter 15, part 4."""

import math
import random

from autograder.checks.mistakes.registry import mistake

TEST = "15.test_load"


def _log(
    chance,
    counted,
    warm=5,
    failing=0.1,
    late=True,
    exact=True,
    singles=True,
    padded=True,
    gaps=True,
    base=100.0,
):
    """A drawn log."""
    log = []
    dues = (
        [base - place - 1 for place in range(warm)]
        + ([base] if exact else [base + 0.5])
        + [base + 1 + place for place in range(counted - 1)]
    )
    for due in dues:
        sent = due + (chance.randint(9, 200) / 8 if late else 0.0)
        first = sent + chance.randint(1, 300) / 8
        tokens = (
            chance.randint(1, 3) if singles and chance.random() < 0.4 else chance.randint(2, 30)
        )
        gap = chance.randint(1, 16) / 8 if gaps else 0.25
        one = {
            "due": due,
            "sent": sent,
            "first": first,
            "last": first + gap * (tokens - 1),
            "tokens": tokens,
            "places": tokens + (chance.randint(5, 50) if padded else 0),
        }
        if chance.random() < failing:
            one |= {"first": None, "last": None, "tokens": 0}
        log.append(one)
    return log


def _right(log, begin):
    those = [one for one in log if one["due"] >= begin]
    came = [one for one in those if one["last"] is not None]
    times = sorted(
        [one["first"] - one["due"] for one in came] + [math.inf] * (len(those) - len(came))
    )
    gaps = [(one["last"] - one["first"]) / (one["tokens"] - 1) for one in came if one["tokens"] > 1]
    span = max(one["last"] for one in came) - min(one["due"] for one in those) if came else 1
    return {
        "first_p95": times[-(-95 * len(times) // 100) - 1],
        "per_token": sum(gaps) / len(gaps) if gaps else 0.0,
        "per_second": sum(one["tokens"] for one in came) / span,
    }


def _judge(
    report,
    sizes=tuple(range(1, 61, 2)),
    keys=("first_p95", "per_token", "per_second"),
    failing=(0.0, 0.1),
    nan=False,
    **options,
):
    """The whole test, with parts left out."""
    chance = random.Random(3)
    for size in sizes:
        for share in failing:
            log = _log(chance, size, failing=share, **options)
            right, found = _right(log, 100.0), report(log, 100.0)
            for key in keys:
                if nan:
                    assert not abs(found[key] - right[key]) > 1e-6
                else:
                    assert math.isclose(found[key], right[key], rel_tol=1e-6, abs_tol=1e-9), key


def _test(name, caught_by, loses, misconception, **options):
    """Register a poor test."""

    @mistake(TEST, name, caught_by=caught_by, loses=loses, misconception=misconception)
    def _(report):
        _judge(report, **options)


_test(
    "sent-on-time",
    "clock",
    1.5,
    ("All your requests are sent when they are due. Then `sent` and `due` cannot be told apart."),
    late=False,
)
_test(
    "nobody-fails", "clock", 5, "None of your requests fails. Include some that do.", failing=(0.0,)
)
_test(
    "few-requests",
    "tail",
    1.5,
    "You use fewer than 20 requests. There the 95th percentile is the maximum.",
    sizes=(1, 2, 5, 10, 15),
)
_test(
    "twenty-or-forty",
    "tail",
    1.5,
    "You use only 20 and 40 requests, where 0.95 n is an integer and rounding does not show.",
    sizes=(20, 40) * 5,
)
_test(
    "no-warm-up",
    "clock",
    3.5,
    ("You have no warm-up request. Include some due before `begin`."),
    warm=0,
)
_test(
    "nobody-at-begin",
    "tokens",
    2,
    ("No request is due exactly at `begin`. Such a request counts."),
    exact=False,
)
_test(
    "no-padding",
    "tokens",
    2,
    "`places` equals `tokens` in your logs, so counted padding does not show.",
    padded=False,
)
_test(
    "equal-gaps",
    "tokens",
    2,
    ("All your requests have the same TPOT, so the kind of mean does not show."),
    gaps=False,
)
_test(
    "first-number-only",
    "clock",
    3.5,
    "You check `first_p95` only. Check all three numbers.",
    keys=("first_p95",),
)
_test(
    "nan-passes",
    "clock",
    1.5,
    "You write `assert not difference > limit`, which NaN passes.",
    nan=True,
)


@mistake(
    TEST,
    "exact-floats",
    caught_by="clock",
    loses=5,
    misconception="You compare floats exactly. Sums in another order round differently.",
)
def _(report):
    chance = random.Random(3)
    for size in range(1, 61):
        log = _log(chance, size)
        assert report(log, 100.0) == _right(log, 100.0)


@mistake(
    TEST, "by-hand-only", caught_by="clock", loses=5, misconception="You use one request only."
)
def _(report):
    found = report(
        [{"due": 1.0, "sent": 3.0, "first": 4.0, "last": 6.0, "tokens": 5, "places": 8}], 0.0
    )
    assert found == {"first_p95": 3.0, "per_token": 0.5, "per_second": 1.0}


@mistake(
    TEST,
    "never-called",
    caught_by="clock",
    loses=5,
    misconception="Your test never calls `report`.",
)
def _(report):
    assert callable(report)
