"""A kill at any moment, with either database: the next run gives exactly what an undisturbed run gives.

`bench/kills.py` does it a hundred times on each; its record is bench/results/kills.json.
"""
import random
import shutil
import time

import pytest

from autograder.classroom.gradebook import prepare_course_root
from autograder.classroom.whole_class import grade_class
from tests.autograder.grading.derived import differences, everything, scores
from tests.autograder.grading.killing import killed_run, kind_of

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"


class Small:
    """A class of two, one readable and one not: they pass every step that there is. It starts as a new course root each time."""

    def __init__(self, books, folder, hand_in):
        self.books, self.folder, self.root, self.report = books, folder, folder / "course", folder / "report"
        hand_in(folder / "in", ada=True, cy=False)
        self.start = folder / "start"
        books.new(self.start)

    def run(self):
        return grade_class(self.folder / "in", "90", self.root, self.report)

    def reset(self):
        for place in (self.root, self.report):
            shutil.rmtree(place, ignore_errors=True)
        self.books.copy(self.start, self.root)

    def found(self):
        return everything(self.root, self.report)


@pytest.fixture(scope="module")
def small(books, stand_in, notebook_of, tmp_path_factory):
    """The class after its first undisturbed run, and what that leaves."""
    def hand_in(where, **readable):
        for student, right in readable.items():
            path = where / student / NAME / f"{NAME}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(notebook_of() if right else b"no notebook")
    made = Small(books, tmp_path_factory.mktemp("kills"), hand_in)
    prepare_course_root(made.start, stand_in)
    (made.start / ".course-secret").write_bytes(b"s" * 32)
    (made.start / ".course-secret").chmod(0o600)
    made.reset()
    made.run()
    made.wanted = made.found()
    assert scores(made.root, NAME) == {"ada": {"double-check": (3, False)}, "cy": {"double-check": (None, True)}}
    return made


@pytest.mark.parametrize("steps", ["one of each kind", pytest.param("all", marks=pytest.mark.long)])
def test_a_kill_before_each_step_leaves_nothing_that_a_rerun_does_not_mend(small, steps):
    small.reset()
    labels = killed_run(small.run)
    assert len(labels) >= 10 and differences(small.wanted, small.found()) == []
    if steps != "all":
        labels = list({kind_of(label): label for label in labels}.values())
    for label in labels:
        small.reset()
        met = killed_run(small.run, kill_before=label)
        assert met[-1] == label
        small.run()
        assert differences(small.wanted, small.found()) == [], label


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.long)])
def test_kills_at_random_moments_leave_nothing_that_a_rerun_does_not_mend(small, kills):
    """The moments lie anywhere in a run that judges and then derives; ten with each database."""
    small.reset()
    begun = time.monotonic()
    killed_run(small.run)
    whole, moments = time.monotonic() - begun, random.Random(20)
    for _ in range(kills):
        small.reset()
        moment = moments.uniform(0, whole)
        killed_run(small.run, after=moment)
        small.run()
        assert differences(small.wanted, small.found()) == [], f"killed after {moment:.2f} of {whole:.2f} s"
