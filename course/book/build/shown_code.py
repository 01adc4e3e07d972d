"""What a page shows of a code cell: the code without the course's plumbing, and its claims apart.

Plumbing is what only the book needs: imports of `course.book.pages` and of `glue`, calls of
`claim(...)` and `glue(...)`, and `revealed(...)` round the answer to a prediction.
"""

import ast
import re
import textwrap
from dataclasses import dataclass

PLUMBING = ("course.book.pages", "course_style", "myst_nb")
SILENT_CALLS = {"claim", "glue"}
WIDEST = 88  # columns of code that fit the column of text
FAR_COMMENT = re.compile(r"(?<=\S) {3,}#")  # aligned with others, so far that the line is too long
MAGIC = re.compile(r"^\s*[%!].*$", re.M)


@dataclass(frozen=True)
class Claim:
    """A sentence of the page and the source of the condition that it depends on."""

    sentence: str
    condition: str


def shown_source(source: str) -> str:
    """The code of a cell without plumbing; as it is where it is not plain Python."""
    tree = _parsed(source)
    if tree is None:
        return source
    lines = source.split("\n")
    shared = _shared_lines(tree)
    for node in reversed(tree.body):
        first, last = node.lineno - 1, node.end_lineno
        if shared & set(range(first, last)):
            continue
        if _is_plumbing(node):
            del lines[first:last]
        elif _call(node) == "revealed" and len(node.value.args) > 1:
            lines[first:last] = _segment(source, node.value.args[1]).split("\n")
    lines = [FAR_COMMENT.sub("  #", line) if len(line) > WIDEST else line for line in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def claims_of(source: str) -> list[Claim]:
    """The claims that a cell makes, in the order in which they stand in it."""
    tree = _parsed(source)
    calls = [
        node
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim"
    ]
    return [
        Claim(_text(node.args[0]), _segment(source, node.args[1]))
        for node in sorted(calls, key=lambda node: node.lineno)
        if len(node.args) == 2
    ]


def answers_prediction(source: str) -> bool:
    """Does the cell reveal the answer to a prediction?"""
    tree = _parsed(source)
    return tree is not None and any(_call(node) == "revealed" for node in tree.body)


def _parsed(source):
    try:
        return ast.parse(MAGIC.sub("pass", source))
    except SyntaxError:
        return None


def _call(node):
    """The name that an expression statement calls, or ""."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return getattr(node.value.func, "id", "")
    return ""


def _is_plumbing(node):
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith(PLUMBING)
    if isinstance(node, ast.Import):
        return all(alias.name.startswith(PLUMBING) for alias in node.names)
    return _call(node) in SILENT_CALLS


def _shared_lines(tree):
    """Indices of lines on which more than one statement stands."""
    seen, shared = set(), set()
    for node in tree.body:
        own = set(range(node.lineno - 1, node.end_lineno))
        shared |= own & seen
        seen |= own
    return shared


def _segment(source, node):
    """The source of an expression, its further lines moved left as far as they go."""
    first, *rest = (ast.get_source_segment(source, node) or ast.unparse(node)).split("\n")
    return "\n".join([first, *textwrap.dedent("\n".join(rest)).split("\n")]) if rest else first


def _text(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    return ast.unparse(node)
