"""Small exercises of the tests' own, taken away again afterwards."""

import pytest
import torch

from autograder.checks.exercise import load_modules
from autograder.checks.mistakes import registry
from autograder.checks.protocol import EXERCISES, Exercise, exercise, expect


@pytest.fixture
def fresh_registries():
    """Whatever a test registers is gone after it; the chapters are not, which a module registers
    once in a process.
    """
    for prefix in ("test_", "mistakes_"):
        load_modules("", prefix)
    before = dict(EXERCISES)
    known = {name: dict(entries) for name, entries in registry._mistakes.items()}
    yield
    EXERCISES.clear()
    EXERCISES.update(before)
    registry._mistakes.clear()
    registry._mistakes.update(known)


@pytest.fixture
def shares(fresh_registries) -> Exercise:
    """`shares(counts)`: counts divided by their sum. Stages: sums (1 point), values (2 points)."""
    made = exercise("99.shares", function="shares", points=3, see="99-none/page#shares")

    @made.stage("sums", points=1)
    def test_shares_sum_to_one(student, rng):
        counts = torch.rand(4, generator=rng) + 0.5
        total = expect(student.shares(counts)).is_tensor(shape=(4,), dtype=torch.float32).sum()
        expect(total).equals(torch.tensor(1.0), cause="The shares should add up to 1.")

    @made.stage("values", points=2)
    def test_shares_follow_the_counts(student):
        expect(student.shares(torch.tensor([1.0, 3.0]))).equals(
            torch.tensor([0.25, 0.75]), cause="Each share should be the count over the sum."
        )

    return made
