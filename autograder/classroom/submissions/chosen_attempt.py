"""Which attempt of one student counts, where the instructor chose one against the rule."""

import json
from pathlib import Path

from autograder import course_layout
from autograder.common.atomic_files import write_whole, writing
from autograder.common.errors import CourseError


def chosen(course_root: Path, assignment: str, student: str) -> int | None:
    """Return the number of the attempt that the instructor chose; None if the rule decides.

    Raises CourseError for a file that does not say it.
    """
    path = course_layout.chosen_attempt(course_root, assignment, student)
    if not path.exists():
        return None
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["counts"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(
            f"{path} does not say which attempt counts ({error}): delete it, and choose again"
        ) from None


def choose(course_root: Path, assignment: str, student: str, number: int | None) -> None:
    """Let the attempt with this number count, whatever the rule; None leaves it to the rule."""
    path = course_layout.chosen_attempt(course_root, assignment, student)
    if number is None:
        with writing(path):
            path.unlink(missing_ok=True)
    else:
        write_whole(path, json.dumps({"counts": number}))
