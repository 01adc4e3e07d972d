"""The sample class, graded once for all tests of this folder, with traps that the hostile submissions aim at."""
import hashlib
import json
import os
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.authoring import catalogue
from autograder.authoring.notebooks import build
from autograder.checks.protocol import exercise, expect
from autograder.classroom.gradebook import prepare_course_root
from autograder.classroom.whole_class import Summary, grade_class
from autograder.grading.assignment import SECRET_FILE, Assignment, load_assignment
from autograder.grading.schedule import Batch, grade_all
from autograder.grading.submissions import find_submissions
from autograder.grading.verdict import Verdict
from course.sample_class import make_sample_class


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
    visitors: list
    files_before: dict
    files_after: dict

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return self.batch.verdicts


def fingerprints(folder: Path, *left_out: str) -> dict[str, str]:
    """Hash of every file below `folder`, but for some top-level names."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.relative_to(folder).parts[0] not in left_out}


@pytest.fixture(scope="session")
def stand_in_folder(tmp_path_factory) -> Path:
    """The solutions and the exercises with the stand-in beside the real ones."""
    folder = tmp_path_factory.mktemp("stand-in")
    (folder / "solutions").mkdir()
    (folder / "exercises").mkdir()
    for real, mine in ((catalogue.SOLUTIONS, folder / "solutions"), (catalogue.EXERCISES, folder / "exercises")):
        for path in real.glob("[0-9]*"):
            os.symlink(path, mine / path.name)
    (folder / "solutions" / f"{STAND_IN}.py").write_text(SOLUTIONS)
    declare_stand_in()
    return folder


@pytest.fixture(scope="module")     # a worker goes on to other files, where nobody knows of it
def stand_in(stand_in_folder) -> Assignment:
    """The stand-in assignment, in the catalogue until the file of tests is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "SOLUTIONS", stand_in_folder / "solutions")
        patch.setattr(catalogue, "EXERCISES", stand_in_folder / "exercises")
        patch.setattr("autograder.grading.schedule.may_fork", lambda: True)     # a spawned worker would not know it
        patch.setattr("autograder.sandbox.pool.WARM", ())                       # and its exercise needs no torch inside
        if not (stand_in_folder / "exercises" / STAND_IN).exists():
            build(catalogue.assignment("90"), stand_in_folder / "build", stand_in_folder / "exercises")
        yield load_assignment("90")


@pytest.fixture(scope="session")
def notebook_of():
    """Makes a stand-in notebook as a student hands it in."""
    return stand_in_notebook


def stand_in_notebook(source: str = "def double(x):\n    return x + x", **cells: str) -> bytes:
    """source: of the solution cell. cells: sources of further cells, by grade id."""
    made = {"double-card": "## 1. Double a number", "double": source, "double-check": "double", **cells}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "markdown" if name.endswith("card") else "code", "source": text, "metadata": {
            "nbgrader": {"grade_id": name}}} for name, text in made.items()]}).encode()
