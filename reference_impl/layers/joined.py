"""Linear layers of one input in one product: queries, keys and values; gate and up.

A decoding step on a GPU multiplies each matrix by a few rows. Such a product is short,
and starting it costs as much as doing it: one product of three matrices that lie one
below the other starts once (as vLLM's QKVParallelLinear). Names, shapes and numbers of
the layers stay; only where their matrices lie is changed, by `lay_together`.

`products` sees where they lie at each call. What has moved since (to another device or
dtype, under a LoRA adapter, into a copy) is multiplied one by one again, and so is
everything while gradients are recorded.

Not here: which layers are joined (see `generation.layout`).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear


@torch.no_grad()
def lay_together(layers: Sequence[nn.Linear]) -> None:
    """Store the matrices of these layers one below the other, and their biases one
    behind the other.
    """
    for name in ("weight", "bias"):
        parts = [getattr(layer, name) for layer in layers]
        if parts[0] is not None:
            for part, rows in zip(
                parts,
                torch.cat(parts).split([len(part) for part in parts]),
                strict=True,
            ):
                part.data = rows


def _together(parts: Sequence[Tensor | None]) -> Tensor | None:
    """All parts as one tensor, without a copy; None if they don't lie one behind the
    other in one piece.
    """
    first, rows = parts[0], 0
    if first is None:
        return None
    storage, place, row = (
        first.untyped_storage().data_ptr(),
        first.storage_offset(),
        first.shape[1:].numel(),
    )
    for part in parts:
        if (
            part is None
            or part.dtype != first.dtype
            or not part.is_contiguous()
            or part.storage_offset() != place + rows * row
            or part.untyped_storage().data_ptr() != storage
        ):
            return None
        rows += len(part)
    return first.as_strided((rows, *first.shape[1:]), first.stride())


def products(
    x: Float[Tensor, "... I"], *layers: nn.Module
) -> Sequence[Float[Tensor, "... _"]]:
    """layer(x) for each layer: in one product where their matrices lie together."""
    if not (torch.is_grad_enabled() or torch.compiler.is_compiling()) and all(
        type(x) is nn.Linear for x in layers
    ):
        weight = _together([layer.weight for layer in layers])
        biases = [layer.bias for layer in layers]
        bias = _together(biases)
        if weight is not None and (
            bias is not None or not any(b is not None for b in biases)
        ):
            return linear(x, weight, bias).split(
                [layer.out_features for layer in layers], dim=-1
            )
    return [layer(x) for layer in layers]
