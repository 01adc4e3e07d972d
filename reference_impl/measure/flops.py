"""Floating-point operations and parameters: counted, and by formula.

A product of matrices (n, k) and (k, m) is 2 n k m operations: a multiplication and an
addition each. Only products are counted, as in Kaplan et al. 2020, section 2.1, and
Hoffmann et al. 2022, appendix F: norms, softmax and activations are of lower order.

torch's own counter counts every product of matrices, and fused attention as if nothing
were masked. Its table lacks the operator by which fused attention runs on a CPU and
would count it as nothing; that is added here. Not here: Triton kernels, and linear
layers in quantised formats.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def attention_flops(
    num_queries: int, num_keys: int, num_heads: int, head_dim: int
) -> int:
    """Scores and the mean of the values: two products a head.

    Masked scores count, as torch's counter has it.
    """
    return 2 * 2 * num_heads * num_queries * num_keys * head_dim


def _fused_forward(q: torch.Size, k: torch.Size, *_: Any, **__: Any) -> int:
    batch, num_heads, num_queries, head_dim = q
    return batch * attention_flops(num_queries, k[2], num_heads, head_dim)


def _fused_backward(
    grad: torch.Size, q: torch.Size, k: torch.Size, *_: Any, **__: Any
) -> int:
    return (
        _fused_forward(q, k) * 5 // 2
    )  # the scores again, then the gradients of q, k, v and of the weights


ON_CPU = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _fused_forward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        _fused_backward
    ),
}


class _NoModules(nullcontext):
    """In the place of torch's list of the modules that are running: its hooks fail
    where no gradient is kept.
    """

    parents = frozenset({"Global"})


def count_flops(run: Callable[[], Any]) -> int:
    """Operations of the products in one call, in its backward pass too if it makes one;
    inside `torch.no_grad()` as well.
    """
    counter = FlopCounterMode(display=False, custom_mapping=ON_CPU)
    counter.mod_tracker = _NoModules()
    with counter:
        run()
    return counter.get_total_flops()


def count_parameters(model: nn.Module, trained_only: bool = False) -> int:
    """Numbers in the model's parameters, each shared one once."""
    return sum(
        p.numel() for p in model.parameters() if p.requires_grad or not trained_only
    )


def block_flops(
    num_tokens: int,
    hidden_size: int,
    num_heads: int,
    intermediate_size: int,
    *,
    num_kv_heads: int | None = None,
    gated: bool = False,
) -> int:
    """The forward pass of one transformer block over a sequence: projections,
    attention, feed-forward.

    `gated` is for GeGLU and SwiGLU, which have three matrices in place of two. The
    backward pass is twice this.
    """
    weights = block_weights(
        hidden_size,
        num_heads,
        intermediate_size,
        num_kv_heads=num_kv_heads,
        gated=gated,
    )
    return 2 * num_tokens * weights + attention_flops(
        num_tokens, num_tokens, num_heads, hidden_size // num_heads
    )


def block_weights(
    hidden_size: int,
    num_heads: int,
    intermediate_size: int,
    *,
    num_kv_heads: int | None = None,
    gated: bool = False,
) -> int:
    """Numbers in the matrices of one block: query, key, value, output, and the
    feed-forward's two or three.
    """
    kv_size = (
        hidden_size // num_heads * (num_heads if num_kv_heads is None else num_kv_heads)
    )
    return hidden_size * (
        2 * hidden_size + 2 * kv_size + (3 if gated else 2) * intermediate_size
    )


def block_parameters(
    hidden_size: int,
    num_heads: int,
    intermediate_size: int,
    *,
    num_kv_heads: int | None = None,
    gated: bool = False,
    biases: bool = True,
) -> int:
    """Matrices and two norms of one block; with `biases`, those of all matrices and
    norms as well.
    """
    kv_size = (
        hidden_size // num_heads * (num_heads if num_kv_heads is None else num_kv_heads)
    )
    weights = block_weights(
        hidden_size,
        num_heads,
        intermediate_size,
        num_kv_heads=num_kv_heads,
        gated=gated,
    )
    if not biases:
        return weights + 2 * hidden_size
    up = (2 if gated else 1) * intermediate_size
    return weights + 4 * hidden_size + 2 * hidden_size + 2 * kv_size + up + hidden_size
