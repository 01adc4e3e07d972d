"""GRPO as it is practised: the parts of the loss that later recipes changed.

Liu et al. 2025 (Dr. GRPO): advantages without the division, and a constant divisor in
the loss. Yu et al. 2025 (DAPO), equations 8 and 12: one clip below and a wider one
above, and a mean over all tokens of the batch. Zheng et al. 2025 (GSPO), equations 5
to 7: one ratio for each answer. Yao et al. 2025: a truncated weight for each token
where another program sampled. A loss is put together from these parts:

    ratio = (logprobs - old).exp()                     or  sequence_ratio(...)
    losses = clipped(ratio, advantage, 0.2, 0.28)      times  truncated_weights(...)
    mean_over_tokens(losses, mask)                     or  over_answers, over_constant

Tensors (B, T) have an entry for each token but the first, as `logprobs` gives them;
`mask` says which of these are the answer's.

Not here: sampling until a group has right and wrong answers, penalties for length.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from reference_impl.objectives.batches import ObjectiveError, check_share


def centred_advantages(rewards: Float[Tensor, "M G"]) -> Float[Tensor, "M G"]:
    """r - mean within each of M groups: Dr. GRPO's advantages, with no division."""
    return rewards - rewards.mean(1, keepdim=True)


def clipped(
    ratio: Float[Tensor, "B #T"],
    advantage: Float[Tensor, "B #T"],
    low: float = 0.2,
    high: float = 0.28,
) -> Float[Tensor, "B #T"]:
    """-min(r A, clip(r, 1 - low, 1 + high) A): PPO's loss with two bounds of its own.

    Raises ObjectiveError for a `low` that is no share, or a negative `high`.
    """
    check_share("low", low)
    if high < 0:
        raise ObjectiveError(f"high is {high}: give zero or more")
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)


def sequence_ratio(
    logprobs: Float[Tensor, "B T"],
    old: Float[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
) -> Float[Tensor, "B 1"]:
    """GSPO's ratio: the geometric mean of the ratios of an answer's tokens."""
    log_ratio = (logprobs - old).masked_fill(~mask, 0)
    return (log_ratio.sum(1, keepdim=True) / mask.sum(1, keepdim=True)).exp()


def truncated_weights(
    trainer: Float[Tensor, "B T"], sampler: Float[Tensor, "B T"], cap: float = 2.0
) -> Float[Tensor, "B T"]:
    """min(p_trainer / p_sampler, cap) at each token, without a gradient.

    Both are log-probabilities of the same weights, computed by two programs.
    """
    return (trainer - sampler).detach().exp().clamp(max=cap)


def mean_over_answers(
    losses: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """GRPO: the mean of each answer's tokens, then of the answers."""
    return ((losses * mask).sum(1) / mask.sum(1)).mean()


def mean_over_tokens(
    losses: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """DAPO: all tokens of the batch count alike, whatever answer they are from."""
    return (losses * mask).sum() / mask.sum()


def over_constant(
    losses: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"], longest: int
) -> Float[Tensor, ""]:
    """Dr. GRPO: each answer's sum over the longest length allowed, then the mean."""
    return (losses * mask).sum() / (longest * len(losses))
