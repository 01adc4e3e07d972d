"""Ablation of attention heads: what a decoder does without some of them.

Olsson et al. 2022, "In-context learning and induction heads", remove single heads;
Wang et al. 2023, "Interpretability in the wild" (arXiv:2211.00593), use mean ablation
and path patching.

For decoders whose blocks have `attention_norm` and `attention`, as in `placed_decoder`.
Not here: patching single positions, or through more than one layer.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@torch.no_grad()
def head_outputs(
    model: nn.Module, ids: Int[Tensor, "B T"]
) -> list[Float[Tensor, "B T C"]]:
    """Each layer's concatenated head outputs, before the output projection."""
    found = []

    def keep(linear: nn.Module, inputs: tuple[Tensor]) -> None:
        found.append(inputs[0])

    hooks = [
        block.attention.output.register_forward_pre_hook(keep) for block in model.blocks
    ]
    model(ids)
    for hook in hooks:
        hook.remove()
    return found


@contextmanager
def ablated(
    attention: nn.Module, heads: Sequence[int], by: Float[Tensor, "T C"]
) -> Iterator[None]:
    """Within the context, `by` replaces what these heads of a layer output."""
    size = by.shape[-1] // attention.num_heads  # D

    def replace(linear: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        output = inputs[0].clone()
        for head in heads:
            own = slice(size * head, size * (head + 1))
            output[..., own] = by[:, own]
        return (output,)

    hook = attention.output.register_forward_pre_hook(replace)
    try:
        yield
    finally:
        hook.remove()


@torch.no_grad()
def path_patched(
    model: nn.Module,
    ids: Int[Tensor, "B T"],
    heads: Sequence[int],
    by: Float[Tensor, "T C"],
    projection: str,
) -> Float[Tensor, "B T V"]:
    """Logits when `projection` of layer 2 (`query`, `key` or `value`) reads a stream
    in which `by` replaces these heads of layer 1; everything else reads the usual one.
    """
    first, second = model.blocks[:2]
    normed = []

    def keep(norm: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        normed.append(output)

    def swap(linear: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        return (normed[0],)

    hook = second.attention_norm.register_forward_hook(keep)
    with ablated(first.attention, heads, by):
        model(ids)
    hook.remove()
    hook = getattr(second.attention, projection).register_forward_pre_hook(swap)
    logits = model(ids)
    hook.remove()
    return logits
