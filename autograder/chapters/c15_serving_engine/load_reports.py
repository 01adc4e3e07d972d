"""Right and wrong reports of a load test, for which the students of chapter 15 write a test."""

import math
from collections.abc import Callable

import numpy as np

Report = Callable[[list[dict], float], dict[str, float]]
KEYS = {"due", "sent", "first", "last", "tokens", "places"}


def refuse(log: list[dict], begin: float) -> None:
    """Raise ValueError for what is not allowed."""
    if not isinstance(log, list) or not 1 <= len(log) <= 200:
        raise ValueError("a log is a list of 1 to 200 requests")
    for one in log:
        if not isinstance(one, dict) or not KEYS <= one.keys():
            raise ValueError(f"each request is a dictionary with {sorted(KEYS)}")
        due, sent, first, last, tokens = (
            one["due"],
            one["sent"],
            one["first"],
            one["last"],
            one["tokens"],
        )
        failed = first is None
        if (
            failed != (last is None)
            or failed != (tokens == 0)
            or not 0 <= tokens <= 1000
            or not tokens <= one["places"] <= 5000
        ):
            raise ValueError(
                "a failed request has no first, last or tokens; positions are at least tokens"
            )
        for time in (due, sent) if failed else (due, sent, first, last):
            if not 0 <= time <= 10_000 or time * 8 % 1:
                raise ValueError("times are multiples of 1/8 from 0 to 10,000")
        if (
            due > sent
            or not failed
            and not (sent < first and (first < last if tokens > 1 else first == last))
        ):
            raise ValueError("due, sent, first and last follow each other")
    if not any(one["due"] >= begin for one in log):
        raise ValueError("nothing is due at begin or later")


def making(
    *,
    start: str = "due",
    since: str = "due",
    chosen: str = "due",
    tail: str = "right",
    failed: str = "inf",
    gap: str = "right",
    counted: str = "tokens",
    warm: tuple[str, ...] = (),
    strict: bool = False,
    when: Callable = lambda log: True,
) -> Report:
    """A report; what is left out is right. when: where it is wrong at all."""

    def report(log: list[dict], begin: float) -> dict[str, float]:
        refuse(log, begin)
        if not when(log):
            return right(log, begin)
        fit = [one for one in log if (one[chosen] > begin if strict else one[chosen] >= begin)] or [
            one for one in log if one["due"] >= begin
        ]
        these = {
            name: log if name in warm else fit for name in ("first_p95", "per_token", "per_second")
        }
        times = sorted(
            math.inf if one["first"] is None else one["first"] - one[start]
            for one in these["first_p95"]
            if failed == "inf" or one["first"] is not None
        ) or [math.inf]
        if failed == "zero":
            times = sorted([0.0 if time == math.inf else time for time in times])
        n = len(times)
        found = {
            "right": lambda: times[max(math.ceil(0.95 * n - 1e-9), 1) - 1],
            "mean": lambda: sum(times) / n,
            "median": lambda: times[(n - 1) // 2],
            "largest": lambda: times[-1],
            "ninety": lambda: times[math.ceil(0.9 * n - 1e-9) - 1],
            "down": lambda: times[max(int(0.95 * n + 1e-9), 1) - 1],
            "one too far": lambda: times[min(math.ceil(0.95 * n - 1e-9), n - 1)],
        }[tail]()
        came = [one for one in these["per_token"] if one["tokens"]]
        spans = {
            "right": [
                (one["last"] - one["first"], one["tokens"] - 1) for one in came if one["tokens"] > 1
            ],
            "due": [(one["last"] - one["due"], one["tokens"]) for one in came],
            "all": [(one["last"] - one["first"], one["tokens"]) for one in came],
            "single": [(one["last"] - one["first"], max(one["tokens"] - 1, 1)) for one in came],
        }
        spans["pooled"] = [tuple(map(sum, zip(*spans["right"])))] if spans["right"] else []
        gaps = [time / tokens for time, tokens in spans[gap]]
        done = [one for one in these["per_second"] if one["tokens"]]
        took = (
            max(one["last"] for one in done) - min(one[since] for one in these["per_second"])
            if done
            else 1.0
        )
        return {
            "first_p95": float(found),
            "per_token": sum(gaps) / len(gaps) if gaps else 0.0,
            "per_second": sum(one[counted] for one in done) / took,
        }

    return report


def with_numpy(log: list[dict], begin: float) -> dict[str, float]:
    """Right, in numpy's arrays, and with its floats."""
    refuse(log, begin)
    due, first, last, tokens = (
        np.array(
            [math.nan if one[key] is None else one[key] for one in log if one["due"] >= begin],
            dtype=float,
        )
        for key in ("due", "first", "last", "tokens")
    )
    came, longer = tokens > 0, tokens > 1
    order = np.sort(np.where(came, first - due, np.inf))
    gaps = (last[longer] - first[longer]) / (tokens[longer] - 1)
    return {
        "first_p95": order[-(-19 * len(order) // 20) - 1],
        "per_token": gaps.mean() if len(gaps) else np.float64(0),
        "per_second": (
            tokens.sum() / (last[came].max() - due.min()) if came.any() else np.float64(0)
        ),
    }


def one_by_one(log: list[dict], begin: float) -> dict[str, float]:
    """Right, one request after the other, the last first."""
    refuse(log, begin)
    times, mean, number, tokens, ends, begins = [], 0.0, 0, 0, -math.inf, math.inf
    for one in reversed(log):
        if one["due"] < begin:
            continue
        begins = min(begins, one["due"])
        if one["last"] is None:
            times.append(math.inf)
            continue
        times.append(one["first"] - one["due"])
        tokens, ends = tokens + one["tokens"], max(ends, one["last"])
        if one["tokens"] > 1:
            number += 1
            mean += ((one["last"] - one["first"]) / (one["tokens"] - 1) - mean) / number
    times.sort(reverse=True)
    return {
        "first_p95": times[len(times) // 20],
        "per_token": mean,
        "per_second": tokens / (ends - begins) if tokens else 0.0,
    }


right = making()


def some_failed(log: list[dict]) -> bool:
    """Whether a request failed."""
    return any(one["first"] is None for one in log)


def none_failed(log: list[dict]) -> bool:
    """Whether none did."""
    return not some_failed(log)


def zeros(log: list[dict], begin: float) -> dict[str, float]:
    """Nothing takes time."""
    refuse(log, begin)
    return dict.fromkeys(("first_p95", "per_token", "per_second"), 0.0)


def not_a_number(log: list[dict], begin: float) -> dict[str, float]:
    """NaN, whatever is asked."""
    refuse(log, begin)
    return dict.fromkeys(("first_p95", "per_token", "per_second"), math.nan)


def rounded_as_told(log: list[dict], begin: float) -> dict:
    """Right: off by half of what the statement allows."""
    return {name: float(value) * (1 + 5e-10) for name, value in right(log, begin).items()}


RIGHT: list[Report] = [right, with_numpy, one_by_one, rounded_as_told]
WRONG: dict[str, list[Report]] = {
    "clock": [
        making(start="sent"),
        making(since="sent"),
        making(chosen="sent"),
        making(start="sent", when=none_failed),
        making(start="sent", when=some_failed),
        making(since="sent", when=some_failed),
        making(start="sent", since="sent"),
        zeros,
        not_a_number,
    ],
    "tail": [
        making(tail="mean"),
        making(tail="median"),
        making(tail="largest"),
        making(tail="ninety"),
        making(tail="down"),
        making(tail="one too far"),
        making(failed="dropped"),
        making(failed="zero"),
        making(tail="largest", when=none_failed),
        making(tail="mean", when=none_failed),
    ],
    "tokens": [
        making(gap="due"),
        making(gap="all"),
        making(gap="single"),
        making(gap="pooled"),
        making(counted="places"),
        making(warm=("first_p95",)),
        making(warm=("per_token",)),
        making(warm=("per_second",)),
        making(warm=("first_p95", "per_token", "per_second")),
        making(strict=True),
        making(counted="places", when=none_failed),
        making(gap="pooled", when=some_failed),
    ],
}
POOR: dict[str, Report] = {}
PROBES: dict[str, Report] = {
    (
        "Your test accepts zeros, whatever is asked: it never complains. Is there an `assert` that "
        "is reached, outside of `try`, without parentheses round condition and text?"
    ): (zeros),
    (
        "Your test accepts NaN: a comparison with NaN is False, so that `assert not difference > "
        "...` says nothing. `math.isclose` and `assert difference < ...` notice it."
    ): (not_a_number),
    (
        "Your test never has a log with a failed request, or does not check `first_p95` there."
    ): making(failed="zero"),
    "Your test does not look at `first_p95`.": making(tail="median", start="sent"),
    "Your test does not look at `per_token`.": making(gap="due"),
    "Your test does not look at `per_second`.": making(counted="places", since="sent"),
    "Your test has no warm-up request, due before `begin`.": making(
        warm=("first_p95", "per_token", "per_second")
    ),
}
MISTAKEN: dict[str, Report] = {
    "It measures TTFT and throughput from `sent`: both start at `due`.": making(
        start="sent", since="sent"
    ),
    ("It measures TTFT from `sent`: it starts at `due`."): making(start="sent"),
    "It leaves failed requests out of the percentile: their TTFT is infinity.": making(
        failed="dropped"
    ),
    "It rounds 0.95 n down: it is rounded up.": making(tail="down"),
    (
        "It averages TPOT over all tokens of all requests together: each request counts once."
    ): making(gap="pooled"),
    "It divides TPOT by all tokens: the first one does not count.": making(gap="all"),
    "It counts warm-up requests: only those due at `begin` or later count.": making(
        warm=("first_p95", "per_token", "per_second")
    ),
    "It leaves out the request that is due exactly at `begin`: it counts.": making(strict=True),
    "It counts padding: throughput adds up `tokens`, not `places`.": making(counted="places"),
}
