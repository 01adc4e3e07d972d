"""What the sample class earned, compared with what each of its submissions deserves."""

import json
from pathlib import Path

from autograder.classroom.grade_class import records
from autograder.classroom.gradebook.grades import HandGrades, exercise_points
from autograder.classroom.reports.run_summary import Summary
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict

SHOWN = 20  # lines of a message
NOT_DESERVED = (
    "the sample class did not earn what it deserves, so the grader on this machine cannot be "
    "trusted:\n{}\n"
    "`course doctor` examines the sandbox; what each submission deserves is in {}"
)
Points = dict[str, float | None]


def refuse_if_undeserved(expected: Path, course_root: Path, summary: Summary) -> None:
    """Raise CourseError unless everybody got what `expected` says; it names all that differs.

    expected: the table that `make_sample_class` writes.
    """
    table = json.loads(expected.read_text(encoding="utf-8"))
    assignment, rows = records(course_root, summary.assignment)
    by_student = {verdict.student: (verdict, graded) for verdict, graded in rows}
    wrong = [
        f"{entry}: it was excluded, and should be graded ({reason})"
        for entry, reason in summary.not_graded.items()
    ]
    for student, deserved in table.items():
        if student in by_student:
            wrong += [
                f"{student}, {line}"
                for line in undeserved(deserved, *by_student[student], assignment)
            ]
        else:
            wrong.append(f"{student}: it has no result")
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise CourseError(
            NOT_DESERVED.format(
                "\n".join(f"  {line}" for line in [*wrong[:SHOWN], *more]), expected
            )
        )


def undeserved(
    deserved: dict, verdict: Verdict, graded: HandGrades, assignment: Assignment
) -> list[str]:
    """A line for each exercise with other points than deserved; points by hand are not compared."""
    found, points = [], exercise_points(verdict, graded, assignment)
    for id, wanted in deserved["points"].items():
        got, exercise = points[id], assignment.exercises[id]
        if exercise.kind == "manual":
            right = got is not None or wanted is None
        else:
            by_hand = graded.points.get(f"{id.split('.', 1)[1]}-check") is not None
            right = (
                by_hand
                or (got is None) == (wanted is None)
                and abs((got or 0) - (wanted or 0)) < 1e-6
            )
        if not right:
            reason = f" ({verdict.waits(id)})" if got is None and verdict.waits(id) else ""
            found.append(f"{id}: {_said(got)}, {_said(wanted)} deserved{reason}")
    if bool(verdict.human) != deserved["needs_human"] and not found:
        found.append(
            "it waits for a person, and should not"
            if verdict.human
            else "it should wait for a person, and does not"
        )
    return found


def _said(points: float | None) -> str:
    return "no points decided" if points is None else f"{points:g} points"
