"""The distribution of draws by chi-square, rows together against rows alone, and refusals."""

import pytest
import torch
from scipy.stats import chisquare

from reference_impl.generation.sampler import (
    check_logits,
    generator_for,
    invert,
    logprobs_of,
    sample,
)
from reference_impl.generation.sampling_params import GenerationError, SamplingParams


def generators(count, first=0):
    return [torch.Generator().manual_seed(first + i) for i in range(count)]


def test_draws_with_seeds_of_their_own_follow_the_distribution():
    """Chi-square at a significance of 0.001: 4,000 rows, each the first draw of another seed."""
    logits = torch.tensor([1.0, -0.5, 2.0, -torch.inf, 0.0, 1.5])
    chosen = sample(logits.expand(4000, -1), generators(4000))
    counts = chosen.bincount(minlength=6)
    assert counts[3] == 0
    kept = [0, 1, 2, 4, 5]
    assert (
        chisquare(counts[kept].numpy(), (logits.double().softmax(0)[kept] * 4000).numpy()).pvalue
        > 0.001
    )


def test_successive_draws_of_one_generator_follow_the_distribution():
    """Chi-square at a significance of 0.001 over 3,000 draws."""
    logits, generator = torch.tensor([[0.3, 0.0, -1.0, 1.2]]), torch.Generator().manual_seed(5)
    counts = torch.stack([sample(logits, [generator])[0] for _ in range(3000)]).bincount(
        minlength=4
    )
    assert chisquare(counts.numpy(), (logits[0].double().softmax(0) * 3000).numpy()).pvalue > 0.001


def test_rows_together_are_rows_alone():
    logits = torch.randn(7, 40, generator=torch.Generator().manual_seed(0))
    together, alone, greedy = generators(7), generators(7), (2, 5)
    for row in greedy:
        together[row] = alone[row] = None
    for _ in range(20):
        chosen = sample(logits, together)
        assert chosen.tolist() == [
            int(sample(logits[i : i + 1], alone[i : i + 1])[0]) for i in range(7)
        ]
        assert all(chosen[row] == logits[row].argmax() for row in greedy)


def test_a_draw_at_either_end_takes_a_token_that_has_probability():
    probabilities = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]], dtype=torch.float64).expand(5, -1)
    draws = torch.tensor([0.0, 0.2499, 0.25, 1 - 2**-53, 1.0], dtype=torch.float64)
    assert (
        invert(probabilities, draws).tolist()
        == invert(3 * probabilities, draws).tolist()
        == [1, 1, 3, 3, 3]
    )


def test_the_same_seed_draws_the_same_and_each_of_n_its_own():
    params = SamplingParams(seed=3)
    draws = [torch.rand(4, generator=generator_for(params, index)).tolist() for index in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]
    assert generator_for(SamplingParams(temperature=0)) is None


def test_log_probabilities_are_torchs_categorical():
    logits = torch.randn(3, 9, generator=torch.Generator().manual_seed(2))
    chosen = torch.tensor([4, 0, 8])
    found = logprobs_of(logits, chosen, 5)
    categorical = torch.distributions.Categorical(logits=logits)
    torch.testing.assert_close(found.chosen, categorical.log_prob(chosen))
    for column in range(5):
        torch.testing.assert_close(
            found.top[:, column], categorical.log_prob(found.top_ids[:, column])
        )
    assert torch.equal(found.top_ids, logits.argsort(descending=True)[:, :5])
    assert logprobs_of(logits, chosen, 20).top_ids.shape == (3, 9)


@pytest.mark.parametrize(
    "value, words", [(torch.nan, "row 1: logits have nan"), (torch.inf, "row 1: logits have inf")]
)
def test_logits_that_are_no_numbers_are_refused_with_their_row(value, words):
    logits = torch.zeros(3, 4)
    logits[1, 2] = value
    with pytest.raises(GenerationError, match=words):
        sample(logits, [None] * 3)


def test_a_row_in_which_everything_is_forbidden_is_refused():
    logits = torch.zeros(2, 3)
    logits[1] = -torch.inf
    with pytest.raises(GenerationError, match="row 1: every token is forbidden"):
        check_logits(logits)
