"""The files of an archive for students, and what became in it of what could answer an exercise.

Imports are read, not carried out (see dependency_hash.py). Left out are solutions, other right answers, known mistakes, the
grader, tests, other chapters' checks. What an exercise withholds stands there without its body, and says so when it is
called; so cells after the exercises that need the reference itself end in that sentence.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from autograder.authoring.catalogue import ROOT
from autograder.checks.withholding import in_chapter
from autograder.dependency_hash import code_of, code_of_file, file_of
from autograder.grading.assignment import Assignment
from autograder.sandbox.stage import without

TOPS = ("autograder", "course", "reference_impl")
COMPARES = "a check compares with it"
NEVER = (
    "autograder/grading/",
    "autograder/classroom/",
    "autograder/sandbox/",
    "course/sample_class/",
    "solutions/",
)
DATA = (
    "reference_impl/**/*.toml",
    "reference_impl/**/*.json",
    "requirements.lock",
    "LICENSE",
    "LICENSE-TEXT",
)
FIGURES = "course/book/figures.py"  # draws with the scripts in book/assets/
STAND_IN = '''"""Withheld in this archive: {why}."""
from autograder.checks.withheld import StandIn


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return StandIn({module!r}, {why!r})
'''
README = """\
# {title}

Open `{notebook}` in JupyterLab, write your code in the cells that ask for it, and run the check below each: it says what
holds, what does not, and what probably causes that. Hand in the notebook.

You need Python 3.11 to 3.14 with the packages of `requirements.lock`:

    python -m venv .venv
    .venv/bin/pip install -r requirements.lock
    .venv/bin/jupyter lab {notebook}

Where a cell needs a text or vectors, it names them; `.venv/bin/python -c "from reference_impl import corpora; corpora.fetch()"`
fetches all of them once. What the exercises ask for is left out of `reference_impl/`: the cells after the exercises that
run your functions inside the course's own models say so and need the whole course.
"""


@dataclass
class Release:
    """The archive, the files in it, and what became of what could answer an exercise.

    withheld: of the reference, what was left without its body. recorded: functions of the checks that give recorded results
    instead, with how many; expressions: so many more within functions. kept: functions that stay as they are, with the reason.
    compared: so many answers got the same from the archive's checks as from the repository's.
    """

    path: Path
    files: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    recorded: dict[str, int] = field(default_factory=dict)
    expressions: int = 0
    compared: int = 0
    kept: dict[str, str] = field(default_factory=dict)


def sources(
    assignment: Assignment,
    made: Release,
    with_reference: bool,
    instead: Mapping[str, bytes] = MappingProxyType({}),
) -> dict[str, bytes]:
    """The files of the archive by path; notes in `made` what is withheld and what is kept. instead: files in another form."""
    tests = sorted(ROOT.glob(f"autograder/chapters/c{assignment.number}_*/test_*.py"))
    named = [
        name
        for cell in assignment.pristine.cells
        if cell.cell_type == "code"
        for name in code_of(cell.source).imports
    ]
    named += [_module(path) for path in tests]
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_bytes() for path in behind(named, instead)
    } | dict(instead)
    for pattern in DATA:
        texts |= {
            path.relative_to(ROOT).as_posix(): path.read_bytes()
            for path in sorted(ROOT.glob(pattern))
        }
    if FIGURES in texts:
        texts |= _drawings(
            "".join(cell.source for cell in assignment.pristine.cells)
            + texts.get("course/demo.py", b"").decode()
        )
    if not with_reference:
        checks = [
            text.decode()
            for path, text in texts.items()
            if path.startswith("autograder/chapters/") and path.endswith(".py")
        ]
        _withhold(
            assignment, texts, {name for text in checks for name in code_of(text).imports}, made
        )
    notebook = f"{assignment.name}.ipynb"
    texts[notebook] = (
        json.dumps(assignment.pristine, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    ).encode()
    texts["README.md"] = README.format(title=assignment.name, notebook=notebook).encode()
    return texts


def _drawings(text: str) -> dict[str, bytes]:
    """The scripts of the figures that a text names, the kit that they stand on, and the colours."""
    folder = ROOT / "book" / "assets"
    named = [path for path in folder.glob("figures/*.js") if f'"{path.stem}"' in text]
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (*named, *folder.glob("figures/kit/*.js"), folder / "palette.css")
    }


def behind(named: list[str], instead: Mapping[str, bytes]) -> list[Path]:
    """The files of modules of ours, of all that they import, directly or not, and of the packages that they are in."""
    found: set[Path] = set()
    todo = list(named)
    while todo:
        name = todo.pop()
        if name.partition(".")[0] not in TOPS:
            continue
        path = file_of(name)
        if path is not None and path not in found:
            found.add(path)
            text = instead.get(path.relative_to(ROOT).as_posix())
            todo += (code_of_file(path, name) if text is None else code_of(text.decode())).imports
        todo += [name.rpartition(".")[0]] if "." in name and path is not None else []
    return sorted(path for path in found if not path.relative_to(ROOT).as_posix().startswith(NEVER))


def _withhold(
    assignment: Assignment, texts: dict[str, bytes], by_checks: set[str], made: Release
) -> None:
    """Take out of the texts what the exercises withhold, but for the functions that the checks compare with."""
    for name, why in in_chapter(assignment.exercises.values()).items():
        if not name.startswith("reference_impl."):
            continue
        made.withheld.append(name)
        place = file_of(name)
        if place is None:
            module, _, function = name.rpartition(".")
            _rewrite(texts, file_of(module), module, {function: why})
            continue
        below = [place] if place.name != "__init__.py" else sorted(place.parent.rglob("*.py"))
        for path in below:
            module = _module(path)
            asked = {
                one.removeprefix(f"{module}.") for one in by_checks if one.startswith(f"{module}.")
            }
            key = path.relative_to(ROOT).as_posix()
            if asked:
                made.kept |= {f"{module}.{one}": COMPARES for one in sorted(asked)}
                _rewrite(
                    texts, path, module, dict.fromkeys(_functions(path) - _used(path, asked), why)
                )
            elif key in texts:
                texts[key] = STAND_IN.format(module=module, why=why).encode()


def _rewrite(texts: dict[str, bytes], path: Path, module: str, gone: dict[str, str]) -> None:
    key = path.relative_to(ROOT).as_posix()
    if key in texts:
        texts[key] = without(texts[key].decode(), module, gone).encode()


def _functions(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def _used(path: Path, names: set[str]) -> set[str]:
    """Of the functions at the top of a module, `names` and those that they call."""
    bodies = {
        node.name: {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    found, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name in bodies and name not in found:
            found.add(name)
            todo += bodies[name]
    return found


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def laid_out(folder: Path, texts: dict[str, bytes]) -> None:
    """Write the files of an archive into a folder."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)
