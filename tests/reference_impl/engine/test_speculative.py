"""Guessing changes how fast tokens come: greedy ones stay, sampled ones keep their distribution."""

import random

import pytest
import torch

from reference_impl.engine.sequence import Sequence
from reference_impl.engine.speculative import Draft, NgramProposer, verify
from reference_impl.generation.sampling_params import SamplingParams

P = torch.tensor(
    [[0.5, 0.2, 0.2, 0.1], [0.1, 0.1, 0.3, 0.5], [0.25, 0.25, 0.25, 0.25]], dtype=torch.float64
)
Q = torch.tensor([[0.1, 0.6, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1]], dtype=torch.float64)
NUM_DRAWS = 4000


def draws(q):
    generator = torch.Generator().manual_seed(0)
    for _ in range(NUM_DRAWS):
        ids = (
            [int(torch.multinomial(row, 1, generator=generator)) for row in Q]
            if q is not None
            else [1, 0]
        )
        yield ids, verify(P, Draft(ids, q), generator)


def assert_drawn_from(ids, p):
    """Chi-square with three degrees of freedom; 21.1 is exceeded once in ten thousand times."""
    counts = torch.bincount(torch.tensor(ids), minlength=4)
    expected = p * len(ids)
    assert float(((counts - expected) ** 2 / expected).sum()) < 21.1, (counts, expected)


@pytest.mark.parametrize("q", [Q, None], ids=["drawn guesses", "certain guesses"])
def test_the_first_token_is_distributed_as_the_model_has_it(q):
    assert_drawn_from([said[0] for _, said in draws(q)], P[0])


@pytest.mark.parametrize("q", [Q, None], ids=["drawn guesses", "certain guesses"])
def test_a_token_after_a_kept_guess_is_distributed_as_the_model_has_it(q):
    seconds = [said[1] for _, said in draws(q) if len(said) > 1]
    assert len(seconds) > 500
    assert_drawn_from(seconds, P[1])


def test_after_all_guesses_one_more_token_is_the_models_own():
    thirds = [said[2] for _, said in draws(Q) if len(said) > 2]
    assert len(thirds) > 300
    assert_drawn_from(thirds, P[2])


def test_a_refused_guess_is_never_said_in_its_place():
    certain = torch.tensor([[0.0, 1.0], [0.5, 0.5]], dtype=torch.float64)
    for seed in range(20):
        assert verify(certain, Draft([0]), torch.Generator().manual_seed(seed)) == [1]


def test_greedy_keeps_the_guesses_that_are_the_likeliest():
    p = torch.eye(4, dtype=torch.float64)[[2, 1, 3]]
    assert verify(p, Draft([2, 1]), None) == [2, 1, 3]
    assert verify(p, Draft([2, 0]), None) == [2, 1]
    assert verify(p, Draft([0, 1]), None) == [2]


@pytest.mark.parametrize(
    ("ids", "count", "guess"),
    [
        ([1, 2, 3, 9, 1, 2, 3], 2, [9, 1]),
        ([5, 1, 7, 1], 3, [7, 1]),
        ([3, 8, 4, 3, 9, 4, 3], 1, [9]),
        ([1, 2, 3], 4, []),
        ([6], 4, []),
    ],
    ids=["longest run", "one token", "the latest place", "nothing met before", "one token alone"],
)
def test_n_grams_guess_what_followed_last_time(ids, count, guess):
    draft = NgramProposer().propose(Sequence("a", ids, SamplingParams()), count, None, None)
    assert draft.ids == guess and draft.q is None


def test_guesses_that_are_kept_up_to_date_are_those_of_a_search_through_the_whole_text():
    draw = random.Random(0)
    proposer, sequence = NgramProposer(longest=3), Sequence("a", [1], SamplingParams())

    def searched(ids, count):
        for size in range(min(3, len(ids) - 1), 0, -1):
            for start in range(len(ids) - size - 1, -1, -1):
                if ids[start : start + size] == ids[-size:]:
                    return ids[start + size : start + size + count]
        return []

    for _ in range(300):
        assert proposer.propose(sequence, 4, None, None).ids == searched(sequence.ids, 4)
        for _ in range(draw.choice([0, 1, 1, 3])):  # a step may say several tokens, or none
            sequence.append(draw.randrange(4))


def test_a_new_token_costs_a_guesser_the_same_after_a_long_text():
    """Runs that are looked at, counted: not the text, only what came since the last guess."""

    class Counted(list):
        slices = 0

        def __getitem__(self, where):
            Counted.slices += isinstance(where, slice)
            return super().__getitem__(where)

    costs = []
    for length in (100, 10_000):
        proposer, sequence = NgramProposer(), Sequence("a", list(range(length)), SamplingParams())
        proposer.propose(sequence, 4, None, None)
        sequence.append(5)
        sequence.ids = Counted(sequence.ids)
        Counted.slices = 0
        proposer.propose(sequence, 4, None, None)
        costs.append(Counted.slices)
    assert costs[0] == costs[1] < 10
