"""Folders that a command is given: which must be there already, and which it may make.

A slip in a path must not become a folder, nor an empty class that nobody meant. A command that only
reads a class wants its course root to be there. One that begins a class, or writes somewhere, makes
one missing folder, the last of the path, and says so on the standard error, where it disturbs no
JSON.
"""

import difflib
import sys
from pathlib import Path


def course_root_there(root: Path) -> Path:
    """The course root. Raises CourseError with the remedy where there is no such folder."""
    from autograder.classroom.course_path import usable
    from autograder.classroom.grade_class import COURSE_ROOT
    from autograder.common.errors import CourseError

    if root.is_dir():
        usable(root.resolve())
        _close(root)
        return root
    beside = (
        [path.name for path in root.absolute().parent.iterdir() if path.is_dir()]
        if root.absolute().parent.is_dir()
        else []
    )
    close = difflib.get_close_matches(root.name, beside, n=1)
    remedy = (
        "`course grade --sample` makes it"
        if root == COURSE_ROOT
        else "give --course-root the folder that `course grade` or `course collect` made"
    )
    raise CourseError(
        f"{root}: there is no such course root; "
        + (f"did you mean {root.parent / close[0]}? Else " if close else "")
        + remedy
    )


def new_course_root(root: Path) -> str:
    """A sentence for `say_made` if the course root is still to be made, else "".

    Raises CourseError where more than the last folder of its path is missing, and for a path that
    nbgrader would take for another.
    """
    from autograder.classroom.course_path import usable

    usable(root.resolve())
    _close(root)
    return f"{root}: a new course root" if _is_missing(root, f"--course-root {root}") else ""


def new_place(path: Path | None, option: str, folder: bool = False) -> str:
    """A sentence for `say_made` if what is written to `path` needs a new folder, else "": a file's
    folder, or with `folder` itself.

    Raises CourseError that names the path where more is missing. option: as it was typed, such as
    --out; path: None if it was not.
    """
    if path is None:
        return ""
    target = path if folder else path.parent
    return f"{target}: a new folder" if _is_missing(target, f"{option} {path}") else ""


def say_made(*sentences: str) -> None:
    """Say what was made, of what may have been."""
    for sentence in filter(None, sentences):
        print(f"made       {sentence}", file=sys.stderr)


def _close(root: Path) -> None:
    """Take what a class holds from others' eyes where an older version, or nbgrader, left it open
    to them; say so.
    """
    from autograder.classroom.permissions import close_to_others
    from autograder.course_layout import GRADEBOOK_FILE, RESULTS_FILE

    if any((root / name).exists() for name in (GRADEBOOK_FILE, RESULTS_FILE, "verdicts")) and (
        closed := close_to_others(root)
    ):
        print(
            f"private    {root}: {', '.join(closed)} could be read by others on this machine, and"
            " are closed to them now",
            file=sys.stderr,
        )


def _is_missing(folder: Path, typed: str) -> bool:
    from autograder.common.errors import CourseError

    if folder.exists():
        return False
    above = folder.absolute().parent
    if not above.exists():
        raise CourseError(
            f"{typed}: there is no folder {above}; mend the path, or make that folder first"
        )
    return True
