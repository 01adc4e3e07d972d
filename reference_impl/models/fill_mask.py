"""Fill-mask: the tokens that a masked language model predicts for each [MASK].

Devlin et al. 2019, section 3.1. Each mask is filled independently: of two in a text,
the choice for one does not depend on the choice for the other.

Not here: words of several tokens, filling masks one after the other.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError


class Filling(NamedTuple):
    """A token for a mask, its probability, and the text with this mask filled."""

    token: int
    probability: float
    text: list[int]


@torch.no_grad()
def fill_mask(
    model: nn.Module,
    ids: Int[Tensor, "B T"],
    mask_id: int,
    mask: Bool[Tensor, "B T"] | None = None,
    count: int = 5,
) -> list[list[list[Filling]]]:
    """For each sequence and each of its masks, the `count` likeliest tokens, best
    first.

    `model` gives logits at each position, as `bert.BertForMaskedLM` does; `mask` is
    True for tokens. The model is used as it is: call `model.eval()` before. Raises
    ModelInputError if a sequence has no mask, or the vocabulary fewer than `count`
    tokens.
    """
    masked = ids == mask_id
    if not bool(masked.any(1).all()):
        raise ModelInputError(
            f"a text without a mask: put {mask_id}, the mask's id, where a token is"
            " wanted"
        )
    logits = model(ids) if mask is None else model(ids, mask=mask)  # (B, T, V)
    if not 1 <= count <= logits.shape[-1]:
        raise ModelInputError(
            f"{count} tokens wanted of a vocabulary of {logits.shape[-1]}"
        )
    filled: list[list[list[Filling]]] = [[] for _ in range(len(ids))]
    for row, at in masked.nonzero().tolist():
        best = logits[row, at].softmax(-1).topk(count)
        before, after = ids[row, :at].tolist(), ids[row, at + 1 :].tolist()
        filled[row].append(
            [
                Filling(token, probability, [*before, token, *after])
                for probability, token in zip(
                    best.values.tolist(), best.indices.tolist(), strict=True
                )
            ]
        )
    return filled
