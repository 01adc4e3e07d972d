"""SwiGLU's gate in one pass: silu(gate) * up, and its gradient.

Shazeer 2020, equation 6. Written in torch, silu's result goes to memory and comes back;
fused, two numbers are read and one is written. The backward pass reads three and writes
two, and keeps only the inputs: silu is computed again.

Not here: the matrices on both sides (see `layers.feed_forward`).
"""

from typing import Any, no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import choose, device_of, side_by_side, tl, triton

BLOCK = 1024


def swiglu_twin(
    gate: Float[Tensor, "R C"], up: Float[Tensor, "R C"]
) -> Float[Tensor, "R C"]:
    """gate * sigmoid(gate) * up; half precision is multiplied in float32 and rounded
    once.
    """
    work = torch.promote_types(gate.dtype, torch.float32)
    gate_, up_ = gate.to(work), up.to(work)
    return (gate_ * gate_.sigmoid() * up_).to(gate.dtype)


def swiglu_backward_twin(
    grad: Float[Tensor, "R C"], gate: Float[Tensor, "R C"], up: Float[Tensor, "R C"]
) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R C"]]:
    """Gradients of gate and up. With s = sigmoid(g): d silu / dg = s + g s (1 - s)."""
    work = torch.promote_types(gate.dtype, torch.float32)
    grad_, gate_, up_ = grad.to(work), gate.to(work), up.to(work)
    share = gate_.sigmoid()
    grad_gate = grad_ * up_ * share * (1 + gate_ * (1 - share))
    return grad_gate.to(gate.dtype), (grad_ * gate_ * share).to(up.dtype)


@triton.jit
@no_type_check
def _forward_kernel(
    gate, up, out, num_columns, stride_gate, stride_up, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < num_columns
    g = tl.load(gate + row * stride_gate + columns, mask=inside).to(tl.float32)
    u = tl.load(up + row * stride_up + columns, mask=inside).to(tl.float32)
    tl.store(
        out + row * num_columns + columns,
        (g * tl.sigmoid(g) * u).to(out.dtype.element_ty),
        mask=inside,
    )


@triton.jit
@no_type_check
def _backward_kernel(
    grad,
    gate,
    up,
    grad_gate,
    grad_up,
    num_columns,
    stride_grad,
    stride_gate,
    stride_up,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < num_columns
    d = tl.load(grad + row * stride_grad + columns, mask=inside).to(tl.float32)
    g = tl.load(gate + row * stride_gate + columns, mask=inside).to(tl.float32)
    u = tl.load(up + row * stride_up + columns, mask=inside).to(tl.float32)
    share = tl.sigmoid(g)
    target = row * num_columns + columns
    tl.store(
        grad_gate + target,
        (d * u * share * (1 + g * (1 - share))).to(grad_gate.dtype.element_ty),
        mask=inside,
    )
    tl.store(
        grad_up + target, (d * g * share).to(grad_up.dtype.element_ty), mask=inside
    )


def _grid(x: Tensor) -> tuple[int, int]:
    return x.shape[0], triton.cdiv(x.shape[1], BLOCK)


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, backend: str) -> Tensor:
        gate, up = side_by_side(gate), side_by_side(up)
        ctx.save_for_backward(gate, up)
        ctx.backend = backend
        if backend == "torch":
            return swiglu_twin(gate, up)
        out = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
        if out.numel():
            with device_of(gate):
                _forward_kernel[_grid(out)](
                    gate,
                    up,
                    out,
                    out.shape[1],
                    gate.stride(0),
                    up.stride(0),
                    BLOCK=BLOCK,
                )
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        gate, up = ctx.saved_tensors
        if ctx.backend == "torch":
            return *swiglu_backward_twin(grad, gate, up), None
        grad = side_by_side(grad)
        grad_gate, grad_up = (
            torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
            for _ in range(2)
        )
        if grad.numel():
            with device_of(gate):
                _backward_kernel[_grid(grad)](
                    grad,
                    gate,
                    up,
                    grad_gate,
                    grad_up,
                    grad.shape[1],
                    grad.stride(0),
                    gate.stride(0),
                    up.stride(0),
                    BLOCK=BLOCK,
                )
        return grad_gate, grad_up, None


def swiglu(
    gate: Float[Tensor, "... C"],
    up: Float[Tensor, "... C"],
    *,
    backend: str | None = None,
) -> Float[Tensor, "... C"]:
    """silu(gate) * up, with gradients.

    gate and up have one dtype and may be the two halves of a wider matrix.
    """
    backend = choose("swiglu", gate, backend)
    flat = _SwiGLU.apply(
        gate.reshape(-1, gate.shape[-1]), up.reshape(-1, up.shape[-1]), backend
    )
    return flat.reshape(gate.shape)
