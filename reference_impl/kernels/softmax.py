"""Softmax of each row, with the maximum and the sum found in one pass: the online
softmax.

Milakov and Gimelshein 2018, algorithm 3. A safe softmax needs the row's maximum before
it can sum, which is one pass more over memory. Online, a running sum is kept relative
to the running maximum; when a larger one comes, the sum is multiplied by exp(old - new)
and goes on. Flash attention is this, with values in the place of the ones that are
summed.

Not here: the backward pass, which needs no trick (see `flash_attention_backward` for
one that does).
"""

from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import choose, device_of, side_by_side, tl, triton
from reference_impl.kernels.tile_ranges import LOG2_E

LARGEST_BLOCK = 4096


def online_softmax(x: Float[Tensor, "R C"], block: int = 128) -> Float[Tensor, "R C"]:
    """Softmax over the last dimension, `block` columns at a time.

    A row of -inf alone gives NaN, as torch's does.
    """
    # Half precision is summed in float32. The lowest finite number starts the maximum:
    # -inf minus -inf is a NaN.
    work = torch.promote_types(x.dtype, torch.float32)
    maximum = torch.full(
        (len(x),), torch.finfo(work).min, dtype=work, device=x.device
    )  # (R,)
    total = torch.zeros_like(maximum)
    for columns in x.split(block, dim=1):
        new_maximum = torch.maximum(maximum, columns.to(work).amax(1))
        total = total * (maximum - new_maximum).exp() + (
            columns.to(work) - new_maximum[:, None]
        ).exp().sum(1)
        maximum = new_maximum
    return ((x.to(work) - maximum[:, None]).exp() / total[:, None]).to(x.dtype)


@triton.jit
@no_type_check
def _softmax_kernel(
    x,
    out,
    num_columns,
    stride_x,
    LOWEST: tl.constexpr,
    LOG2_E: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    x += row * stride_x
    out += row * num_columns
    # A row of one block is read from memory once: the second pass finds it in the
    # cache.
    maximum = tl.full([], LOWEST, tl.float32)
    total = tl.full([], 0.0, tl.float32)
    for start in range(0, num_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(
            x + columns, mask=columns < num_columns, other=float("-inf")
        ).to(tl.float32)
        new_maximum = tl.maximum(maximum, tl.max(values, 0))
        total = total * tl.exp2((maximum - new_maximum) * LOG2_E) + tl.sum(
            tl.exp2((values - new_maximum) * LOG2_E), 0
        )
        maximum = new_maximum
    for start in range(0, num_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < num_columns
        values = tl.load(x + columns, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(
            out + columns,
            (tl.exp2((values - maximum) * LOG2_E) / total).to(out.dtype.element_ty),
            mask=inside,
        )


def softmax(
    x: Float[Tensor, "R C"], *, backend: str | None = None, block: int | None = None
) -> Float[Tensor, "R C"]:
    """Softmax of each row.

    Columns are read `block` (a power of two) at a time, all at once if None and they
    fit.
    """
    backend = choose("softmax", x, backend)
    num_rows, num_columns = x.shape
    if not x.numel():
        return torch.empty_like(x)
    if block is None:
        block = min(1 << (num_columns - 1).bit_length(), LARGEST_BLOCK)
    if backend == "torch":
        return online_softmax(x, block)
    x = side_by_side(x)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    with device_of(x):
        _softmax_kernel[(num_rows,)](
            x,
            out,
            num_columns,
            x.stride(0),
            LOWEST=torch.finfo(torch.float32).min,
            LOG2_E=LOG2_E,
            BLOCK=block,
            num_warps=8 if block >= 2048 else 4,
        )
    return out
