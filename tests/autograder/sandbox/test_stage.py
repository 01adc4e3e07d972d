"""What exists inside: the worker's files and the reference, without what is to be written."""
import os
import stat

import pytest

from autograder.errors import CourseError
from autograder.sandbox.stage import LATER_FILES, WORKER_FILES, stage

COUNTS = "reference_impl.embeddings.counts"


def test_a_withheld_module_is_missing_and_its_neighbours_are_there():
    full, without = stage(), stage([COUNTS])
    gone = {path.relative_to(full) for path in full.rglob("*")} - {path.relative_to(without) for path in without.rglob("*")}
    assert {str(path) for path in gone} == {"reference_impl/embeddings/counts.py"}


def test_a_withheld_package_is_missing_whole():
    assert not (stage(["reference_impl.embeddings"]) / "reference_impl" / "embeddings").exists()


def test_only_source_is_copied_never_bytecode_or_links():
    for path in stage([COUNTS]).rglob("*"):
        assert path.is_dir() or path.suffix == ".py" and not path.is_symlink(), path


def test_of_the_grader_only_the_worker_goes_inside():
    folder = stage()
    assert {str(path.relative_to(folder / "autograder")) for path in (folder / "autograder").rglob("*.py")} == {*WORKER_FILES, *LATER_FILES}


def test_another_user_can_read_it_and_nobody_else_can_write():
    for path in [stage(), *stage().rglob("*")]:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        assert mode & 0o004 and not mode & 0o022, path


@pytest.mark.parametrize("name", ["reference_impl.embeddings.count", "embeddings.counts", "reference_impl", "", "os.path"])
def test_a_name_that_is_no_module_is_refused_because_the_answer_would_stay(name):
    with pytest.raises(CourseError, match="cannot withhold"):
        stage([name])
