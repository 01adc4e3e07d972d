"""A checkout grades wherever it lies, although each fork has an empty /tmp and /dev/shm."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import autograder

pytestmark = pytest.mark.sandbox
REPOSITORY = Path(autograder.__file__).parents[1]
VENV = Path(sys.prefix)
SOURCES = (
    "autograder",
    "course",
    "reference_impl",
    "solutions",
    "exercises",
    "pyproject.toml",
    "requirements.lock",
)
UNUSED = (
    "triton",
    "pyarrow",
    "playwright",
    "transformers",
    "gensim",
    "sklearn",
    "share",
    "include",
)  # two of three gigabytes
NEEDED = 2 * 2**30  # bytes, of what is left and what grading uses
PROGRAM = """
import json, sys, tempfile
from pathlib import Path
from autograder.grading.assignment import load_assignment
from autograder.grading.intake.discovery import Submission
from autograder.grading.grade import grade_submission, sandboxes
from autograder.sandbox import choose_backend
from autograder.sandbox.backends import warm
from autograder.authoring.student_notebook import Notebook

path, one = Path(tempfile.mkdtemp()) / "notebook.ipynb", load_assignment("01")
path.write_bytes(Notebook(one).solve().data())
with sandboxes(one, choose_backend(), 900) as pool:
    verdict = grade_submission(Submission("ada", path), one, b"secret", pool, budget=900)
lost = {row["exercise"]: row["stages"] for row in verdict.results if row["earned"] < row["points"]}
ours, torch = (sys.modules[name].__file__ for name in ("autograder", "torch"))
print(json.dumps({"judged": len(verdict.results), "lost": lost, "human": verdict.human,
                  "errors": verdict.cell_errors, "forked": len(warm._ZYGOTES),
                  "package": ours, "torch": torch}))
"""


def copy_checkout(folder):
    """Copy this checkout and its environment; what is large is linked, where that is possible."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        one = REPOSITORY / name
        (
            shutil.copytree(one, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            if one.is_dir()
            else shutil.copy2(one, folder / name)
        )
    packages = Path(sysconfig.get_path("purelib"))
    for path in [
        *(one for one in packages.iterdir() if one.name not in UNUSED),
        VENV / "bin",
        VENV / "pyvenv.cfg",
    ]:
        target = folder / ".venv" / path.relative_to(VENV)
        target.parent.mkdir(parents=True, exist_ok=True)
        if subprocess.run(["cp", "-al", path, target], capture_output=True).returncode:
            shutil.rmtree(target, ignore_errors=True)
            subprocess.run(["cp", "-a", path, target], check=True)


def graded_in(folder, **environment):
    """What a perfect notebook earns when the checkout in `folder` grades it."""
    python, path = folder / ".venv" / "bin" / "python", os.environ["PATH"]
    done = subprocess.run(
        [python, "-c", PROGRAM],
        cwd=folder,
        capture_output=True,
        text=True,
        env={
            "PATH": path,
            "HOME": os.environ.get("HOME", "/"),
            "PYTHONPATH": str(folder),
            "OMP_NUM_THREADS": "1",
            **environment,
        },
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ours, torch = (Path(found[name]).resolve() for name in ("package", "torch"))
    assert ours.is_relative_to(folder.resolve()) and torch.is_relative_to(
        folder.resolve() / ".venv"
    )
    return found


def assert_earns_everything(found):
    assert (found["lost"], found["human"], found["errors"]) == ({}, [], [])
    assert found["judged"] > 5 and found["forked"] == 1


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A whole checkout below the system's folder for temporary files."""
    folder = tmp_path_factory.mktemp("places") / "checkout"
    copy_checkout(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def moved(checkout, tmp_path):
    """The checkout at another place, for one test."""
    places = []

    def move(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        places.append(checkout.rename(place))
        return place

    yield move
    for place in places:
        place.rename(checkout)


def test_a_checkout_below_tmp_grades(checkout):
    assert str(checkout).startswith("/tmp/"), "this test is about /tmp: run it without TMPDIR"
    assert_earns_everything(graded_in(checkout))


@pytest.mark.long  # over a minute each
def test_a_checkout_in_shared_memory_grades():
    if shutil.disk_usage("/dev/shm").free < 2 * NEEDED:
        pytest.skip("/dev/shm has no room for a checkout")
    folder = Path("/dev/shm", f"word2serve-{os.getpid()}")
    try:
        copy_checkout(folder)
        assert_earns_everything(graded_in(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_checkout_whose_name_has_spaces_and_quotes_grades(moved, tmp_path):
    assert_earns_everything(
        graded_in(moved(tmp_path / "my 'own', $HOME & ümlaut" / "the checkout"))
    )


@pytest.mark.long  # over a minute each
def test_a_checkout_in_a_home_that_others_cannot_enter_grades(moved, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    place = moved(home / "checkout")
    if os.geteuid() == 0:
        os.chown(home, 65533, 65533)
    home.chmod(0o700)
    assert_earns_everything(graded_in(place))


@pytest.mark.long  # over a minute each
def test_a_read_only_checkout_behind_a_link_grades_with_temporary_files_elsewhere(
    checkout, tmp_path
):
    link, elsewhere = tmp_path / "link", tmp_path / "temporary files"
    link.symlink_to(checkout)
    elsewhere.mkdir()
    # Files of the environment may be links to those of another: only its folders change their mode.
    paths = [
        checkout,
        *(path for path in checkout.rglob("*") if path.is_dir() and not path.is_symlink()),
    ]
    for path in paths:
        path.chmod(0o555)
    try:
        assert_earns_everything(graded_in(link, TMPDIR=str(elsewhere)))
    finally:
        for path in paths:
            path.chmod(0o755)
