"""GRPO's later variants: by hand, by TRL's formulas, and equal to each other where they agree."""

import math

import pytest
import torch

from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.grpo import group_advantages
from reference_impl.objectives.grpo_variants import (
    centred_advantages,
    clipped,
    mean_over_answers,
    mean_over_tokens,
    over_constant,
    sequence_ratio,
    truncated_weights,
)
from reference_impl.objectives.ppo import clipped_policy_loss

DOUBLE = {"dtype": torch.float64}
MASK = torch.tensor([[True, False, False, False], [True, True, True, False]])


def row(*values):
    return torch.tensor([values], **DOUBLE)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(3)


def test_without_the_division_advantages_are_rewards_less_their_mean():
    rewards = torch.tensor([[1.0, 0, 0, 1], [3, 3, 3, 3], [0, 0, 0, 1]], **DOUBLE)
    found = centred_advantages(rewards)
    assert found.tolist() == [[0.5, -0.5, -0.5, 0.5], [0] * 4, [-0.25, -0.25, -0.25, 0.75]]
    divided = group_advantages(rewards)[0]
    torch.testing.assert_close(found[0] / rewards[0].std(correction=0), divided)


@pytest.mark.parametrize(
    "ratio, advantage, loss, learns",
    [
        (1.25, 2.0, -2.5, True),
        (1.5, 2.0, -2.56, False),
        (0.5, 2.0, -1.0, True),
        (1.25, -2.0, 2.5, True),
        (0.5, -2.0, 1.6, False),
    ],
)
def test_the_upper_bound_is_wider_than_the_lower(ratio, advantage, loss, learns):
    ratio = row(ratio).requires_grad_()
    found = clipped(ratio, row(advantage), 0.2, 0.28)
    assert math.isclose(found.item(), loss, rel_tol=1e-12)
    found.sum().backward()
    assert (ratio.grad.item() != 0) == learns


def test_with_equal_bounds_it_is_ppos(generator):
    new, old, advantage = (torch.randn(3, 5, generator=generator, **DOUBLE) for _ in range(3))
    found = clipped((new - old).exp(), advantage, 0.2, 0.2)
    torch.testing.assert_close(found, clipped_policy_loss(new, old, advantage, 0.2))


def test_the_ratio_of_an_answer_is_the_geometric_mean_of_its_tokens():
    new = torch.tensor([[math.log(2), 9, 9, 9], [math.log(2), math.log(4), 0, 9]], **DOUBLE)
    found = sequence_ratio(new, torch.zeros_like(new), MASK)
    torch.testing.assert_close(found, torch.tensor([[2.0], [2.0]], **DOUBLE))  # 8 ** (1 / 3)


def test_weights_are_truncated_above_only_and_carry_no_gradient():
    trainer = row(math.log(0.5), math.log(0.02), math.log(0.3)).requires_grad_()
    sampler = row(math.log(0.1), math.log(0.2), math.log(0.2))
    found = truncated_weights(trainer, sampler, cap=2.0)
    torch.testing.assert_close(found, row(2, 0.1, 1.5))
    assert not found.requires_grad


def test_the_three_means_by_hand():
    losses = torch.tensor([[4.0, 99, 99, 99], [1, 2, 3, 99]], **DOUBLE)
    assert mean_over_answers(losses, MASK) == 3  # (4 + 2) / 2
    assert mean_over_tokens(losses, MASK) == 2.5  # 10 / 4
    assert over_constant(losses, MASK, longest=5) == 1  # 10 / (2 * 5)


def trl(logprobs, old, advantages, mask, kind, level, low, high, longest):
    """The loss as TRL 1.x states it in the documentation of GRPOConfig, written anew."""
    log_ratio = logprobs - old
    if level == "sequence":
        log_ratio = (log_ratio * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
    one = log_ratio.exp()
    two = one.clamp(1 - low, 1 + high)
    losses = -torch.min(one * advantages[:, None], two * advantages[:, None])
    losses = losses.expand_as(mask)
    if kind == "grpo":
        return ((losses * mask).sum(-1) / mask.sum(-1)).mean()
    if kind == "dapo":
        return (losses * mask).sum() / mask.sum()
    return (losses * mask).sum() / (losses.size(0) * longest)


@pytest.mark.parametrize("kind", ["grpo", "dapo", "dr_grpo"])
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_put_together_they_are_trls_losses(generator, kind, level):
    old = -torch.rand(4, 6, generator=generator, **DOUBLE)
    new = (old + 0.4 * torch.randn(4, 6, generator=generator, **DOUBLE)).requires_grad_()
    advantages = torch.randn(4, generator=generator, **DOUBLE)
    mask = torch.arange(6) < torch.tensor([6, 1, 3, 4])[:, None]
    ratio = sequence_ratio(new, old, mask) if level == "sequence" else (new - old).exp()
    losses = clipped(ratio, advantages[:, None], 0.2, 0.28).expand_as(mask)
    found = {
        "grpo": lambda: mean_over_answers(losses, mask),
        "dapo": lambda: mean_over_tokens(losses, mask),
        "dr_grpo": lambda: over_constant(losses, mask, 10),
    }[kind]()
    theirs = trl(new, old, advantages, mask, kind, level, 0.2, 0.28, 10)
    torch.testing.assert_close(found, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(found, new, retain_graph=True), torch.autograd.grad(theirs, new)
    )


def test_gradients_are_those_of_differences(generator):
    old = -torch.rand(2, 4, generator=generator, **DOUBLE)
    new = (old + 0.3 * torch.randn(2, 4, generator=generator, **DOUBLE)).requires_grad_()
    advantage = torch.randn(2, 1, generator=generator, **DOUBLE)
    assert torch.autograd.gradcheck(lambda x: clipped((x - old).exp(), advantage), new)
    assert torch.autograd.gradcheck(lambda x: clipped(sequence_ratio(x, old, MASK), advantage), new)


def test_bounds_that_make_no_sense_are_refused():
    with pytest.raises(ObjectiveError, match="low"):
        clipped(row(1.0), row(1.0), low=1.5)
    with pytest.raises(ObjectiveError, match="high is -0.1"):
        clipped(row(1.0), row(1.0), high=-0.1)
