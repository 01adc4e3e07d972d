"""Which students of a class wrote examples, and how those fare: from their graded notebooks.

The examples are read in the sandbox, from the cells that the record of a submission keeps. Nobody
can tell from a notebook whether they were written before the code.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder.checks.assertions.values import Unreadable
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Request, StudentError
from autograder.examples.judging import judge, problem
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.notebook.student_cells import student_cells
from autograder.sandbox.api.cells import Cell

INSIDE = Path(__file__).with_name("inside.py")


@dataclass(frozen=True)
class Row:
    """One student's examples of one exercise, with the points of the graded attempt.

    attempts: earlier ones that are kept besides this one. reason: why nothing was judged, or "".
    """

    student: str
    exercise: str
    examples: int = 0
    holding: int = 0
    caught: int = 0
    mistakes: int = 0
    points: float | None = None
    attempts: int = 0
    reason: str = ""


def rows_of(assignment: Assignment, verdict: Verdict, pool: object) -> list[Row]:
    """A row for each exercise that this student gave examples for."""
    if not any("examples" in str(cell[-1]) for cell in verdict.added) and not any(
        "examples" in source for source in verdict.own.values()
    ):
        return []
    taking = Cell(None, INSIDE.read_text(encoding="utf-8"))  # before the student's cells
    with pool.open_student([taking, *student_cells(assignment, verdict)]) as student:
        named = _asked(student, "w2s_named")
        chosen = [id for id in assignment.exercises if type(named) is list and id in named]
        return [_row(assignment, verdict, student, id) for id in chosen]


def _row(assignment: Assignment, verdict: Verdict, student: Student, id: str) -> Row:
    exercise = assignment.exercises[id]
    points = next((one["earned"] for one in verdict.results if one["exercise"] == id), None)
    known = {"points": points, "attempts": len(verdict.hand_ins)}
    student.new_stage()
    pairs = _asked(student, "w2s_pairs", id)
    why = "they cannot be read" if pairs is None else problem(pairs)
    if exercise.kind != "function":
        why = "the exercise has no function"
    if why:
        return Row(verdict.student, id, reason=why, **known)
    try:
        judged = judge(exercise, pairs, apart=True)
    except Unreadable as error:
        return Row(verdict.student, id, reason=str(error), **known)
    counts = (len(pairs), sum(judged.holds), judged.caught, judged.mistakes)
    return Row(verdict.student, id, *counts, **known)


def _asked(student: Student, what: str, *args: object) -> object:
    try:
        return student.perform(Request("call", what, what, args=args)).value
    except StudentError:
        return None
