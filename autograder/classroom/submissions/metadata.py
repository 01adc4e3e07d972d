"""What is known of hand-ins beside the notebooks: what the platform said of each, and which entries
are nobody's.

A platform knows more of a hand-in than nbgrader's folders hold: the name as people write it, its
number, what the file was called, whether it was late, what was wrong with it. `course collect` and
`course grade` note that by student, in NAME.collected.json of `verdicts/`. Entries that are
nobody's submission stand in NAME.left-out.json, by the folder or zip they came in: what was handed
over is graded, or named in every report until it is taken for somebody's or left away there.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from autograder import course_layout
from autograder.classroom.gradebook.course import hash_of
from autograder.common.atomic_files import write_whole
from autograder.common.errors import CourseError
from autograder.common.safe_names import shown
from autograder.grading.assignment import Assignment
from autograder.grading.intake.discovery import STAMP, Submission, timestamp_of
from autograder.grading.results_store import students_with_results

NOTED = ("name", "lms_id", "late", "entry", "problem", "notes", "timestamp")
# where `course grade SUBMISSIONS` keeps what it left out: each run's in the place of the one before
OF_GRADING = ""


def refuse_inside(where: Path, **places: Path) -> None:
    """Raise CourseError where one of the places that are written to, by their options, lies in what
    was handed in.
    """
    for option, place in places.items():
        if place.resolve().is_relative_to(where.resolve()):
            raise CourseError(
                f"{option} {place} is in {where}, the folder of the submissions, and nothing is"
                " written there: name a folder beside it"
            )


def note_of(one: Submission) -> dict:
    """What a note says of a hand-in, as JSON has it."""
    return {name: getattr(one, name) for name in NOTED} | {"notes": list(one.notes)}


def from_note(student: str, path: Path, noted: dict) -> Submission:
    """The hand-in of which a copy lies at `path`.

    Raises ValueError for a note that says something else.
    """
    if (
        not isinstance(noted, dict)
        or set(noted) != set(NOTED)
        or not isinstance(noted["notes"], list)
    ):
        raise ValueError("it is no note on a hand-in")
    return Submission(student, path, **noted | {"notes": tuple(noted["notes"])})


def notes(course_root: Path, assignment: Assignment) -> dict[str, dict]:
    """By student what was noted.

    Raises CourseError for a file that cannot be read: without it names and numbers would be lost.
    """
    path = course_layout.collected(course_root, assignment.name)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        for student, noted in found.items():
            from_note(student, path, noted)
    except (OSError, ValueError, AttributeError) as error:
        raise CourseError(
            f"{path} cannot be read ({error}): move it away, and hand everything to `course"
            " collect` again"
        ) from error
    return found


def write_notes(
    course_root: Path, assignment: Assignment, submissions: Iterable[Submission]
) -> None:
    """Note what is known of these hand-ins; the notes on others stay."""
    before = notes(course_root, assignment)
    after = before | {one.student: note_of(one) for one in submissions}
    if after != before:
        write_whole(
            course_layout.collected(course_root, assignment.name),
            json.dumps(after, indent=1, sort_keys=True, ensure_ascii=False),
        )


def of_copy(
    course_root: Path, assignment: Assignment, student: str, noted: dict | None
) -> Submission:
    """The hand-in whose copy is in submitted/; the time that stands beside the copy counts before
    the noted one.
    """
    path = course_layout.submission(course_root, student, assignment.name)
    stamp = path.parent / STAMP
    when = timestamp_of(stamp) if stamp.is_file() else None
    known = noted or note_of(Submission(student, path, name=student))
    return from_note(student, path, known | ({"timestamp": when} if when else {}))


def leave_out(
    course_root: Path,
    assignment: Assignment,
    source: str,
    entries: dict[str, str],
    taken: Iterable[str] = (),
) -> None:
    """Keep what is nobody's of `source`, in the place of what was kept of it before; `taken`,
    entries that are somebody's now, go.
    """
    kept = _left_out(course_root, assignment) | {source: entries}
    mine = {shown(entry) for entry in taken}
    kept = {
        place: {entry: why for entry, why in some.items() if entry not in mine or place == source}
        for place, some in kept.items()
    }
    write_whole(
        course_layout.left_out(course_root, assignment.name),
        json.dumps({place: some for place, some in kept.items() if some}, indent=1, sort_keys=True),
    )


def left_out(course_root: Path, assignment: Assignment) -> dict[str, str]:
    """Every entry that is nobody's, of all that was handed over, and who was collected and is not
    graded, with the reason.
    """
    found = {
        entry: why
        for some in _left_out(course_root, assignment).values()
        for entry, why in some.items()
    }
    return never_judged(course_root, assignment) | found


def never_judged(course_root: Path, assignment: Assignment) -> dict[str, str]:
    """By student, who was collected and has no record at all, with the remedy."""
    found, graded = {}, students_with_results(course_root, assignment.name)
    for student in notes(course_root, assignment).keys() - graded:
        notebook = course_layout.autograded_folder(course_root, student, assignment.name)
        if not notebook.exists() and hash_of(
            course_layout.submission(course_root, student, assignment.name)
        ):
            found[student] = (
                "it is in submitted/ and was not judged yet; `course grade --assignment"
                f" {assignment.number}` does it"
            )
    return found


def _left_out(course_root: Path, assignment: Assignment) -> dict[str, dict[str, str]]:
    path = course_layout.left_out(course_root, assignment.name)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        plain = {place: some for place, some in found.items() if isinstance(some, str)}
        nested = {
            place: {str(entry): str(why) for entry, why in some.items()}
            for place, some in found.items()
            if place not in plain
        }
    except (OSError, ValueError, AttributeError) as error:
        return {
            OF_GRADING: {
                path.name: (
                    f"this list of what was left out cannot be read ({error}); hand over again what"
                    " was handed over"
                )
            }
        }
    return ({OF_GRADING: plain} if plain else {}) | nested
