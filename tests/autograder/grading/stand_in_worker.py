"""For a Dask worker in the tests (--preload): it and the grading process that it starts know the
stand-in assignment.

STAND_IN_FOLDER: the solutions and exercises. A submission with "# hold" in it says that it is being
graded, in a file named after the worker's process, and waits until the file `hold` is gone. With
OTHER_CHECKS the worker's checks are others.
"""

import os
import time
from pathlib import Path

FOLDER = Path(os.environ["STAND_IN_FOLDER"])


def dask_setup(worker):
    """Dask calls it when the worker starts."""
    from autograder.grading import assignment
    from autograder.grading.executors import local

    declare()
    local._work = work
    local.known_notebooks = lambda assignment: []  # as in the tests of this folder
    if "OTHER_CHECKS" in os.environ:
        assignment.Assignment.checks_hash = "f" * 64


def work(*arguments):
    """The grading process: `local._work` with the stand-in, and with submissions that wait."""
    from autograder.grading.executors import local, messages

    declare()
    grade = messages.grade_submission

    def held(submission, *rest):
        if b"# hold" in submission.content:
            (FOLDER / f"began-{os.getppid()}").touch()
            while (FOLDER / "hold").exists():
                time.sleep(0.05)
        return grade(submission, *rest)

    messages.grade_submission = held
    local._work(*arguments)


def declare():
    """Put the stand-in into this process's catalogue."""
    from autograder.authoring import catalogue, package
    from autograder.sandbox.api import pool
    from tests.autograder.grading.conftest import declare_stand_in

    catalogue.SOLUTIONS, catalogue.EXERCISES = FOLDER / "solutions", FOLDER / "exercises"
    pool.WARM = ()
    package.earlier_chapters = lambda number: {}
    declare_stand_in()
