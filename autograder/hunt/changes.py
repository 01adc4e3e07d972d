"""Small changes of one function, each with the lines that it is on when the function is shown."""

import ast
import difflib
from dataclasses import dataclass

from autograder.authoring.operators import mutants

MOST_SOURCE = 20_000  # characters of a cell that is looked at
KINDS = (
    (ast.Compare, "a comparison"),
    (ast.BinOp, "arithmetic"),
    (ast.BoolOp, "logic"),
    (ast.Constant, "a number"),
    (ast.Subscript, "an index or slice"),
    (ast.Call, "a call"),
    (ast.stmt, "a statement"),
)


@dataclass(frozen=True)
class Change:
    """One changed function: its text, the numbers of its changed lines, and what was changed.

    before, after: the expression or statement. kind: what it is, in words.
    """

    source: str
    lines: tuple[int, ...]
    before: str
    after: str
    kind: str


def function_alone(source: str, name: str) -> str | None:
    """The last function `name` that a cell defines, as Python prints it; None if there is none.

    Comments and the layout are lost, so that a change cannot be seen from them.
    """
    if len(source) > MOST_SOURCE:
        return None
    try:
        body = ast.parse(source).body
        found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
        return ast.unparse(found[-1]) if found else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def changes(source: str, name: str) -> list[Change]:
    """The changes of `source`, what `function_alone` gave; each moves one line or a few."""
    found = []
    for mutant in mutants(source, [name]):
        before, _, after = mutant.name.partition("  =>  ")
        lines = _changed_lines(source, mutant.source)
        found.append(Change(mutant.source, lines, before, after, _kind(before)))
    return found


def _changed_lines(old: str, new: str) -> tuple[int, ...]:
    """Numbers, from 1, of the lines of `new` that are not in `old`; around what was removed."""
    left, right = old.split("\n"), new.split("\n")
    found: set[int] = set()
    for tag, _, _, begin, end in difflib.SequenceMatcher(None, left, right, False).get_opcodes():
        if tag == "delete":
            found |= {max(begin, 1), min(begin + 1, len(right))}
        elif tag != "equal":
            found |= set(range(begin + 1, end + 1))
    return tuple(sorted(found))


def _kind(before: str) -> str:
    try:
        statement = ast.parse(before).body[0]
    except (SyntaxError, IndexError):
        return "a statement"
    node = statement.value if isinstance(statement, ast.Expr) else statement
    return next((words for kind, words in KINDS if isinstance(node, kind)), "an expression")
