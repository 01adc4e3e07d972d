"""An exercise's cell that was split in the middle of its code: one part is no Python without the other, so neither Jupyter nor grading runs all of it.

The notebook shows the same error at home. But the whole answer is there, so where such an exercise loses points, a person looks.
"""
import ast
import warnings
from collections.abc import Sequence

SEVERED = "This exercise lost points, and its cell and the one below are Python only together: it may have been split, and the answer be in both."


def severed(pieces: Sequence[tuple[str | None, str]], own: set[str]) -> set[str]:
    """The exercises whose cell makes Python only with the next one that runs. pieces: grade id and source in running order; own: the exercises
    whose cell the student wrote."""
    return {grade_id for (grade_id, source), (_, below) in zip(pieces, pieces[1:]) if grade_id in own
            and not (_is_python(source) and _is_python(below)) and _is_python(f"{source}\n{below}")}


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source) is not None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
