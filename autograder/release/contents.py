"""Which files an archive for students holds: the notebook, the checks with their registered
mistakes, what both import.

Imports are read from the source, not executed (see dependency_hash.py). Solutions, alternatives,
the grader, tests and the checks of other chapters stay out. Functions of the reference
implementation that an exercise withholds raise an error that says why, as they do in the sandbox.
"""

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.catalogue import ROOT
from autograder.checks.restrictions.names import in_chapter
from autograder.dependency_hash import code_of, file_of, modules_behind
from autograder.grading.assignment import Assignment
from autograder.sandbox.backends.stage import without

CHECKS = ("test_", "mistakes_")
LEFT_OUT = (
    "autograder.classroom",
    "autograder.grading",
    "autograder.release",
    "autograder.sandbox",
    "course.sample_class",
    "solutions",
)
DATA = (
    "reference_impl/**/*.toml",
    "reference_impl/**/*.json",
    "requirements.lock",
    "LICENSE",
    "LICENSE-TEXT",
)
FIGURES = "course/book/pages/figures.py"  # draws with the scripts in book/assets/
STAND_IN = '''"""Withheld in this archive: {why}."""
from autograder.checks.restrictions.guard import StandIn


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return StandIn({module!r}, {why!r})
'''
README = """\
# {title}

Open `{notebook}` in JupyterLab, write your code in the cells that ask for it, and run the check
below each cell: it shows which tests pass, which fail, and the likely cause. Submit the notebook.

You need Python 3.11 to 3.14 with the packages of `requirements.lock`:

    python -m venv .venv
    .venv/bin/pip install -r requirements.lock
    .venv/bin/jupyter lab {notebook}

A cell that needs a text or vectors names them. This command downloads all of them once:

    .venv/bin/python -c "from reference_impl import corpora; corpora.fetch()"

The functions that the exercises ask for are left out of `reference_impl/`. Cells after the
exercises that run your functions inside the course's own models say so and need the whole course.
"""


@dataclass
class Contents:
    """The files of an archive by path, and what became of the reference implementation.

    withheld: its modules and functions without a body. kept: functions in them that a check calls.
    """

    files: dict[str, bytes]
    withheld: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def contents_of(assignment: Assignment, with_reference: bool = False) -> Contents:
    """The files of the archive. with_reference: leave the reference implementation as it is."""
    chapter = f"autograder/chapters/c{assignment.number}_*"
    checks = [path for prefix in CHECKS for path in ROOT.glob(f"{chapter}/{prefix}*.py")]
    cells = [cell.source for cell in assignment.pristine.cells if cell.cell_type == "code"]
    roots = [module_of(path) for path in checks]
    for cell in cells:
        roots += code_of(cell).imports
    paths = set(modules_behind(roots, skip=LEFT_OUT).values())
    for pattern in DATA:
        paths.update(ROOT.glob(pattern))
    if ROOT / FIGURES in paths:
        paths |= figure_scripts("\n".join(cells), ROOT / "course" / "demo.py")
    contents = Contents({_relative(path): path.read_bytes() for path in sorted(paths)})
    if not with_reference:
        _withhold(assignment, contents)
    notebook = f"{assignment.name}.ipynb"
    text = json.dumps(assignment.pristine, indent=1, ensure_ascii=False, sort_keys=True)
    contents.files[notebook] = f"{text}\n".encode()
    contents.files["README.md"] = README.format(title=assignment.name, notebook=notebook).encode()
    return contents


def figure_scripts(cells: str, demo: Path) -> set[Path]:
    """The scripts of the figures that cells or `demo` name, the kit they use, and the palette."""
    folder = ROOT / "book" / "assets"
    text = cells + demo.read_text(encoding="utf-8")
    named = [path for path in folder.glob("figures/*.js") if f'"{path.stem}"' in text]
    return {*named, *folder.glob("figures/kit/*.js"), folder / "palette.css"}


def module_of(path: Path) -> str:
    """The dotted name of a file of this repository."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _withhold(assignment: Assignment, contents: Contents) -> None:
    """Replace what the exercises withhold, except for the functions that checks or
    mistakes call.
    """
    imported: set[str] = set()
    for path, text in contents.files.items():
        if path.startswith("autograder/chapters/") and path.endswith(".py"):
            imported.update(code_of(text.decode()).imports)
    for name, why in in_chapter(assignment.exercises.values()).items():
        if not name.startswith("reference_impl."):
            continue
        contents.withheld.append(name)
        path = file_of(name)
        if path is None:  # a function
            module, _, function = name.rpartition(".")
            _replace(contents, file_of(module), {function: why})
        elif path.name == "__init__.py":
            for inner in sorted(path.parent.rglob("*.py")):
                _withhold_module(contents, inner, why, imported)
        else:
            _withhold_module(contents, path, why, imported)


def _withhold_module(contents: Contents, path: Path, why: str, imported: set[str]) -> None:
    module = module_of(path)
    kept = sorted(
        name for name in imported if name.rpartition(".")[0] == module and file_of(name) is None
    )
    if kept:
        contents.kept += kept
        used = {name.rpartition(".")[2] for name in kept}
        _replace(contents, path, dict.fromkeys(unused_functions(path, used), why))
    elif _relative(path) in contents.files:
        stand_in = STAND_IN.format(module=module, why=why)
        contents.files[_relative(path)] = stand_in.encode()


def _replace(contents: Contents, path: Path, functions: dict[str, str]) -> None:
    """Let functions of a file raise an error with the reason, if the archive has the file."""
    key = _relative(path)
    if key in contents.files:
        source = contents.files[key].decode()
        contents.files[key] = without(source, module_of(path), functions).encode()


def unused_functions(path: Path, names: set[str]) -> set[str]:
    """The functions of a module that neither are in `names` nor are called from there."""
    calls = {
        node.name: {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    unused, todo = set(calls), list(names)
    while todo:
        name = todo.pop()
        if name in unused:
            unused.remove(name)
            todo += calls[name]
    return unused


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
