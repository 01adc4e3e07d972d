"""PPO and GRPO: advantages and losses by hand, gradients by differences in float64."""

import copy
import math

import pytest
import torch

from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.grpo import distance, group_advantages, group_batch, grpo
from reference_impl.objectives.logprobs import answer_logprobs, sequence_logprobs
from reference_impl.objectives.ppo import (
    ActorCritic,
    advantages,
    clipped_policy_loss,
    clipped_value_loss,
    ppo,
    rollout_batch,
    token_rewards,
)
from reference_impl.objectives.reward_model import TokenScores
from reference_impl.objectives.supervised import answer_example, supervised_batch

DOUBLE = {"dtype": torch.float64}
ANSWERS = [
    answer_example([3, 4], [5, 6, 1]),
    answer_example([3, 4], [7, 1]),
    answer_example([8], [9, 1]),
    answer_example([8], [10, 11, 12, 1]),
]


def row(*values):
    return torch.tensor([values], **DOUBLE)


@pytest.fixture
def batch():
    return supervised_batch(ANSWERS)


def test_the_score_comes_at_the_answers_last_token_and_the_penalty_at_each():
    mask = torch.tensor([[False, True, True, False]])
    found = token_rewards(
        torch.tensor([5.0], **DOUBLE), row(0, -1, -2, 0), row(0, -3, -1, 0), mask, beta=0.1
    )
    torch.testing.assert_close(found, row(0, -0.2, 5 + 0.1, 0))


def test_advantages_are_the_recursion_by_hand():
    # answer at places 1 to 3; errors: 1 + 0.5 * 4 - 2 = 1, 0 + 0.5 * 6 - 4 = -1, 8 - 6 = 2 (nothing
    # follows)
    mask = torch.tensor([[False, True, True, True, False]])
    found, returns = advantages(
        row(0, 1, 0, 8, 0), row(9, 2, 4, 6, 9), mask, discount=0.5, decay=0.5
    )
    torch.testing.assert_close(found, row(0, 1 + 0.25 * -0.5, -1 + 0.25 * 2, 2, 0))
    torch.testing.assert_close(returns, row(0, 2.875, 3.5, 8, 0))


def test_with_decay_1_advantages_are_returns_less_values_and_with_0_errors_of_one_step():
    mask = torch.ones(1, 3).bool()
    rewards, values = row(1, 2, 3), row(0.5, -1, 4)
    torch.testing.assert_close(
        advantages(rewards, values, mask, 1.0, 1.0)[0], row(6, 5, 3) - values
    )
    torch.testing.assert_close(
        advantages(rewards, values, mask, 1.0, 0.0)[0], row(1 - 1 - 0.5, 2 + 4 + 1, 3 - 4)
    )


@pytest.mark.parametrize(
    "ratio, advantage, loss, learns",
    [
        (1.1, 2.0, -2.2, True),
        (1.5, 2.0, -2.4, False),
        (0.5, 2.0, -1.0, True),
        (0.9, -2.0, 1.8, True),
        (0.5, -2.0, 1.6, False),
        (1.5, -2.0, 3.0, True),
    ],
)
def test_the_clipped_objective_in_each_of_its_six_cases(ratio, advantage, loss, learns):
    """Figure 1 of Schulman et al. 2017."""
    logprobs = row(math.log(ratio)).requires_grad_()
    found = clipped_policy_loss(logprobs, row(0), row(advantage), 0.2)
    assert math.isclose(found.item(), loss, rel_tol=1e-12)
    found.sum().backward()
    assert (logprobs.grad.item() != 0) == learns


@pytest.mark.parametrize("value, loss", [(1.1, 0.405), (1.9, 0.32), (-1.0, 4.5), (5.0, 4.5)])
def test_the_clipped_value_loss_by_hand(value, loss):
    """Old value 1, return 2, clip 0.2: a value that moves too far is judged as the worse
    of both.
    """
    assert math.isclose(
        clipped_value_loss(row(value), row(1), row(2), 0.2).item(), loss, rel_tol=1e-12
    )


def test_gradients_are_those_of_differences(generator):
    old, advantage, returns = (torch.randn(2, 5, generator=generator, **DOUBLE) for _ in range(3))
    new = (old + 0.3 * torch.randn(2, 5, generator=generator, **DOUBLE)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: clipped_policy_loss(x, old, advantage, 0.2), new)
    assert torch.autograd.gradcheck(lambda x: clipped_value_loss(x, old, returns, 0.2), new)
    assert torch.autograd.gradcheck(lambda x: distance(x, old), new)


@pytest.fixture
def rollout(gpt, batch):
    model = ActorCritic(gpt, TokenScores(copy.deepcopy(gpt)).double())
    reference = copy.deepcopy(gpt)
    with torch.no_grad():
        reference.embedding.weight.mul_(0.9)
    scores = torch.tensor([1.0, -1.0, 0.5, 2.0], **DOUBLE)
    return model, rollout_batch(model, reference, batch, scores, beta=0.1), reference, scores


def test_at_the_first_step_ppo_is_less_the_mean_advantage_plus_half_the_values_squared_error(
    rollout,
):
    model, batch, _, _ = rollout
    found = ppo(model, batch, value_weight=0.1)
    mask = batch["labels"][:, 1:] != -100
    expected = -batch["advantages"] + 0.1 * (batch["old_values"] - batch["returns"]).square() / 2
    torch.testing.assert_close(found.mean, expected[mask].mean())
    assert found.count == 3 + 2 + 2 + 4


def test_the_first_steps_gradient_is_the_policy_gradient(rollout):
    model, batch, _, _ = rollout
    ppo(model, batch, value_weight=0.0).total.backward()
    found = model.policy.embedding.weight.grad.clone()
    model.zero_grad()
    (-(answer_logprobs(model.policy, batch) * batch["advantages"]).sum()).backward()
    torch.testing.assert_close(found, model.policy.embedding.weight.grad)


def test_rewards_of_a_rollout_add_up_to_the_score_less_the_penalty(rollout):
    """With discount and decay 1 the first token's return is the sum of the rewards."""
    model, batch, reference, scores = rollout
    whole = rollout_batch(model, reference, batch, scores, beta=0.1, decay=1.0)
    first = (batch["labels"][:, 1:] != -100).int().argmax(1)
    penalty = 0.1 * (sequence_logprobs(model.policy, batch) - sequence_logprobs(reference, batch))
    torch.testing.assert_close(
        whole["returns"].gather(1, first[:, None]).squeeze(1), scores - penalty
    )


def test_a_groups_advantages_have_mean_0_and_deviation_1_and_a_group_alike_has_zeros():
    found = group_advantages(
        torch.tensor([[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 3.0, 0.0], [0.1, 0.1, 0.1, 0.1]])
    )
    by_hand = [[1, -1, -1, 1], [-(3**-0.5), -(3**-0.5), 3**0.5, -(3**-0.5)], [0, 0, 0, 0]]
    torch.testing.assert_close(found, torch.tensor(by_hand))
    assert not found[2].any()
    three = group_advantages(torch.full((1, 3), 0.1))
    assert not three.any()  # 0.1 is no sum of powers of two: a mean may miss it by a last place


def test_the_distance_is_never_negative_and_its_mean_is_the_divergence(generator):
    policy, reference = (
        torch.randn(6, generator=generator, **DOUBLE).log_softmax(0) for _ in range(2)
    )
    found = distance(policy[None], reference[None])[0]
    assert (found >= 0).all()
    divergence = (policy.exp() * (policy - reference)).sum()
    torch.testing.assert_close((policy.exp() * found).sum(), divergence)
    assert math.isclose(distance(row(-1), row(-2)).item(), math.exp(-1) + 1 - 1, rel_tol=1e-12)


def test_grpo_is_a_mean_over_answers_of_means_over_their_tokens(gpt, batch):
    reference, moved = copy.deepcopy(gpt), copy.deepcopy(gpt)
    with torch.no_grad():
        reference.embedding.weight.mul_(0.9)
        moved.embedding.weight.add_(0.2 * torch.randn(gpt.embedding.weight.shape, **DOUBLE))
    rewards = torch.tensor([[1.0, 0.0], [0.0, 2.0]], **DOUBLE)
    noted = group_batch(gpt, reference, batch, rewards)
    found = grpo(moved, noted, clip=0.2, beta=0.04)
    expected = []
    for (ids, labels), sign in zip(ANSWERS, (1, -1, -1, 1)):
        ids = torch.tensor([ids])
        places = [place for place, label in enumerate(labels) if label != -100]
        new, old, kept = (
            [model(ids).log_softmax(-1)[0, place - 1, ids[0, place]].item() for place in places]
            for model in (moved, gpt, reference)
        )
        losses = [
            -min(math.exp(n - o) * sign, min(max(math.exp(n - o), 0.8), 1.2) * sign)
            + 0.04 * (math.exp(k - n) - (k - n) - 1)
            for n, o, k in zip(new, old, kept)
        ]
        expected.append(sum(losses) / len(losses))
    assert math.isclose(found.mean.item(), sum(expected) / 4, rel_tol=1e-9)
    assert found.count == 4


def test_a_group_with_equal_rewards_teaches_nothing_but_to_stay(gpt, batch):
    noted = group_batch(gpt, gpt, batch, torch.full((2, 2), 0.7, **DOUBLE))
    grpo(gpt, noted).mean.backward()
    assert gpt.embedding.weight.grad.abs().max() < 1e-12


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: group_advantages(torch.zeros(3, 1)), "a group of one answer"),
        (
            lambda: advantages(row(1, 1, 1), row(1, 1, 1), torch.tensor([[True, False, True]])),
            "in two pieces",
        ),
        (
            lambda: advantages(row(1), row(1), torch.tensor([[True]]), discount=1.1),
            "discount is 1.1",
        ),
        (lambda: clipped_policy_loss(row(1), row(1), row(1), -0.1), "clip is -0.1"),
        (
            lambda: token_rewards(torch.ones(1), row(1), row(1), torch.tensor([[True]]), beta=-1.0),
            "beta is -1.0",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, says):
    with pytest.raises(ObjectiveError, match=says):
        make()


def test_rewards_for_another_number_of_answers_and_batches_without_notes_are_refused(gpt, batch):
    with pytest.raises(ObjectiveError, match=r"4 answers but \(1, 2\) rewards"):
        group_batch(gpt, gpt, batch, torch.zeros(1, 2))
    with pytest.raises(ObjectiveError, match="no advantages, old_logprobs, reference_logprobs"):
        grpo(gpt, batch)
    with pytest.raises(ObjectiveError, match="no old_logprobs, old_values, advantages, returns"):
        ppo(ActorCritic(gpt, TokenScores(gpt)), batch)


def test_a_reference_with_its_dropout_on_is_refused(gpt, batch):
    reference = copy.deepcopy(gpt).train()
    with pytest.raises(ObjectiveError, match="training mode"):
        group_batch(gpt, reference, batch, torch.zeros(2, 2))
    with pytest.raises(ObjectiveError, match="training mode"):
        rollout_batch(ActorCritic(gpt, TokenScores(gpt)), reference, batch, torch.zeros(4))
