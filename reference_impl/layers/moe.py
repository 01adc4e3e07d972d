"""Mixture of experts: many feed-forward layers, of which each token uses a few.

Shazeer et al. 2017, section 2 (sparse gating). Fedus et al. 2022 (Switch), section 2.2:
capacity, and the load-balancing loss of equations 4 to 6. Jiang et al. 2024 (Mixtral),
section 2.1: softmax over the chosen experts. Dai et al. 2024 (DeepSeekMoE), section
3.2: shared experts. Wang et al. 2024: balance by a bias and without a loss, as in
DeepSeek-V3 (DeepSeek-AI 2024, section 2.1.2), which scores with a sigmoid and sends a
token to a few groups of experts only, since each group is on another machine.

Not here: fused kernels.
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.feed_forward import GatedFeedForward


class Routing(NamedTuple):
    """Which experts N tokens go to: k of E each."""

    experts: Int[Tensor, "N k"]
    weights: Float[Tensor, "N k"]
    scores: Float[Tensor, "N E"]


class Router(nn.Module):
    """The k experts with the highest scores, and their weights.

    `normalize` divides the k weights by their sum. `bias` is added for the choice only:
    weights are made of the scores without it (Wang et al. 2024, equation 3).
    """

    def __init__(
        self,
        hidden_size: int,
        num_experts: int,
        top_k: int,
        *,
        normalize: bool = True,
        scoring: Literal["softmax", "sigmoid"] = "softmax",
        scale: float = 1.0,
        num_groups: int = 1,
        kept_groups: int = 1,
    ):
        super().__init__()
        if not 1 <= top_k <= num_experts:
            raise ModelInputError(
                f"{top_k} experts per token of {num_experts}: give 1 to {num_experts}"
            )
        self.top_k, self.normalize = top_k, normalize
        self.scoring, self.scale = scoring, scale
        self.num_groups, self.kept_groups = num_groups, kept_groups
        self.proj = nn.Linear(hidden_size, num_experts, bias=False)
        self.register_buffer("bias", torch.zeros(num_experts), persistent=False)

    def forward(self, x: Float[Tensor, "N C"]) -> Routing:
        """Scores are computed in float32 at least."""
        logits = self.proj(x)  # (N, E)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        scores = logits.softmax(-1) if self.scoring == "softmax" else logits.sigmoid()
        choice = scores + self.bias
        if self.kept_groups < self.num_groups:
            outside = outside_groups(choice, self.num_groups, self.kept_groups)
            choice = choice.masked_fill(outside, -torch.inf)
        experts = choice.topk(self.top_k, dim=-1).indices  # (N, k)
        weights = scores.gather(-1, experts)
        if self.normalize:
            weights = weights / weights.sum(-1, keepdim=True)
        return Routing(experts, (self.scale * weights).to(x.dtype), scores)


class MixtureOfExperts(nn.Module):
    """The weighted sum of the chosen experts, plus an expert that all tokens share.

    With `capacity_factor` f an expert takes f times its even share of the tokens; what
    comes later is dropped, and the residual connection alone carries it on.
    """

    def __init__(
        self,
        router: Router,
        expert_size: int,
        shared_size: int = 0,
        capacity_factor: float | None = None,
    ):
        super().__init__()
        num_experts, hidden_size = router.proj.weight.shape
        self.router, self.capacity_factor = router, capacity_factor
        self.experts = nn.ModuleList(
            GatedFeedForward(hidden_size, expert_size) for _ in range(num_experts)
        )
        self.shared = (
            GatedFeedForward(hidden_size, shared_size) if shared_size else None
        )

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Each expert computes its own tokens only."""
        tokens = x.flatten(0, 1)  # (N, C)
        experts, weights, _ = self.router(tokens)
        if self.capacity_factor is not None:
            even = experts.numel() / len(self.experts)
            kept = within_capacity(experts, math.ceil(self.capacity_factor * even))
            experts = experts.where(kept, -1)
        out = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            token, choice = torch.where(experts == e)
            mixed = expert(tokens[token][None])[0] * weights[token, choice, None]
            out = out.index_add(0, token, mixed)
        if self.shared is not None:
            out = out + self.shared(tokens[None])[0]
        return out.view_as(x)


def outside_groups(
    choice: Float[Tensor, "N E"], num_groups: int, kept: int
) -> Bool[Tensor, "N E"]:
    """Which experts are in none of the best `kept` groups of equal size.

    A group counts by the sum of its two highest scores.
    """
    grouped = choice.unflatten(-1, (num_groups, -1))  # (N, G, E / G)
    best = grouped.topk(2, dim=-1).values.sum(-1).topk(kept, dim=-1).indices
    outside = torch.ones_like(grouped[..., 0], dtype=torch.bool)  # (N, G)
    outside = outside.scatter(-1, best, False)
    return outside[..., None].expand_as(grouped).flatten(-2)


def within_capacity(experts: Int[Tensor, "N k"], capacity: int) -> Bool[Tensor, "N k"]:
    """Which choices find room: first choices before second ones, then by position."""
    order = experts.T.flatten()  # (k N,)
    before = torch.nn.functional.one_hot(order).cumsum(0).gather(1, order[:, None]) - 1
    return (before < capacity).view(experts.T.shape).T


def load(routing: Routing) -> Float[Tensor, "E"]:
    """How often each expert is chosen, per token; the sum is k."""
    num_tokens, num_experts = routing.scores.shape
    counts = routing.experts.flatten().bincount(minlength=num_experts)
    return counts.to(routing.scores) / num_tokens


def load_balancing_loss(routing: Routing) -> Float[Tensor, ""]:
    """E times the sum of load and mean score; its gradient flows through the scores."""
    return len(routing.scores.T) * (load(routing) * routing.scores.mean(0)).sum()


@torch.no_grad()
def update_bias(router: Router, routing: Routing, step: float = 0.001) -> None:
    """Raise the bias of experts with less than the mean load, lower the others'."""
    loads = load(routing)
    router.bias += step * (loads.mean() - loads).sign()
