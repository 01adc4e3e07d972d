"""The package that grows: the functions of a chapter as a module that later notebooks import.

    from word2serve_me.c01_static_embeddings import ppmi

`course package 01` writes the student's own functions, those that pass, with the helpers and
imports that they need, and nothing else of the notebook; `course package 01 --from reference` puts
the reference in their place, and `course package 01 --from mine` takes that back. In grading the
module is always the reference's, so that one mistake is paid for once.

The source is read, never run here: what is written is what the student wrote, statement by
statement.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.catalogue import Assignment, assignments
from autograder.authoring.implementations import own_cells
from autograder.checks.restrictions.reference_imports import MARK, PACKAGE, is_borrowed
from autograder.common.course_files import IN_WHEEL
from autograder.common.errors import CourseError

INIT = '"""Your own functions, chapter by chapter: `course package NN` fills this package."""\n'
IMPORT_SECONDS = 120


@dataclass(frozen=True)
class Saved:
    """What was written: the file, and the names that can be imported from it."""

    path: Path
    names: list[str]


def module_name(one: Assignment) -> str:
    """ "c01_static_embeddings" for assignment 01-static-embeddings."""
    return "c" + one.name.replace("-", "_")


def save(
    one: Assignment,
    cells: Iterable[tuple[str, str]],
    names: list[str],
    root: Path = PACKAGE,
    borrowed: bool = False,
) -> Saved:
    """Write the module of a chapter with `names` and what they need.

    Raises CourseError if it cannot be imported.
    """
    source = module_source(one, cells, names, borrowed)
    path = root / f"{module_name(one)}.py"
    fresh = root / f"new_{module_name(one)}.py"
    root.mkdir(parents=True, exist_ok=True)
    if not (root / "__init__.py").exists():
        (root / "__init__.py").write_text(INIT, encoding="utf-8")
    fresh.write_text(source, encoding="utf-8")
    try:
        _try_import(fresh, path)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return Saved(path, names)


def _try_import(fresh: Path, path: Path) -> None:
    """Raise CourseError where the new text of `path` cannot be imported in a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import word2serve_me.{fresh.stem}"],
            cwd=fresh.parents[1],
            capture_output=True,
            text=True,
            timeout=IMPORT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CourseError(
            f"what was collected takes more than {IMPORT_SECONDS} seconds to import, so {path}"
            " stays as it was: does a definition at the top of a cell compute for long?"
        ) from None
    if done.returncode:
        raise CourseError(
            f"what was collected cannot be imported, so {path} stays as it was:"
            f" {done.stderr.strip().splitlines()[-1]}. Does a function use something that only"
            " another cell's loop or `with` block defines?"
        )


def use_reference(one: Assignment, root: Path = PACKAGE) -> Saved:
    """Put the reference in the place of the student's module, which is kept in `own/`.

    Raises CourseError in the wheel, which has no solutions.
    """
    if IN_WHEEL:
        raise CourseError(
            "the installed package holds no solutions: --from reference works in a clone of the"
            " course"
        )
    path, kept = root / f"{module_name(one)}.py", root / "own" / f"{module_name(one)}.py"
    if path.exists() and not is_borrowed(path):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(path.read_bytes())
    return save(one, own_cells(one.notebook.cells), function_names(one), root, borrowed=True)


def use_own(one: Assignment, root: Path = PACKAGE) -> Path:
    """Put the student's module back. Raises CourseError if none was kept."""
    path, kept = root / f"{module_name(one)}.py", root / "own" / f"{module_name(one)}.py"
    if not kept.exists():
        raise CourseError(
            f"{kept} does not exist: you have saved nothing of chapter {one.number} yet; `course"
            f" package {one.number}` does"
        )
    kept.replace(path)
    return path


def earlier_chapters(number: str) -> dict[str, str]:
    """The package as grading has it for an assignment: files by path, the reference of every
    chapter before it. The wheel has no solutions: there it is the student's own package.
    """
    if IN_WHEEL:
        own = PACKAGE.glob("*.py") if PACKAGE.is_dir() else ()
        return {f"word2serve_me/{path.name}": path.read_text(encoding="utf-8") for path in own}
    files = {"word2serve_me/__init__.py": INIT}
    for one in assignments():
        if one.number < number:
            files[f"word2serve_me/{module_name(one)}.py"] = module_source(
                one, own_cells(one.notebook.cells), function_names(one), True
            )
    return files


def function_names(one: Assignment) -> list[str]:
    """What the exercises of an assignment ask to write, wrong-line numbers and the like
    included.
    """
    return [
        name
        for exercise in one.exercises.values()
        for name in (exercise.function, *exercise.also)
        if name
    ]


def module_source(
    one: Assignment, cells: Iterable[tuple[str, str]], names: list[str], borrowed: bool
) -> str:
    """The text of a chapter's module. Raises CourseError for a name that no cell defines."""
    head = f'"""Chapter {one.number}, {one.name}: {", ".join(names)}."""\n'
    return (
        head + (MARK + "\n" if borrowed else "") + collect([source for _, source in cells], names)
    )


def _statements(
    cells: Iterable[str],
) -> tuple[list[tuple[str, ast.stmt]], dict[str, list[int]]]:
    """The statements at the top of all cells that parse, each with its cell's text, and the numbers
    of those that define a name.
    """
    statements: list[tuple[str, ast.stmt]] = []
    defines: dict[str, list[int]] = {}
    for source in cells:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for node in tree.body:
            bound = set(_bound(node))
            for name in bound:
                # `total = 1` replaces what was there; `total += 1` builds on it.
                earlier = defines.get(name, []) if isinstance(node, ast.AugAssign) else []
                defines[name] = [*earlier, len(statements)]
            statements.append((source, node))
    return statements, defines


def collect(cells: Iterable[str], names: list[str]) -> str:
    """The statements of `cells` that define `names` and all that these use, in their order.

    Only definitions at the top of a cell are followed: functions, classes, imports, assignments. Of
    two definitions of a name the later one counts, as in the notebook. Raises CourseError for a
    name that nothing defines.
    """
    statements, defines = _statements(cells)
    wanted, todo = set(), list(names)
    if missing := [name for name in names if name not in defines]:
        raise CourseError(f"no cell defines `{missing[0]}`")
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for index in defines.get(name, []):
            wanted.add(index)
            todo += _used(statements[index][1])
    parts = [_text(*statements[index]) for index in sorted(wanted)]
    future = [part for part in parts if part.startswith("from __future__")]
    return (
        "\n".join(dict.fromkeys(future))
        + "\n\n"
        + "\n\n".join(part for part in parts if part not in future)
        + "\n"
    )


def _bound(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((alias.asname or alias.name.split(".")[0]) for alias in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (
            one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
        )


def _used(node: ast.stmt) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)] + (
        ["annotations"] if isinstance(node, ast.FunctionDef) else []
    )  # from __future__ import annotations


def _text(source: str, node: ast.stmt) -> str:
    """The lines of a statement with its decorators and the comments right above."""
    lines = source.split("\n")
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) - 1
    while first > 0 and lines[first - 1].startswith("#") and "SOLUTION" not in lines[first - 1]:
        first -= 1
    kept = [
        line
        for line in lines[first : node.end_lineno]
        if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION")
    ]
    return "\n".join(kept)
