"""Sources for sample students: the reference's, a known mistake's and another right answer's, as a
student would hand them in, each complete in one cell.
"""

import ast
import importlib
import inspect
from collections.abc import Callable
from functools import lru_cache

from autograder.authoring.catalogue import BEGIN, END


@lru_cache(maxsize=4)
def reference_sources(assignment) -> dict[str, str]:
    """The solution cell of each exercise by grade id, without the markers; the manual answers are
    left out.
    """
    return {
        grade_id: "\n".join(
            line for line in cell.source.split("\n") if BEGIN not in line and END not in line
        )
        for grade_id, (cell, mark) in assignment.entry.cells.items()
        if cell.cell_type == "code" and mark["solution"]
    }


def standing_in(function: Callable, name: str) -> str:
    """The source of `function` renamed to `name`, without decorators, after the imports and helpers
    it uses.

    What it imports from a chapter's checks is written out too: a student has no such module.
    """
    if "<locals>" in function.__qualname__ or function.__name__ == "<lambda>":
        # made in a loop, for the number of a line: no source of its own
        return f"def {name}():\n    return {function()!r}"
    tree = _tree(inspect.getmodule(function).__name__)
    # By line, not by name: the registry's functions may all be called `_`. The first line is the
    # decorator's.
    own = next(
        node
        for node in tree.body
        if (
            isinstance(node, ast.ClassDef) and node.name == function.__name__
            if inspect.isclass(function)
            else isinstance(node, ast.FunctionDef)
            and function.__code__.co_firstlineno
            in (
                node.lineno,
                *(one.lineno for one in node.decorator_list),
            )
        )
    )
    own.decorator_list = []
    pieces = _with_helpers(tree, own)
    own.name = name
    return "\n\n\n".join(map(ast.unparse, pieces))


def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))


def _with_helpers(tree: ast.Module, own: ast.stmt) -> list[ast.stmt]:
    """`own` and all of its module that it needs, in order; before them what it imports from a
    chapter's checks.
    """
    there = {named: node for node in tree.body for named in _names(node)}
    wanted, before = [own], []
    for node in wanted:  # grows while it is walked: helpers of helpers
        for inner in ast.walk(node):
            # `_` is what a loop throws away, and never the function that the registry calls so.
            found = there.get(inner.id) if isinstance(inner, ast.Name) and inner.id != "_" else None
            if found is not None and found not in wanted:
                wanted.append(found)
    for node in [
        one
        for one in wanted
        if isinstance(one, ast.ImportFrom) and str(one.module).startswith("autograder.chapters")
    ]:
        wanted.remove(node)
        theirs = _tree(node.module)
        for alias in node.names:
            before += _with_helpers(
                theirs, next(one for one in theirs.body if alias.name in _names(one))
            )
    # A student's notebook imports Triton itself; the reference's way to it is withheld there.
    return [
        *before,
        *(
            node
            for node in tree.body
            if node in wanted and getattr(node, "module", "") != "reference_impl.kernels.backend"
        ),
    ]


def has_source(function: Callable) -> bool:
    """Whether `standing_in` can write it: not what a function made that takes arguments, and so
    knows more than its lines.
    """
    return (
        not ("<locals>" in function.__qualname__ or function.__name__ == "<lambda>")
        or not inspect.signature(function).parameters
    )


def with_function(cell: str, function: Callable, name: str) -> str:
    """A solution cell in which the function `name` is replaced by `function`; other functions of
    the cell stay.
    """
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
