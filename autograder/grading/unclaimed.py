"""Text of a student's that no exercise takes: where a written answer may lie whose own cell is as it was given.

A machine may call an answer missing only where there is nowhere that it could be. So everything in a notebook that is text, was
not in the notebook as it was given, and is no part of an exercise's own cell, counts: added cells of text, cells whose metadata
an editor took away, what was written into an explanation of ours, and what added code says beside code.
"""
import ast
import io
import tokenize
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.grading.magics import without_magics

TRIVIAL = 8             # letters and digits; a cell with fewer is a mark ("ok", "Task 2"), no answer
SHOWS_TEXT = ("%%markdown", "%%html", "%%latex", "%%svg")
OF_STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


@dataclass(frozen=True)
class Unclaimed:
    """A cell of the submission that no exercise takes. place: its number in the notebook, from 1; unread: that it cannot be read."""

    place: int
    kind: str
    source: str
    unread: bool = False


def with_text(cells: Iterable[Unclaimed], given: Iterable[str]) -> list[int]:
    """The places of those cells that say something beyond `given`, the sources of the notebook as it was given."""
    lines = {line.strip() for source in given for line in source.splitlines()}
    return sorted({cell.place for cell in cells if cell.unread or _letters(cell, lines) >= TRIVIAL})


def _letters(cell: Unclaimed, given: set[str]) -> int:
    text = _beside_code(cell.source, given) if cell.kind == "code" else cell.source
    return sum(letter.isalnum() for line in text.splitlines() if line.strip() not in given for letter in line)


def _beside_code(source: str, given: set[str]) -> str:
    """What a code cell says to people: comments, and strings that are no mere word; all of it where it is no Python."""
    if source.lstrip().lower().startswith(SHOWS_TEXT):
        return source
    plain, _ = without_magics(source)
    questions = [line for line in source.splitlines() if line.rstrip().endswith("?") and len(line.split()) > 2]      # Jupyter's for help is one word
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(plain)
        tokens = list(tokenize.generate_tokens(io.StringIO(plain).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return source
    found = questions
    for token in tokens:
        if token.type == tokenize.COMMENT or token.type in OF_STRINGS and (" " in token.string or not token.string.isascii()):
            # A line of ours stays ours, whatever stands in it.
            found += token.string.splitlines() if "\n" in token.string or token.line.strip() not in given else []
    return "\n".join(found)
