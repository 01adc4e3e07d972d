"""Who may read a class: folders with names and grades belong to the owner of the course root,
whatever the umask says.
"""

import contextlib
import os
import stat
from pathlib import Path

from autograder.course_layout import PRIVATE_FILES, PRIVATE_FOLDERS

OTHERS = stat.S_IRWXO


def make_private_folders(course_root: Path) -> None:
    """Make the folders, for the owner only, where they are missing; and close those that are open
    to others.
    """
    for name in PRIVATE_FOLDERS:
        with contextlib.suppress(FileExistsError):
            (course_root / name).mkdir(mode=0o700, parents=True)
    close_to_others(course_root)


def close_to_others(course_root: Path) -> list[str]:
    """The names of folders and files that others could read until now, and can no longer.

    What has no rights for others stays as it is: somebody may share it with a group of graders on
    purpose. Pages keep rights for all inside their folder, since nbgrader hands out copies that
    students must be able to read.
    """
    closed = []
    for name, rights in [
        *((name, 0o700) for name in PRIVATE_FOLDERS),
        *((name, 0o600) for name in PRIVATE_FILES),
    ]:
        path = course_root / name
        if path.exists() and not path.is_symlink() and path.stat().st_mode & OTHERS:
            with contextlib.suppress(PermissionError):  # another grader's, who has to close it
                path.chmod(rights)
                closed.append(name)
    return closed


def begin_private_file(path: Path) -> None:
    """Make an empty file that only its owner can read, unless something is there, or nothing can be
    made: who opens it says why.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
