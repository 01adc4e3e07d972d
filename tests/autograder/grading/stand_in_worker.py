"""For a worker of Dask in the tests (--preload), and as a program the judge beside it: both know
the stand-in assignment.

STAND_IN_FOLDER: the solutions and exercises. A submission with "# hold" in it says that it is being
judged, in a file named after the worker's process, and waits until the file `hold` is gone. With
OTHER_CHECKS the judge's checks are others.
"""

import os
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["STAND_IN_FOLDER"])


def dask_setup(worker):
    """Dask calls it when the worker starts."""
    from autograder.grading.executors import dask_worker as elsewhere

    elsewhere.JUDGE = [sys.executable, __file__]


def main():
    """The judge, with the stand-in in its catalogue."""
    from autograder.authoring import catalogue, package
    from autograder.grading import assignment
    from autograder.grading.executors import worker_process as judge
    from autograder.sandbox.api import pool
    from tests.autograder.grading.conftest import declare_stand_in

    catalogue.SOLUTIONS, catalogue.EXERCISES = FOLDER / "solutions", FOLDER / "exercises"
    pool.WARM = ()
    package.earlier_chapters = lambda number: {}
    declare_stand_in()
    if "OTHER_CHECKS" in os.environ:
        assignment.Assignment.checks_hash = "f" * 64
    grade = judge.grade_submission

    def held(submission, *rest, **options):
        if b"# hold" in submission.content:
            (FOLDER / f"began-{os.getppid()}").touch()
            while (FOLDER / "hold").exists():
                time.sleep(0.05)
        return grade(submission, *rest, **options)

    judge.grade_submission = held
    judge.main()


if __name__ == "__main__":
    main()
