"""No small change of a solution goes unnoticed without an explanation."""

import random

import pytest

from autograder.authoring.catalogue import assignments
from autograder.authoring.mutants import as_list, equivalents, mutants_of, outcome_of
from autograder.authoring.proven import has_kernels

SAMPLE = 2  # mutants of an exercise that are tried each time
SAMPLE_KERNELS = 1  # in a chapter whose solutions run kernels: one mutant takes many seconds
EXERCISES = pytest.mark.parametrize(
    ("one", "exercise"),
    [
        pytest.param(one, exercise, id=exercise.id)
        for one in assignments()
        for exercise in one.exercises.values()
        if exercise.stages
    ],
)


@EXERCISES
def test_a_sample_of_mutants_is_noticed_or_explained(one, exercise):
    """The same sample each time: a test that draws others could fail for what nobody changed."""
    every = mutants_of(one, exercise)
    assert set(equivalents(exercise)) <= {mutant.name for mutant in every}
    size = SAMPLE_KERNELS if has_kernels(one) else SAMPLE
    sample = random.Random(exercise.id).sample(every, min(size, len(every)))
    outcome = outcome_of(one, exercise, sample)
    assert not outcome.surviving, as_list(outcome)


@pytest.mark.long
@EXERCISES
def test_every_mutant_is_noticed_or_explained(one, exercise):
    outcome = outcome_of(one, exercise)
    assert not outcome.surviving and not outcome.unused, as_list(outcome)
