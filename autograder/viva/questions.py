"""Multiple-choice questions on one recorded run of a student's function.

No question quotes the code: it names lines, so that it cannot be answered without them. Where
possible the options are lines, too, or values of the same type that other lines of the same run
gave. The kinds, the better ones first:

value   the shape or value that a line assigns, at a visit
line    which of four lines assigns a given shape or value
runs    which of four lines runs a given number of times
next    which of four lines is the next to run after a visit of a line that branches or loops
change  which of four changes gives a result that is shown; each was run
inner   the shape or value of a part of a line
count   how often a line runs
effect  what kind of result a change gives
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.viva.distractors import near_numbers, near_shapes, near_texts

OPTIONS = 4
MOST_RUNS = 12  # of a line that is asked about: more cannot be counted on paper
MOST_STEPS = 40  # lines up to the one that is asked about, where there is a choice
OUTCOMES = {
    "same": "exactly the same result",
    "values": "a result of the same type and size with other contents",
    "shape": "a result of another type or size",
    "error": "an exception",
}
LEGEND = (
    "(Exchanged operators: + and -, * and /, < and <=, > and >=, == and !=; // and ** become *.)"
)
ORDINALS = ("first", "second", "third", "fourth", "fifth")
CONTROL = ("runs", "next")  # what a reader without the code knows least
BETTER = (*CONTROL, "line", "change", "value")
KINDS = (*BETTER, "inner", "count", "effect")
ASKED_ONCE = ("true", "false", "True", "False", "None", "0", "")


@dataclass(frozen=True)
class Question:
    """One question: `options`, of which the one at `answer` is right, and why.

    line: of the student's cell, 0 where it is about several. steps: how many lines run before
    it is decided, a measure of difficulty.
    """

    kind: str
    line: int
    text: str
    options: tuple[str, ...]
    answer: int
    why: str
    steps: int

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return dict(vars(self), options=list(self.options))


def questions(record: dict, changed: dict, draw: random.Random, count: int = 3) -> list[Question]:
    """At most `count` questions on a run, of different kinds and lines where possible.

    record, changed: what inside/watch.py and inside/change.py return for the function.
    """
    pools: dict[str, list[Question]] = {kind: [] for kind in KINDS}
    for question in _all(record, changed, draw):
        pools[question.kind].append(question)
    for pool in pools.values():
        draw.shuffle(pool)
        pool.sort(key=lambda one: one.steps > MOST_STEPS)
    kinds = [kind for kind in BETTER if pools[kind]]
    draw.shuffle(kinds)
    kinds.sort(key=lambda kind: kind not in CONTROL)
    rest = [kind for kind in KINDS if kind not in BETTER]
    chosen: list[Question] = []
    for some in (kinds, kinds, rest, [*kinds, *rest]):
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


def _all(record: dict, changed: dict, draw) -> Iterator[Question]:
    yield from _of_values(record, draw)
    yield from _of_lines(record, draw)
    yield from _of_runs(record, draw)
    yield from _of_next(record, draw)
    yield from _of_changes(record, changed, draw)
    yield from _of_effects(record, changed, draw)
    yield from _of_counts(record, draw)


# ------------------------------------------------------------------ values
def _key(seen: dict) -> str | None:
    """What is asked of a value, as an option; None for what nobody is asked."""
    if seen["kind"] == "tensor" and seen["shape"]:
        return str(tuple(seen["shape"]))
    if seen["kind"] in ("int", "str", "list", "tuple", "dict"):
        return seen.get("text")
    return None


def _aspect(seen: dict) -> str:
    return "shape" if seen["kind"] == "tensor" else "value"


def _of_values(record, draw) -> Iterator[Question]:
    """Of variables, and of inner expressions; not the result, which others have, too."""
    steps = _steps(record)
    result = _key(record["result"])
    several = Counter(line for line, *_ in record["assigned"].values())
    assigned = {number: one for number, one in record["assigned"].items() if not one[2]}
    for number, (line, target, *rest) in [*assigned.items(), *record["expressions"].items()]:
        visits = [one for one in record["seen"][number] if one["kind"] != "raises"]
        if not visits or len(visits) != len(record["seen"][number]):
            continue
        visit = draw.randrange(min(len(visits), len(ORDINALS)))
        seen = visits[visit]
        if _key(seen) in (None, result, *ASKED_ONCE):
            continue
        made = _choice(_key(seen), _wrong(seen, record, draw), draw)
        what = f"`{target}` get in line {line}" if several[line] > 1 else f"line {line} assign"
        text = f"What {_aspect(seen)} does {what}"
        if not rest:
            text = f"In line {line}, what {_aspect(seen)} does {target} give"
        when = f" when it runs for the {ORDINALS[visit]} time" if len(visits) > 1 else ""
        if made:
            why = f"In this call it was {_key(seen)}."
            kind = "value" if rest else "inner"
            yield Question(kind, line, f"{text}{when}?", *made, why, steps(line, visit))


def _wrong(seen: dict, record, draw) -> list[str]:
    """Wrong options of the same type: other values of the run, then some that are near."""
    others = [one for visits in record["seen"].values() for one in visits] + record["given"]
    same = [one for one in others if one["kind"] == seen["kind"] and _key(one)]
    if seen["kind"] == "tensor":
        shapes = _distinct(tuple(one["shape"]) for one in same)
        return [str(one) for one in near_shapes(tuple(seen["shape"]), shapes, draw)]
    texts = _distinct(_key(one) for one in same)
    if seen["kind"] == "int":
        return near_numbers(seen["text"], texts, draw)
    return near_texts(seen["text"], texts, draw)


def _of_lines(record, draw) -> Iterator[Question]:
    """Which line assigns a value that no other of the options ever assigned."""
    by_line: dict[int, set[str]] = {}
    for number, (line, *_) in record["assigned"].items():
        keys = {f"{_aspect(one)} {_key(one)}" for one in record["seen"][number] if _key(one)}
        if keys:
            by_line.setdefault(line, set()).update(keys)
    if len(by_line) < OPTIONS:
        return
    for line, keys in by_line.items():
        key = draw.choice(sorted(keys))
        others = [one for one in by_line if key not in by_line[one]]
        if key.split(" ", 1)[1] in ASKED_ONCE or len(others) < OPTIONS - 1:
            continue
        made = _of_four_lines(line, others, draw)
        noun, text = key.split(" ", 1)
        question = f"Which of these lines assigns the {noun} {text} in this call?"
        why = f"Of these, only line {line} gave the {noun} {text}."
        yield Question("line", 0, question, *made, why, _steps(record)(line, 0))


# ------------------------------------------------------------------ lines
def _of_runs(record, draw) -> Iterator[Question]:
    counts = Counter(record["order"])
    runs = {line: counts[line] for line in record["lines"] if counts[line] <= MOST_RUNS}
    for line, times in runs.items():
        others = [one for one in runs if runs[one] != times]
        made = _of_four_lines(line, others, draw)
        if times < 2 or made is None:
            continue  # an error that is not raised, or a first line: to be seen without the code
        text = f"Which of these lines runs exactly {times} times in this call?"
        said = ", ".join(f"line {one}: {runs[one]} times" for one in map(_line_of, made[0]))
        yield Question("runs", 0, text, *made, f"In this call, {said}.", len(record["order"]))


def _of_next(record, draw) -> Iterator[Question]:
    """The next line after one that a branch or a loop follows, wherever it is."""
    order, below = record["order"], dict(itertools.pairwise(record["lines"]))
    visits: Counter = Counter()
    counts = Counter(order)
    followers: dict[int, set[int]] = {}
    for line, following in itertools.pairwise(order):
        followers.setdefault(line, set()).add(following)
    for position, (line, following) in enumerate(itertools.pairwise(order)):
        visits[line] += 1
        straight = followers[line] == {below.get(line)}
        if straight or line not in below or visits[line] > len(ORDINALS):
            continue
        others = [one for one in record["lines"] if one != following]
        sure = below[line] if below[line] != following else None
        made = _of_four_lines(following, others, draw, sure)
        if made is None:
            continue
        when = f" for the {ORDINALS[visits[line] - 1]} time" if counts[line] > 1 else ""
        text = f"Line {line} has run{when}. Which of these lines is the next to run?"
        why = f"In this call line {following} ran after it."
        yield Question("next", line, text, *made, why, position + 1)


def _of_counts(record, draw) -> Iterator[Question]:
    counts = Counter(record["order"])
    others = _distinct(str(counts[line]) for line in record["lines"])
    for line in record["lines"]:
        count = counts[line]
        made = _choice(str(count), near_numbers(str(count), others, draw), draw)
        if count != 1 and count <= MOST_RUNS and made:
            why = f"It ran {count} times." if count else "It never ran."
            question = f"How often does line {line} run in this call?"
            yield Question("count", line, question, *made, why, len(record["order"]))


def _of_four_lines(
    right: int, others: list[int], draw, sure: int | None = None
) -> tuple[tuple[str, ...], int] | None:
    """Lines as options in the order of the code; None with too few of them.

    The right one is at each position about as often: so many lines above it are drawn first.
    sure: a line that is among the wrong ones.
    """
    above = [one for one in others if one < right and one != sure]
    below = [one for one in others if one > right and one != sure]
    draw.shuffle(above)
    draw.shuffle(below)
    wanted = draw.randrange(OPTIONS)
    ranked = [*above[:wanted], *below[: OPTIONS - 1 - wanted], *above[wanted:], *below]
    picked = list(dict.fromkeys([*([sure] if sure else []), *ranked]))[: OPTIONS - 1]
    if len(picked) < OPTIONS - 1:
        return None
    lines = sorted([right, *picked])
    return tuple(f"line {line}" for line in lines), lines.index(right)


def _line_of(option: str) -> int:
    return int(option.removeprefix("line "))


# ------------------------------------------------------------------ changes
def _of_changes(record, changed, draw) -> Iterator[Question]:
    """Which change gives a result that is shown and that no other of the options gives."""
    changes = [one for one in changed["changes"] if one[3] is not None]
    for line, label, outcome, text in changes:
        others = [one for one in changes if one[3] != text]
        draw.shuffle(others)
        # The likeliest first, those that sound and end alike; where possible, of other lines.
        others.sort(key=lambda one: (one[1] != label, one[2] != outcome))
        first = list({one[0]: one for one in reversed(others) if one[0] != line}.values())
        picked = [one for one in others if one in first]
        picked = [*picked, *(one for one in others if one not in first)][: OPTIONS - 1]
        if len(picked) < OPTIONS - 1:
            continue
        right = _change(line, label)
        options = [right, *(_change(*one[:2]) for one in picked)]
        draw.shuffle(options)
        before = changed["before"]
        begin = f"Unchanged, the last call gives {before}. " if before else ""
        question = f"{begin}With one of these changes it gives {text}. Which one? {LEGEND}"
        if outcome == "same":
            question = f"Which of these changes makes no difference to the last call? {LEGEND}"
        results = _results([(line, label, outcome, text), *picked])
        why = f"Each changed version was run. {results}."
        steps = len(record["order"])
        yield Question("change", 0, question, tuple(options), options.index(right), why, steps)


def _change(line: int, label: str) -> str:
    return f"line {line}: {label}"


def _results(changes) -> str:
    return ". ".join(f"{_change(one[0], one[1])}; it gives {one[3]}" for one in changes)


def _of_effects(record, changed, draw) -> Iterator[Question]:
    """Two questions for each outcome that occurs: none of the four shall be the usual one."""
    by_outcome: dict[str, list] = {}
    for change in changed["changes"]:
        by_outcome.setdefault(change[2], []).append(change)
    for outcome, some in by_outcome.items():
        for line, label, *_ in draw.sample(some, min(2, len(some))):
            text = f"One change: in line {line}, {label}. What does the same call give? {LEGEND}"
            if label == "the line is removed":
                text = f"Line {line} is removed. What does the same call give?"
            why = f"The changed function was run: it gave {OUTCOMES[outcome]}."
            place = list(OUTCOMES).index(outcome)
            options = tuple(OUTCOMES.values())
            yield Question("effect", line, text, options, place, why, len(record["order"]))


# ------------------------------------------------------------------ options
def _choice(right: str, wrong: list[str], draw) -> tuple[tuple[str, ...], int] | None:
    """The shuffled options and the position of the right one; None with too few of them.

    An empty shape is no option: nothing but a number has it.
    """
    options = [right]
    for one in wrong:
        if one not in (*options, "()") and len(options) < OPTIONS:
            options.append(one)
    if len(options) < OPTIONS:
        return None
    draw.shuffle(options)
    return tuple(options), options.index(right)


def _steps(record):
    """From a line and a visit to how many lines ran until then."""

    def steps(line: int, visit: int) -> int:
        positions = [place for place, one in enumerate(record["order"], 1) if one == line]
        return positions[visit] if visit < len(positions) else len(record["order"])

    return steps


def _distinct(values) -> list:
    return list(dict.fromkeys(values))
