"""Sources for sample students: the reference's, a known mistake's and another right answer's, as a student would
hand them in, each complete in one cell.
"""
import ast
import inspect
from collections.abc import Callable
from functools import lru_cache

from autograder.authoring.catalogue import BEGIN, END


@lru_cache(maxsize=4)
def reference_sources(assignment) -> dict[str, str]:
    """The solution cell of each exercise by grade id, without the markers; the manual answers are left out."""
    return {grade_id: "\n".join(line for line in cell.source.split("\n") if BEGIN not in line and END not in line)
            for grade_id, (cell, mark) in assignment.entry.cells.items()
            if cell.cell_type == "code" and mark["solution"]}


def standing_in(function: Callable, name: str) -> str:
    """The source of `function` renamed to `name`, without decorators, after the imports and helpers it uses."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(function)))
    there = {named: node for node in tree.body for named in _names(node)}
    # By line, not by name: the registry's functions may all be called `_`. The first line is the decorator's.
    wanted = [next(node for node in tree.body if isinstance(node, ast.FunctionDef) and function.__code__.co_firstlineno
                   in (node.lineno, *(one.lineno for one in node.decorator_list)))]
    wanted[0].decorator_list = []
    for node in wanted:                     # grows while it is walked: helpers of helpers
        for inner in ast.walk(node):
            # `_` is what a loop throws away, and never the function that the registry calls so.
            found = there.get(inner.id) if isinstance(inner, ast.Name) and inner.id != "_" else None
            if found is not None and found not in wanted:
                wanted.append(found)
    wanted[0].name = name
    return "\n\n\n".join(ast.unparse(node) for node in tree.body if node in wanted)


def with_function(cell: str, function: Callable, name: str) -> str:
    """A solution cell in which the function `name` is replaced by `function`; other functions of the cell stay."""
    others = [node for node in ast.parse(cell).body if name not in _names(node)]
    return "\n\n\n".join([*map(ast.unparse, others), standing_in(function, name)])


def _names(node: ast.stmt) -> list[str]:
    """What a statement at the top of a module defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return []
