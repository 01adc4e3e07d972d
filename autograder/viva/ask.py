"""Three questions for each of a student's functions, generated in the sandbox.

The student's cells run there, and recorder.py after them: all parsing and running of
their code happens inside. What comes back is data about that student's own work, and
at worst gives them odd questions.
"""

import hashlib
import hmac
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.checks.protocol import Exercise
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Request, StudentError
from autograder.grading.assignment import Assignment
from autograder.sandbox.api.cells import Cell
from autograder.viva.inputs import shown, small_call
from autograder.viva.questions import Question, questions

RECORDER = Path(__file__).with_name("recorder.py")


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
    """The cell that watches, to be run after the student's."""
    return Cell(None, RECORDER.read_text(encoding="utf-8"))


def ask_all(
    exercises: Sequence[Exercise],
    student: Student,
    sources: Mapping[str, str],
    draw_for: Mapping[str, random.Random],
) -> list[Asked]:
    """The questions on each exercise for which `sources` holds a student's cell.

    sources, draw_for: by the exercise's id. student: one whose cells end with
    `recorder_cell()`.
    """
    return [
        _ask(one, student, sources[one.id], draw_for[one.id])
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
    """The exercises about a function that the student writes."""
    return [one for one in assignment.exercises.values() if one.stages and one.kind == "function"]


def _ask(exercise: Exercise, student: Student, source: str, draw: random.Random) -> Asked:
    name = exercise.function
    without = Asked(exercise.id, name, source)
    args = small_call(exercise, student)
    if args is None:
        return _because(without, "its checks make no call with plain arguments")
    student.new_stage()
    try:
        record = _value(student, "w2s_record", source, name, args)
        changes = _value(student, "w2s_changed", source, name, args)
        made = questions(source, record, changes, draw)
        parts = [f"{key}={shown(one)}" for key, one in zip(record["parameters"], args)]
    except StudentError as error:
        return _because(without, error.text.strip().rsplit("\n", 1)[-1])
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        # The record comes from the student's process, which may send anything.
        return _because(without, "its record cannot be read")
    if not made:
        return _because(without, "no line of it gives a question")
    return Asked(exercise.id, name, source, f"{name}({', '.join(parts)})", tuple(made))


def _because(asked: Asked, reason: str) -> Asked:
    return Asked(asked.exercise, asked.function, asked.source, reason=reason)


def _value(student: Student, what: str, source: str, name: str, args: tuple):
    request = Request("call", what, what, args=(source, name, args))
    return student.perform(request).value
