"""Questions on what small changes of the code do to a call; each changed version was run.

effects  which of two changes have an effect that is named
other    the same of changes whose kinds differ, for functions with few of one kind
change   which of four changes of the same kind gives a result that is shown
"""

from collections.abc import Iterator
from random import Random

from autograder.viva.kinds.question import OPTIONS, Question, Statement, of_two

BEGIN = "Two changes of the code, each made alone:"
EFFECTS = {
    "error": "make the last call raise an exception",
    "same": "leave the result of the last call as it is, apart from rounding",
    "shape": "make the last call give a result of another type or size",
}
OUTCOMES = {
    "same": "exactly the same result",
    "values": "a result of the same type and size with other contents",
    "shape": "a result of another type or size",
    "error": "an exception",
}
LEGEND = (
    "(Exchanged operators: + and -, * and /, < and <=, > and >=, == and !=; // and ** become *.)"
)
GONE = "the line is removed"
PAIRS = 3  # that are drawn for each effect


def of_changes(record: dict, changed: dict, draw: Random) -> Iterator[Question]:
    """Questions on the changes of a function; none where its result differs from run to run."""
    steps = len(record["order"])
    for effect in EFFECTS:
        yield from _of_effects(changed["changes"], effect, steps, draw)
    yield from _of_results(changed, steps, draw)


def _of_effects(changes: list, effect: str, steps: int, draw: Random) -> Iterator[Question]:
    """Pairs of changes of kinds that have the effect in some lines and have it not in others.

    A change of such a kind is drawn as often with the effect as without: its kind says nothing.
    """
    by_kind: dict[str, tuple[list, list]] = {}
    for change in changes:
        by_kind.setdefault(_kind(change), ([], []))[change[2] == effect].append(change)
    balanced = [pair for pair in by_kind.values() if all(pair)]
    every = tuple([one for pair in by_kind.values() for one in pair[had]] for had in (0, 1))
    for kind, groups in (("effects", balanced), ("other", [every] if all(every) else [])):
        for _ in range(PAIRS if groups else 0):
            two = draw.choice(groups), draw.choice(groups)
            truths = [draw.random() < 0.5 for _ in two]
            if two[0] is two[1] and min(map(len, two[0])) < 2:
                continue  # whoever sees both would know that one has the effect and one has not
            first = draw.choice(two[0][truths[0]])
            second = draw.choice([one for one in two[1][truths[1]] if one is not first])
            pair = _statements((first, second), truths, steps)
            yield of_two(kind, BEGIN, f"Which of them {EFFECTS[effect]}? {LEGEND}", pair)


def _statements(two: tuple, truths: list[bool], steps: int) -> list[Statement]:
    return [
        Statement(_change(one), true, f"It gave {one[3] or OUTCOMES[one[2]]}", steps)
        for one, true in zip(two, truths)
    ]


def _of_results(changed: dict, steps: int, draw: Random) -> Iterator[Question]:
    """Four changes of one kind with four results of the same type and size, one of them shown."""
    by_kind: dict[str, dict[str, list]] = {}
    for change in changed["changes"]:
        if change[2] == "values" and change[3] is not None:
            by_kind.setdefault(_kind(change), {}).setdefault(change[3], []).append(change)
    for some in by_kind.values():
        if len(some) < OPTIONS:
            continue
        four = [draw.choice(some[text]) for text in draw.sample(sorted(some), OPTIONS)]
        four.sort(key=_change)
        right = draw.randrange(OPTIONS)
        before = changed["before"]
        begin = f"Unchanged, the last call gives {before}. " if before else ""
        text = f"{begin}With one of these changes it gives {four[right][3]}. Which one? {LEGEND}"
        said = ". ".join(f"{_change(one)}; it gives {one[3]}" for one in four)
        options = tuple(map(_change, four))
        why = f"Each changed version was run. {said}."
        yield Question("change", 0, text, options, right, why, steps)


def _kind(change: list) -> str:
    """What changes, without its number in the line."""
    return change[1].split(" (", 1)[0]


def _change(change: list) -> str:
    return f"line {change[0]}: {change[1]}"
