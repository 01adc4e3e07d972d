"""Writes the archive that students get. The same sources give the same bytes."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.catalogue import bare
from autograder.common.atomic_files import write_whole
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.release.contents import Contents, contents_of

EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time stamp of every file; a zip knows no earlier one
MODE = 0o644 << 16


def write_archive(assignment: Assignment, path: Path, with_reference: bool = False) -> Contents:
    """Write the archive of one assignment; returns what is in it.

    with_reference: leave the reference implementation as it is. Raises CourseError for an
    assignment in which faults are drawn, because each student has a notebook of their own, and
    where a line of a solution is in the notebook or in the course's own files. Checks may share a
    line with a solution.
    """
    if any(exercise.faults for exercise in assignment.exercises.values()):
        raise CourseError(
            f"{assignment.name} has an exercise with a fault drawn for each student: "
            f"`course author hand-out {assignment.number} ROSTER` writes one notebook for each"
        )
    contents = contents_of(assignment, with_reference)
    leaks = solution_lines(assignment, contents.files)
    if leaks:
        raise CourseError(
            f"{assignment.name}: a line of a solution would reach the students: {'; '.join(leaks)}"
        )
    write_whole(path, _zipped(f"word2serve-{assignment.name}", contents.files))
    return contents


def solution_lines(assignment: Assignment, files: dict[str, bytes]) -> list[str]:
    """Lines of the solutions in the notebook or in the course's own folder, as "FILE: line"."""
    secret = assignment.entry.secret_lines()
    found = []
    for path, text in sorted(files.items()):
        if path.endswith(".ipynb") or path.startswith("course/"):
            lines = [line for line in _lines(path, text) if bare(line) in secret]
            found += [f"{path}: {line.strip()}" for line in lines]
    return found


def _lines(path: str, text: bytes) -> Iterator[str]:
    if path.endswith(".ipynb"):
        for cell in json.loads(text)["cells"]:
            yield from "".join(cell["source"]).split("\n")
    else:
        yield from text.decode("utf-8", errors="replace").split("\n")


def _zipped(top: str, files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in sorted(files.items()):
            info = zipfile.ZipInfo(f"{top}/{path}", EARLIEST)
            info.external_attr = MODE
            archive.writestr(info, text, zipfile.ZIP_DEFLATED)
    return data.getvalue()
