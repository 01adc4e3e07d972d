"""Filling blanks: what a masked language model would put in the place of each [MASK].

Devlin et al. 2019, section 3.1. Each blank is filled by itself: with two blanks in a
text, the first choice for one knows nothing of the choice for the other.

Not here: words of several tokens, filling blanks one after the other.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError


class Filling(NamedTuple):
    """A token for a blank, with its probability there, and the text with this blank
    filled.
    """

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
    """For each row, for each of its blanks from the left, the `count` likeliest tokens,
    best first.

    `model` gives logits of the token at each place, as `bert.BertForMaskedLM` does;
    `mask` is True for tokens. The model is used as it is: call `model.eval()` before.
    Raises ModelInputError if a row has no blank, or the vocabulary has fewer than
    `count` tokens.
    """
    blanks = ids == mask_id
    if not bool(blanks.any(1).all()):
        raise ModelInputError(
            f"a text without a blank: put {mask_id}, the mask's id, where a token is"
            " wanted"
        )
    logits = model(ids) if mask is None else model(ids, mask=mask)  # (B, T, V)
    if not 1 <= count <= logits.shape[-1]:
        raise ModelInputError(
            f"{count} tokens wanted of a vocabulary of {logits.shape[-1]}"
        )
    filled: list[list[list[Filling]]] = [[] for _ in range(len(ids))]
    for row, place in blanks.nonzero().tolist():
        best = logits[row, place].softmax(-1).topk(count)
        before, after = ids[row, :place].tolist(), ids[row, place + 1 :].tolist()
        filled[row].append(
            [
                Filling(token, probability, [*before, token, *after])
                for probability, token in zip(
                    best.values.tolist(), best.indices.tolist(), strict=True
                )
            ]
        )
    return filled
