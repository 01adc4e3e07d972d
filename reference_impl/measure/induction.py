"""Induction heads: what a repeated sequence says of a language model's heads.

Olsson et al. 2022, "In-context learning and induction heads", section "Definition":
on random tokens that come twice, an induction head attends from a token to the token
after its earlier occurrence, which is the token that comes next.

Not here: heads that match longer prefixes, or similar tokens in place of equal ones.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def twice(vocab_size: int, half: int, count: int, seed: int = 0) -> Int[Tensor, "B T"]:
    """`count` sequences of random tokens, each `half` long and repeated once."""
    drawn = torch.Generator().manual_seed(seed)
    once = torch.randint(vocab_size, (count, half), generator=drawn)
    return torch.cat((once, once), 1)


def prefix_matching(weights: Float[Tensor, "B H T T"], half: int) -> Float[Tensor, "H"]:
    """Mean weight from the second pass to the token after the earlier occurrence."""
    queries = torch.arange(half, 2 * half - 1)
    return weights[:, :, queries, queries - half + 1].mean((0, 2))


def previous_token(weights: Float[Tensor, "B H T T"]) -> Float[Tensor, "H"]:
    """Mean weight on the token before, over all queries but the first."""
    return weights.diagonal(-1, 2, 3).mean((0, 2))


def loss_by_position(
    logits: Float[Tensor, "B T V"], ids: Int[Tensor, "B T"]
) -> Float[Tensor, "P"]:
    """Mean nats of each token given those before it; the first is left out."""
    losses = nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
    )
    return losses.view(len(ids), -1).mean(0)
