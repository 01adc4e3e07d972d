"""A cell that stops with an error above the function that it writes: the function is not there when it is judged.

Often the error has nothing to do with the answer: an import of what only the student's machine has, a file, a question to the keyboard.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence

from autograder.grading.misplaced import named

STOPPED = "This exercise earned nothing, and the cell that writes `{}` stopped with an error above it: the answer may be right."
LINE = re.compile(r", line (\d{1,6})\b")


def stopped(
    sources: Sequence[str],
    errors: Iterable[tuple[int, str]],
    functions: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """By exercise, a sentence on a function of its own that a cell did not come to. sources: the cells that ran; errors: place and traceback of those
    that failed, which may say anything; functions: by exercise those that it asks for."""
    missed: set[str] = set()
    for place, text in errors:
        found = LINE.search(text)
        missed |= (
            _below(sources[place], int(found[1]) if found else 0)
            if 0 <= place < len(sources)
            else set()
        )
    return {
        exercise: STOPPED.format(hits[0])
        for exercise, names in functions.items()
        if (hits := [name for name in names if name in missed])
    }


def _below(source: str, line: int) -> set[str]:
    """The functions that a cell writes below a line; none where it is no Python, since nobody knows what it writes."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return {name for name, node in named(ast.parse(source).body) if node.lineno > line}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
