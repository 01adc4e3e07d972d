"""Group-relative policy optimisation: PPO without a critic; an answer is as good as it
is against its siblings.

Shao et al. 2024, section 4.1.1, equations 3 and 4. For a prompt several answers are
sampled; an answer's advantage, the same at all its tokens, is its reward less the
group's mean, over the group's standard deviation (of the population here). The distance
to the reference is in the loss, by an estimate that is never negative. Later recipes
set beta to 0 (Yu et al. 2025) and leave out the division (Liu et al. 2025).

Not here: sampling (see `generation`), advantages of single steps (section 4.1.3).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reference_impl.objectives.batches import Batch, ObjectiveError, needs
from reference_impl.objectives.logprobs import answer_logprobs, answered, check_settled
from reference_impl.objectives.ppo import clipped_policy_loss
from reference_impl.objectives.terms import Terms


def group_advantages(rewards: Float[Tensor, "M G"]) -> Float[Tensor, "M G"]:
    """(r - mean) / standard deviation within each of M groups; zeros where all G
    answers got the same reward.
    """
    if rewards.shape[1] < 2:
        raise ObjectiveError(
            "a group of one answer has nothing to be compared with: sample two or more"
        )
    centred = rewards - rewards.mean(1, keepdim=True)
    spread = rewards.std(1, keepdim=True, correction=0)
    alike = rewards.amax(1, keepdim=True) == rewards.amin(
        1, keepdim=True
    )  # where rounding could leave 1e-8 / 1e-8
    return torch.where(alike, 0, centred / torch.where(alike, 1, spread))


def distance(
    logprobs: Float[Tensor, "B T"], reference: Float[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    """An estimate of KL(policy || reference) at each token, p_ref / p - log(p_ref / p)
    - 1 (Schulman 2020's k3).

    Never negative, and right in the mean over tokens sampled from the policy.
    """
    difference = reference - logprobs
    return difference.exp() - difference - 1


@torch.no_grad()
def group_batch(
    policy: nn.Module, reference: nn.Module, batch: Batch, rewards: Float[Tensor, "M G"]
) -> Batch:
    """Sampled answers (a `supervised_batch` of M G rows, group after group), with what
    the steps need noted as is.
    """
    check_settled(reference)
    if len(batch["ids"]) != rewards.numel():
        raise ObjectiveError(
            f"{len(batch['ids'])} answers but {tuple(rewards.shape)} rewards: give one"
            " for each"
        )
    return {
        **batch,
        "advantages": group_advantages(rewards).flatten(),
        "old_logprobs": answer_logprobs(policy, batch),
        "reference_logprobs": answer_logprobs(reference, batch),
    }


def grpo(
    model: nn.Module, batch: Batch, clip: float = 0.2, beta: float = 0.04
) -> Terms:
    """The clipped loss plus beta times the distance, a mean over each answer's tokens;
    counted by answers.
    """
    needs(batch, "advantages", "old_logprobs", "reference_logprobs")
    mask = answered(batch["labels"])
    logprobs = answer_logprobs(model, batch)
    losses = clipped_policy_loss(
        logprobs, batch["old_logprobs"], batch["advantages"][:, None], clip
    )
    losses = (
        losses + beta * distance(logprobs, batch["reference_logprobs"])
    ) * mask  # (B, T)
    means = losses.sum(1) / mask.sum(1)
    return Terms(means.sum(), len(means))
