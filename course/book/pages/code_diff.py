"""Two pieces of the reference's code as the lines in which they differ: what a paper changed,
beside what it changed it from.

    print(difference(Bert.forward, Albert.forward))

Docstrings, comments and the shapes in signatures are left out, so that what is left is code. Lines
that only one of the two has begin with "-" (the first) or "+" (the second); a line of context
stands around them, and "..." where more was left out.
"""

import ast
import difflib
import inspect
import textwrap
from collections.abc import Callable


def difference(old: Callable | type, new: Callable | type) -> str:
    """The differing lines of two functions or classes. ValueError if they do not differ."""
    found = list(difflib.unified_diff(_code(old), _code(new), lineterm="", n=1))
    if not found:
        raise ValueError(
            f"{old.__qualname__} and {new.__qualname__} are the same code: there is no difference"
            " to show"
        )
    return "\n".join("..." if line.startswith("@@") else line for line in found[2:]).removeprefix(
        "...\n"
    )


def _code(thing: Callable | type) -> list[str]:
    """Its source without docstrings, comments and annotations, as lines."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(thing))))
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(tree).splitlines()
