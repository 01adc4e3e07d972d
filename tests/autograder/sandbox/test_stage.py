"""What exists inside: the worker's files and the reference, without what is to be written."""

import ast
import os
import stat
from pathlib import Path

import pytest

from autograder.common.errors import CourseError
from autograder.sandbox.backends.stage import LATER_FILES, WORKER_FILES, stage

ROOT = Path(__file__).resolve().parents[3]
COUNTS = "reference_impl.embeddings.counts"


def test_a_withheld_module_is_missing_and_its_neighbours_are_there():
    full, without = stage(), stage([COUNTS])
    gone = {path.relative_to(full) for path in full.rglob("*")} - {
        path.relative_to(without) for path in without.rglob("*")
    }
    assert {str(path) for path in gone} == {"reference_impl/embeddings/counts.py"}


def test_a_withheld_package_is_missing_whole():
    assert not (stage(["reference_impl.embeddings"]) / "reference_impl" / "embeddings").exists()


def test_only_source_is_copied_never_bytecode_or_links():
    for path in stage([COUNTS]).rglob("*"):
        assert path.is_dir() or path.suffix == ".py" and not path.is_symlink(), path


def test_of_the_grader_only_the_worker_goes_inside():
    folder = stage()
    assert {
        str(path.relative_to(folder / "autograder"))
        for path in (folder / "autograder").rglob("*.py")
    } == {*WORKER_FILES, *LATER_FILES}


def test_another_user_can_read_it_and_nobody_else_can_write():
    for path in [stage(), *stage().rglob("*")]:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        assert mode & 0o004 and not mode & 0o022, path


@pytest.mark.parametrize(
    "name",
    ["reference_impl.embeddings.count", "embeddings.counts", "reference_impl", "", "os.path"],
)
def test_a_name_that_is_no_module_is_refused_because_the_answer_would_stay(name):
    with pytest.raises(CourseError, match="cannot withhold"):
        stage([name])


def test_what_the_worker_imports_first_goes_inside_too():
    inside = {f"autograder/{name}" for name in (*WORKER_FILES, *LATER_FILES)}
    for name in sorted(inside):
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        wanted = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        ours = {
            f"{module.replace('.', '/')}.py"
            for module in wanted
            if module.startswith("autograder.")
        }
        assert {path for path in ours if (ROOT / path).is_file()} <= inside, name
