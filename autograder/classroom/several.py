"""Which assignments one grading is about: one, several, or all of which something was handed in."""
from pathlib import Path

from autograder.authoring.catalogue import assignment, assignments
from autograder.errors import CourseError, NothingHandedIn
from autograder.grading.submissions import find_submissions


def wanted(names: str, where: Path | None, course_root: Path) -> list[str]:
    """Names of assignments, in order, from "01", "01,03-context" or "all". Raises CourseError for what there is not.

    all: each that a folder or a notebook under `where` is named after, or, without `where`, that was collected; what names no
    assignment counts for none.
    """
    if names != "all":
        found = list(dict.fromkeys(assignment(name.strip()).name for name in names.split(",") if name.strip()))
        if not found:
            raise CourseError(f"--assignment {names!r} names no assignment: give a number or name, several with commas, or \"all\"")
        return found
    every = [one.name for one in assignments()]
    found = [name for name in every if _handed_in(where, name, every)] if where else [
        name for name in every if any((course_root / "submitted").glob(f"*/{name}"))]
    if not found:
        raise CourseError(f"{where or course_root / 'submitted'}: nothing here is named after an assignment; give --assignment NAME")
    return found


def _handed_in(where: Path, name: str, every: list[str]) -> bool:
    try:
        found = find_submissions(where, name, others=tuple(other for other in every if other != name)).submissions
    except NothingHandedIn:
        return False
    return any(name in "/".join((one.path.relative_to(where).as_posix(), *one.inside, one.entry)) for one in found)
