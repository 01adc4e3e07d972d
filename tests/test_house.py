"""Imports point one way, between packages and between the rooms of `autograder`, and no files
import in a circle.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ABOVE = ("course", "autograder", "reference_impl")  # each may import those after it

# Rooms of autograder, each with the rooms that it may import.
ROOMS = {
    "course_layout": set(),
    "dependency_hash": set(),
    "common": {"course_layout"},
    "checks": {"common"},
    "chapters": {"checks"},
    "notebook_progress": {"checks", "common"},
    "check": {"checks", "common", "notebook_progress"},
    "sandbox": {"checks", "common"},
    "authoring": {"checks", "common", "dependency_hash", "sandbox"},
    "grading": {"authoring", "checks", "common", "course_layout", "dependency_hash", "sandbox"},
    "classroom": {
        "authoring",
        "checks",
        "common",
        "course_layout",
        "dependency_hash",
        "grading",
        "sandbox",
    },
    "release": {"authoring", "checks", "common", "dependency_hash", "grading", "sandbox"},
    "golf": {"checks", "common", "sandbox"},
    "hunt": {"authoring", "checks", "common", "sandbox"},
    "examples": {"authoring", "check", "checks", "common", "grading", "sandbox"},
    "viva": {"checks", "classroom", "common", "grading", "sandbox"},
}
EXCEPTIONS = {
    ("chapters/conftest.py", "authoring")
}  # pytest's way into the checks: whose functions to run them on

REFERENCE = {
    "corpora": {"tokenizers", "embeddings", "layers", "models", "weights"},
    "tokenizers": {"weights"},
    "embeddings": {"corpora"},
    "layers": {"kernels", "measure"},
    "weights": {"layers"},
    "kernels": set(),
    "measure": {"layers"},
    "models": {"kernels", "layers", "measure", "weights"},
    "objectives": {"layers", "models", "tokenizers"},
    "training": {"layers", "models", "objectives", "weights"},
    "generation": {"layers", "models", "objectives"},
    "engine": {
        "corpora",
        "generation",
        "kernels",
        "layers",
        "measure",
        "models",
        "tokenizers",
        "weights",
    },
    "whole": {"corpora"},
}
REFERENCE_EXCEPTIONS = {("measure/metrics.py", "embeddings"), ("measure/roofline.py", "models")}


LARGE = {"authoring", "chapters", "commands"}  # folders with a file for each of many alike


@lru_cache
def module_of(path: Path) -> str:
    """The dotted name of a file of this repository."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@lru_cache
def files() -> dict[str, Path]:
    """Every file of the three packages, by module."""
    return {module_of(path): path for top in ABOVE for path in sorted((ROOT / top).rglob("*.py"))}


def imported(path: Path, everywhere: bool) -> Iterator[str]:
    """Modules of ours that a file imports: at its top level, or everywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name in files())


def edges() -> Iterator[tuple[str, str]]:
    """(importer, imported) of every import between our modules, those inside functions too."""
    for module, path in files().items():
        yield from ((module, name) for name in imported(path, everywhere=True) if name != module)


def test_the_course_stands_above_the_autograder_and_both_above_the_reference():
    wrong = [
        f"{left} imports {right}"
        for left, right in edges()
        if ABOVE.index(right.split(".")[0]) < ABOVE.index(left.split(".")[0])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("package", "rooms", "exceptions"),
    [("autograder", ROOMS, EXCEPTIONS), ("reference_impl", REFERENCE, REFERENCE_EXCEPTIONS)],
)
def test_rooms_import_only_the_rooms_that_the_table_allows(package, rooms, exceptions):
    wrong = []
    for left, right in edges():
        if left.split(".")[0] == right.split(".")[0] == package and "." in left and "." in right:
            room, other = left.split(".")[1], right.split(".")[1]
            inside = files()[left].relative_to(ROOT / package).as_posix()
            if other != room and other not in rooms[room] and (inside, other) not in exceptions:
                wrong.append(f"{inside} imports {right}")
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_no_files_import_each_other_in_a_circle():
    graph = {
        module: {
            name
            for name in imported(path, everywhere=True)
            if name != module and files()[name] != path and not module.startswith(f"{name}.")
        }
        for module, path in files().items()
    }
    done, path = set(), []

    def visit(module: str) -> None:
        assert module not in path, "a circle: " + " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            path.append(module)
            for name in sorted(graph[module]):
                visit(name)
            path.pop()
            done.add(module)

    for module in graph:
        visit(module)


def test_nothing_in_the_packages_imports_tests_or_benches():
    wrong = [
        f"{module}: {line.strip()}"
        for module, path in files().items()
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("from tests", "import tests", "from bench", "import bench"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name, most", [("README.md", 600), ("CONTRIBUTING.md", 1200)])
def test_what_everybody_reads_first_is_short(name, most):
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= most


def test_no_folder_of_the_packages_holds_more_than_twelve_files():
    large = []
    for package in ("autograder", "course"):
        for folder in {path.parent for path in (ROOT / package).rglob("*.py")}:
            count = sum(path.is_file() for path in folder.iterdir())
            if count > 12 and not LARGE & set(folder.relative_to(ROOT / package).parts):
                large.append(f"{folder.relative_to(ROOT)}: {count} files; move some by content")
    assert not large, "\n".join(sorted(large))


def test_ruff_finds_no_undefined_name_no_unused_import_and_no_disorder():
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
