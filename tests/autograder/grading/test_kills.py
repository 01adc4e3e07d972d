"""A kill at any moment, with either database: the next run gives exactly what an undisturbed run
gives.

`bench/kills.py` does it a hundred times on each; its record is bench/results/kills.json.
"""

import random
import time

import pytest

from tests.autograder.grading.derived import differences, scores
from tests.autograder.grading.killing import Disturbed, killed_run, kind_of

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def small(books, stand_in, notebook_of, tmp_path_factory):
    """A class of two, one readable and one not: they pass every step that there is."""
    made = Disturbed(
        books,
        tmp_path_factory.mktemp("kills"),
        stand_in,
        {"ada": notebook_of(), "cy": b"no notebook"},
    )
    assert scores(made.root, stand_in.name) == {
        "ada": {"double-check": (3, False)},
        "cy": {"double-check": (None, True)},
    }
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
        assert differences(small.wanted, small.found()) == [], (
            f"killed after {moment:.2f} of {whole:.2f} s"
        )
