"""Decide on a flagged submission: give points, accept a relocated answer, use another attempt.

Each decision is applied by the functions that the commands use (the gradebook's points by hand,
which formgrader writes too; `grade_all`; and `rewrite`, which is `course report`) and recorded with
its reason (record.py). `undo` takes it back.
"""

import math
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat
from nbgrader.api import MissingEntry

from autograder import course_layout
from autograder.classroom.decisions.record import (
    ATTEMPT,
    POINTS,
    RELOCATED,
    Decision,
    decisions,
    note,
    note_undone,
)
from autograder.classroom.grade_class import records, rewrite
from autograder.classroom.gradebook.course import course_config, keep_copy, open_gradebook
from autograder.classroom.gradebook.grades import (
    HandGrades,
    exercise_points,
    grade_cell,
    looks_again,
)
from autograder.classroom.submissions import attempts
from autograder.classroom.submissions.chosen_attempt import choose, chosen
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.executors.local import grade_all
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.notebook.definitions import functions_of
from autograder.grading.notebook.magics import without_magics
from autograder.grading.notebook.merge import assemble
from autograder.grading.notebook.parse import IntakeError

Rows = list[tuple[Verdict, HandGrades]]


@dataclass(frozen=True)
class OpenItem:
    """A flagged exercise, or a whole submission that could not be read (exercise "").

    relocated: whether a cell that is not the exercise's own defines its function. attempts: the
    numbers of the other attempts that are kept.
    """

    student: str
    label: str
    exercise: str
    why: str
    points: float
    relocated: bool = False
    attempts: tuple[int, ...] = field(default=())


@dataclass(frozen=True)
class Desk:
    """Where decisions are made: a graded assignment of a course directory, and its report.

    backend: a sandbox backend; default the strongest one here.
    """

    course_root: Path
    report: Path
    assignment: Assignment
    backend: object = None

    @property
    def name(self) -> str:
        """The assignment's name."""
        return self.assignment.name

    def row(self, student: str) -> tuple[Verdict, HandGrades]:
        """Return a student's record and points by hand. Raises CourseError for an unknown key."""
        for row in records(self.course_root, self.name)[1]:
            if row[0].student == student:
                return row
        raise CourseError(f"{student!r}: no such student in {self.name}; reload the report")


def open_items(desk: Desk, rows: Rows) -> list[OpenItem]:
    """Return what is flagged, by student; a written answer that waits to be read is not."""
    found = []
    for verdict, graded in rows:
        points = exercise_points(verdict, graded, desk.assignment)
        kept = attempts.kept(desk.course_root, desk.assignment, verdict.student)
        counts = {row["number"] for row in verdict.hand_ins if row["counts"]}
        others = tuple(number for number in kept if number not in counts) if len(kept) > 1 else ()
        for id, exercise in desk.assignment.exercises.items():
            why = verdict.waits(id) if points[id] is None else ""
            if looks_again(id, graded):
                why = "Points given by hand are older than the work."
            if not why:
                continue
            moved = verdict.readable and bool(_sources_elsewhere(verdict, desk.assignment, id))
            item = OpenItem(verdict.student, verdict.label, id, why, exercise.points, moved, others)
            found.append(item)
        if others and not any(item.student == verdict.student for item in found):
            why = f"{len(kept)} attempts; the one that counts was chosen by their times or points."
            found.append(OpenItem(verdict.student, verdict.label, "", why, 0.0, False, others))
    return found


def give_points(desk: Desk, student: str, exercise: str, points: float, reason: str) -> Decision:
    """Give points by hand, as formgrader does.

    Raises CourseError for points that the exercise does not have, and for an unknown exercise.
    """
    most = _exercise(desk, exercise).points
    if not (math.isfinite(points) and 0 <= points <= most):
        raise CourseError(f"{points:g} points: {exercise} gives from 0 to {most:g}")
    return _by_hand(
        desk, student, exercise, points, kind=POINTS, said=f"{points:g} points", reason=reason
    )


def accept_relocated(desk: Desk, student: str, exercise: str, reason: str) -> Decision:
    """Run the checks with the answer that stands in another cell, and give what it earns by hand.

    Raises CourseError when no other cell defines the function, or the checker fails.
    """
    _exercise(desk, exercise)
    verdict, _ = desk.row(student)
    sources = _sources_elsewhere(verdict, desk.assignment, exercise)
    if not sources:
        function = desk.assignment.exercises[exercise].function
        raise CourseError(f"{student}: no other cell of the notebook defines `{function}`")
    earned = _earned_with(desk, verdict, exercise, sources[-1])
    said = f"the relocated answer, which earns {earned:g} points"
    return _by_hand(desk, student, exercise, earned, kind=RELOCATED, said=said, reason=reason)


def use_attempt(desk: Desk, student: str, number: int, reason: str) -> Decision:
    """Let another attempt count, and grade it.

    Raises CourseError for an attempt that is not kept, and when the checker fails.
    """
    verdict, _ = desk.row(student)
    before = chosen(desk.course_root, desk.name, student)
    _count(desk, verdict, number)
    made = note(
        desk.course_root,
        desk.name,
        student=student,
        exercise="",
        kind=ATTEMPT,
        said=f"attempt {number} counts",
        reason=reason,
        before={"number": before},
    )
    rewrite(desk.course_root, desk.report, desk.name)
    return made


def undo(desk: Desk, number: int) -> None:
    """Take a decision back. Raises CourseError for one that is not there, or not the last one on
    its exercise.
    """
    standing = [one for one in decisions(desk.course_root, desk.name) if not one.undone]
    made = next((one for one in standing if one.number == number), None)
    if made is None:
        raise CourseError(f"decision {number}: not there, or undone already; reload the report")
    later = [one for one in standing if one.number > number and _about(one) == _about(made)]
    if later:
        raise CourseError(f"decision {number}: undo decision {later[-1].number} first")
    if made.kind == ATTEMPT:
        _count(desk, desk.row(made.student)[0], made.before["number"])
    else:
        _write_grade(desk, made.student, made.exercise, **made.before)
    note_undone(desk.course_root, desk.name, number)
    rewrite(desk.course_root, desk.report, desk.name)


def _about(one: Decision) -> tuple[str, str]:
    return one.student, one.exercise


def _exercise(desk: Desk, id: str) -> object:
    if id not in desk.assignment.exercises:
        raise CourseError(f"{id!r}: no exercise of {desk.name}; reload the report")
    return desk.assignment.exercises[id]


def _by_hand(desk: Desk, student: str, exercise: str, points: float, **words: str) -> Decision:
    """Give points and record it; words: `kind`, `said` and `reason` of the decision."""
    before = _write_grade(desk, student, exercise, manual_score=points, needs_manual_grade=False)
    what = {"student": student, "exercise": exercise, "before": before, **words}
    made = note(desk.course_root, desk.name, **what)
    rewrite(desk.course_root, desk.report, desk.name)
    return made


def _write_grade(desk: Desk, student: str, exercise: str, **values: object) -> dict:
    """Write the fields of a grade and return what they held."""
    cell = grade_cell(exercise, _exercise(desk, exercise).kind)
    with open_gradebook(course_config(desk.course_root)) as gradebook:
        try:
            grade = gradebook.find_grade(cell, desk.name, desk.name, student)
        except MissingEntry:
            raise CourseError(
                f"{student}: the gradebook has no submission; run `course grade` first"
            ) from None
        before = {name: getattr(grade, name) for name in values}
        for name, value in values.items():
            setattr(grade, name, value)
        gradebook.db.commit()
    return before


def _sources_elsewhere(verdict: Verdict, assignment: Assignment, exercise: str) -> list[str]:
    """Return the sources of cells other than the exercise's own that define its function."""
    function, short = assignment.exercises[exercise].function, exercise.split(".", 1)[1]
    cells = [source for _, source in verdict.added]
    cells += [source for name, source in verdict.own.items() if name != short]
    cells = [source for source in cells if function and function in source]

    def defining() -> list[str]:
        return [one for one in cells if function in functions_of(without_magics(one)[0])]

    try:  # a student's code is parsed within limits
        return in_limits(defining) if cells else []
    except IntakeError:
        return []


def _earned_with(desk: Desk, verdict: Verdict, exercise: str, source: str) -> float:
    """Return what an exercise earns when `source` is in its cell; nothing of it is recorded."""
    short = exercise.split(".", 1)[1]
    own = {**verdict.own, short: source}
    notebook = assemble(desk.assignment.pristine, own, verdict.added, verdict.found)
    with tempfile.TemporaryDirectory(prefix=".decision-", dir=desk.course_root) as folder:
        stage, path = Path(folder), Path(folder, "relocated.ipynb")
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
        attempts.share_secret(desk.course_root, stage)
        one = Submission(verdict.student, path, name=verdict.name)
        again = grade_all([one], desk.assignment, stage, backend=desk.backend)
    result = again.verdicts[verdict.student]
    earned = {row["exercise"]: row["earned"] for row in result.results}
    if result.fault or exercise not in earned:
        said = result.waits(exercise) or "the checker failed"
        raise CourseError(f"{verdict.student} {exercise}: {said} Nothing was decided.")
    return earned[exercise]


def _count(desk: Desk, verdict: Verdict, number: int | None) -> None:
    """Choose an attempt, or none, grade what counts then, and keep its copy for nbgrader."""
    student = verdict.student
    kept = attempts.kept(desk.course_root, desk.assignment, student)
    if number is not None and number not in kept:
        raise CourseError(f"{student}: attempt {number} is not kept; reload the report")
    before = chosen(desk.course_root, desk.name, student)
    choose(desk.course_root, desk.name, student, number)
    if attempts.rule(desk.course_root) == "best":  # then all of them are graded
        [one] = attempts.counted(
            [attempts.newest(kept)],
            desk.assignment,
            desk.course_root,
            course_config(desk.course_root),
            lambda several, where: grade_all(several, desk.assignment, where, backend=desk.backend),
        )
    else:
        one = attempts.counting(desk.course_root, desk.assignment, student, kept)
    one = replace(one, name=verdict.name)
    if not keep_copy(desk.course_root, one, desk.assignment):
        choose(desk.course_root, desk.name, student, before)
        folder = course_layout.submission_folder(desk.course_root, student, desk.name)
        raise CourseError(f"{folder} holds a notebook that is not our copy: move it away first")
    grade_all([one], desk.assignment, desk.course_root, backend=desk.backend)
