"""Questions on what the lines of a run assign.

values  which of two statements about values or shapes are true
value   the whole number that a line assigns, on a scale
line    which of four lines assigns a value or shape
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from autograder.viva.kinds.question import (
    OPTIONS,
    ORDINALS,
    TWO,
    WHICH,
    Question,
    Statement,
    distinct,
    of_two,
    scale,
)

KNOWN = ("true", "false", "True", "False", "None", "0", "1", "()", "")
PAIRS = 8  # of statements that are drawn
MOST_NUMBER = 99  # on a scale: a larger one is an id, which is seen at once
NEAR = 2  # times a number: others are wrong at first sight
MOST_TEXT = 80  # characters of a value that is taken apart


@dataclass(frozen=True)
class _Seen:
    """A value at one visit of a line: what is said of it, and the same of other values."""

    line: int
    says: str  # "line 4 assigns the shape {}"
    right: str
    wrong: tuple[str, ...]
    steps: int
    assigned: bool
    kind: str


def of_values(record: dict, draw: Random) -> Iterator[Question]:
    """Questions on variables and inner expressions; not the result, which others have, too."""
    seen = list(_seen(record, draw))
    yield from _of_statements(seen, draw)
    for one in seen:
        if one.assigned and one.kind == "int" and abs(int(one.right)) <= MOST_NUMBER:
            made = scale(int(one.right), draw)
            text = f"Which number is right? {_capital(one.says.format('…'))}."
            if made:
                why = f"In this call it was {one.right}."
                yield Question("value", one.line, text, *made, why, one.steps)
    yield from _of_lines(record, draw)


def _seen(record: dict, draw: Random) -> Iterator[_Seen]:
    """What can be asked of each variable and expression, at one visit that is drawn."""
    steps, result = steps_of(record), _key(record["result"])
    by_kind: dict[str, list[str]] = {}
    for one in [one for visits in record["seen"].values() for one in visits] + record["given"]:
        if _key(one) not in (None, result, *KNOWN):
            by_kind.setdefault(one["kind"], []).append(_key(one))
    several = Counter(line for line, *_ in record["assigned"].values())
    assigned = {number: one for number, one in record["assigned"].items() if not one[2]}
    for number, (line, target, *rest) in [*assigned.items(), *record["expressions"].items()]:
        visits = record["seen"][number]
        if not visits or any(one["kind"] == "raises" for one in visits):
            continue
        visit = draw.randrange(min(len(visits), len(ORDINALS)))
        value, key = visits[visit], _key(visits[visit])
        if key in (None, result, *KNOWN):
            continue
        gives = f"line {line} assigns" if rest else f"In line {line}, {target} gives"
        if rest and several[line] > 1:
            gives = f"line {line} gives `{target}`"
        when = f" when it runs for the {ORDINALS[visit]} time" if len(visits) > 1 else ""
        wrong = _wrong(value, distinct(by_kind[value["kind"]]), draw)
        yield _Seen(
            line,
            f"{gives} the {_aspect(value)} {{}}{when}",
            key,
            tuple(one for one in wrong if one not in (key, result, *KNOWN)),
            steps(line, visit),
            bool(rest),
            value["kind"],
        )


def _wrong(value: dict, others: list[str], draw: Random) -> list[str]:
    """Wrong values: others of the run, numbers near the right one and shapes with as many axes."""
    if value["kind"] == "int":
        number = int(value["text"])
        near = [one for one in others if abs(int(one) - number) <= NEAR * abs(number)]
        return [*near, *(str(number + step) for step in (-1, 1))]
    others = [one for one in others if one != _key(value)]
    if value["kind"] == "tensor":
        alike = [one for one in others if one.count(", ") == _key(value).count(", ")]
        return alike or others
    return others or _shortened(value.get("text", ""))


def _shortened(text: str) -> list[str]:
    """A list, tuple or text without its first or last entry."""
    try:
        # The text comes from a student's process.
        value = ast.literal_eval(text) if len(text) <= MOST_TEXT else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    if not isinstance(value, (str, list, tuple)) or len(value) < 2:
        return []
    return [repr(value[1:]), repr(value[:-1])]


def _of_statements(seen: list[_Seen], draw: Random) -> Iterator[Question]:
    """Each statement is as often true as false, whatever it says."""
    fit = [one for one in seen if one.wrong]
    for _ in range(PAIRS):
        first, second = draw.sample(fit, 2) if len(fit) > 1 else (None, None)
        if first is None or first.says == second.says:
            continue
        pair = [_statement(one, draw.random() < 0.5, draw) for one in (first, second)]
        yield of_two("values", TWO, WHICH, pair)


def _statement(one: _Seen, true: bool, draw: Random) -> Statement:
    claimed = one.right if true else draw.choice(one.wrong)
    return Statement(one.says.format(claimed), true, f"It was {one.right}", one.steps)


def _of_lines(record: dict, draw: Random) -> Iterator[Question]:
    """Which of four lines assigns a value; each of them assigns one that the others never do."""
    by_line: dict[int, set[tuple[str, str]]] = {}
    unasked = (None, _key(record["result"]), *KNOWN)
    for number, (line, *_) in record["assigned"].items():
        keys = {(_aspect(one), _key(one)) for one in record["seen"][number]}
        by_line.setdefault(line, set()).update(keys)
    for _ in range(PAIRS if len(by_line) >= OPTIONS else 0):
        four = sorted(draw.sample(sorted(by_line), OPTIONS))
        own = []
        for line in four:
            others = set().union(*(by_line[one] for one in four if one != line))
            mine = sorted(by_line[line] - others, key=str)
            own.append([one for one in mine if one[1] not in unasked])
        if all(own):
            position = draw.randrange(OPTIONS)
            noun, text = draw.choice(own[position])
            line, options = four[position], tuple(f"line {one}" for one in four)
            question = f"Which of these lines assigns the {noun} {text} in this call?"
            why = f"Of these, only line {line} gave the {noun} {text}."
            yield Question("line", 0, question, options, position, why, steps_of(record)(line, 0))


def _key(seen: dict) -> str | None:
    """What is asked of a value, as an option; None for what nobody is asked."""
    if seen["kind"] == "tensor" and seen["shape"]:
        return str(tuple(seen["shape"]))
    if seen["kind"] in ("int", "str", "list", "tuple", "dict"):
        return seen.get("text")
    return None


def _aspect(seen: dict) -> str:
    return "shape" if seen["kind"] == "tensor" else "value"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def steps_of(record: dict):
    """From a line and a visit to how many lines ran until then."""

    def steps(line: int, visit: int) -> int:
        positions = [place for place, one in enumerate(record["order"], 1) if one == line]
        return positions[visit] if visit < len(positions) else len(record["order"])

    return steps
