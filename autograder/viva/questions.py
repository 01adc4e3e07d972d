"""Multiple-choice questions on one recorded run of a student's function.

Three kinds: the shape or the number that an expression has, how often a line runs, and
what a small change of a line does to the result. All that is asked was seen in a run;
wrong options of the first two kinds are other shapes and numbers of the same run first.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

OPTIONS = 4
MOST_RUNS = 12  # of a line that is asked about: more cannot be counted on paper
OUTCOMES = {
    "same": "exactly the same result",
    "values": "a result of the same type and size with other contents",
    "shape": "a result of another type or size",
    "error": "an exception",
}
ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Question:
    """One question: `options`, of which the one at `answer` is right, and why.

    line: of the student's cell, with its text in `code`. steps: how many lines run before
    it is decided, a measure of difficulty.
    """

    kind: str
    line: int
    code: str
    text: str
    options: tuple[str, ...]
    answer: int
    why: str
    steps: int

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return dict(vars(self), options=list(self.options))


def questions(
    source: str, record: dict, changes: list, draw: random.Random, count: int = 3
) -> list[Question]:
    """At most `count` questions on a run, of different kinds and lines where possible.

    record, changes: what recorder.py returns for the function in `source`.
    """
    lines = source.split("\n")
    steps = sum(record["lines"].values())
    values = list(_of_expressions(record, lines, steps, draw))
    pools = [values, list(_of_changes(changes, lines, steps, draw))]
    pools.append(list(_of_counts(record, lines, steps, draw)))
    given = {str(tuple(one.get("shape", ()))) for one in record["given"]}
    chosen: list[Question] = []
    for pool in pools:
        draw.shuffle(pool)
    # The shape of an argument can be given without the code: such a question comes last.
    values.sort(key=lambda one: one.options[one.answer] in given)
    for pool in itertools.cycle(pools):
        if len(chosen) == count or not any(pools):
            return chosen
        asked = {one.line for one in chosen}
        pool.sort(key=lambda one: one.line in asked)
        if pool:
            chosen.append(pool.pop(0))


def _of_expressions(record, lines, steps, draw) -> Iterator[Question]:
    shapes = _distinct(tuple(one["shape"]) for one in _all_seen(record) if one.get("shape"))
    numbers = _distinct(one["text"] for one in _all_seen(record) if one["kind"] == "int")
    for number, (line, text) in record["expressions"].items():
        visits = record["seen"][number]
        visit = draw.randrange(min(len(visits), len(ORDINALS))) if visits else 0
        seen = visits[visit] if visits else {"kind": "nothing"}
        when = f" when the line runs for the {ORDINALS[visit]} time" if len(visits) > 1 else ""
        if seen["kind"] == "tensor" and seen["shape"]:
            right = tuple(seen["shape"])
            wrong = _near_shapes(right, shapes, draw)
            question = f"What is the shape of `{text}` in line {line}{when}?"
        elif seen["kind"] == "int" and text.isascii():  # a float cannot be found on paper
            right = seen["text"]
            wrong = _near_numbers(right, numbers, draw)
            question = f"What is the value of `{text}` in line {line}{when}?"
        else:
            continue
        made = _choice(right, wrong, draw)
        if made:
            why = f"In this call `{text}` was {made[0][made[1]]}."
            yield Question("value", line, lines[line - 1], question, *made, why, steps)


def _of_changes(changes, lines, steps, draw) -> Iterator[Question]:
    """Two questions for each outcome that occurs: none of the four shall be the usual one."""
    by_outcome: dict[str, list] = {}
    for change in (one for one in changes if one[1].isascii()):
        by_outcome.setdefault(change[3], []).append(change)
    for outcome, some in by_outcome.items():
        for line, old, new, _ in draw.sample(some, min(2, len(some))):
            yield Question(
                "change",
                line,
                lines[line - 1],
                f"Line {line}, `{old}`, is changed to `{new}`. What does the same call give?",
                tuple(OUTCOMES.values()),
                list(OUTCOMES).index(outcome),
                f"The changed function was run: it gave {OUTCOMES[outcome]}.",
                steps,
            )


def _of_counts(record, lines, steps, draw) -> Iterator[Question]:
    counts = record["lines"]
    if set(counts.values()) <= {1}:
        return  # nothing to count
    others = _distinct(str(count) for count in counts.values())
    for line, count in counts.items():
        made = _choice(str(count), _near_numbers(str(count), others, draw), draw)
        if count != 1 and count <= MOST_RUNS and made:
            why = f"It ran {count} times." if count else "It never ran."
            question = f"How often does line {line} run in this call?"
            yield Question("count", line, lines[line - 1], question, *made, why, steps)


def _choice(right, wrong, draw) -> tuple[tuple[str, ...], int] | None:
    """The shuffled options and the place of the right one; None with too few of them.

    An empty shape is no option: nothing but a number has it.
    """
    options = [str(right)]
    for one in map(str, wrong):
        if one not in (*options, "()") and len(options) < OPTIONS:
            options.append(one)
    if len(options) < OPTIONS:
        return None
    draw.shuffle(options)
    return tuple(options), options.index(str(right))


def _near_shapes(right, seen, draw) -> list[tuple[int, ...]]:
    """Wrong shapes in which the right one is no hub: of one distortion, another shape of
    the run, and the same distortion of that one.
    """
    sizes = sorted({size for one in (*seen, right) for size in one})
    sizes += [sizes[-1] + 1, sizes[-1] + 2]
    decoys = [one for one in seen if len(one) == len(right) and sorted(one) != sorted(right)]
    invented = [
        right[:axis] + (size,) + right[axis + 1 :]
        for axis in range(len(right))
        for size in sizes
        if size != right[axis]
    ]
    draw.shuffle(decoys)
    draw.shuffle(invented)
    distortions = [
        lambda one: one[:-2] + one[-2:][::-1],
        lambda one: one[1:] + one[:1],
        lambda one: one[:-1] + (1,),
        lambda one: one[:-1],
        lambda one: (1, *one[1:]),
        lambda one: (*one, 1),
    ]
    draw.shuffle(distortions)
    found: list[tuple[int, ...]] = []
    for decoy, distort in zip([*decoys, *invented], itertools.cycle(distortions)):
        found += [distort(right), decoy, distort(decoy)]
    return [one for one in found if one != right]


def _near_numbers(right: str, seen: list[str], draw) -> list[str]:
    """Other numbers of the run, then a scale on which the right one is at any place."""
    value, place = int(right), draw.randrange(OPTIONS)
    begin = value - min(place, value) if value >= 0 else value - place
    scale = [str(begin + step) for step in range(OPTIONS)]
    others = list(seen)
    draw.shuffle(others)
    return [*others[: draw.randrange(3)], *scale]


def _all_seen(record) -> list[dict]:
    return [one for visits in record["seen"].values() for one in visits]


def _distinct(values) -> list:
    found = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
