"""Which source files stand behind some modules: the modules themselves and all of ours that they import.

A verdict's identity covers what decides it and no more: work on a later chapter must not make the verdicts of an
earlier one stale. Imports are read, not carried out; those inside functions count too. Only modules of `PACKAGES` are
followed: other packages are pinned by the lock.
"""
import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("autograder.checks", "autograder.chapters", "autograder.sandbox", "reference_impl")


def files_behind(*modules: str) -> list[Path]:
    """The files of `modules` and of every module of PACKAGES that they import, directly or not, sorted."""
    found: set[Path] = set()
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = file_of(name)
        if path is None or path in found:
            continue
        found.add(path)
        todo += [one for one in imports(path) if one.startswith(PACKAGES)]
    return sorted(found)


def file_of(module: str) -> Path | None:
    """The file of a module of this repository, None for any other name."""
    base = ROOT.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def imports(path: Path) -> Iterator[str]:
    """What may be a module in each import of a file: `from a import b` gives `a` and `a.b`."""
    yield from modules_in(path.read_text(encoding="utf-8"))


def modules_in(source: str) -> Iterator[str]:
    """The same for a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
