"""Text of a student's that no exercise takes: where a written answer may lie whose own cell is as it was given.

A machine may call an answer missing only where there is nowhere that it could be. So everything in a notebook that is text, was
not in the notebook as it was given, and is no part of an exercise's own cell, counts: added cells of text, cells whose metadata
an editor took away, what was written into an explanation of ours, and what added code says beside code.
"""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from autograder.grading.magics import is_python, without_magics

TRIVIAL = 8  # letters and digits; a cell with fewer is a mark ("ok", "Task 2"), no answer
MAX_COPIED = 12_000  # characters of one cell that are shown in the place of an answer
MAX_CELLS = 8  # that are shown there
FOUND = "**Found in another cell: cell {} of the notebook.** The answer's own cell is {}."
NOT_READ = "*This cell cannot be read; open the notebook that was handed in.*"
A_NOTE = 25  # the same for what added code says, "# todo: the second case", and for what is put into a text of ours, such as a name
SHOWS_TEXT = ("%%markdown", "%%html", "%%latex", "%%svg")
TELLS = ("print", "display", "Markdown", "HTML")


@dataclass(frozen=True)
class Unclaimed:
    """A cell of the submission that no exercise takes. place: its number in the notebook, from 1; unread: that it cannot be read;
    runs: that it runs in grading."""

    place: int
    kind: str
    source: str
    unread: bool = False
    grade_id: str = ""
    runs: bool = False


def with_text(cells: Iterable[Unclaimed], given: Iterable[str]) -> list[int]:
    """The places of those cells that say something beyond `given`, the sources of the notebook as it was given."""
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
    text = _beside_code(cell.source, given) if cell.kind == "code" else cell.source
    letters = [
        letter
        for line in text.splitlines()
        if _bare(line) not in given
        for letter in line
        if letter.isalnum()
    ]
    note = (
        (is_python(without_magics(cell.source)[0]) if cell.kind == "code" else cell.grade_id)
        and len(letters) < A_NOTE
        and all(map(str.isascii, letters))
    )
    return 0 if note else len(letters)


def _bare(line: str) -> str:
    """A line without what makes it a comment, a quotation or an item: what was given stays so in a comment."""
    return line.strip().lstrip("#>*-` \t")


def _beside_code(source: str, given: set[str]) -> str:
    """What a code cell says to people: comments, strings that stand alone, have a name or are printed; all of it where it is no Python."""
    if source.lstrip().lower().startswith(SHOWS_TEXT):
        return source
    plain, _ = without_magics(source)
    questions = [
        line
        for line in source.splitlines()
        if line.rstrip().endswith("?") and len(line.split()) > 2
    ]  # Jupyter's for help is one word
    try:
        with warnings.catch_warnings(action="ignore"):
            strings = list(_told(ast.parse(plain)))
        comments = [
            (token.string, token.start[0])
            for token in tokenize.generate_tokens(io.StringIO(plain).readline)
            if token.type == tokenize.COMMENT
        ]
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return source
    lines = plain.split("\n")  # what stands in a line of ours is ours
    return "\n".join(
        questions
        + [
            text
            for text, row in comments + strings
            if not 0 < row <= len(lines) or _bare(lines[row - 1]) not in given
        ]
    )


def _told(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The strings that people are to read, with their line, 0 where they have several; a mere word is none."""
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
