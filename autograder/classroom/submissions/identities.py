"""Who is whom: a platform's number is the identity of a student, and the name beside it may change.

A number says who somebody is on one platform only; `layouts.identity` puts the two together. A
class that was graded under two names of one person has that number twice: both are named, a person
decides, and no platform gets either of them.
"""

from collections.abc import Callable, Iterable

from autograder import course_layout
from autograder.classroom.gradebook.course import hash_of
from autograder.classroom.submissions.metadata import notes
from autograder.common.safe_names import shown
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.lms_layouts import identity


def of_records(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """By student, whose number it is, as records say."""
    return {one.student: identity(one.entry, one.lms_id) for one in verdicts}


def of_notes(course_root, assignment: Assignment) -> dict[str, str]:
    """By student, whose number it is, as was noted of hand-ins whose copy is still there."""
    return {
        student: identity(noted["entry"], noted["lms_id"])
        for student, noted in notes(course_root, assignment).items()
        if hash_of(course_layout.submission(course_root, student, assignment.name))
    }


def shared(
    verdicts: Iterable[Verdict],
    number: Callable[[Verdict], str] = lambda one: identity(one.entry, one.lms_id),
) -> dict[str, str]:
    """By student, the reason and the remedy where several have one number.

    number: what is compared; "" for none.
    """
    by_number: dict[str, list[Verdict]] = {}
    for one in verdicts:
        if number(one):
            by_number.setdefault(number(one), []).append(one)
    return {
        one.student: _said(several)
        for several in by_number.values()
        if len(several) > 1
        for one in several
    }


def _said(several: list[Verdict]) -> str:
    whose = " and of ".join(
        one.student if one.name in ("", one.student) else f"{one.student} (named {shown(one.name)})"
        for one in several
    )
    one = several[0]
    return (
        f"The platform's number {one.lms_id} is that of {whose}: one person under several names."
        " Keep the one that counts; of the other, move"
        f" submitted/STUDENT/{one.assignment} out of the course directory and run `course regrade"
        f" {one.assignment.split('-', 1)[0]} --student STUDENT --forget`."
    )
