"""Make a bug hunt of a student's function, and judge an answer; all of it runs in the sandbox."""

import ast
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor

from autograder.checks.assertions.values import same
from autograder.checks.mistakes.registry import mistakes_of
from autograder.checks.protocol import Exercise, LocalStudent, rng_for
from autograder.checks.restrictions.names import in_exercise
from autograder.checks.results import Status
from autograder.checks.runner import in_one_thread
from autograder.checks.stages import Run, run_stages
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Request, Returned, StudentError
from autograder.hunt.changes import Change, changes, function_alone
from autograder.hunt.written import written
from autograder.sandbox.api.cells import Cell

INSIDE = Path(__file__).with_name("inside.py")
INPUTS = 8  # known inputs, the shortest
TRIED = 12  # changes of which a hunt is chosen
RTOL, ATOL = 1e-3, 1e-4  # results closer than this are alike: more than float noise


@dataclass(frozen=True)
class Ready:
    """A function that passes its checks: its own text, and inputs that the checks give it."""

    exercise: Exercise
    source: str
    texts: tuple[str, ...]
    arguments: tuple[tuple, ...]


@dataclass(frozen=True)
class Hunt:
    """A changed function, and an input that is known to expose it.

    misconception: what a registered mistake that answers alike says of it, or "". caught: on how
    many of the known inputs it differs, of `known`.
    """

    exercise: str
    function: str
    original: str
    change: Change
    exposing: str
    caught: int
    known: int
    misconception: str = ""

    @property
    def label(self) -> str:
        """What the statistics count it as."""
        return self.misconception or f"a change of {self.change.kind}"


@dataclass(frozen=True)
class Judged:
    """Of one answer: whether the input exposes the change, whether the line is right, and why."""

    exposes: bool
    line: bool
    said: str

    @property
    def right(self) -> bool:
        """Whether the hunt is over."""
        return self.exposes and self.line


def inside_cell() -> Cell:
    """The cell that runs both functions, to come after the student's."""
    return Cell(None, INSIDE.read_text(encoding="utf-8"))


def ready(exercise: Exercise, student: Student, source: str) -> Ready | str:
    """The function in a cell's `source` if a hunt can be made of it, else why not, in words.

    student: one whose cells end with `inside_cell()`.
    """
    name = exercise.function
    text = function_alone(source, name)
    if text is None:
        return _without_function(source)
    student.new_exercise(in_exercise(exercise))
    with in_one_thread():
        runs = _until_stopped(exercise, student)
    if why := _not_passed(runs):
        return why
    known: dict[str, tuple] = {}
    for call in (call for run in runs for call in run.calls):
        plain = call.name == name and call.again and isinstance(call.outcome, Returned)
        if plain and call.args and not call.kwargs and (shown := written(call.args)):
            known.setdefault(shown, call.args)
    chosen = sorted(known, key=lambda shown: (len(shown), shown))[:INPUTS]
    if not chosen:
        return "its checks make no call with arguments that can be written down"
    return Ready(exercise, text, tuple(chosen), tuple(known[shown] for shown in chosen))


def _until_stopped(exercise: Exercise, student: Student) -> list[Run]:
    """The runs of the stages up to the first that was stopped: a loop that does not end there would
    take as long in each of the others.
    """
    runs: list[Run] = []
    for stage in exercise.stages:
        one = replace(exercise, stages=[stage])
        runs += run_stages(one, student, lambda name: rng_for(exercise.id, name))
        if runs[-1].result.status in (Status.TIME, Status.FAULT):
            break
    return runs


def _not_passed(runs: Sequence[Run]) -> str:
    """Why the checks are not all passed, or ""; a failed check comes before a stopped one."""
    stopped = ""
    for run in runs:
        if run.result.status == Status.FAULT:
            stopped = stopped or f"its checks could not be run ({run.result.detail})"
        elif run.result.status != Status.PASSED or run.slips:
            how = run.slips[0] if run.slips else run.result.status
            return f"it does not pass all of its checks yet ({run.result.name}: {how})"
    return stopped


def _without_function(source: str) -> str:
    try:
        ast.parse(source)
    except SyntaxError as error:
        return f"its cell is not valid Python (line {error.lineno}: {error.msg})"
    except (ValueError, RecursionError, MemoryError):
        pass
    return "its cell defines no function of that name"


def make(function: Ready, student: Student, draw: random.Random) -> Hunt | None:
    """A hunt that is known to have an answer, or None where no change tried has one.

    Each change is run before it is asked about: on one known input at least it must return
    something else than the original, and that input is judged as an answer would be.
    """
    every = changes(function.source, function.exercise.function)
    draw.shuffle(every)
    wrong = _mistakes(function)
    found = [hunt for one in every[:TRIED] if (hunt := _tried(function, student, one, wrong))]
    if not found:
        return None
    alike = [one for one in found if one.misconception]
    return draw.choice(alike if alike and draw.random() < 0.5 else found)


def judge(hunt: Hunt, student: Student, text: str, line: int | None) -> Judged:
    """What an answer is worth: an input as text, and the number of a line of the shown function.

    The text is evaluated in the sandbox and nowhere else.
    """
    right_line = line in hunt.change.lines
    student.new_stage()
    try:
        (original, changed), *_ = _run(student, hunt.function, _both(hunt), [text])
    except StudentError as error:
        return Judged(False, right_line, f"The input was not run: {error.text.strip()[:300]}")
    if original[0] == "refused":
        return Judged(False, right_line, f"The input was not run: {original[1]}")
    if original[0] != "value":
        ended = "does not end" if original[0] == "endless" else f"raises {original[1]}"
        return Judged(
            False, right_line, f"Your own function {ended} on it: give an input that it accepts."
        )
    if _has_nan(original[1]):
        said = "Your own function returns NaN on it, which cannot be compared: give another input."
        return Judged(False, right_line, said)
    if not differ(original, changed):
        return Judged(False, right_line, "Both functions give the same result on this input.")
    ends = {"value": "returns another result", "endless": "does not end"}
    said = ends.get(changed[0], f"raises {changed[1]}")
    return Judged(True, right_line, f"The input exposes the change: the changed function {said}.")


def differ(original: Sequence, changed: Sequence) -> bool:
    """Whether two outcomes, [kind, value] each, differ by more than rounding."""
    if original[0] != "value" or changed[0] != "value":
        return original[0] == "value" and changed[0] in ("error", "endless")
    return not same(original[1], changed[1], RTOL, ATOL)


def _tried(function: Ready, student: Student, change: Change, wrong: list) -> Hunt | None:
    """The hunt of one change, if a known input exposes it by a result and not only an error."""
    name = function.exercise.function
    student.new_stage()
    try:
        pairs = _run(student, name, [function.source, change.source], function.texts)
    except StudentError:
        return None
    telling = [
        text
        for text, (original, changed) in zip(function.texts, pairs)
        if changed[0] == "value" and not _has_nan(original[1]) and differ(original, changed)
    ]
    if not telling or not change.lines:
        return None
    caught = sum(differ(*pair) for pair in pairs)
    sentence = _misconception(wrong, [changed for _, changed in pairs])
    hunt = Hunt(
        function.exercise.id,
        name,
        function.source,
        change,
        telling[0],
        caught,
        len(pairs),
        sentence,
    )
    return hunt if judge(hunt, student, telling[0], change.lines[0]).right else None


def _both(hunt: Hunt) -> list[str]:
    return [hunt.original, hunt.change.source]


def _run(student: Student, name: str, sources: Sequence[str], texts: Sequence[str]) -> list:
    """For each text a pair of outcomes. Raises StudentError, also for what is none."""
    request = Request("call", name, "w2s_outcomes", args=(list(sources), name, list(texts)))
    found = student.perform(request).value
    fits = type(found) is list and len(found) == len(texts)
    if not fits or not all(_is_pair(one, len(sources)) for one in found):
        raise StudentError("unreadable", "it did not return two results")
    return found


def _is_pair(one: object, count: int) -> bool:
    return (
        type(one) is list
        and len(one) == count
        and all(
            type(part) is list and len(part) == 2 and type(part[0]) is str and _plain(part)
            for part in one
        )
    )


def _plain(part: list) -> bool:
    return part[0] == "value" or type(part[1]) is str


def _mistakes(function: Ready) -> list[tuple[str, list]]:
    """(misconception, outcomes on the known inputs) of the registered mistakes; ours, run here."""
    name, found = function.exercise.function, []
    for one in mistakes_of(function.exercise.id):
        if one.replaces != name:
            continue
        outcomes = []
        for arguments in function.arguments:
            local = LocalStudent({name: one.made()})
            try:
                outcomes.append(["value", local.call(name, *arguments).value])
            except StudentError as error:
                outcomes.append([error.kind, ""])
        found.append((one.misconception, outcomes))
    return found


def _misconception(wrong: list[tuple[str, list]], outcomes: list) -> str:
    for sentence, theirs in wrong:
        pairs = list(zip(theirs, outcomes))
        if all(a[0] == b[0] and (a[0] != "value" or _alike(a[1], b[1])) for a, b in pairs):
            return sentence
    return ""


def _alike(left: object, right: object) -> bool:
    return same(left, right, RTOL, ATOL)


def _has_nan(value: object) -> bool:
    if isinstance(value, Tensor):
        return bool(value.isnan().any()) if value.is_floating_point() else False
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(map(_has_nan, value))
    return isinstance(value, float) and value != value
