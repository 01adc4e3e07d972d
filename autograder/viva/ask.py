"""Three questions for each of a student's functions, generated in the sandbox.

The student's cells run there, and after them the cell of `recorder_cell`: all parsing and running
of their code happens inside. What comes back is data about that student's own work, and at worst
gives them odd questions. The checks run once with the visible seed, so that the recorder sees
calls; one of them is asked about.
"""

import hashlib
import hmac
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from autograder.checks.inputs.buffers import Buffer
from autograder.checks.protocol import Exercise, rng_for
from autograder.checks.results import Status
from autograder.checks.shown_call import call_in_shapes, shown_call
from autograder.checks.stages import run_stage
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Call, Request, StudentError
from autograder.grading.assignment import Assignment
from autograder.sandbox.api.cells import Cell
from autograder.viva.kinds.question import Question
from autograder.viva.questions import questions

INSIDE = Path(__file__).with_name("inside")
FILES = ("describing", "episodes", "code", "watch", "change", "inputs")  # each needs those before
SIBLINGS = "from autograder.viva.inside."
ENTRIES = (
    "w2s_begin",
    "w2s_end",
    "w2s_given",
    "w2s_record",
    "w2s_changed",
    "w2s_inputs",
    "w2s_grown",
)
MOST_ELEMENTS = 4096  # of the tensors of a kernel's launch
MOST_CHANGES = 24  # of one function, that are asked for
MOST_INPUTS = 8  # the same of its calls
IN_ORDER = "; its program instances run in the order of their ids"
NO_CALL = "its checks make no call that can be played again"


@dataclass(frozen=True)
class Asked:
    """What one function is asked: the call, the questions, or why there are none."""

    exercise: str
    function: str
    source: str
    call: str = ""
    questions: tuple[Question, ...] = ()
    reason: str = ""

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return dict(vars(self), questions=[one.to_json() for one in self.questions])


def recorder_cell() -> Cell:
    """The cell that watches, to be run after the student's; of its names they see ENTRIES only."""
    text = "\n".join((INSIDE / f"{name}.py").read_text(encoding="utf-8") for name in FILES)
    source = "\n".join(line for line in text.split("\n") if not line.startswith(SIBLINGS))
    names = "\n".join(f"{name} = w2s_inside[{name!r}]" for name in ENTRIES)
    begin = 'w2s_inside = {"__name__": "w2s_inside", "w2s_globals": globals()}'
    return Cell(
        None, f'{begin}\nexec(compile({source!r}, "<viva>", "exec"), w2s_inside)\n{names}\n'
    )


def ask_all(
    exercises: Sequence[Exercise],
    student: Student,
    sources: Mapping[str, str],
    draw_for: Mapping[str, random.Random],
    handed_out: Mapping[str, str],
) -> list[Asked]:
    """The questions on each exercise for which `sources` holds a student's cell.

    sources, draw_for, handed_out (the cells as the notebook came): by the exercise's id.
    student: one whose cells end with `recorder_cell()`.
    """
    return [
        _ask(one, student, sources[one.id], draw_for[one.id], handed_out.get(one.id, ""))
        for one in exercises
        if sources.get(one.id, "").strip()
    ]


def draws(exercises: Sequence[Exercise], student: str, secret: bytes) -> dict[str, random.Random]:
    """A generator for each exercise, the same for the same student, exercise and secret."""
    return {
        one.id: random.Random(
            hmac.new(secret, f"viva\0{one.id}\0{student}".encode(), hashlib.sha256).digest()
        )
        for one in exercises
    }


def functions_of(assignment: Assignment) -> list[Exercise]:
    """The exercises about a function or class that the student writes."""
    return [one for one in assignment.exercises.values() if one.stages and one.kind == "function"]


def handed_out_of(assignment: Assignment) -> dict[str, str]:
    """The cells of the notebook as it was given to students, by exercise."""
    cells = {
        f"{assignment.number}.{one.metadata.get('nbgrader', {}).get('grade_id', '')}": one.source
        for one in assignment.pristine.cells
        if one.cell_type == "code"
    }
    return {id: cells[id] for id in assignment.exercises if id in cells}


def _ask(
    exercise: Exercise, student: Student, source: str, draw: random.Random, handed_out: str
) -> Asked:
    name, given = exercise.function, handed_out.split("\n")
    without = Asked(exercise.id, name, source)
    try:
        captured, raised = _captured(exercise, student, "triton.jit" in source)
        if not captured:
            return _because(without, raised or NO_CALL)
        runs = _runs(student, source, name, given)
        made = questions(runs, draw)
        call = str(runs["record"]["call"])
    except StudentError as error:
        return _because(without, error.text.strip().rsplit("\n", 1)[-1])
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        # The record comes from the student's process, which may send anything.
        return _because(without, "its record cannot be read")
    if not made:
        return _because(without, "no line of it gives a question")
    call += IN_ORDER if "triton.jit" in source else ""
    return Asked(exercise.id, name, source, call, tuple(made))


def _captured(exercise: Exercise, student: Student, kernel: bool) -> tuple[bool, str]:
    """Run the checks and let the recorder keep one of their calls; whether there is one, and which
    exception the first call that raised one raised, or "".

    A kernel's launcher is called in a process of its own, so its calls are noted here.
    """
    if not kernel:
        student.new_stage()
        _value(student, "w2s_begin", exercise.function)
    launches, raised = [], ""
    for stage in exercise.stages:
        result, _ = run_stage(stage, student, rng_for(exercise.id, stage.name), exercise)
        if result.status == Status.ERROR and student.calls and not raised:
            raised = _raised(student.calls[-1])
        if kernel:
            launches += [
                args
                for call in student.calls
                if call.name == exercise.function and (args := _plain(call.args)) is not None
            ]
    student.new_stage()
    if kernel:
        return bool(launches) and _value(student, "w2s_given", launches) is True, raised
    return _value(student, "w2s_end") is True, raised


def _raised(call: Call) -> str:
    """ "`f(1, 2)` raises ZeroDivisionError: division by zero", of a call that ended so, or ""."""
    if not isinstance(call.outcome, StudentError):
        return ""
    written = shown_call(call) or call_in_shapes(call) or call.name
    error = call.outcome.text.strip().rsplit("\n", 1)[-1]
    return f"`{written}` raises {error.removesuffix('.')}"


def _runs(student: Student, source: str, name: str, given: list[str]) -> dict:
    """The recorded run, and what changes of the code and other inputs give.

    Changes and inputs are asked for one by one: each may take as long as a call may.
    """
    code = (source, name, given)
    record = _value(student, "w2s_record", *code)
    changes: list = []
    for number in range(MOST_CHANGES):
        changed = _value(student, "w2s_changed", *code, number)
        changes += changed["changes"]
        if changed["more"] is not True:
            break
    inputs: list = []
    for number in range(MOST_INPUTS):
        one = _value(student, "w2s_inputs", *code, number)
        inputs += one["inputs"]
        if one["more"] is not True:
            break
    return {
        "record": record,
        "changed": {"before": changed["before"], "changes": changes},
        "inputs": inputs,
        "grown": _value(student, "w2s_grown", *code),
    }


def _plain(args: tuple) -> tuple | None:
    """The arguments of a launch with tensors in place of buffers; None where they are large."""
    made = tuple(one.values if isinstance(one, Buffer) else one for one in args)
    numbers = sum(one.numel() for one in made if isinstance(one, Tensor))
    plain = all(type(one) in (Tensor, int, float, bool, str, type(None)) for one in made)
    return made if plain and 0 < numbers <= MOST_ELEMENTS else None


def _because(asked: Asked, reason: str) -> Asked:
    return Asked(asked.exercise, asked.function, asked.source, reason=reason)


def _value(student: Student, what: str, *args: object):
    return student.perform(Request("call", what, what, args=args)).value
