"""Questions on which lines of a run are executed, and when.

count    how often a line runs, on a scale
runs     which of two statements on how often lines run are true
between  whether a line runs between two runs of another one, for two such gaps
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from random import Random

from autograder.viva.kinds.question import (
    LEAST,
    ORDINALS,
    TWO,
    WHICH,
    Question,
    Statement,
    of_two,
    scale,
    two_claims,
)

MOST_RUNS = 12  # of a line that is asked about: more cannot be counted on paper
PATTERNS = ((True, True), (True, False), (False, True), (False, False))
PAIRS = 4  # that are drawn


def of_lines(record: dict, draw: Random) -> Iterator[Question]:
    """How often lines run, and what runs between two runs of a line."""
    counts = Counter(record["order"])
    for line in record["lines"]:
        made = scale(counts[line], draw) if counts[line] <= MOST_RUNS else None
        if made:
            why = f"It ran {counts[line]} times."
            text = f"How often does line {line} run in this call?"
            yield Question("count", line, text, *made, why, len(record["order"]))
    yield from _of_runs(record["lines"], counts, len(record["order"]), draw)
    yield from _of_gaps(record, draw)


def _of_runs(lines: list[int], counts: Counter, steps: int, draw: Random) -> Iterator[Question]:
    fit = [line for line in lines if LEAST <= counts[line] <= MOST_RUNS]
    for _ in range(PAIRS if len(fit) > 1 else 0):
        two = draw.sample(fit, 2)
        rights = [counts[line] for line in two]
        near = {counts[one] + step for one in fit for step in (-1, 0, 1)} - set(range(LEAST))
        claims = two_claims(rights, [near, near], draw)
        if claims:
            pair = [
                Statement(f"line {line} runs {said} times", true, f"It ran {right} times", steps)
                for line, right, (said, true) in zip(two, rights, claims)
            ]
            yield of_two("runs", TWO, WHICH, pair)


def _of_gaps(record: dict, draw: Random) -> Iterator[Question]:
    """Pairs of gaps by whether the line runs in them, and of these patterns each as often."""
    gaps = _gaps(record["order"])
    by_pattern: dict[tuple, list] = {pattern: [] for pattern in PATTERNS}
    for line, found in gaps.items():
        for other in record["lines"]:
            runs = [other in one for one in found]
            if other == line or len(set(runs)) < 2:
                continue
            for late in range(1, len(runs)):
                for early in range(late):
                    by_pattern[runs[early], runs[late]].append((line, other, early, late))
    patterns = [pattern for pattern in PATTERNS if by_pattern[pattern]]
    if len(patterns) < len(PATTERNS):
        return
    for _ in range(PAIRS):
        pattern = draw.choice(patterns)
        line, other, *two = draw.choice(by_pattern[pattern])
        pair = [_statement(record, line, gap, true) for gap, true in zip(two, pattern)]
        begin = f"Does line {other} run between these runs of line {line}?"
        yield of_two("between", begin, "Between which of them?", pair)


def _gaps(order: list[int]) -> dict[int, list[set[int]]]:
    """The lines that run between the first and second run of a line, the second and third, ..."""
    places: dict[int, list[int]] = {}
    for place, line in enumerate(order):
        places.setdefault(line, []).append(place)
    return {
        line: [set(order[a + 1 : b]) for a, b in pairwise(found[: len(ORDINALS)])]
        for line, found in places.items()
    }


def _statement(record: dict, line: int, gap: int, true: bool) -> Statement:
    places = [place for place, one in enumerate(record["order"], 1) if one == line]
    between = sorted(set(record["order"][places[gap] : places[gap + 1] - 1]))
    ran = ", ".join(map(str, between)) or "none"
    text = f"its {ORDINALS[gap]} and {ORDINALS[gap + 1]} run"
    return Statement(text, true, f"The lines between them were {ran}", places[gap + 1])
