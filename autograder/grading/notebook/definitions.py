"""What a cell defines, sets and uses, read from its text without running it."""

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterator
from functools import lru_cache

# What a comment, a list, a quotation, a prompt, a diff or a listing puts before a line of code.
PREFIX = re.compile(r"(?:\s|>>>|\.\.\.|[-+*>|#`]|\d{1,4}[.):|]?(?=\s))*")
DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")
NAMED = re.compile(r"(\w+)\s*=\s*(?:\w+\s*=\s*)*(?:lambda\b|[A-Za-z_][\w.]*\s*$)")
SIGNATURE = re.compile(r"\)[^:]{0,300}:")
CODE = re.compile(r"\b(?:return|yield|lambda|pass|raise)\b|[=(]")
NOT_WRITTEN = "NotImplementedError"
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definition_lines(text: str) -> set[tuple[str, str]]:
    """The functions and classes that a text defines, each with every line of its body.

    The text may be code, comments, strings or prose. A line that only says that the function is
    not written yet does not count, so that a first line alone defines nothing.
    """
    found: set[tuple[str, str]] = set()
    around: list[tuple[int, str]] = []  # the definitions that a line is in, with their indentation
    for line in text.splitlines():
        column = PREFIX.match(line).end()
        code = line[column:].strip()
        if not code:
            continue
        around = [one for one in around if one[0] < column]
        if named := NAMED.match(code):
            found.add((named[1], code))
        elif defined := DEFINED.search(line):
            around.append((column, defined[1]))
            code = SIGNATURE.split(line[defined.end() :], maxsplit=1)[-1].strip()
            if code.startswith("("):  # the signature goes on, on the next line
                continue
        if CODE.search(code) and NOT_WRITTEN not in code:
            found.update((name, code) for _, name in around)
    return found


def functions_of(source: str) -> dict[str, str]:
    """The functions and classes that a code cell defines when it runs, with their code."""
    return {
        node.name: ast.dump(node) for node in _statements(source) if isinstance(node, FUNCTIONS)
    }


def changed_below(sources: list[str], own: list[int], functions: set[str]) -> str:
    """A name that some cells' code uses and a cell below sets otherwise than any above, or "".

    sources: code cells in running order. own: the places of the cells that are meant, which write
    `functions`.
    """
    above: dict[str, set[int]] = {name: set() for name in vars(builtins)}
    for source in sources[: own[-1] + 1]:
        for name, code in _set_by(source).items():
            above[name] = above.get(name, set()) | code
    used = functions.union(*(_used_by(sources[place]) for place in own)) & above.keys()
    for source in sources[own[-1] + 1 :]:
        below = _set_by(source)
        if changed := sorted(name for name in used & below.keys() if below[name] - above[name]):
            return changed[0]
    return ""


@lru_cache(maxsize=256)  # most cells of most notebooks are as they were given
def _set_by(source: str) -> dict[str, set[int]]:
    """The global names that a code cell sets or deletes when it runs, with hashes of the code."""
    found: dict[str, set[int]] = {}
    for statement in _statements(source):
        code = ast.dump(statement)
        for name, origin in _set_in(statement):
            found.setdefault(name, set()).add(hash(origin or code))
    return found


def _used_by(source: str) -> set[str]:
    """The global names that the functions of a code cell look up when they are called."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tables = symtable.symtable(source, "cell", "exec").get_children()
    except UNREADABLE:
        return set()
    found: set[str] = set()
    for table in tables:  # grows as it is read
        tables += table.get_children()
        looked_up = [one for one in table.get_symbols() if one.is_global() and one.is_referenced()]
        found.update(one.get_name() for one in looked_up)
    return found


def _statements(source: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
            ast.dump(tree)  # what is too deep for this is too deep for all that follows
            return tree.body
    except UNREADABLE:
        return []


def _set_in(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The global names that a statement sets; for an import with what it names, otherwise ""."""
    if isinstance(node, FUNCTIONS):
        yield node.name, ""
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, ""
    elif isinstance(node, ast.ImportFrom):
        yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
    elif isinstance(node, ast.Import):
        for one in node.names:
            name = one.asname or one.name.partition(".")[0]
            yield name, one.name if one.asname else name
    elif not isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
        for child in ast.iter_child_nodes(node):
            yield from _set_in(child)
