"""Matrix multiplication in tiles, so that each number loaded is used many times.

Tillet et al. 2019, section 3. A tile of the result needs a band of A's rows and a band
of B's columns. Of two tiles of R x C numbers, both bands read K (R + C) numbers for 2 K
R C operations: larger tiles, less traffic. Programs start in order of their number, so
neighbours in number should share bands: tiles are numbered in groups of a few rows.

Not here: what the vendor's libraries add (asynchronous tensor copies, split K,
persistent programs).
"""

from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import (
    Tiles,
    choose,
    device_of,
    interpreting,
    tl,
    triton,
)

GROUP_ROWS = 8


def matmul_twin(
    a: Float[Tensor, "R K"],
    b: Float[Tensor, "K C"],
    rows: int = 64,
    columns: int = 64,
    depth: int = 32,
) -> Float[Tensor, "R C"]:
    """a @ b, one tile of the result after the other, summed over bands of `depth` in
    float32 or better.
    """
    out = torch.empty(len(a), b.shape[1], dtype=a.dtype, device=a.device)
    work = torch.promote_types(a.dtype, torch.float32)
    for r in range(0, out.shape[0], rows):
        for c in range(0, out.shape[1], columns):
            tile = torch.zeros(
                out[r : r + rows, c : c + columns].shape, dtype=work, device=a.device
            )
            for k in range(0, len(b), depth):
                tile += a[r : r + rows, k : k + depth].to(work) @ b[
                    k : k + depth, c : c + columns
                ].to(work)
            out[r : r + rows, c : c + columns] = tile.to(a.dtype)
    return out


@triton.jit
@no_type_check
def _matmul_kernel(
    a,
    b,
    out,
    num_rows,
    num_columns,
    depth,
    stride_ar,
    stride_ak,
    stride_bk,
    stride_bc,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
):
    tiles_down, tiles_across = tl.cdiv(num_rows, ROWS), tl.cdiv(num_columns, COLUMNS)
    number = tl.program_id(0)
    first_in_group = number // (GROUP * tiles_across) * GROUP
    group_size = tl.minimum(
        tiles_down - first_in_group, GROUP
    )  # the last group may be smaller
    tile_row = first_in_group + number % (GROUP * tiles_across) % group_size
    tile_column = number % (GROUP * tiles_across) // group_size

    rows = (tile_row * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    columns = (tile_column * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    inner = tl.arange(0, DEPTH)
    a += rows[:, None] * stride_ar + inner[None, :] * stride_ak
    b += inner[:, None] * stride_bk + columns[None, :] * stride_bc
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, depth, DEPTH):
        left = depth - start
        a_tile = tl.load(
            a, mask=(rows[:, None] < num_rows) & (inner[None, :] < left), other=0.0
        )
        b_tile = tl.load(
            b,
            mask=(inner[:, None] < left) & (columns[None, :] < num_columns),
            other=0.0,
        )
        total = tl.dot(a_tile, b_tile, total, input_precision="ieee")
        a += DEPTH * stride_ak  # pointers move: an offset from the start may pass 2^31
        b += DEPTH * stride_bk
    tl.store(
        out + rows[:, None] * num_columns + columns[None, :],
        total.to(out.dtype.element_ty),
        mask=(rows[:, None] < num_rows) & (columns[None, :] < num_columns),
    )


def matmul(
    a: Float[Tensor, "R K"],
    b: Float[Tensor, "K C"],
    *,
    backend: str | None = None,
    tiles: Tiles | None = None,
    depth: int | None = None,
) -> Float[Tensor, "R C"]:
    """a @ b for matrices of one dtype with any strides.

    Tile sizes are powers of two and must not change the result.
    """
    backend = choose("matmul", a, backend)
    if tiles is None:
        small = a.dtype == torch.float32 or interpreting()
        tiles, usual = (
            (Tiles(64, 64, 4, 2), 32) if small else (Tiles(128, 256, 8, 3), 64)
        )
        depth = usual if depth is None else depth
    depth = 32 if depth is None else depth
    if backend == "torch":
        return matmul_twin(a, b, tiles.rows, tiles.columns, depth)
    out = torch.empty(len(a), b.shape[1], dtype=a.dtype, device=a.device)
    if out.numel():
        grid = (
            triton.cdiv(out.shape[0], tiles.rows)
            * triton.cdiv(out.shape[1], tiles.columns),
        )
        with device_of(a):
            _matmul_kernel[grid](
                a,
                b,
                out,
                *out.shape,
                len(b),
                *a.stride(),
                *b.stride(),
                ROWS=tiles.rows,
                COLUMNS=tiles.columns,
                DEPTH=depth,
                GROUP=GROUP_ROWS,
                **tiles.launch,
            )
    return out
