"""What a class handed in, from wherever it lies, into nbgrader's `submitted/`; and what is there,
ready to be graded.

What the platform said of each is noted beside the copies, and so is what is nobody's: see
handed_over.py. What was handed in is only read; a folder in `submitted/` that is not a copy of ours
is never written to, and is named.
"""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder import course_layout
from autograder.authoring.catalogue import assignments
from autograder.classroom.gradebook.course import hash_of, keep_copy
from autograder.classroom.permissions import make_private_folders
from autograder.classroom.submissions.attempts import remember
from autograder.classroom.submissions.identities import of_notes
from autograder.classroom.submissions.metadata import from_note, leave_out, notes, write_notes
from autograder.common.atomic_files import tells_case_apart
from autograder.common.error_boundary import Guard
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.intake.discovery import Found, Submission, find_submissions
from autograder.grading.notebook.read import with_problem


@dataclass
class Collected:
    """By student: copied anew, the same as before, or not taken, with the reason; and entries that
    are nobody's.

    notes: by student, what else was handed in and is not graded, in sentences.
    """

    folder: Path
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return vars(self) | {"folder": str(self.folder)}


def collect(
    where: Path, assignment: Assignment, course_root: Path, known: dict[str, str]
) -> Collected:
    """Copy every submission under `where`, a folder or one zip, to
    submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb.

    known: by student whose number it is, from the records of earlier runs. A hand-in that cannot be
    read leaves a placeholder that says why, and is among `problems`. Raises CourseError if there is
    nothing at all, or if `where` is submitted/ itself.
    """
    course_root = course_root.resolve()
    if where.resolve().is_relative_to(course_layout.submitted(course_root)):
        raise CourseError(
            f"{where} is where collected work goes; `course grade --assignment {assignment.number}`"
            " grades it"
        )
    make_private_folders(course_root)
    guard, known_notes = Guard(course_root), notes(course_root, assignment)
    # A namesake in a later download is somebody else, graded or not.
    known = of_notes(course_root, assignment) | known
    found = _found(where, assignment, course_root, known, guard)
    made, taken_over = Collected(course_layout.submitted(course_root), left_out=found.left_out), []
    for one in found.submissions:
        target = course_layout.submission(course_root, one.student, assignment.name)
        before = hash_of(target)
        noted = known_notes.get(one.student)
        earlier = (
            from_note(one.student, target, noted)
            if noted and _is_copy(course_root, assignment, one.student, target)
            else None
        )
        guard.run(
            one.student,
            "keeping what was handed in before",
            lambda: remember(course_root, assignment, one, earlier),
        )  # noqa: B023
        taken = guard.run(
            one.student,
            "copying what was handed in",
            lambda: keep_copy(course_root, one, assignment),
        )  # noqa: B023
        if not taken:
            made.problems[one.student] = guard.troubles.get(
                one.student,
                f"{target.parent} holds another notebook, which is no copy of ours; it was left as"
                " it is",
            )
            continue
        one = with_problem(one, target)
        taken_over.append(one)
        if one.notes:
            made.notes[one.student] = list(one.notes)
        if one.problem:
            made.problems[one.student] = one.problem
        (
            made.new if not before else made.same if hash_of(target) == before else made.changed
        ).append(one.student)
    write_notes(course_root, assignment, taken_over)
    refused = {
        one.entry or one.student: made.problems[one.student]
        for one in found.submissions
        if one.student not in {other.student for other in taken_over}
    }
    leave_out(
        course_root,
        assignment,
        str(where.resolve()),
        found.left_out | refused,
        [one.entry for one in taken_over],
    )
    return made


def collected(
    assignment: Assignment, course_root: Path, known: dict[str, str], guard: Guard
) -> Found:
    """Everything in submitted/, with what was noted when it was collected; a folder that has other
    assignments only is not left out of this one. Raises CourseError if there is nothing.
    """
    submitted, noted = (
        course_layout.submitted(course_root.resolve()),
        notes(course_root, assignment),
    )
    ours = {
        student: course_layout.submission(course_root.resolve(), student, assignment.name)
        for student in noted
    }
    ours = {
        student: path
        for student, path in ours.items()
        if path.is_file() and _is_copy(course_root, assignment, student, path)
    }
    if not list(submitted.glob(f"*/{assignment.name}")):
        raise CourseError(
            f"{submitted}: nothing of {assignment.name} was collected; give the folder of the"
            " submissions, or run `course collect` first"
        )
    found = _found(
        submitted, assignment, course_root, known, guard, hard_links=True
    )  # a backup of the class may have made them
    by_folder = {_folder(one, submitted): one for one in found.submissions}
    taken = [one for folder, one in by_folder.items() if folder not in ours]
    for student, path in ours.items():
        one = from_note(student, path, noted[student])
        # Somebody may have written another time since.
        taken.append(
            replace(one, timestamp=by_folder[student].timestamp or one.timestamp)
            if student in by_folder
            else one
        )
    names = {one.name for one in assignments()}
    left_out = {
        entry: why
        for entry, why in found.left_out.items()
        if not ((submitted / entry).is_dir() and names.issuperset(os.listdir(submitted / entry)))
    }
    return Found(sorted(taken, key=lambda one: one.student), left_out)


def _found(
    where: Path,
    assignment: Assignment,
    course_root: Path,
    known: dict[str, str],
    guard: Guard,
    hard_links: bool = False,
) -> Found:
    return find_submissions(
        where,
        assignment.name,
        known=known,
        guard=guard,
        case_matters=tells_case_apart(course_root),
        hard_links=hard_links,
        others=tuple(one.name for one in assignments() if one.name != assignment.name),
    )


def _folder(one: Submission, submitted: Path) -> str:
    """The folder of a student that a submission lies in."""
    path = one.path if one.path.is_relative_to(submitted) else submitted / one.student
    return path.relative_to(submitted).parts[0] if path != submitted else ""


def _is_copy(course_root: Path, assignment: Assignment, student: str, path: Path) -> bool:
    note = course_layout.copy_note(course_root, assignment.name, student)
    return (
        path.is_file()
        and note.exists()
        and hash_of(path) in note.read_text(encoding="utf-8").split()
    )
