"""The results of a course root: every one that can be read, and every one that should be there and
cannot.

A result that is broken, cut off or gone must cost nobody a row. Its student stands in every table,
page and export with the reason and the remedy, as a verdict in which nothing is decided; and where
the copy of what was handed in is still there, the next `course grade` or `course regrade --apply`
judges it again. One that is gone may have been taken away by a person: it is judged again when it
is asked for, and not while other work is graded.
"""

from pathlib import Path

from autograder import course_layout
from autograder.classroom.gradebook.course import hash_of
from autograder.classroom.submissions.metadata import notes, of_copy
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.read import is_placeholder
from autograder.grading.results_store import all_verdicts, has_result, remove_result

LOST = "lost"  # in the place of the isolation
UNREADABLE = "unreadable result"  # the kind of event that keeps the text of one
NUMBERS = ("points", "earned")
STAGE_TEXTS = ("name", "status", "cause", "detail", "misconception")


def everybody(course_root: Path, assignment: Assignment) -> dict[str, Verdict]:
    """By student, sorted: every record of the course root; and in the place of each that cannot be
    read, or is gone although nbgrader's notebook and the copy are there, a verdict in which nothing
    is decided, with the reason and the remedy.
    """
    recorded = all_verdicts(course_root, assignment.name)
    graded = {
        path.parent.name
        for path in course_layout.autograded(course_root).glob(f"*/{assignment.name}")
    }
    gone = {
        student
        for student in graded - recorded.keys()
        if hash_of(course_layout.submission(course_root, student, assignment.name))
    }
    found = {}
    for student in sorted(recorded.keys() | gone):
        verdict = recorded.get(student)
        if verdict is None or not _is_whole(verdict):
            verdict = _stand_in(course_root, assignment, student, student in recorded)
        found[student] = verdict
    return found


def journal(course_root: Path, assignment: Assignment) -> dict[str, Verdict]:
    """Every record of the course root that can be read, by student, sorted."""
    return {
        student: verdict
        for student, verdict in everybody(course_root, assignment).items()
        if not is_lost(verdict)
    }


def is_lost(verdict: Verdict) -> bool:
    """Whether a verdict is one that stands for a record that cannot be read."""
    return verdict.tier == LOST


def from_copy(course_root: Path, verdict: Verdict, assignment: Assignment) -> Submission | None:
    """The submission of an earlier verdict, from the copy that was kept; None where that is not
    what was graded.

    Of a lost record any copy that is there is taken.
    """
    path = course_layout.submission(course_root, verdict.student, assignment.name)
    if is_lost(verdict):
        copy = _copy_of_lost(course_root, assignment, verdict.student)
        return copy if copy and (copy.problem or not is_placeholder(path)) else None
    copy = Submission(
        verdict.student,
        path,
        timestamp=verdict.timestamp,
        name=verdict.name,
        lms_id=verdict.lms_id,
        late=verdict.late,
        entry=verdict.entry,
    )
    there = verdict.submission and hash_of(path) == verdict.submission
    return copy if there and (verdict.readable or not is_placeholder(path)) else None


def is_gone(course_root: Path, verdict: Verdict) -> bool:
    """Whether a lost result has no row at all."""
    return not has_result(course_root, verdict.assignment, verdict.student)


def set_aside(course_root: Path, assignment: Assignment, student: str) -> None:
    """Move a result that cannot be read to the events, so that nothing takes it for one."""
    remove_result(course_root, assignment.name, student, keep_as=UNREADABLE)


def _copy_of_lost(course_root: Path, assignment: Assignment, student: str) -> Submission | None:
    if not hash_of(course_layout.submission(course_root, student, assignment.name)):
        return None
    return of_copy(course_root, assignment, student, notes(course_root, assignment).get(student))


def _stand_in(course_root: Path, assignment: Assignment, student: str, is_there: bool) -> Verdict:
    copy = _copy_of_lost(course_root, assignment, student)
    noted = copy or of_copy(
        course_root, assignment, student, notes(course_root, assignment).get(student)
    )
    verdict = Verdict(
        student,
        assignment.name,
        "",
        "",
        LOST,
        name=noted.name,
        lms_id=noted.lms_id,
        late=noted.late,
        entry=noted.entry,
        timestamp=noted.timestamp,
    )
    remedy = (
        f"`course regrade {assignment.number} --write` judges the copy of the notebook again"
        if from_copy(course_root, verdict, assignment)
        else "no copy of the notebook is in submitted/: hand it to `course grade` again"
    )
    verdict.human = [
        {
            "exercise": None,
            "reason": (
                f"The result of {student} in {course_layout.RESULTS_FILE}"
                f" {'cannot be read' if is_there else 'is gone'}; {remedy}."
            ),
        }
    ]
    return verdict


def _is_whole(verdict: Verdict) -> bool:
    """Whether everything that tables and pages look at has its shape: a file that somebody edited
    may be JSON and no record.
    """
    try:
        stages = [stage for result in verdict.results for stage in result["stages"]]
        numbers = [row[name] for row in (*verdict.results, *stages) for name in NUMBERS]
        texts = (
            [stage[name] for stage in stages for name in STAGE_TEXTS]
            + [one["reason"] for one in verdict.human]
            + [result["exercise"] for result in verdict.results]
            + [verdict.submission, verdict.checks, verdict.name, verdict.lms_id, verdict.entry]
        )
        return (
            all(isinstance(one, (int, float)) for one in numbers)
            and all(isinstance(one, str) for one in texts)
            and all("exercise" in one for one in verdict.human)
            and isinstance(verdict.own, dict)
            and isinstance(verdict.untouched, list)
        )
    except (TypeError, KeyError):
        return False
