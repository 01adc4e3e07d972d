"""Text that no exercise takes: where a written answer may be whose own cell is as it was given.

An answer is called missing only where there is nowhere that it could be. So all text counts that
was not in the notebook as it was given and is no part of an exercise's own cell: added cells of
text, cells whose metadata an editor removed, what was written into an explanation of ours, and the
comments and strings of added code.
"""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from autograder.grading.notebook.magics import without_magics

TRIVIAL = 8  # letters and digits; a cell with fewer is a mark ("ok", "Task 2"), no answer
# The same for a comment in code ("# todo: the second case") and for an addition to a text of ours.
A_NOTE = 25
MAX_COPIED = 12_000  # characters of one cell that are shown in the place of an answer
MAX_CELLS = 8  # that are shown there
FOUND = "**Found in another cell: cell {} of the notebook.** The answer's own cell is {}."
NOT_READ = "*This cell cannot be read; open the notebook that was handed in.*"
SHOWS_TEXT = ("%%markdown", "%%html", "%%latex", "%%svg")
TELLS = ("print", "display", "Markdown", "HTML")


@dataclass(frozen=True)
class Unclaimed:
    """A cell of the submission that no exercise takes.

    place: its number in the notebook, from 1; unread: that it cannot be read.
    """

    place: int
    kind: str
    source: str
    unread: bool = False
    grade_id: str = ""


def with_text(cells: Iterable[Unclaimed], given: Iterable[str]) -> list[int]:
    """The places of the cells that say more than `given`, the sources of the notebook as given."""
    ours = {source.strip() for source in given}
    said = {
        _bare(line)
        for source in ours
        for text in (source, *_strings(source))
        for line in text.splitlines()
    }
    return sorted(
        {
            cell.place
            for cell in cells
            if cell.unread or cell.source.strip() not in ours and _letters(cell, said) >= TRIVIAL
        }
    )


def copied(cells: Iterable[Unclaimed], places: list[int], how: str) -> str:
    """The text of the cells at `places` as Markdown. how: what the answer's cell is, in words."""
    by_place = {cell.place: cell for cell in cells}
    shown = [
        f"{FOUND.format(place, how)}\n\n{_as_markdown(by_place[place])}"
        for place in places[:MAX_CELLS]
    ]
    return "\n\n---\n\n".join(shown)


def _as_markdown(cell: Unclaimed) -> str:
    if cell.unread:
        return NOT_READ
    text = cell.source[:MAX_COPIED]
    if len(cell.source) > MAX_COPIED:
        text += "\n\n(and more)"
    if cell.kind == "markdown":
        return text
    fence = max(("``", *re.findall("`+", text)), key=len) + "`"  # longer than any in the text
    return f"{fence}python\n{text}\n{fence}" if cell.kind == "code" else f"{fence}\n{text}\n{fence}"


@lru_cache(maxsize=256)  # the same for each submission
def _strings(source: str) -> tuple[str, ...]:
    """What a cell of ours says to people, if it is code."""
    try:
        return tuple(text for text, _ in _told(ast.parse(without_magics(source)[0])))
    except SyntaxError:
        return ()


def _letters(cell: Unclaimed, given: set[str]) -> int:
    """How many letters and digits of a cell are the student's; 0 for a short note."""
    text, code = cell.source, cell.kind == "code"
    if code:
        text, code = _said_by_code(cell.source, given)
    own = "".join(line for line in text.splitlines() if _bare(line) not in given)
    letters = [letter for letter in own if letter.isalnum()]
    short = len(letters) < A_NOTE and all(map(str.isascii, letters))
    return 0 if short and (code or cell.kind != "code" and cell.grade_id) else len(letters)


def _bare(line: str) -> str:
    """A line without what makes it a comment, a quotation or an item: it is given there, too."""
    return line.strip().lstrip("#>*-` \t")


def _said_by_code(source: str, given: set[str]) -> tuple[str, bool]:
    """The comments and strings of a code cell; or all of it, and False, if it is not Python."""
    if source.lstrip().lower().startswith(SHOWS_TEXT):
        return source, True
    plain, _ = without_magics(source)
    try:
        with warnings.catch_warnings(action="ignore"):
            said = list(_told(ast.parse(plain)))
        tokens = tokenize.generate_tokens(io.StringIO(plain).readline)
        said += [(one.string, one.start[0]) for one in tokens if one.type == tokenize.COMMENT]
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return source, False
    ours = {row for row, line in enumerate(plain.split("\n"), start=1) if _bare(line) in given}
    return "\n".join(text for text, row in said if row not in ours), True


def _told(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The strings for people, each with its line, 0 where it has several; a single word is none."""
    shown = [
        node.value
        for node in tree.body
        if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign))
        and isinstance(node.value, (ast.Constant, ast.JoinedStr))
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            getattr(node.func, "id", "") in TELLS or getattr(node.func, "attr", "") in TELLS
        ):
            shown += node.args
    for one in shown:
        for part in ast.walk(one):
            if (
                isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and (" " in part.value.strip() or not part.value.isascii())
            ):
                yield part.value, part.lineno if part.lineno == part.end_lineno else 0
