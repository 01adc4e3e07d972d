"""An exercise's function that is written where it does not count, while the exercise's own cell is as it was given.

The cell as given defines the function, too, and says only that it is not written yet. So an answer above it is replaced by it; and
one in a cell that grading does not run, such as a locked one or a text, is never seen. A machine must not call such an answer missing.
"""
import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

REPLACED = "The cell of this exercise is as it was given and stands below a cell that defines `{}` too, which it replaces: the answer may be there."
UNSEEN = "The cell of this exercise is as it was given, and a cell that does not run in grading defines `{}` too (cell number in the file: {}): the answer may be there."
BEGINS = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*=[ \t]*lambda\b", re.MULTILINE)
FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Written:
    """A cell of the student's, in running order: what it defines that the cell as given does not. given: the exercise whose cell it is, if it is as given."""

    names: frozenset[str]
    given: str = ""


def replaced(cells: Iterable[Written], stubs: dict[str, set[str]]) -> dict[str, str]:
    """By exercise, a function of its own that its cell as given defines below the student's, and nothing defines after it."""
    before: set[str] = set()
    found: dict[str, str] = {}
    for cell in cells:
        if cell.given:
            found |= {cell.given: name for name in sorted(stubs[cell.given] & before)}
        else:
            before |= cell.names
            found = {exercise: name for exercise, name in found.items() if name not in cell.names}
    return found


def unseen(cells: Iterable[tuple[int, str, str]], running: set[str], stubs: dict[str, set[str]]) -> dict[str, tuple[str, list[int]]]:
    """By exercise, a function of its own that only cells that do not run define, and their places.

    cells: place, text, and the text as it was given ("" for an added cell). running: what the student's running cells define.
    """
    found: dict[str, tuple[str, list[int]]] = {}
    for place, text, given in cells:
        names = begun(text) - begun(given) - running
        for exercise, functions in stubs.items():
            if some := sorted(functions & names):
                found.setdefault(exercise, (some[0], []))[1].append(place)
    return found


def begun(text: str) -> set[str]:
    """The functions and classes that lines of a text begin to define, whether it is Python or not."""
    return {function or value for function, value in BEGINS.findall(text)}


def defined(source: str) -> set[str]:
    """The names that a code cell gives a value when it runs: functions, classes, assignments."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return set(_names(ast.parse(source).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _names(statements: list[ast.stmt]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
            continue
        for target in [*getattr(node, "targets", []), *([node.target] if isinstance(node, ast.AnnAssign) and node.value else [])]:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
        for block in ("body", "orelse", "finalbody", "handlers"):
            for inner in getattr(node, block, []):
                yield from _names(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def unfenced(text: str) -> str:
    """What stands between the fences of a text, if there are any: code that an editor, or its author, turned into text."""
    blocks = [block.rstrip("\n") for _, block in FENCED.findall(text)]
    return "\n".join(blocks) if blocks else text
