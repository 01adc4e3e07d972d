"""A small assignment that is attacked, what a machine has to lose beside it, and how all of that
looks from outside.
"""

import ctypes
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from autograder.authoring import catalogue
from autograder.authoring.notebooks import build
from autograder.checks.inputs.callables import Watched
from autograder.checks.protocol import exercise, expect
from autograder.grading.assignment import Assignment, load_assignment
from autograder.sandbox.backends.bubblewrap import FIRST_UID
from autograder.sandbox.selftest.bait import REPOSITORY
from tests.autograder.grading import stored

NAME = "91-attacked"
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: whoever is left by its parent becomes ours
STUBS = {"double": ("x", "x + x"), "scaled": ("t", "2 * t"), "asked": ("f", "f(1) + 1")}
CELL = (
    '# %% nbgrader={{"grade": {grade}, "grade_id": "{id}", "locked": {locked},'
    ' {points}"schema_version": 3, "solution": {solution}, "task": false}}\n{source}\n'
)


def _solutions() -> str:
    """The solutions file of the assignment."""
    cells = [
        '# %% [markdown] nbgrader={"grade": false, "grade_id": "title", "locked": true,'
        ' "schema_version": 3, "solution": false, "task": false}\n# # Attacked\n'
    ]
    for number, (name, (argument, body)) in enumerate(STUBS.items(), start=1):
        cells += [
            (
                f'# %% [markdown] nbgrader={{"grade": false, "grade_id": "{name}-card", "locked":'
                f' true, "schema_version": 3, "solution": false, "task": false}}\n# ## {number}.'
                f" {name}\n"
            ),
            CELL.format(
                grade="false",
                id=name,
                locked="false",
                points="",
                solution="true",
                source=(
                    f"def {name}({argument}):\n    ### BEGIN SOLUTION\n    return {body}\n    ###"
                    " END SOLUTION\n"
                ),
            ),
            CELL.format(
                grade="true",
                id=f"{name}-check",
                locked="true",
                points='"points": 3, ',
                solution="false",
                source=name,
            ),
        ]
    return "\n".join(cells)


def _declare() -> None:
    """Three exercises: with a number, a tensor and one of our functions.

    Each asks what cannot be known beforehand.
    """
    import torch

    double = exercise("91.double", function="double", points=3)

    @double.stage("any", points=2)
    def test_a_number_becomes_twice_itself(student, rng):
        number = int(torch.randint(1000, 10**6, (1,), generator=rng))
        expect(student.double(number)).equals(2 * number, cause="It does not double any number.")

    @double.stage(
        "three", points=1, after="any"
    )  # what everybody knows counts only after what nobody does
    def test_three_becomes_six(student):
        expect(student.double(3)).equals(6, cause="It does not double.")

    scaled = exercise("91.scaled", function="scaled", points=3)

    @scaled.stage("any", points=3)
    def test_each_number_is_twice_as_large(student, rng):
        numbers = torch.randn(3, generator=rng)
        expect(student.scaled(numbers)).close(2 * numbers, rtol=1e-5, cause="It does not scale.")

    asked = exercise("91.asked", function="asked", points=3)

    @asked.stage("any", points=3)
    def test_the_function_is_asked(student, rng):
        secret = int(torch.randint(1000, 10**6, (1,), generator=rng))
        expect(student.asked(Watched(lambda x: secret * x, calls=50))).equals(
            secret + 1, cause="It does not ask."
        )


@pytest.fixture(scope="session")
def attacked_folder(tmp_path_factory) -> Path:
    """Solutions and exercises with this assignment beside the real ones."""
    folder = tmp_path_factory.mktemp("attacked")
    for real, mine in (
        (catalogue.SOLUTIONS, folder / "solutions"),
        (catalogue.EXERCISES, folder / "exercises"),
    ):
        mine.mkdir()
        for path in real.glob("[0-9]*"):
            os.symlink(path, mine / path.name)
    (folder / "solutions" / f"{NAME}.py").write_text(_solutions())
    _declare()
    return folder


@pytest.fixture(scope="module")
def attacked(attacked_folder) -> Assignment:
    """The assignment, in the catalogue until the file of tests is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "SOLUTIONS", attacked_folder / "solutions")
        patch.setattr(catalogue, "EXERCISES", attacked_folder / "exercises")
        if not (attacked_folder / "exercises" / NAME).exists():
            build(
                catalogue.assignment("91"), attacked_folder / "build", attacked_folder / "exercises"
            )
        yield load_assignment("91")


@pytest.fixture(scope="session")
def notebook() -> Callable[..., bytes]:
    """Makes a notebook as a student hands it in: one function's cell is theirs, the others are as
    they were.
    """

    def make(source: str = "def double(x):\n    return x + x", function: str = "double") -> bytes:
        cells = []
        for name, (argument, _) in STUBS.items():
            theirs = (
                source
                if name == function
                else f"def {name}({argument}):\n    raise NotImplementedError"
            )
            cells += [
                (f"{name}-card", "markdown", f"## {name}"),
                (name, "code", theirs),
                (f"{name}-check", "code", name),
            ]
        return json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [
                    {
                        "cell_type": kind,
                        "source": text,
                        "metadata": {"nbgrader": {"grade_id": name}},
                    }
                    for name, kind, text in cells
                ],
            }
        ).encode()

    return make


@dataclass
class Snapshot:
    """What must be the same after the attackers were graded."""

    files: dict[str, str] = field(default_factory=dict)
    processes: set[str] = field(default_factory=set)
    sockets: set[str] = field(default_factory=set)
    gradebook: dict[str, list] = field(default_factory=dict)


def snapshot(course: Path, submitted: Path, honest: list[str]) -> Snapshot:
    """Look at the machine and at what belongs to the honest students."""
    return Snapshot(
        _files(course, submitted, honest), _processes(), _sockets(), gradebook_of(course, honest)
    )


def _files(course: Path, submitted: Path, honest: list[str]) -> dict[str, str]:
    """Hashes of all that was handed in, of what the honest have in the course's folder and of the
    grader's own code; names elsewhere.
    """
    found = {}
    for folder in (
        submitted,
        *(course / part for part in ("verdicts", "autograded", "feedback", "submitted")),
    ):
        for path in sorted(folder.rglob("*")):
            ours = folder == submitted or any(
                name in part for part in path.relative_to(folder).parts for name in honest
            )
            if ours and path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 26:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    for student, record in stored.records(course, NAME).items():
        if student in honest:
            found[f"result of {student}"] = record
    for folder in ("autograder/checks", "autograder/grading", "autograder/sandbox", "solutions"):
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if "__pycache__" not in path.parts:
                found[str(path)] = str(path.lstat().st_mtime_ns)
    for folder in ("/", "/etc", "/usr/local/bin", str(course)):
        found |= {
            f"{folder}/{name}": ""
            for name in os.listdir(folder)
            if "canary" not in name
            and name
            not in (
                "verdicts",
                "autograded",
                "feedback",
                "grading.log",
                "grading.lock",
                "gradebook.db-journal",
                "submitted",
                "results.sqlite",
                "results.sqlite-wal",
                "results.sqlite-shm",
            )
        }
    return found


@pytest.fixture(autouse=True, scope="module")
def orphans_are_ours():
    """Whoever is left by its parent below us becomes our child: no process gets out of sight."""
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else lambda *arguments: None
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _descendants() -> dict[int, psutil.Process]:
    """All that is alive below us, but for those that wait for our end to clear up."""
    found = {}
    for one in psutil.Process().children(recursive=True):
        try:
            if one.status() != psutil.STATUS_ZOMBIE and not (
                one.name() == "sh" and "word2serve-stage-" in one.cmdline()[-1]
            ):
                found[one.pid] = one
        except psutil.NoSuchProcess:
            continue
    return found


def _processes() -> set[str]:
    return {f"{pid} {one.name()}" for pid, one in _descendants().items()}


def end_those_that_were_left(before: Snapshot) -> None:
    """End and bury the descendants that came after `before`."""
    for pid, one in _descendants().items():
        if f"{pid} {one.name()}" not in before.processes:
            one.kill()
            one.wait()


def _sockets() -> set[str]:
    """Sockets of this machine, and System V memory, whose owner is one of the users that only
    sandboxes have.
    """
    found = set()
    for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        lines = (
            Path(f"/proc/net/{name}").read_text().splitlines()[1:]
            if Path(f"/proc/net/{name}").exists()
            else []
        )
        found |= {f"{name} {line}" for line in lines if int(line.split()[7]) >= FIRST_UID}
    shared = Path("/proc/sysvipc/shm")
    lines = shared.read_text().splitlines()[1:] if shared.exists() else []
    return found | {line for line in lines if int(line.split()[7]) >= FIRST_UID}


def gradebook_of(course: Path, students: list[str]) -> dict[str, list]:
    """What the gradebook has of some students, what it has of the assignment, and its tables."""
    marks = ",".join("?" * len(students))
    questions = {
        "tables": ("SELECT name, sql FROM sqlite_master ORDER BY name", ()),
        "students": (f"SELECT * FROM student WHERE id IN ({marks}) ORDER BY id", students),
        "assignments": ("SELECT * FROM assignment ORDER BY id", ()),
        "cells": ("SELECT * FROM grade_cells ORDER BY id", ()),
        "grades": (
            (
                "SELECT s.student_id, g.auto_score, g.manual_score, g.extra_credit,"
                " g.needs_manual_grade, g.cell_id FROM grade g JOIN submitted_notebook n ON"
                " g.notebook_id = n.id JOIN submitted_assignment s ON n.assignment_id = s.id WHERE"
                f" s.student_id IN ({marks}) ORDER BY 1, 6"
            ),
            students,
        ),
    }
    with sqlite3.connect(course / "gradebook.db") as database:
        return {
            what: database.execute(text, values).fetchall()
            for what, (text, values) in questions.items()
        }
