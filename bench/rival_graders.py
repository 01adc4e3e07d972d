"""The rivals of `bench/grading.py`, as they come: stock `nbgrader autograde`, and otter-grader in
an environment of its own.

nbgrader runs with its own preprocessors and no setting of ours. otter-grader grades a class in
Docker containers, one a submission; what each of them runs is `otter run`, and that is timed here,
one process a submission, without the container. It is installed by pip into a folder of the bench,
never into the course's environment, which it sees for torch and the kernel.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import nbformat
import six_questions

STOCK_CONFIG = "c = get_config()\nc.CourseDirectory.course_id = 'stock'\n"
OTTER = "otter-grader"


class StockNbgrader:
    """`nbgrader autograde` on one assignment, in a course root made once and copied for
    each run.
    """

    name = "stock nbgrader autograde"

    def __init__(self, root: Path, assignment: str, source: nbformat.NotebookNode):
        self._root, self._assignment = root, assignment
        root.mkdir(parents=True)
        (root / "nbgrader_config.py").write_text(STOCK_CONFIG)
        notebook = root / "source" / assignment / f"{assignment}.ipynb"
        notebook.parent.mkdir(parents=True)
        nbformat.write(source, notebook)
        self._run(root, "generate_assignment", assignment)

    def grade(self, root: Path, submitted: Path) -> tuple[float, float]:
        """Seconds for the class under `submitted` and all automatic points."""
        shutil.copytree(self._root, root)
        shutil.copytree(submitted, root / "submitted")
        seconds = self._run(root, "autograde", self._assignment)
        with sqlite3.connect(root / "gradebook.db") as database:
            return seconds, database.execute("SELECT sum(auto_score) FROM grade").fetchone()[0]

    def start_up(self, root: Path) -> float:
        """Seconds of a run in a root where all is graded: what a class pays once."""
        return self._run(root, "autograde", self._assignment)

    def _run(self, root: Path, *arguments: str) -> float:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "nbgrader", *arguments],
            cwd=root,
            check=True,
            stderr=subprocess.DEVNULL,
        )
        return time.perf_counter() - started


class OtterGrader:
    """`otter run` on the six questions.

    Raises OSError or CalledProcessError where it cannot be installed or does not run.
    """

    name = "otter run"

    def __init__(self, root: Path):
        self._root = root
        venv.create(root / "venv", with_pip=True)
        self._programs = root / "venv" / ("Scripts" if os.name == "nt" else "bin")
        subprocess.run(
            [self._programs / "python", "-m", "pip", "install", "-q", OTTER],
            check=True,
            capture_output=True,
        )
        site = subprocess.run(
            [
                self._programs / "python",
                "-c",
                "import sysconfig; print(sysconfig.get_path('purelib'))",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        Path(site, "zz_course.pth").write_text(
            sysconfig.get_path("purelib") + "\n"
        )  # after its own packages
        (root / "tests").mkdir()
        for one in six_questions.QUESTIONS:
            (root / "tests" / f"{one.name}.py").write_text(six_questions.otter_test(one))
        self._otter("generate", "-t", "tests", "-o", "autograder.zip", "--no-environment")

    @property
    def version(self) -> str:
        """The release that pip has chosen."""
        said = subprocess.run(
            [self._programs / "python", "-m", "pip", "show", OTTER],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return next(
            line.split(": ", 1)[1] for line in said.splitlines() if line.startswith("Version")
        )

    def grade(self, root: Path, submitted: Path) -> tuple[float, float]:
        """Seconds for the class under `submitted`, one after the other, and all points."""
        seconds = points = 0.0
        for place, notebook in enumerate(sorted(submitted.rglob("*.ipynb"))):
            out = root / str(place)
            out.mkdir(parents=True)
            started = time.perf_counter()
            self._otter("run", "-a", "autograder.zip", "-o", str(out), str(notebook))
            seconds += time.perf_counter() - started
            points += sum(
                test.get("score", 0.0)
                for test in json.loads((out / "results.json").read_text())["tests"]
            )
        return seconds, points

    def _otter(self, *arguments: str) -> None:
        path = os.pathsep.join(
            [str(self._programs), os.environ["PATH"]]
        )  # the kernel that it starts is this environment's
        environment = {
            name: value for name, value in os.environ.items() if name != "PYTHONPATH"
        } | {"PATH": path}
        subprocess.run(
            [self._programs / "otter", *arguments],
            cwd=self._root,
            check=True,
            capture_output=True,
            env=environment,
        )
