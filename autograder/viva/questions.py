"""Multiple-choice questions on one recorded run of a student's function.

No question quotes the code: it names lines, so that it cannot be answered without them. The kinds
are in `kinds`; bench/viva.py measures how often somebody without the code is right.
"""

from collections.abc import Iterator
from random import Random

from autograder.viva.kinds.changes import of_changes
from autograder.viva.kinds.inputs import of_inputs
from autograder.viva.kinds.lines import of_lines
from autograder.viva.kinds.question import Question
from autograder.viva.kinds.values import of_values

MOST_STEPS = 40  # lines up to the one that is asked about, where there is a choice
KINDS = ("count", "runs", "value", "line", "effects", "change")
RARE = ("grows", "inputs", "matters", "between")  # taken first, as few functions give one
GUESSED = ("values", "other")  # taken where there are too few others: some shapes can be guessed


def questions(runs: dict, draw: Random, count: int = 3) -> list[Question]:
    """At most `count` questions on a function, of different kinds and lines where possible.

    runs: {"record", "changed", "inputs", "grown"}, what the functions of `inside` return.
    """
    pools: dict[str, list[Question]] = {kind: [] for kind in (*RARE, *KINDS, *GUESSED)}
    for question in _all(runs, draw):
        pools[question.kind].append(question)
    for pool in pools.values():
        draw.shuffle(pool)
        pool.sort(key=lambda one: one.steps > MOST_STEPS)
    rare, kinds = list(RARE), list(KINDS)
    draw.shuffle(rare)
    draw.shuffle(kinds)
    chosen: list[Question] = []
    for some in ([*rare, *kinds, "values"], [*kinds, *rare] * count, GUESSED * count):
        _choose(some, pools, chosen, count)
    return chosen


def _choose(kinds: list[str], pools: dict, chosen: list[Question], count: int) -> None:
    """Move a question of each kind to `chosen`, until it has `count`; new lines first."""
    for kind in kinds:
        texts = {one.text for one in chosen}
        pool = [one for one in pools[kind] if one.text not in texts]
        if pool and len(chosen) < count:
            asked = {one.line for one in chosen if one.line}
            best = next((one for one in pool if one.line not in asked), pool[0])
            pools[kind].remove(best)
            chosen.append(best)


def _all(runs: dict, draw: Random) -> Iterator[Question]:
    record = runs["record"]
    yield from of_values(record, draw)
    yield from of_lines(record, draw)
    yield from of_changes(record, runs["changed"], draw)
    yield from of_inputs(record, runs["inputs"], runs["grown"], draw)
