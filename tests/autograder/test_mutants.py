"""The committed table of a chapter's mutants is what its checks give, and no mutant survives without a reason."""

import random

import pytest

from autograder.authoring.catalogue import assignments
from autograder.authoring.mutants import (
    Outcome,
    as_text,
    committed,
    hash_of,
    mutants_of,
    outcome_of,
)

CHECKED = [
    pytest.param(one, exercise, id=exercise.id)
    for one in assignments()
    for exercise in one.exercises.values()
    if exercise.stages
]
SAMPLE = 8  # of an exercise whose solution is as it was when its mutants were run


@pytest.mark.parametrize(("one", "exercise"), CHECKED)
def test_every_mutant_is_noticed_or_explained(one, exercise):
    """All of them where the solution changed since the table was written, a sample elsewhere."""
    row, mark = committed(one).get(exercise.id, ("", ""))
    unchanged = mark == hash_of(one, exercise)
    every = mutants_of(one, exercise)
    sample = random.Random(mark).sample(every, min(SAMPLE, len(every))) if unchanged else None
    outcome: Outcome = outcome_of(one, exercise, sample)
    assert not outcome.surviving and not outcome.unused, as_text(outcome, verbose=False)
    assert unchanged or outcome.row() == row, (
        f"run `course author mutants {one.number}`; it gives {outcome.row()}"
    )
