"""Folders that a command is given: which must be there already, and which it may make.

A slip in a path must not become a folder, nor an empty class that nobody meant. A command that only reads a class wants its
course root to be there. One that begins a class, or writes somewhere, makes one missing folder, the last of the path, and says so
on the standard error, where it disturbs no JSON.
"""
import difflib
import sys
from pathlib import Path


def course_root_there(root: Path) -> Path:
    """The course root. Raises CourseError with the remedy where there is no such folder."""
    from autograder.classroom.whole_class import COURSE_ROOT
    from autograder.errors import CourseError

    if root.is_dir():
        return root
    beside = [path.name for path in root.absolute().parent.iterdir() if path.is_dir()] if root.absolute().parent.is_dir() else []
    close = difflib.get_close_matches(root.name, beside, n=1)
    remedy = "`course grade --sample` makes it" if root == COURSE_ROOT else "give --course-root the folder that `course grade` or `course collect` made"
    raise CourseError(f"{root}: there is no such course root; " + (f"did you mean {root.parent / close[0]}? Else " if close else "") + remedy)


def make_course_root(root: Path) -> Path:
    """The course root, made if it is not there. Raises CourseError where more than the last folder of the path is missing."""
    from autograder.classroom.gradebook import CONFIG_FILE

    fresh = not (root / CONFIG_FILE).exists()
    made = _make(root, f"--course-root {root}")
    if fresh:
        _say(f"{root}: a new course root" if made else f"{root} becomes a course root")
    return root


def place_for(path: Path, option: str, folder: bool = False) -> Path:
    """Where something is to be written: a file's folder, or with `folder` the folder itself, is made if it is the only one missing.

    Raises CourseError that names the path where more is missing. option: as it was typed, such as --out.
    """
    target = path if folder else path.parent
    if _make(target, f"{option} {path}"):
        _say(f"{target}: a new folder")
    return path


def _make(folder: Path, typed: str) -> bool:
    """Whether it was made now."""
    from autograder.errors import CourseError
    from autograder.grading.files import writing

    if folder.exists():
        return False
    above = folder.absolute().parent
    if not above.exists():
        raise CourseError(f"{typed}: there is no folder {above}; mend the path, or make that folder first")
    with writing(folder):
        folder.mkdir()
    return True


def _say(text: str) -> None:
    print(f"made       {text}", file=sys.stderr)
