"""The sample class, graded once for all tests of this folder, with traps that the hostile
submissions aim at.

Verdicts that `make course` has reached already stand, as in any second run (see `take_over`). The
class has every kind of submission that `make course` grades. Of those with known mistakes there are
three: what each mistake loses in the sandbox is tested in `sandbox/test_known_answers.py`.
"""

import contextlib
import hashlib
import json
import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.authoring import catalogue
from autograder.authoring.notebooks import build
from autograder.checks.protocol import exercise, expect
from autograder.classroom.grade_class import COURSE_ROOT, grade_class
from autograder.classroom.gradebook.course import prepare_course_root
from autograder.classroom.reports.run_summary import Summary
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import Assignment, load_assignment
from autograder.grading.executors.local import Batch, grade_all, still_holds
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import Submission, find_submissions
from autograder.grading.results_store import load_verdict, save_verdict
from course.sample_class import make_sample_class
from tests.gradebooks import NO_SERVER, OnPostgres, OnSqlite, Server, server_programs

MISTAKEN = ("mistakes-01", "mistakes-02", "mistakes-03")
RESULTS = (
    "verdicts",
    "results.sqlite",
    "results.sqlite-wal",
    "results.sqlite-shm",
    ".course-secret",
)
ANEW = ("exits-in-a-function", "perfect", "shadowing-torch")


@dataclass
class Graded:
    """What the tests look at."""

    folder: Path
    root: Path
    submitted: Path
    assignment: Assignment
    expected: dict
    batch: Batch
    summary: Summary
    canary: Path
    listener: socket.socket
    files_before: dict
    files_after: dict

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return self.batch.verdicts

    def visitors(self) -> list:
        """The addresses of those that have connected to the trap, in their order."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                connection, address = self.listener.accept()
                connection.close()
                found.append(address)
        return found


def fingerprints(folder: Path, *left_out: str) -> dict[str, str]:
    """Hash of every file below `folder`, but for some top-level names."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in left_out
    }


@pytest.fixture(scope="package", autouse=True)
def workers_are_forks():
    """As when an instructor grades.

    A process of xdist has a thread of its own, with which the grader starts workers anew.

    `test_workers.py` starts one so.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.executors.local.may_fork", lambda: True)
        yield


@pytest.fixture(scope="package", autouse=True)
def nothing_is_graded_first():
    """Many tests break the grader or a check on purpose, and are about what then becomes of a
    class.

    That such a run is refused is tested in `test_known_notebooks.py`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.executors.local.known_notebooks", lambda assignment: [])
        patch.setattr("autograder.classroom.verify.examine", lambda *arguments: [])
        yield


@pytest.fixture(scope="package")
def graded(tmp_path_factory, new_root) -> Graded:
    """The sample class, graded in the sandbox with two jobs."""
    folder = tmp_path_factory.mktemp("class")
    root, canary = new_root(folder / "course"), folder / "canary"
    # Whoever connects waits in the queue: a thread that accepts would keep the grader from forking
    # its workers.
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    listener.setblocking(False)
    submitted = make_sample_class(
        folder / "sample",
        traps={
            "listener": str(listener.getsockname()[1]),
            "canary": str(canary),
            "course": str(root),
        },
    )
    expected = json.loads((folder / "sample" / "expected.json").read_text())
    for student in [one for one in expected if one.startswith("mistakes-") and one not in MISTAKEN]:
        shutil.rmtree(submitted / student)
        del expected[student]
    assignment = load_assignment("01")
    prepare_course_root(root, assignment)
    # Hidden inputs are drawn from it: with a fixed one, every run of the tests asks the same.
    (root / SECRET_FILE).write_bytes(b"the sample class's fixed secret.")
    (root / SECRET_FILE).chmod(0o600)
    before = fingerprints(root, *RESULTS)
    submissions = find_submissions(submitted, assignment.name).submissions
    take_over(submissions, assignment, root)
    batch = grade_all(submissions, assignment, root, jobs=2)
    after = fingerprints(root, *RESULTS)
    summary = grade_class(submitted, "01", root, folder / "report", jobs=2)
    yield Graded(
        folder,
        root,
        submitted,
        assignment,
        expected,
        batch,
        summary,
        canary,
        listener,
        before,
        after,
    )
    listener.close()


def take_over(submissions: list[Submission], assignment: Assignment, root: Path) -> None:
    """Let the verdicts stand that `make course` has reached on the same class, as in any second
    run.

    The bytes must be the same and everything that decides a verdict (`Assignment.checks_hash`). Who
    meets a trap has other bytes here, or stands in ANEW; so does one that is killed, and one that
    does all right.
    """
    for submission in submissions:
        kept = load_verdict(COURSE_ROOT, assignment.name, submission.student)
        if (
            kept
            and submission.student not in ANEW
            and (kept.tier == "bubblewrap" or not kept.readable)
            and still_holds(kept, submission, assignment)
        ):
            save_verdict(root, kept)


@pytest.fixture(scope="session")
def on_sqlite(tmp_path_factory) -> OnSqlite:
    """Course roots with a file for a gradebook."""
    return OnSqlite(tmp_path_factory.mktemp("gradebook"))


@pytest.fixture(scope="session")
def server() -> Server:
    """A PostgreSQL server, for all tests of this process; the tests that need one are named at the
    end where there is none.
    """
    if server_programs() is None:
        pytest.skip(NO_SERVER)
    started = Server()
    yield started
    started.remove()


@pytest.fixture(scope="session")
def on_postgres(server) -> OnPostgres:
    """Course roots each with a database of its own."""
    return OnPostgres(server)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def books(request) -> OnSqlite | OnPostgres:
    """Course roots on one database and then on the other: for tests whose subject is the
    gradebook.
    """
    return request.getfixturevalue("on_sqlite" if request.param == "sqlite" else "on_postgres")


@pytest.fixture(scope="session")
def new_root(on_sqlite):
    """Makes a course root in which nothing lies but an empty gradebook, on SQLite."""
    return on_sqlite.new


STAND_IN = "90-stand-in"
SOLUTIONS = """\
# %% [markdown] nbgrader={"grade": false, "grade_id": "title", "locked": true, \
"schema_version": 3, "solution": false, "task": false}
# # Stand-in

# %% [markdown] nbgrader={"grade": false, "grade_id": "double-card", "locked": true, \
"schema_version": 3, "solution": false, "task": false}
# ## 1. Double a number

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, \
"schema_version": 3, "solution": true, "task": false}
def double(x):
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "double-check", "locked": true, "points": 3, \
"schema_version": 3, "solution": false, "task": false}
double
"""


def declare_stand_in() -> None:
    """One cheap exercise, for tests that need a class and not a chapter."""
    double = exercise("90.double", function="double", points=3)

    @double.stage("three", points=1)
    def test_three_becomes_six(student):
        expect(student.double(3)).equals(6, cause="It does not double.")

    @double.stage("negative", points=2)
    def test_minus_one_becomes_minus_two(student):
        expect(student.double(-1)).equals(-2, cause="It does not double a negative number.")


@pytest.fixture(scope="session")
def stand_in_folder(tmp_path_factory) -> Path:
    """The solutions and the exercises with the stand-in beside the real ones."""
    return make_stand_in(tmp_path_factory.mktemp("stand-in"))


def make_stand_in(folder: Path) -> Path:
    """See stand_in_folder."""
    (folder / "solutions").mkdir()
    (folder / "exercises").mkdir()
    for real, mine in (
        (catalogue.SOLUTIONS, folder / "solutions"),
        (catalogue.EXERCISES, folder / "exercises"),
    ):
        for path in real.glob("[0-9]*"):
            os.symlink(path, mine / path.name)
    (folder / "solutions" / f"{STAND_IN}.py").write_text(SOLUTIONS)
    declare_stand_in()
    return folder


@contextlib.contextmanager
def stand_in_there(folder: Path) -> Iterator[Assignment]:
    """The stand-in assignment, in the catalogue for as long as the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "SOLUTIONS", folder / "solutions")
        patch.setattr(catalogue, "EXERCISES", folder / "exercises")
        patch.setattr("autograder.sandbox.api.pool.WARM", ())  # its exercise needs no torch inside
        patch.setattr(
            "autograder.authoring.package.earlier_chapters", lambda number: {}
        )  # and no chapter before it
        if not (folder / "exercises" / STAND_IN).exists():
            build(catalogue.assignment("90"), folder / "build", folder / "exercises")
        yield load_assignment("90")


@pytest.fixture(scope="module")  # a worker goes on to other files, where nobody knows of it
def stand_in(stand_in_folder) -> Assignment:
    """The stand-in assignment, in the catalogue until the file of tests is done."""
    with stand_in_there(stand_in_folder) as assignment:
        yield assignment


@pytest.fixture(scope="session")
def notebook_of():
    """Makes a stand-in notebook as a student hands it in."""
    return stand_in_notebook


def stand_in_notebook(source: str = "def double(x):\n    return x + x", **cells: str) -> bytes:
    """source: of the solution cell. cells: sources of further cells, by grade id."""
    made = {
        "double-card": "## 1. Double a number",
        "double": source,
        "double-check": "double",
        **cells,
    }
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "markdown" if name.endswith("card") else "code",
                    "source": text,
                    "metadata": {"nbgrader": {"grade_id": name}},
                }
                for name, text in made.items()
            ],
        }
    ).encode()


@pytest.fixture(scope="module")
def graded_class(stand_in, notebook_of, new_root, tmp_path_factory):
    """Grades right notebooks from folders of these names; gives the folder with `in` and `root`."""

    def make(*entries: str) -> Path:
        folder = tmp_path_factory.mktemp("class")
        for entry in entries:
            path = folder / "in" / entry / f"{STAND_IN}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(notebook_of())
        root = new_root(folder / "root")
        grade_class(folder / "in", "90", root, root / "report")
        return folder

    return make
