"""What bench/strategies.py and bench/beams.py measure: repetition on texts that are known, and the
search against trying all.
"""

import itertools
import math
from pathlib import Path

import pytest
import torch

from reference_impl.models.gpt import GPT, GPTConfig

BENCH = Path(__file__).resolve().parents[3] / "bench"


@pytest.fixture
def strategies(monkeypatch):
    """The module bench/strategies.py."""
    monkeypatch.syspath_prepend(str(BENCH / "trained"))
    monkeypatch.syspath_prepend(str(BENCH))
    import strategies

    return strategies


@pytest.fixture
def beams(strategies):
    """The module bench/beams.py."""
    import beams

    return beams


@pytest.fixture
def model():
    """A GPT of 7 tokens whose shares are far from even."""
    torch.manual_seed(3)
    made = GPT(
        GPTConfig(
            vocab_size=7, hidden_size=16, num_layers=1, num_heads=2, max_position_embeddings=12
        )
    ).eval()
    for weight in made.parameters():
        weight.data *= 3
    return made


@pytest.mark.parametrize(
    "ids, run, share",
    [
        ([1, 2, 3, 4], 1, 1.0),
        ([1, 1, 1, 1], 1, 0.25),
        ([1, 2, 1, 2, 1], 2, 0.5),
        ([5, 5, 5, 5, 5], 4, 0.5),
    ],
)
def test_the_share_of_different_runs(strategies, ids, run, share):
    assert strategies.different(ids, run) == share


@pytest.mark.parametrize(
    "ids, found",
    [
        (list(range(40)), False),
        ([9] * 40, True),
        (list(range(20)) + [1, 2, 3] * 10, True),
        ([*range(12)] * 4, True),
        ([*range(13)] * 4, False),
        ([1, 2, 3] * 10 + [7], False),
    ],
)
def test_a_loop_is_an_end_that_repeats_with_a_short_period(strategies, ids, found):
    assert strategies.loops(ids) is found


def test_bits_are_those_of_each_next_token(strategies, model):
    shares = model(torch.tensor([[1, 2, 3, 4]]))[0].softmax(-1).detach()
    wanted = -(math.log2(shares[1, 3]) + math.log2(shares[2, 4])) / 2
    assert strategies.bits(model, [[1, 2]], [[3, 4]])[0] == pytest.approx(wanted, abs=1e-4)


def test_what_a_filter_keeps_is_counted_at_each_place(strategies, model):
    found = strategies.kept_by(model, [([1, 2], [3, 4, 5]), ([6], [0, 1, 2])])[
        "top-k 40"
    ]  # 40 of 7: all
    assert found == {"least": 7, "median": 7.0, "most": 7, "missed": 0.0, "places": 6}


@pytest.mark.parametrize("prompt", [[0], [3, 1], [2, 2, 5]])
def test_best_first_search_finds_what_trying_all_finds(beams, model, prompt):
    def score(ids):
        logprobs = model(torch.tensor([[*prompt, *ids]]))[0].log_softmax(-1)
        return sum(
            float(logprobs[len(prompt) - 1 + place, token]) for place, token in enumerate(ids)
        )

    best = max(itertools.product(range(7), repeat=3), key=score)
    for known in (-1e9, score(best)):
        found, passes = beams.likeliest(model, prompt, 3, known)
        assert (
            tuple(found.ids) == best
            and found.score == pytest.approx(score(best), abs=1e-4)
            and 3 <= passes <= 1 + 7 + 49
        )


def test_a_search_that_takes_too_many_passes_says_so(beams, model, monkeypatch):
    monkeypatch.setattr(beams, "MOST_PASSES", 2)
    assert beams.likeliest(model, [0], 3, -1e9) == (None, 2)
