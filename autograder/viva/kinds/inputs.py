"""Questions on other inputs than the recorded call's.

matters  on which of four calls a small change of a line, or its removal, has an effect
inputs   which of two changes have an effect, each on a call of its own
grows    which of two statements on how often lines run on inputs twice as long are true
"""

from collections.abc import Iterator
from random import Random

from autograder.viva.kinds.changes import GONE, LEGEND
from autograder.viva.kinds.question import (
    LEAST,
    OPTIONS,
    WHICH,
    Question,
    Statement,
    of_two,
    two_claims,
)

MOST_RUNS = 24  # of a line on longer inputs: more cannot be counted on paper
PAIRS = 3  # that are drawn
Effects = dict[tuple, list]  # from what is removed or changed, or from a call, to [same, differs]


def of_inputs(record: dict, inputs: list[dict], grown: dict, draw: Random) -> Iterator[Question]:
    """inputs, grown: what inside/inputs.py returns for the function."""
    steps = len(record["order"])
    by_change: Effects = {}
    by_call: Effects = {}
    for one in inputs:
        for line, label, differs in one["matters"]:
            change = f"line {line} is removed" if label == GONE else f"in line {line}, {label}"
            by_change.setdefault((line, change), ([], []))[differs].append(one["call"])
            by_call.setdefault(one["call"], ([], []))[differs].append(change)
    # A call on which every change has an effect, or none, tells that without the code.
    telling = {call: effects for call, effects in by_call.items() if all(effects)}
    yield from _of_four_calls(by_change, telling, steps, draw)
    yield from _of_two_calls(telling, steps, draw)
    yield from _of_growth(grown, draw)


def _of_four_calls(
    by_change: Effects, telling: Effects, steps: int, draw: Random
) -> Iterator[Question]:
    """One call of four on which a change has an effect, or one on which it has none."""
    for (line, change), effects in by_change.items():
        same, other = ([call for call in some if call in telling] for some in effects)
        ways = [
            (one, rest, which)
            for one, rest, which in ((other, same, "differ"), (same, other, "be the same"))
            if one and len(rest) >= OPTIONS - 1
        ]
        if not ways:
            continue
        one, rest, which = draw.choice(ways)
        right = draw.choice(one)
        calls = [right, *draw.sample(rest, OPTIONS - 1)]
        draw.shuffle(calls)
        text = f"One change: {change}. For which of these calls would the result {which}? {LEGEND}"
        why = f"The changed function was run: only for {right} would the result {which}."
        yield Question("matters", line, text, tuple(calls), calls.index(right), why, steps)


def _of_two_calls(telling: Effects, steps: int, draw: Random) -> Iterator[Question]:
    """The call is drawn first, then whether a change has an effect on it."""
    for _ in range(PAIRS if len(telling) > 1 else 0):
        pair = []
        for call in draw.sample(sorted(telling), 2):
            differs = draw.random() < 0.5
            text = f"{draw.choice(telling[call][differs])}, and the call is {call}"
            why = f"The result {'differs' if differs else 'is the same'}"
            pair.append(Statement(text, differs, why, steps))
        end = (
            f"In which of them does the result differ from the unchanged code's? Rounding is no"
            f" difference, an exception is one. {LEGEND}"
        )
        yield of_two("inputs", "Two changes, each made alone:", end, pair)


def _of_growth(grown: dict, draw: Random) -> Iterator[Question]:
    """How often lines run on longer inputs: what is so, or what another growth would give."""
    counts = grown.get("counts", {})
    ends = {new for _, new in counts.values()}
    fit = [line for line, (_, new) in counts.items() if LEAST <= new <= MOST_RUNS]
    for _ in range(PAIRS if len(fit) > 1 else 0):
        two = draw.sample(fit, 2)
        olds, rights = zip(*(counts[line] for line in two))
        wrongs = [{old, 2 * old, 4 * old, 2 * old + 1, *ends} - set(range(LEAST)) for old in olds]
        claims = two_claims(rights, wrongs, draw)
        if claims:
            pair = [
                Statement(f"line {line} runs {said} times", true, f"It ran {new} times", new)
                for line, new, (said, true) in zip(two, rights, claims)
            ]
            begin = f"In the call, {grown['longer']} is repeated once, to twice its length. Then:"
            yield of_two("grows", begin, WHICH, pair)
