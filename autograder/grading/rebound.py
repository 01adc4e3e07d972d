"""Names that an exercise's cell uses and a cell below it gives another value: judged is what stands when all cells have run.

In the notebook the check under the cell ran before that, and may have shown full points; `sum = 0` in a scratch cell, or a second helper
of the same name, is enough. So where such an exercise loses points, a person looks.
"""

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterator, Sequence

from autograder.grading.misplaced import definitions

REBOUND = "This exercise lost points, and `{}`, which its cell uses, is set again or deleted in a cell below: what was judged may not be what the check there saw."


def rebound(
    pieces: Sequence[tuple[str | None, str]], own: set[str], functions: dict[str, set[str]]
) -> dict[str, str]:
    """By exercise, a name that its cell uses, or its function's, to which a later cell gives another value. pieces: grade id and source in running order;
    own: the exercises whose cell the student wrote; functions: by exercise those that it asks for."""
    found, names, origins = (
        {},
        [_bound(source) for _, source in pieces],
        [_origins(source) for _, source in pieces],
    )
    for exercise in own & functions.keys():
        last = max(
            (place for place, (grade_id, _) in enumerate(pieces) if grade_id == exercise),
            default=None,
        )
        if last is None:
            continue
        code = {
            one
            for grade_id, source in pieces
            if grade_id == exercise
            for one in definitions(source).items()
        }
        used = {
            name for grade_id, source in pieces if grade_id == exercise for name in _used(source)
        } | functions[exercise]
        before = {name for some in names[: last + 1] for name in set().union(*some)} | vars(
            builtins
        ).keys()
        known = set().union(*origins[: last + 1])
        for place in range(last + 1, len(pieces)):
            assigned, imported = names[place]
            same = {
                name
                for name, other in definitions(pieces[place][1]).items()
                if (name, other) in code
            }
            others = imported - {name for name, origin in origins[place] if (name, origin) in known}
            hits = sorted(
                (used & before & (assigned | others) | functions[exercise] & imported) - same
            )
            if hits:
                found.setdefault(exercise, hits[0])
    return found


def _used(source: str) -> Iterator[str]:
    """The global names that the functions of a cell look up when they are called."""
    tables = [*getattr(_table(source), "get_children", list)()]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        yield from (
            one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()
        )


def _bound(source: str) -> tuple[set[str], set[str]]:
    """The names to which a cell gives a value when it runs, and those that it imports."""
    table = _table(source)
    symbols, inner = (
        [*getattr(table, "get_symbols", list)()],
        [*getattr(table, "get_children", list)()],
    )
    for one in inner:  # grows as it is read: functions that say `global`
        inner += one.get_children()
    told = {
        name.get_name()
        for one in inner
        for name in one.get_symbols()
        if name.is_declared_global() and name.is_assigned()
    }
    return told | {one.get_name() for one in symbols if one.is_assigned()}, {
        one.get_name() for one in symbols if one.is_imported()
    }


def _origins(source: str) -> set[tuple[str, str]]:
    """What a cell's imports bind, with what: the same import once more changes nothing."""
    if "import" not in source or _table(source) is None:
        return set()
    with warnings.catch_warnings(action="ignore"):
        nodes = list(ast.walk(ast.parse(source)))
    whole = {
        (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2
        for node in nodes
        if isinstance(node, ast.Import)
        for one in node.names
    }
    return whole | {
        (one.asname or one.name, f"{node.module}.{one.name}")
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }


def _table(source: str) -> symtable.SymbolTable | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            return symtable.symtable(source, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
