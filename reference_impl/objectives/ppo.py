"""Proximal policy optimisation: make tokens likelier that led to more reward than was
expected, in small steps.

Schulman et al. 2017, section 3 (the clipped objective); Schulman et al. 2016, equation
16 (advantages); Stiennon et al. 2020, section 3.4, and Ouyang et al. 2022, equation 2
(the reward of an answer less a penalty, at each token, for leaving the reference). The
clipped loss of the value is that of OpenAI's `baselines`, in no paper.

A rollout is sampled, scored and noted once, by `rollout_batch`; several steps then
learn from it. Tensors (B, T) have an entry for each token but the first, as `logprobs`
gives them.

Not here: sampling (see `generation`), normalising advantages, the entropy bonus,
adapting beta.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reference_impl.objectives.batches import Batch, ObjectiveError, check_share, needs
from reference_impl.objectives.logprobs import answer_logprobs, answered, check_settled
from reference_impl.objectives.terms import Terms


class ActorCritic(nn.Module):
    """What is trained: a policy that gives logits (B, T, V), and a critic
    (`reward_model.TokenScores`).
    """

    def __init__(self, policy: nn.Module, critic: nn.Module):
        super().__init__()
        self.policy, self.critic = policy, critic


def token_rewards(
    scores: Float[Tensor, "B"],
    logprobs: Float[Tensor, "B T"],
    reference: Float[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    beta: float,
) -> Float[Tensor, "B T"]:
    """-beta (log p - log p_reference) at each token of the answer, and the answer's
    score at its last.

    Summed over an answer sampled from the policy, the penalty is beta times an estimate
    of KL(policy || reference).
    """
    if beta < 0:
        raise ObjectiveError(
            f"beta is {beta}: a reward for leaving the reference; give zero or more"
        )
    rewards = (-beta * (logprobs - reference)).masked_fill(~mask, 0)
    last = (torch.arange(mask.shape[1], device=mask.device) * mask).amax(
        1, keepdim=True
    )  # (B, 1)
    return rewards.scatter_add(1, last, scores[:, None].to(rewards))


def advantages(
    rewards: Float[Tensor, "B T"],
    values: Float[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    discount: float = 1.0,
    decay: float = 0.95,
) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
    """How much better each token was than expected, and the returns that the critic
    should have foretold.

    A_t = d_t + discount decay A_(t+1) with d_t = r_t + discount V_(t+1) - V_t; after
    the answer all is zero. With decay 0 it is the error of one step, with 1 the whole
    return less the value. Raises ObjectiveError for an answer that is not in one piece.
    """
    check_share("discount", discount)
    check_share("decay", decay)
    starts = mask.int().diff(dim=1, prepend=torch.zeros_like(mask[:, :1]).int()) == 1
    if int(starts.sum(1).max()) > 1:
        raise ObjectiveError(
            "an answer is in two pieces: an advantage runs from token to token of one"
        )
    found = torch.zeros_like(values)
    ahead = next_value = torch.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + discount * next_value - values[:, t]
        ahead = (error + discount * decay * ahead) * mask[:, t]
        next_value = values[:, t] * mask[:, t]
        found[:, t] = ahead
    return found, (found + values) * mask


def clipped_policy_loss(
    logprobs: Float[Tensor, "B T"],
    old: Float[Tensor, "B T"],
    advantage: Float[Tensor, "B #T"],
    clip: float,
) -> Float[Tensor, "B T"]:
    """-min(r A, clip(r, 1 - clip, 1 + clip) A) with r = p / p_old: no gain from moving
    a token's chance further.
    """
    check_share("clip", clip)
    ratio = (logprobs - old).exp()
    return -torch.minimum(
        ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage
    )


def clipped_value_loss(
    values: Float[Tensor, "B T"],
    old: Float[Tensor, "B T"],
    returns: Float[Tensor, "B T"],
    clip: float,
) -> Float[Tensor, "B T"]:
    """Half the squared error, or that of the value moved by at most `clip` if it is
    worse.
    """
    moved = old + (values - old).clamp(-clip, clip)
    return torch.maximum((values - returns).square(), (moved - returns).square()) / 2


@torch.no_grad()
def rollout_batch(
    model: ActorCritic,
    reference: nn.Module,
    batch: Batch,
    scores: Float[Tensor, "B"],
    beta: float = 0.1,
    discount: float = 1.0,
    decay: float = 0.95,
) -> Batch:
    """Sampled answers (a `supervised_batch`) and their scores, with what the steps need
    noted as it is now.
    """
    check_settled(reference)
    mask = answered(batch["labels"])
    old = answer_logprobs(model.policy, batch)
    rewards = token_rewards(scores, old, answer_logprobs(reference, batch), mask, beta)
    values = model.critic(batch["ids"][:, :-1])
    advantage, returns = advantages(rewards, values, mask, discount, decay)
    return {
        **batch,
        "old_logprobs": old,
        "old_values": values,
        "advantages": advantage,
        "returns": returns,
    }


def ppo(
    model: ActorCritic,
    batch: Batch,
    clip: float = 0.2,
    value_clip: float = 0.2,
    value_weight: float = 0.1,
) -> Terms:
    """The policy's clipped loss plus `value_weight` times the critic's; counted by the
    answers' tokens.
    """
    needs(batch, "old_logprobs", "old_values", "advantages", "returns")
    mask = answered(batch["labels"])
    policy = clipped_policy_loss(
        answer_logprobs(model.policy, batch),
        batch["old_logprobs"],
        batch["advantages"],
        clip,
    )
    value = clipped_value_loss(
        model.critic(batch["ids"][:, :-1]),
        batch["old_values"],
        batch["returns"],
        value_clip,
    )
    return Terms((policy + value_weight * value)[mask].sum(), int(mask.sum()))
