"""Which assignment a command is about where none was named: the one that its files are named after,
or the only one of the class.

No command takes an assignment for granted: where there are several, the message names them and the
option.
"""

from collections.abc import Iterable
from pathlib import Path

from autograder import course_layout

HELP = "number or name (default: the one that was graded here, if there is only one)"


def chosen(named: str | None, course_root: Path, option: str = "--assignment") -> str:
    """The name of the assignment that was named, or else of the only one that was graded in the
    course root. CourseError if there are several.

    option: what to write before the number, for the message; "" where the number stands alone.
    """
    from autograder.authoring.catalogue import assignment
    from autograder.classroom.grade_class import graded_here

    return (
        assignment(named).name
        if named
        else _only_one(graded_here(course_root), f"{course_root}: results of", option)
    )


def chosen_for(
    submissions: Path | None, named: str | None, course_root: Path, option: str = "--assignment"
) -> str:
    """The same for a command that takes what was handed in: what `submissions`, a folder or zip, is
    named after comes before what was graded before; without it counts what was collected.
    """
    from autograder.authoring.catalogue import assignment, assignments
    from autograder.classroom.grade_class import with_records
    from autograder.common.errors import CourseError

    if named:
        return assignment(named).name
    if submissions and (found := _named_after(submissions)):
        return _only_one(found, f"{submissions}: work of", option)
    there = (
        with_records(course_root)
        if submissions
        else [one.name for one in assignments() if any(course_root.glob(f"submitted/*/{one.name}"))]
    )
    if not there:
        where = submissions or course_layout.submitted(course_root)
        raise CourseError(
            f"{where}: nothing here is named after an assignment; say which it is, such as"
            f" {_example('05', option)}"
        )
    return _only_one(there, f"{course_root}: work of", option)


def _named_after(submissions: Path) -> list[str]:
    """The assignments after which a folder, a zip or something in it is named."""
    from autograder.authoring.catalogue import assignments
    from autograder.common.error_boundary import Guard
    from autograder.grading.intake.entries import entries

    paths = [
        "/".join((*item.parts, *item.inside))
        for item in entries(submissions, Guard(), "ASSIGNMENT", {})
    ]
    names = [one.name for one in assignments()]
    found = [name for name in names if any(name in path for path in paths)]
    return found or [name for name in names if name in submissions.resolve().name]


def _only_one(found: Iterable[str], what: str, option: str) -> str:
    from autograder.common.errors import CourseError

    names = list(found)
    if len(names) > 1:
        raise CourseError(
            f"{what} {len(names)} assignments are here, {', '.join(names)}; say which one is meant,"
            f" such as {_example(names[-1].split('-')[0], option)}"
        )
    return names[0]


def _example(number: str, option: str) -> str:
    return f"{option} {number}" if option else f'the number "{number}" as the last argument'
