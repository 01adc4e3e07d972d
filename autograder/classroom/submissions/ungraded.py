"""Hand-ins that were kept and are not judged: a grade that stands is then about older work, and
everything that goes out says so.

`course collect` takes hand-ins without judging them, and a run that was killed has taken them all
before it judged the first.
"""

from pathlib import Path

from autograder.classroom.gradebook.course import hash_of
from autograder.classroom.submissions.attempts import counting, journal_of, kept, rule
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import Submission
from autograder.grading.results_store import has_result

NEWER = (
    "What was handed in since is not judged yet, and the points are those of an earlier hand-in;"
    " `course grade --assignment {}` judges it."
)
OTHERS = (
    "Another hand-in is not judged yet, and the best one counts; `course grade --assignment {}`"
    " judges it."
)


def unjudged(course_root: Path, assignment: Assignment, verdict: Verdict) -> str:
    """A sentence if a hand-in of this student's, which would count or might, has no verdict; else
    "".
    """
    found = kept(course_root, assignment, verdict.student)
    if len(found) < 2 or not verdict.submission:  # what went wrong there is told already
        return ""
    if rule(course_root) == "best":
        left = [
            number
            for number in found
            if not has_result(journal_of(course_root, number), assignment.name, verdict.student)
        ]
        return OTHERS.format(assignment.number) if left else ""
    counts = counting(course_root, assignment, verdict.student, found)
    return NEWER.format(assignment.number) if hash_of(counts.path) != verdict.submission else ""


def kept_copy(course_root: Path, assignment: Assignment, verdict: Verdict) -> Submission | None:
    """What a verdict is about, from the hand-ins that were kept; None if it is not among them."""
    same = [
        one
        for one in kept(course_root, assignment, verdict.student).values()
        if hash_of(one.path) == verdict.submission
    ]
    if not same:
        return None
    return Submission(
        verdict.student,
        same[-1].path,
        timestamp=verdict.timestamp,
        name=verdict.name,
        lms_id=verdict.lms_id,
        late=verdict.late,
        entry=verdict.entry,
    )
