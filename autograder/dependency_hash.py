"""One hash of some modules and of everything in this repository that they import, directly or not.

What is hashed is code: the syntax trees, without positions, comments and docstrings. So a comment,
a docstring or another layout never changes a hash, and any change of what is run does. Strings that
are no docstrings are code.

Imports are read, not carried out; those inside functions count, too. Packages from elsewhere are
pinned by the lock.
"""

import ast
import contextlib
import hashlib
import json
import os
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What was parsed before, by the hash of the text, and how many of these are kept: about twice the
# files of this repository.
STORE = ROOT / "_build" / "code_hashes.json"
MOST_STORED = 5_000
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# The place of a name says whether it is read or set.
SAYS_NOTHING = {"ctx", "kind", "type_comment"}


@dataclass(frozen=True)
class Code:
    """A text of Python as it is hashed.

    imports: what may be a module in each import, in order: `from a import b` gives `a` and `a.b`.
    """

    digest: bytes
    imports: tuple[str, ...]


def hash_behind(modules: Iterable[str], skip: Container[str] = (), root: Path = ROOT) -> str:
    """The hash of `modules` and of all that they import, see `modules_behind`."""
    digest = hashlib.sha256()
    for name, path in sorted(modules_behind(modules, skip, root).items()):
        digest.update(name.encode() + b"\0" + code_of_file(path, name).digest)
    _store().save()
    return digest.hexdigest()


def modules_behind(
    modules: Iterable[str], skip: Container[str] = (), root: Path = ROOT
) -> dict[str, Path]:
    """The file of each of `modules` and of each module of ours that they import, by its name.

    A package that a module lies in is imported with it. skip: modules and packages that are not
    followed.
    """
    found: dict[str, Path] = {}
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        name = todo.pop()
        if name in seen or is_below(name, skip):
            continue
        seen.add(name)
        path = file_of(name, root)
        if path is not None:
            found[name] = path
            todo += code_of_file(path, name).imports
            todo.append(name.rpartition(".")[0])
    return found


def is_below(name: str, packages: Container[str]) -> bool:
    """Whether a module, or a package that it lies in, is among `packages`."""
    parts = name.split(".")
    return any(".".join(parts[:length]) in packages for length in range(1, len(parts) + 1))


def file_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module of this repository, None for any other name."""
    if not module:
        return None
    base = root.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def code_of_file(path: Path, module: str) -> Code:
    """The code of a module; read once while its file stays as it is."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    state = path.stat()
    return _code_of_file(path, package, state.st_mtime_ns, state.st_size)


@cache
def _code_of_file(path: Path, package: str, changed: int, size: int) -> Code:
    return code_of(path.read_text(encoding="utf-8"), package)


def code_of(source: str, package: str = "") -> Code:
    """The code of a text. package: where it lies, for relative imports."""
    text = f"{package}\0{source}".encode("utf-8", "surrogatepass")
    key = hashlib.sha256(_own_source() + text).hexdigest()
    entries = _store().entries
    if key not in entries:
        entries[key] = _parsed(source, package)
    digest, *imports = entries[key]
    return Code(bytes.fromhex(digest), tuple(imports))


def _parsed(source: str, package: str) -> list[str]:
    """The digest of a text's code, and what it imports."""
    parts: list[str] = []
    imports: list[ast.AST] = []
    _add(ast.parse(source), parts, imports)
    digest = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return [digest, *(name for node in imports for name in _imported(node, package))]


@cache
def _own_source() -> bytes:
    """The text of this module: where it changes, nothing that is stored counts."""
    return Path(__file__).read_bytes()


class _Store:
    """What was parsed before, in a file: parsing takes longer than all the rest."""

    def __init__(self) -> None:
        self.entries: dict[str, list[str]] = {}
        with contextlib.suppress(OSError, ValueError):
            self.entries = json.loads(STORE.read_text(encoding="utf-8"))
        if len(self.entries) > MOST_STORED:
            self.entries = {}
        self._saved = len(self.entries)

    def save(self) -> None:
        """Keep what is new for the next process, where this folder can be written to."""
        if len(self.entries) == self._saved:
            return
        fresh = STORE.with_name(f"{STORE.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            STORE.parent.mkdir(exist_ok=True)
            fresh.write_text(json.dumps(self.entries), encoding="utf-8")
            os.replace(fresh, STORE)
        self._saved = len(self.entries)


@cache
def _store() -> _Store:
    return _Store()


def _add(node: ast.AST, parts: list[str], imports: list[ast.AST]) -> None:
    """Write down a syntax tree: the name of each node, its fields' names and their values."""
    parts.append(node.__class__.__name__)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        imports.append(node)
    for field in node._fields:
        value = getattr(node, field, None)
        if value is None or value == [] or field in SAYS_NOTHING:
            continue
        parts.append(field)
        if isinstance(value, ast.AST):
            _add(value, parts, imports)
        elif isinstance(value, list):
            parts.append("[")
            for one in _without_docstring(node, value) if field == "body" else value:
                if isinstance(one, ast.AST):
                    _add(one, parts, imports)
                else:
                    parts.append(repr(one))
            parts.append("]")
        else:
            parts.append(repr(value))


def _without_docstring(node: ast.AST, body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if is_text and isinstance(first.value.value, str) and isinstance(node, DOCUMENTED):
        return body[1:]
    return body


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """What may be a module in one import."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        above = parents[: len(parents) - node.level + 1]
        base = ".".join([*above, base] if base else above)
    return [base, *(f"{base}.{alias.name}" for alias in node.names)]
