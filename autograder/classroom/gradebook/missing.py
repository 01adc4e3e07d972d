"""A gradebook that does not hold what was graded here: it was lost, or a copy from before was
brought back.

What the checks gave is in the records, and goes into a new gradebook. Points and comments given by
hand are nowhere else: to go on as if there had been none would be a silent loss, so whoever asks
for points is told, and only `course grade` makes a gradebook anew. nbgrader's notebook in
autograded/ is written after its rows are there (see class_book.py): a first run that was killed is
no loss.
"""

from pathlib import Path

from nbgrader.api import Assignment as AssignmentRow
from nbgrader.api import SubmittedAssignment
from traitlets.config import Config

from autograder.classroom.gradebook.course import open_gradebook
from autograder.classroom.gradebook.database import shown
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.results_store import students_with_results


def absent(course_root: Path, assignment: Assignment, config: Config) -> tuple[int, int]:
    """How many submissions that were stored in the gradebook are not in it now, and how many were
    stored. Makes no database.
    """
    name = assignment.name
    stored = {
        path.parents[1].name for path in course_root.glob(f"autograded/*/{name}/{name}.ipynb")
    }
    stored &= students_with_results(course_root, name)
    if not stored or _no_file(config):
        return len(stored), len(stored)
    with open_gradebook(config) as gradebook:
        held = {
            student
            for (student,) in (
                gradebook.db.query(SubmittedAssignment.student_id)
                .join(AssignmentRow, SubmittedAssignment.assignment)
                .filter(AssignmentRow.name == name)
            )
        }
    return len(stored - held), len(stored)


def refuse_if_lost(course_root: Path, assignment: Assignment, config: Config) -> None:
    """Raise CourseError with the remedy where the gradebook has nothing of an assignment that was
    graded here.
    """
    gone, stored = absent(course_root, assignment, config)
    if stored and gone == stored:
        raise CourseError(
            f"the gradebook {shown(config.CourseDirectory.db_url)} is not there or has nothing of"
            f" {_count(stored, 'submission')} to {assignment.name} graded here, and points and"
            " comments given by hand were in it. Bring a copy of it back; else `course grade"
            f" --assignment {assignment.number}` makes it anew from the records, without them"
        )


def made_anew(gone: int, stored: int, config: Config) -> str:
    """What a grading says that put absent submissions into the gradebook again; "" where none were
    absent.
    """
    where = shown(config.CourseDirectory.db_url)
    if not gone:
        return ""
    if gone == stored:
        what = (
            f"the gradebook {where} was not there and was made anew from {_count(stored, 'record')}"
        )
    else:
        what = (
            f"the gradebook {where} had nothing of {gone} of {_count(stored, 'student')} graded"
            " here, and got it anew from their records"
        )
    return (
        f"{what}; points and comments given by hand, due dates and extensions are not in it: bring"
        " a copy of it back before you grade by hand"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"


def _no_file(config: Config) -> bool:
    url = config.CourseDirectory.db_url
    return url.startswith("sqlite") and not Path(shown(url)).exists()
