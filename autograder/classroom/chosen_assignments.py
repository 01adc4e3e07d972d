"""Which assignments one grading is about: one, several, or all of which something was handed in;
and how much of each is to be judged.
"""

from pathlib import Path

from autograder import course_layout
from autograder.authoring.catalogue import assignment, assignments
from autograder.common.errors import CourseError, NothingHandedIn
from autograder.grading.intake.discovery import Submission, find_submissions
from autograder.grading.results_store import students_with_results


def wanted(
    names: str, where: Path | None, course_root: Path, regrade: bool = False
) -> dict[str, int]:
    """Names of assignments, in order, from "01", "01,03-context" or "all", each with how many of
    its submissions have no record yet, or, with `regrade`, with all. Raises CourseError for what
    there is not.

    all: each that a folder or a notebook under `where` is named after, or, without `where`, that
    was collected; what names no assignment counts for none.
    """

    def to_judge(students: list[str], name: str) -> int:
        graded = set() if regrade else students_with_results(course_root.resolve(), name)
        return sum(one not in graded for one in students)

    if names != "all":
        found = dict.fromkeys(
            assignment(name.strip()).name for name in names.split(",") if name.strip()
        )
        if not found:
            raise CourseError(
                f"--assignment {names!r} names no assignment: give a number or name, several with"
                ' commas, or "all"'
            )
        return (
            {name: to_judge(_students(where, name, course_root), name) for name in found}
            if len(found) > 1
            else dict.fromkeys(found, 0)
        )
    students = {
        one.name: _students(where, one.name, course_root, named=True) for one in assignments()
    }
    found = {name: to_judge(some, name) for name, some in students.items() if some}
    if not found:
        raise CourseError(
            f"{where or course_layout.submitted(course_root)}: nothing here is named after an"
            " assignment; give --assignment NAME"
        )
    return found


def _students(where: Path | None, name: str, course_root: Path, named: bool = False) -> list[str]:
    """Who handed in; none if nothing is there.

    named: none either if nothing that was found is named after the assignment.
    """
    if where is None:
        return [path.parent.name for path in course_layout.submitted(course_root).glob(f"*/{name}")]
    try:
        found = find_submissions(
            where, name, others=tuple(one.name for one in assignments() if one.name != name)
        ).submissions
    except NothingHandedIn:
        return []
    return (
        [one.student for one in found]
        if not named or any(_is_named(one, where, name) for one in found)
        else []
    )


def _is_named(one: Submission, where: Path, name: str) -> bool:
    return name in "/".join((one.path.relative_to(where).as_posix(), *one.inside, one.entry))
