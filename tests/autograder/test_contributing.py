"""The committed tables of a chapter are what its checks give: mistakes against stages, and mutants."""
import random

import pytest

from autograder.authoring.catalogue import assignments, folder_of
from autograder.authoring.matrix import as_table
from autograder.authoring.mutants import Outcome, as_text, committed, hash_of, mutants_of, outcome_of

CHECKED = [pytest.param(one, exercise, id=exercise.id) for one in assignments()
           for exercise in one.exercises.values() if exercise.stages]
SAMPLE = 6      # of an exercise whose solution and checks are as they were when its mutants were run


@pytest.mark.parametrize("one", assignments(), ids=lambda one: one.name)
def test_the_committed_matrix_is_what_the_mistakes_give(one):
    path = folder_of(one.number) / "matrix.md"
    assert path.read_text(encoding="utf-8") == as_table(one), f"run `course author matrix {one.number}`"


@pytest.mark.parametrize(("one", "exercise"), CHECKED)
def test_every_mutant_is_noticed_or_explained(one, exercise):
    """All of them where solution or checks changed since the table was written, a sample elsewhere."""
    row, mark = committed(one).get(exercise.id, ("", ""))
    unchanged = mark == hash_of(one, exercise)
    every = mutants_of(one, exercise)
    sample = random.Random(mark).sample(every, min(SAMPLE, len(every))) if unchanged else None
    outcome: Outcome = outcome_of(one, exercise, sample)
    assert not outcome.surviving and not outcome.unused, as_text(outcome, verbose=False)
    assert unchanged or outcome.row() == row, f"run `course author mutants {one.number}`; it gives {outcome.row()}"
