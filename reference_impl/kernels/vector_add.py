"""Vector addition: the smallest kernel, with everything that all others have.

Tillet et al. 2019, section 3. A kernel is started many times at once; each start is a
program that knows its number and works on a block of elements. The last block is
ragged: a mask keeps its loads and stores inside the vector.

Not here: any gain. Addition is bound by memory, and torch's own reaches the same
bandwidth.
"""

from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import choose, device_of, tl, triton


def vector_add_twin(
    x: Float[Tensor, "C"], y: Float[Tensor, "C"], block: int = 1024
) -> Float[Tensor, "C"]:
    """x + y, one block after the other; on a GPU the blocks are programs that run side
    by side.
    """
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    for start in range(
        0, len(x), block
    ):  # slices end where the vector ends: that is the kernel's mask
        out[start : start + block] = x[start : start + block] + y[start : start + block]
    return out


@triton.jit
@no_type_check
def _add_kernel(x, y, out, length, stride_x, stride_y, BLOCK: tl.constexpr):
    # An offset in elements passes 2^31 in a tensor of 4 GB.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    total = tl.load(x + offsets * stride_x, mask=inside) + tl.load(
        y + offsets * stride_y, mask=inside
    )
    tl.store(out + offsets, total, mask=inside)


def vector_add(
    x: Float[Tensor, "C"],
    y: Float[Tensor, "C"],
    *,
    backend: str | None = None,
    block: int = 1024,
) -> Float[Tensor, "C"]:
    """x + y for vectors of one dtype, with any stride.

    `block` is a power of two and must not change the sum.
    """
    if choose("vector_add", x, backend) == "torch":
        return vector_add_twin(x, y, block)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if len(x):
        with device_of(x):
            _add_kernel[(triton.cdiv(len(x), block),)](
                x, y, out, len(x), x.stride(0), y.stride(0), BLOCK=block
            )
    return out
