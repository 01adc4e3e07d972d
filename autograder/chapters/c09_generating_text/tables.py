"""Language models that are tables, for the checks of chapter 9: what comes next is looked up, and
no two logits are equal.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def uneven(rng: torch.Generator, rows: int, entries: int) -> Tensor:
    """Rows of whole numbers in drawn order, each row moved by a number of its own: in no row are
    two equal, and no two rows have the same largest.
    """
    moved = torch.rand(rows, 1, generator=rng).argsort(0) / 512
    return torch.rand(rows, entries, generator=rng).argsort(1) + moved


def whole_text(rows: Tensor) -> Callable[[Tensor], Tensor]:
    """A causal model that looks at every token so far and at its place: logits (N, T, V) for ids
    (N, T), a row of (R, V) each.
    """

    def next_logits(ids: Tensor) -> Tensor:
        keys = (ids * torch.arange(1, ids.shape[1] + 1)).cumsum(1) % len(rows)
        return rows[keys]

    return next_logits


def written(
    next_logits: Callable[[Tensor], Tensor], prompt: list[int], max_tokens: int, end_id: int
) -> list[int]:
    """The greedy continuation, its end token included."""
    new: list[int] = []
    while len(new) < max_tokens and end_id not in new:
        scores = next_logits(torch.tensor([prompt + new]))[0, -1].tolist()
        new.append(scores.index(max(scores)))
    return new
