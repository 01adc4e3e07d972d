"""An exercise's cell that holds the whole answer and is no Python: it was split in the middle of its code, what is
no code was pasted along, or another line of it is broken.

The notebook shows the same error at home. But the answer is there, so where such an exercise loses points, a person looks.
"""

import ast
import re
from collections.abc import Sequence

from autograder.grading.magics import is_python
from autograder.grading.misplaced import begun, unfenced

SEVERED = "This exercise lost points, and its cell and the one below are Python only together: it may have been split, and the answer be in both."
PASTED = "This exercise lost points, and its cell is Python but for spaces, quotes, fences or an `await` that do not run here: the answer may be right."
BROKEN = "This exercise lost points, and its cell holds a whole function and is no Python for another of its lines: the answer may be right."
BLOCK = re.compile(
    r"^(?:async[ \t]+)?(?:def|class)\b[^\n]*\n(?:(?:[ \t]+[^\n]*|[ \t]*)(?:\n|\Z))+", re.MULTILINE
)  # to the next line at the margin
LOOK_ALIKES = str.maketrans(
    {
        "\xa0": " ",
        "\u2007": " ",
        "\u202f": " ",
        "\u200b": "",
        "\ufeff": "",
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2212": "-",
    }
)


def pasted(pieces: Sequence[tuple[str | None, str]], own: set[str]) -> set[str]:
    """The exercises whose cell is no Python, and is without what an editor or a chat puts into code. See `severed` for the arguments."""
    return {
        grade_id
        for grade_id, source in pieces
        if grade_id in own
        and not is_python(source, 0)
        and is_python(unfenced(source.translate(LOOK_ALIKES)), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    }


def broken(pieces: Sequence[tuple[str | None, str]], own: set[str]) -> set[str]:
    """The exercises whose cell is no Python, though a function or class in it is, which says more than that it is not written."""
    return {
        grade_id
        for grade_id, source in pieces
        if grade_id in own
        and not is_python(source)
        and any(begun(block) and is_python(block) for block in BLOCK.findall(source))
    }


def severed(pieces: Sequence[tuple[str | None, str]], own: set[str]) -> set[str]:
    """The exercises whose cell makes Python only with the next one that runs. pieces: grade id and source in running order; own: the exercises
    whose cell the student wrote."""
    return {
        grade_id
        for (grade_id, source), (_, below) in zip(pieces, pieces[1:])
        if grade_id in own
        and not (is_python(source) and is_python(below))
        and is_python(f"{source}\n{below}")
    }
