"""Which chapters of a student's package are the reference, and the line that says so.

Every check prints the line, so it stands in the outputs of the notebook that is handed in, where
grading reads it for the instructor's report. It is the student's own word and decides no point: in
grading the earlier chapters are the reference anyway.
"""

import re
from pathlib import Path

from autograder.common.course_files import MYWORK

PACKAGE = MYWORK / "word2serve_me"
MARK = "# The reference, borrowed with `course package --from reference`."
OLD_MARK = "# The reference, borrowed with `course use reference`."  # in packages made before
LINE = "Borrowed from the reference: chapter"
MOST = 99
_NUMBERS = re.compile(rf"{LINE}s? ((?:\d\d, ){{0,{MOST}}}\d\d)\b")
_IMPORTS = re.compile(r"\bword2serve_me\.c(\d\d)_")


def is_borrowed(path: Path) -> bool:
    """Whether a module of the package is the reference's."""
    first = path.read_text(encoding="utf-8").split("\n", 3)[:3]
    return MARK in first or OLD_MARK in first


def borrowed(root: Path | None = None) -> list[str]:
    """The numbers of the chapters whose work is borrowed."""
    return sorted(
        path.stem[1:3] for path in (root or PACKAGE).glob("c[0-9][0-9]_*.py") if is_borrowed(path)
    )


def line(numbers: list[str]) -> str:
    """ "Borrowed from the reference: chapters 01, 03.", or ""."""
    return f"{LINE}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}." if numbers else ""


def said(text: str) -> list[str]:
    """The numbers in the last such line of a text."""
    found = _NUMBERS.findall(text)
    return found[-1].split(", ") if found else []


def imported(source: str) -> list[str]:
    """The numbers of the chapters whose module a text of code names."""
    return sorted(set(_IMPORTS.findall(source)))
