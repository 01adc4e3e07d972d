"""What a class handed in, from wherever it lies, into nbgrader's `submitted/`; and what is there, ready to be graded.

A platform knows more of a hand-in than nbgrader's folder holds: the name as people write it, the platform's number, what
the file was called, whether it was late, what was wrong with it. That is noted beside the copies. What was handed in is
only read; a folder in `submitted/` that is not a copy of ours is never written to, and is named.
"""
import json
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.catalogue import assignments
from autograder.classroom.gradebook import copy_note, hash_of, keep_copy
from autograder.classroom.hand_ins import NOTED, remember
from autograder.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.files import tells_case_apart, write_whole
from autograder.grading.guard import Guard
from autograder.grading.submissions import Found, Submission, find_submissions


@dataclass
class Collected:
    """By student: copied anew, the same as before, or not taken, with the reason; and entries that are nobody's."""

    folder: Path
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return vars(self) | {"folder": str(self.folder)}


def collect(where: Path, assignment: Assignment, course_root: Path, known: dict[str, str]) -> Collected:
    """Copy every submission under `where`, a folder or one zip, to submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb.

    known: the platform's number by student, from earlier runs. A hand-in that cannot be read leaves a placeholder that says
    why, and is among `problems`. Raises CourseError if there is nothing at all, or if `where` is submitted/ itself.
    """
    course_root = course_root.resolve()
    if where.resolve().is_relative_to(course_root / "submitted"):
        raise CourseError(f"{where} is where collected work goes; `course grade --assignment {assignment.number}` grades it")
    course_root.mkdir(parents=True, exist_ok=True)
    guard, notes = Guard(course_root), _notes(course_root, assignment)
    # A namesake in a later download is somebody else, graded or not.
    known = {student: noted["lms_id"] for student, noted in notes.items()} | known
    found = _found(where, assignment, course_root, known, guard)
    made = Collected(course_root / "submitted", left_out=found.left_out)
    for one in found.submissions:
        target = course_root / "submitted" / one.student / assignment.name / f"{assignment.name}.ipynb"
        before = hash_of(target)
        noted = notes.get(one.student)
        earlier = Submission(one.student, target, **noted | {"notes": tuple(noted["notes"])}) if noted and _is_copy(
            course_root, assignment, one.student, target) else None
        guard.run(one.student, "keeping what was handed in before", lambda: remember(course_root, assignment, one, earlier))     # noqa: B023
        taken = guard.run(one.student, "copying what was handed in", lambda: keep_copy(course_root, one, assignment))  # noqa: B023
        if not taken:
            made.problems[one.student] = guard.troubles.get(one.student, (
                f"{target.parent} holds another notebook, which is no copy of ours; it was left as it is"))
            continue
        notes[one.student] = {name: getattr(one, name) for name in NOTED}
        if one.problem:
            made.problems[one.student] = one.problem
        (made.new if not before else made.same if hash_of(target) == before else made.changed).append(one.student)
    write_whole(_notes_path(course_root, assignment), json.dumps(notes, indent=1, sort_keys=True, ensure_ascii=False))
    return made


def collected(assignment: Assignment, course_root: Path, known: dict[str, str], guard: Guard) -> Found:
    """Everything in submitted/, with what was noted when it was collected. Raises CourseError if there is nothing."""
    submitted, notes = course_root.resolve() / "submitted", _notes(course_root, assignment)
    ours = {student: submitted / student / assignment.name / f"{assignment.name}.ipynb" for student in notes}
    ours = {student: path for student, path in ours.items() if path.is_file() and _is_copy(course_root, assignment, student, path)}
    if not list(submitted.glob(f"*/{assignment.name}")):
        raise CourseError(f"{submitted}: nothing of {assignment.name} was collected; give the folder of the submissions, or "
                          f"run `course collect` first")
    found = _found(submitted, assignment, course_root, known, guard)
    by_folder = {_folder(one, submitted): one for one in found.submissions}
    taken = [one for folder, one in by_folder.items() if folder not in ours]
    for student, path in ours.items():
        noted = notes[student] | {"notes": tuple(notes[student]["notes"])}
        if student in by_folder and by_folder[student].timestamp:       # somebody may have written another one since
            noted["timestamp"] = by_folder[student].timestamp
        taken.append(Submission(student, path, **noted))
    return Found(sorted(taken, key=lambda one: one.student), found.left_out)


def _found(where: Path, assignment: Assignment, course_root: Path, known: dict[str, str], guard: Guard) -> Found:
    return find_submissions(where, assignment.name, known=known, guard=guard, case_matters=tells_case_apart(course_root),
                            others=tuple(one.name for one in assignments() if one.name != assignment.name))


def _folder(one: Submission, submitted: Path) -> str:
    """The folder of a student that a submission lies in."""
    path = one.path if one.path.is_relative_to(submitted) else submitted / one.student
    return path.relative_to(submitted).parts[0] if path != submitted else ""


def _is_copy(course_root: Path, assignment: Assignment, student: str, path: Path) -> bool:
    note = copy_note(course_root, assignment.name, student)
    return path.is_file() and note.exists() and hash_of(path) in note.read_text(encoding="utf-8").split()


def _notes_path(course_root: Path, assignment: Assignment) -> Path:
    return course_root / "verdicts" / f"{assignment.name}.collected.json"


def _notes(course_root: Path, assignment: Assignment) -> dict[str, dict]:
    try:
        return json.loads(_notes_path(course_root, assignment).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
