"""RMSNorm in one pass, and its gradient without atomics.

Zhang and Sennrich 2019, equation 4. y = x r w with r = 1 / sqrt(mean(x^2) + eps).
Forward reads a row once and keeps r. Backward, with g = dy w for one row of C numbers:
dx = r (g - x r^2 mean(g x)), and dw = sum over rows of dy x r. That sum runs over rows
that other programs hold: each program sums the rows it has into a row of its own, and a
second, small step adds these rows up. The order of additions is then the same in every
run; with atomics it is not.

Not here: rows so long that they don't fit one program (65,536 numbers), LayerNorm.
"""

from typing import Any, no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import (
    KernelError,
    choose,
    device_of,
    side_by_side,
    tl,
    triton,
)

LONGEST_ROW = 65_536


def rms_norm_twin(
    x: Float[Tensor, "R C"], weight: Float[Tensor, "C"], eps: float
) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R"]]:
    """The normed rows and the factor r of each; half precision is worked in float32."""
    work = torch.promote_types(x.dtype, torch.float32)
    factor = (x.to(work).square().mean(1) + eps).rsqrt()  # (R,)
    return (x.to(work) * factor[:, None] * weight.to(work)).to(x.dtype), factor


def rms_norm_backward_twin(
    grad: Float[Tensor, "R C"],
    x: Float[Tensor, "R C"],
    weight: Float[Tensor, "C"],
    factor: Float[Tensor, "R"],
    num_programs: int = 4,
) -> tuple[Float[Tensor, "R C"], Float[Tensor, "C"]]:
    """Gradients of x and weight; the weight's from one partial sum for each of
    `num_programs`.
    """
    grad_, x_, weight_ = (
        grad.to(factor.dtype),
        x.to(factor.dtype),
        weight.to(factor.dtype),
    )
    g = grad_ * weight_
    r = factor[:, None]
    grad_x = r * (g - x_ * r.square() * (g * x_).mean(1, keepdim=True))
    terms = grad_ * x_ * r  # (R, C)
    partial = torch.stack(
        [terms[program::num_programs].sum(0) for program in range(num_programs)]
    )
    return grad_x.to(x.dtype), partial.sum(0).to(weight.dtype)


@triton.jit
@no_type_check
def _forward_kernel(
    x, weight, out, factors, num_columns, stride_x, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < num_columns
    values = tl.load(x + row * stride_x + columns, mask=inside, other=0.0).to(
        tl.float32
    )
    factor = tl.rsqrt(tl.sum(values * values, 0) / num_columns + eps)
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(
        out + row * num_columns + columns,
        (values * factor * scale).to(out.dtype.element_ty),
        mask=inside,
    )
    tl.store(factors + row, factor)


@triton.jit
@no_type_check
def _backward_kernel(
    grad,
    x,
    weight,
    factors,
    grad_x,
    partial,
    num_rows,
    num_columns,
    stride_grad,
    stride_x,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < num_columns
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    grad_weight = tl.zeros([BLOCK], tl.float32)
    for row in range(program, num_rows, tl.num_programs(0)):
        start = tl.cast(row, tl.int64)
        values = tl.load(x + start * stride_x + columns, mask=inside, other=0.0).to(
            tl.float32
        )
        d = tl.load(grad + start * stride_grad + columns, mask=inside, other=0.0).to(
            tl.float32
        )
        factor = tl.load(factors + start)
        g = d * scale
        along = tl.sum(g * values, 0) / num_columns
        tl.store(
            grad_x + start * num_columns + columns,
            (factor * (g - values * factor * factor * along)).to(
                grad_x.dtype.element_ty
            ),
            mask=inside,
        )
        grad_weight += d * values * factor
    tl.store(
        partial + program.to(tl.int64) * num_columns + columns, grad_weight, mask=inside
    )


def _settings(num_columns: int) -> dict[str, int]:
    block = 1 << (num_columns - 1).bit_length()
    return {"BLOCK": block, "num_warps": min(max(block // 512, 1), 16)}


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, eps: float, backend: str, num_programs: int
    ) -> Tensor:
        x, weight = side_by_side(x), weight.contiguous()
        if backend == "torch":
            out, factors = rms_norm_twin(x, weight, eps)
        else:
            out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
            factors = torch.empty(len(x), dtype=torch.float32, device=x.device)
            if x.numel():
                with device_of(x):
                    _forward_kernel[(len(x),)](
                        x,
                        weight,
                        out,
                        factors,
                        x.shape[1],
                        x.stride(0),
                        eps,
                        **_settings(x.shape[1]),
                    )
        ctx.save_for_backward(x, weight, factors)
        ctx.backend, ctx.num_programs = backend, num_programs
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, factors = ctx.saved_tensors
        if ctx.backend == "torch":
            return (
                *rms_norm_backward_twin(grad, x, weight, factors, ctx.num_programs),
                None,
                None,
                None,
            )
        grad = side_by_side(grad)
        grad_x = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        partial = torch.empty(
            ctx.num_programs, x.shape[1], dtype=torch.float32, device=x.device
        )
        with device_of(x):
            _backward_kernel[(ctx.num_programs,)](
                grad,
                x,
                weight,
                factors,
                grad_x,
                partial,
                *x.shape,
                grad.stride(0),
                x.stride(0),
                **_settings(x.shape[1]),
            )
        return grad_x, partial.sum(0).to(weight.dtype), None, None, None


def rms_norm(
    x: Float[Tensor, "... C"],
    weight: Float[Tensor, "C"],
    eps: float = 1e-6,
    *,
    backend: str | None = None,
    num_programs: int | None = None,
) -> Float[Tensor, "... C"]:
    """x / sqrt(mean of squares + eps) * weight over the last dimension, with gradients.

    `num_programs` share the rows in the backward pass: two for each multiprocessor of a
    GPU unless given.
    """
    backend = choose("rms_norm", x, backend)
    if not 0 < x.shape[-1] <= LONGEST_ROW:
        raise KernelError(
            f"rows of {x.shape[-1]} numbers: the kernel holds a row of 1 to"
            f" {LONGEST_ROW} at once"
        )
    if num_programs is None:
        cuda = x.device.type == "cuda"
        num_programs = (
            2 * torch.cuda.get_device_properties(x.device).multi_processor_count
            if cuda
            else 4
        )
    return _RMSNorm.apply(
        x.reshape(-1, x.shape[-1]), weight, eps, backend, num_programs
    ).reshape(x.shape)
