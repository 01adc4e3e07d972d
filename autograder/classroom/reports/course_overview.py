"""How a class fares over its assignments, as nbgrader's own gradebook has it: the page that leads
to each assignment's report.

Points are the gradebook's: what the checks gave, what was given by hand, less what was taken off
for late work. An assignment that is not handed in is a dash and counts for nothing; one with
something undecided is marked, since its points are not final. The sum counts what was handed in.
"""

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from nbgrader.api import Assignment, Grade, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import case, func
from traitlets.config import Config

from autograder.classroom.gradebook.course import open_gradebook
from autograder.classroom.reports.html_pages import render
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.common.safe_names import shown


@dataclass
class Standing:
    """One student: points by assignment (None: not handed in), and in which of them something is
    undecided.
    """

    student: str
    name: str
    points: dict[str, float | None] = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)

    @property
    def total(self) -> float:
        """The sum over what was handed in."""
        return sum(one for one in self.points.values() if one is not None)


@dataclass
class Progress:
    """The class: each assignment's maximum, in order, and each student's standing, sorted."""

    most: dict[str, float]
    students: list[Standing]

    def columns(self) -> list[dict]:
        """One row an assignment: handed in, median share of the maximum, how many have it all, and
        how many wait.
        """
        rows = []
        for assignment, most in self.most.items():
            points = [
                one.points[assignment]
                for one in self.students
                if one.points.get(assignment) is not None
            ]
            rows.append(
                {
                    "assignment": assignment,
                    "most": most,
                    "handed_in": len(points),
                    "missing": len(self.students) - len(points),
                    "share": median(points) / most if points and most else None,
                    "complete": sum(one >= most for one in points),
                    "undecided": sum(assignment in one.undecided for one in self.students),
                }
            )
        return rows

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return {
            "assignments": self.columns(),
            "students": [
                {
                    "student": one.student,
                    "name": one.name,
                    "points": one.points,
                    "undecided": sorted(one.undecided),
                    "total": one.total,
                }
                for one in self.students
            ],
        }


def progress(config: Config) -> Progress:
    """Read it from the gradebook of a course root. Assignments without a hand-in are left out.

    nbgrader's own tables (`submission_dicts`) go through the whole gradebook for each assignment;
    this is one query for all.
    """
    with open_gradebook(config) as gradebook:
        students = {
            id: Standing(id, shown(" ".join(filter(None, names)) or id))
            for id, *names in gradebook.db.query(Student.id, Student.first_name, Student.last_name)
        }
        rows = (
            gradebook.db.query(
                SubmittedAssignment.student_id,
                Assignment.name,
                SubmittedNotebook.late_submission_penalty,
                func.coalesce(func.sum(Grade.score), 0.0),
                func.max(case((Grade.needs_manual_grade, 1), else_=0)),
            )
            .select_from(SubmittedAssignment)
            .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
            .outerjoin(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .outerjoin(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .group_by(
                SubmittedAssignment.student_id,
                Assignment.name,
                SubmittedNotebook.id,
                SubmittedNotebook.late_submission_penalty,
            )
        )
        for (
            student,
            assignment,
            taken_off,
            score,
            undecided,
        ) in rows:  # one for each notebook; ours are the only ones of their hand-ins
            one = students[student]
            one.points[assignment] = max(
                0.0, one.points.get(assignment, 0.0) + score - (taken_off or 0.0)
            )
            one.undecided |= {assignment} if undecided else set()
        handed_in = {assignment for one in students.values() for assignment in one.points}
        most = {
            one.name: one.max_score
            for one in sorted(gradebook.assignments, key=lambda one: one.name)
            if one.name in handed_in
        }
    everybody = [one for one in students.values() if one.points]
    return Progress(most, sorted(everybody, key=lambda one: one.student))


def write_progress(path: Path, config: Config) -> Path:
    """Write the page and return its path.

    It links the reports that lie beside it, called ASSIGNMENT.html.
    """
    found = progress(config)
    there = {one for one in found.most if (path.parent / f"{one}.html").exists()}
    write_whole(
        path,
        render("progress.html.j2", progress=found, columns=found.columns(), there=there),
        OWNER_ONLY,
    )
    return path
