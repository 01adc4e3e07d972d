"""From token vectors to one vector a text, and from a text's vector to the texts that
are like it.

Reimers and Gurevych 2019, section 3: the vector of [CLS], the mean (see
`heads.mean_pool`), or the largest value of each coordinate. Texts are compared by the
cosine.

Not here: training for similarity (see `objectives`), indexes that look at a part of the
texts only.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from reference_impl.layers.checks import ModelInputError, check_mask
from reference_impl.models.heads import mean_pool, similarity


class Found(NamedTuple):
    """The rows of the texts, best first, and their cosines with the query."""

    places: Int[Tensor, "Q K"]
    cosines: Float[Tensor, "Q K"]


def cls_pool(
    x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B C"]:
    """The vector of each row's first token, wherever padding puts it.

    Zero for a row without tokens.
    """
    return x[torch.arange(len(x), device=x.device), mask.long().argmax(1)] * mask.any(
        1, keepdim=True
    )


def max_pool(
    x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B C"]:
    """Each coordinate's largest value over the tokens, padding left out.

    Zero for a row without tokens.
    """
    return (
        x.masked_fill(~mask.unsqueeze(-1), -torch.inf)
        .amax(1)
        .masked_fill(~mask.any(1, keepdim=True), 0)
    )


POOLINGS = {"mean": mean_pool, "cls": cls_pool, "max": max_pool}


def pool(
    x: Float[Tensor, "B T C"], mask: Bool[Tensor, "B T"], how: str = "mean"
) -> Float[Tensor, "B C"]:
    """Token vectors as one vector a text: "mean", "cls" or "max".

    Raises ModelInputError for another name.
    """
    if how not in POOLINGS:
        raise ModelInputError(
            f"there is no pooling called {how!r}: choose {', '.join(POOLINGS)}"
        )
    check_mask(mask, x.shape[:2])
    return POOLINGS[how](x, mask)


def search(
    queries: Float[Tensor, "Q C"], texts: Float[Tensor, "N C"], count: int = 10
) -> Found:
    """For each query the `count` texts with the largest cosine, best first; all, if
    there are fewer.
    """
    if count < 1 or not len(texts):
        raise ModelInputError(
            f"{count} of {len(texts)} texts: give at least one of both"
        )
    cosines, places = similarity(queries, texts).topk(min(count, len(texts)), dim=-1)
    return Found(places, cosines)
