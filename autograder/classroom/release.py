"""The archive that students get: one notebook, what its cells and its visible checks import, and nothing that answers it.

Which files are in it, and in which form, `contents` says. The checks work right answers out
too: what of that does not depend on the student is recorded when the archive is made, and stands there without its body (see
`recording`). What has to stay is named in `kept`, with the reason; so is a function of the reference that a check still calls.

The same sources give the same bytes.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.catalogue import bare
from autograder.classroom.contents import Release, sources
from autograder.classroom.recording import Recording, chapter_modules, recorded
from autograder.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.files import write_whole

LONG_AGO = (1980, 1, 1, 0, 0, 0)
AS_THEY_ARE = "left as it is, with what works right values out, as --checks-as-they-are asks"


def release(
    assignment: Assignment,
    path: Path,
    with_reference: bool = False,
    checks_as_they_are: bool = False,
) -> Release:
    """Write the archive of one assignment. with_reference: leave what is withheld as it is, and the checks. checks_as_they_are: leave
    these alone as they are, working-out included: nothing is recorded.

    Raises CourseError for an assignment in which faults are drawn (each student has a notebook of their own), and where a
    line of a solution stands in the notebook or in the course's own files. Checks and reference may share a line with one.
    """
    if any(one.faults for one in assignment.exercises.values()):
        raise CourseError(
            f"{assignment.name} has an exercise with a fault drawn for each student: `course author hand-out "
            f"{assignment.number} ROSTER` writes one for each"
        )
    leaked = leaks(assignment, sources(assignment, Release(path), with_reference))
    if leaked:
        raise CourseError(
            f"{assignment.name}: a line of a solution would reach the students: {'; '.join(leaked)}"
        )
    made, taken = (
        Release(path),
        Recording() if with_reference or checks_as_they_are else recorded(assignment),
    )
    made.recorded, made.expressions, made.compared, made.kept = (
        taken.recorded,
        taken.expressions,
        taken.compared,
        dict(taken.kept),
    )
    if checks_as_they_are and not with_reference:
        made.kept = dict.fromkeys(
            sorted(
                path.removesuffix(".py").replace("/", ".")
                for path in chapter_modules(list(sources(assignment, Release(path), True)))
            ),
            AS_THEY_ARE,
        )
    texts = sources(assignment, made, with_reference, taken.texts)
    write_whole(path, _zipped(f"word2serve-{assignment.name}", texts))
    made.files = sorted(texts)
    return made


def leaks(assignment: Assignment, texts: dict[str, bytes]) -> list[str]:
    """Lines of this assignment's solutions in the notebook or in what comes from the course's own folders, as "FILE: line"."""
    secret = assignment.entry.secret_lines()
    return [
        f"{path}: {line.strip()}"
        for path, text in sorted(texts.items())
        if path.endswith(".ipynb") or path.startswith("course/")
        for line in _lines(path, text)
        if bare(line) in secret
    ]


def _lines(path: str, text: bytes) -> Iterator[str]:
    if path.endswith(".ipynb"):
        for cell in json.loads(text)["cells"]:
            source = cell["source"]
            yield from (source if isinstance(source, str) else "".join(source)).split("\n")
    else:
        yield from text.decode("utf-8", errors="replace").split("\n")


def _zipped(top: str, texts: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(texts.items()):
            info = zipfile.ZipInfo(f"{top}/{path}", LONG_AGO)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, text)
    return data.getvalue()
