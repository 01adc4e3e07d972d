"""Who is enrolled, and when each submission came, from a list that the learning platform exports.

A download of submissions says neither who is missing nor when anything was handed in. Moodle's
grading worksheet (Assignment > View all submissions > Download grading worksheet) says both; the
gradebook export of Canvas and any CSV with a column `name` and a number say who there is.
"""

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import timezone
from pathlib import Path

from dateutil.parser import parse

from autograder import course_layout
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.timestamps import in_utc

# Headings in lower case, the first that is there counts: Moodle's, Canvas's, a list of one's own.
NUMBER = ("identifier", "id", "lms_id", "number")
NAME = ("full name", "student", "name")
EMAIL = ("email address", "email", "sis login id")
TIME = ("last modified (submission)", "submitted", "timestamp")
NOT_STUDENTS = ("points possible", "student, test")  # rows of Canvas's export
MOST = 10_000_000  # bytes


@dataclass(frozen=True)
class Enrolled:
    """A student of the list; submitted: in UTC as nbgrader's timestamp.txt has it, or ""."""

    number: str
    name: str
    email: str = ""
    submitted: str = ""


def read_roster(path: Path) -> list[Enrolled]:
    """Everybody on a CSV. Raises CourseError that names the file, the line and the remedy."""
    try:
        if path.stat().st_size > MOST:
            raise CourseError(f"{path}: a roster of over {MOST // 10**6} MB; export it again")
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"{path}: no CSV in UTF-8 that can be read ({error})") from None
    head = [word.strip().lower() for word in lines[0]] if lines else []
    places = [
        next((head.index(word) for word in words if word in head), None)
        for words in (NUMBER, NAME, EMAIL, TIME)
    ]
    if places[0] is None or places[1] is None:
        raise CourseError(
            f"{path}: no column with the students' numbers and names. Give Moodle's grading"
            " worksheet, Canvas's gradebook export, or a CSV with the columns number, name, email"
        )
    found = []
    for line, row in enumerate(lines[1:], start=2):
        number, name, email, time = (
            row[place].strip() if place is not None and place < len(row) else "" for place in places
        )
        if not name or name.lower() in NOT_STUDENTS:
            continue
        number = number.removeprefix("Participant ")
        found.append(Enrolled(number, name, email, _utc(time, path, line)))
    if not found:
        raise CourseError(f"{path}: nobody is on this list")
    return found


def _utc(text: str, path: Path, line: int) -> str:
    """A time in UTC; one without a zone is local, as the platform shows it."""
    if text in ("", "-"):
        return ""
    try:
        in_utc(text)  # complains of what is no whole date
        return f"{parse(text).astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        raise CourseError(
            f"{path}, line {line}: {text[:60]!r} is no time; export the worksheet in English"
        ) from None


def keep_roster(root: Path, assignment: Assignment, enrolled: list[Enrolled]) -> None:
    """Remember the list for later runs."""
    made = [asdict(one) for one in enrolled]
    write_whole(course_layout.roster(root, assignment.name), json.dumps(made, indent=1), OWNER_ONLY)


def kept_roster(root: Path, assignment: Assignment) -> list[Enrolled]:
    """The list that was given last, empty where none was. Raises CourseError for a damaged one."""
    path = course_layout.roster(root, assignment.name)
    try:
        return [Enrolled(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        raise CourseError(f"{path} cannot be read: give --roster again") from None


def with_times(submissions: Iterable[Submission], enrolled: list[Enrolled]) -> list[Submission]:
    """The submissions, each that has no time with the one that the list gives its number."""
    times = {one.number: one.submitted for one in enrolled if one.number and one.submitted}
    return [
        one
        if one.timestamp or one.lms_id not in times
        else replace(one, timestamp=times[one.lms_id])
        for one in submissions
    ]


def missing(enrolled: list[Enrolled], results: Iterable[Verdict]) -> list[Enrolled]:
    """Who is on the list and has no result, by number, or by name where the results have none."""
    results = list(results)
    numbers = {one.lms_id for one in results if one.lms_id}
    names = {" ".join(one.name.lower().split()) for one in results if not one.lms_id}
    return [
        one
        for one in enrolled
        if one.number not in numbers and " ".join(one.name.lower().split()) not in names
    ]
