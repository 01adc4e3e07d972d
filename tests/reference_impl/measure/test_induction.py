"""The scores of induction heads, on weights whose scores are known, and on the kept model."""

import pytest
import torch

from reference_impl.corpora.small_models import small_model
from reference_impl.measure.induction import (
    loss_by_position,
    prefix_matching,
    previous_token,
    twice,
)


def looking_back(by: int, length: int) -> torch.Tensor:
    """One head that gives all its weight to the token so many positions before."""
    weights = torch.zeros(1, 1, length, length)
    for query in range(length):
        weights[0, 0, query, max(query - by, 0)] = 1
    return weights


def test_the_second_half_is_the_first():
    ids = twice(7, 5, 3)
    assert ids.shape == (3, 10) and torch.equal(ids[:, :5], ids[:, 5:])
    assert not torch.equal(ids, twice(7, 5, 3, seed=1))


@pytest.mark.parametrize("by, induction, previous", [(4, 1, 0), (1, 0, 1), (5, 0, 0)])
def test_each_score_is_one_for_the_head_that_it_is_named_after(by, induction, previous):
    weights = looking_back(by, 10)
    assert prefix_matching(weights, 5).tolist() == [induction]
    assert previous_token(weights).tolist() == pytest.approx([previous], abs=0.12)


def test_equal_logits_cost_the_logarithm_of_the_vocabulary_everywhere():
    found = loss_by_position(torch.zeros(2, 6, 8), torch.randint(8, (2, 6)))
    assert found.tolist() == pytest.approx([torch.tensor(8.0).log().item()] * 5)


@torch.no_grad()
def test_the_weights_of_a_decoder_are_those_that_give_its_output():
    model, ids = small_model("induction").model["RoPE"], twice(64, 9, 2)
    weights = model.weights(ids)
    assert len(weights) == 2 and torch.equal(weights[0], model.first_weights(ids))
    assert torch.allclose(weights[1].sum(-1), torch.ones(2, 4, 18), atol=1e-5)
    assert not weights[1].triu(1).any()
