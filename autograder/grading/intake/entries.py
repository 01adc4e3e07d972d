"""Walk through what was handed over, a folder or one zip: each file in it is an Item, and so is
what cannot be looked at.

Links are named and not followed, folders are walked to a depth, and what leads out of a zip is
told. What systems leave behind is nobody's work; a folder that holds nothing else is an Item with a
problem, so that its student is named.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.common.error_boundary import Guard
from autograder.common.errors import CourseError
from autograder.common.safe_names import shown
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.intake.lms_layouts import Item, is_quiet
from autograder.grading.intake.zip_reader import OF_A_CLASS, list_members
from autograder.grading.notebook.parse import IntakeError

MAX_DEPTH = 12  # folders below what was given
MAX_FILES = 100_000  # below one entry
EMPTY = "the folder is empty"
HARD_LINK = (
    "{} is a hard link: the same file has another name, too, and may be somebody else's. If a"
    " backup made the link (`cp -al`), copy the folder with `cp -r` and grade the copy; else ask"
    " for a file of their own"
)
EMPTY_NOTEBOOK = "it is an empty folder with a notebook's name, and no notebook"


def entries(
    where: Path, guard: Guard, assignment: str, outside: dict[str, str], hard_links: bool = False
) -> Iterator[Item]:
    """Every file of what was given; what leads out of a zip goes into `outside`.

    Raises CourseError if it cannot be opened.

    hard_links: whether a file may have several names, as where what was handed in has been copied
    already.
    """
    if where.is_dir():
        try:
            names = sorted(os.listdir(where))
        except OSError as error:
            raise CourseError(
                f"{where} cannot be opened: {error.strerror}. Give a folder that you can read"
            ) from error
        for name in names:
            if not is_quiet(name):
                yield from guard.run(
                    name,
                    "looking for files",
                    lambda name=name: list(_walk(where / name, (name,), hard_links)),
                ) or [
                    Item(
                        (name,),
                        where / name,
                        problem="the grader failed while looking for files in it",
                    )
                ]
    elif where.is_file():
        try:
            members = in_limits(
                lambda: [
                    (one.parts, one.key, one.outside, one.folder)
                    for one in list_members(where, where.name, OF_A_CLASS)
                ],
                seconds=120,
                memory=2 * 2**30,
            )
        except IntakeError as error:
            raise CourseError(
                f"{where}: {error}. Give the platform's download, or a folder"
            ) from error
        filled: set[tuple[str, ...]] = set()
        bare: list[tuple[str, ...]] = []  # folders in which there is something, but nobody's work
        for parts, key, leads_out, folder in members:
            quiet = next((place for place, part in enumerate(parts) if is_quiet(part)), None)
            if leads_out:
                outside[key or "a file without a name"] = "its path leads out of the zip"
            elif quiet is not None:
                bare.append(tuple(parts[:quiet]))
            else:
                filled.update(tuple(parts[:depth]) for depth in range(1, len(parts) + 1))
                yield Item(tuple(parts), where, (key,), _empty(parts) if folder else "")
        for parts in dict.fromkeys(bare):
            if parts and parts not in filled:
                yield Item(parts, where, problem=_empty(parts))
    else:
        raise CourseError(nothing_at(where, assignment))


def _empty(parts: Iterable[str]) -> str:
    """What is said of a folder in which there is nobody's work."""
    return EMPTY_NOTEBOOK if [*parts][-1].endswith(".ipynb") else EMPTY


def nothing_at(where: Path, assignment: str = "ASSIGNMENT") -> str:
    """The sentence for a path at which there is nothing to open."""
    return (
        f"{where}: no such folder or zip. Give the folder that holds STUDENT/{assignment}/ or"
        " STUDENT.zip, or a download of Moodle or Canvas"
    )


def _walk(path: Path, parts: tuple[str, ...], hard_links: bool) -> Iterator[Item]:
    """The files at and below one entry of a folder.

    What cannot be looked at is an item with a problem.
    """
    todo, count = [(path, parts)], 0
    while todo:
        path, parts = todo.pop()
        count += 1
        if count > MAX_FILES or len(parts) > MAX_DEPTH:
            yield Item(
                parts,
                path,
                problem=(
                    f"it holds more than {MAX_FILES:,} files, or folders deeper than {MAX_DEPTH}"
                ),
            )
            return
        found = os.lstat(path)
        mode = found.st_mode
        if stat.S_ISLNK(mode):
            yield Item(
                parts,
                path,
                problem=f"{shown(path.name)} is a link to another file. Links are not followed",
            )
        elif stat.S_ISREG(mode):
            yield Item(
                parts,
                path,
                problem=(
                    HARD_LINK.format(shown(path.name))
                    if found.st_nlink > 1 and not hard_links
                    else ""
                ),
            )
        elif not stat.S_ISDIR(mode):
            yield Item(parts, path, problem=f"{shown(path.name)} is not an ordinary file")
        else:
            try:
                names = sorted(os.listdir(path), reverse=True)
            except OSError as error:
                yield Item(
                    parts, path, problem=f"{shown(path.name)} cannot be opened: {error.strerror}"
                )
                continue
            names = [name for name in names if not is_quiet(name)]
            if not names:
                yield Item(parts, path, problem=_empty(parts))
            todo += [(path / name, (*parts, name)) for name in names]
