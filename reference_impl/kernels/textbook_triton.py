"""Four Triton kernels in their plainest form, each a step beyond the one before.

Tillet et al. 2019. Vector addition has a grid, offsets and a mask; softmax adds a
reduction, matrix multiplication a loop over tiles, flash attention both. Matrices are
contiguous. The book shows these kernels; `vector_add`, `softmax`, `matmul` and
`flash_attention` hold the complete ones, with strides, rows of any length, an order of
tiles that suits the cache, masks and heads in groups.
"""

from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import Tiles, device_of, tl, triton


@triton.jit
@no_type_check
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    total = tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside)
    tl.store(out + offsets, total, mask=inside)


@triton.jit
@no_type_check
def softmax_kernel(x, out, num_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * num_columns
    columns = tl.arange(0, BLOCK)
    inside = columns < num_columns
    scores = tl.load(x + row + columns, mask=inside, other=float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + row + columns, weights / tl.sum(weights, 0), mask=inside)


@triton.jit
@no_type_check
def matmul_kernel(
    a, b, out, R, K, C, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, K, DEPTH):
        across = start + tl.arange(0, DEPTH)[None, :]  # of A
        down = start + tl.arange(0, DEPTH)[:, None]  # of B
        a_tile = tl.load(a + rows * K + across, (rows < R) & (across < K), 0.0)
        b_tile = tl.load(b + down * C + columns, (down < K) & (columns < C), 0.0)
        total = tl.dot(a_tile, b_tile, total, input_precision="ieee")
    inside = (rows < R) & (columns < C)
    tl.store(out + rows * C + columns, total.to(out.dtype.element_ty), inside)


@triton.jit
@no_type_check
def flash_kernel(
    q,
    k,
    v,
    out,
    num_queries,
    num_keys,
    scale,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    head = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    width = tl.arange(0, D)[None, :]
    q_offsets = (head * num_queries + rows) * D + width
    q_tile = tl.load(q + q_offsets, rows < num_queries, 0.0)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    accumulator = tl.zeros([ROWS, D], tl.float32)
    for start in range(0, num_keys, COLUMNS):
        keys = start + tl.arange(0, COLUMNS)
        k_offsets = (head * num_keys + keys[:, None]) * D + width
        k_tile = tl.load(k + k_offsets, keys[:, None] < num_keys, 0.0)
        v_tile = tl.load(v + k_offsets, keys[:, None] < num_keys, 0.0)
        scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee") * scale
        scores = tl.where(keys[None, :] < num_keys, scores, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        rescale = tl.exp(maximum - new_maximum)
        weights = tl.exp(scores - new_maximum[:, None])
        total = total * rescale + tl.sum(weights, 1)
        accumulator = tl.dot(
            weights.to(v_tile.dtype),
            v_tile,
            accumulator * rescale[:, None],
            input_precision="ieee",
        )
        maximum = new_maximum
    result = accumulator / total[:, None]
    tl.store(out + q_offsets, result.to(out.dtype.element_ty), rows < num_queries)


def add(
    x: Float[Tensor, "C"], y: Float[Tensor, "C"], block: int = 128
) -> Float[Tensor, "C"]:
    """x + y, one program instance for each block."""
    out = torch.empty_like(x)
    grid = (triton.cdiv(len(x), block),)
    with device_of(x):
        add_kernel[grid](x, y, out, len(x), BLOCK=block)
    return out


def softmax(x: Float[Tensor, "R C"]) -> Float[Tensor, "R C"]:
    """Softmax of each row, one program instance for each; a row is one block."""
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    with device_of(x):
        softmax_kernel[(len(x),)](x, out, x.shape[1], BLOCK=block)
    return out


def matmul(
    a: Float[Tensor, "R K"], b: Float[Tensor, "K C"], tiles: Tiles, depth: int = 32
) -> Float[Tensor, "R C"]:
    """a @ b, one program instance for each tile of the result."""
    rows, columns = len(a), b.shape[1]
    out = torch.empty(rows, columns, dtype=a.dtype, device=a.device)
    grid = triton.cdiv(rows, tiles.rows), triton.cdiv(columns, tiles.columns)
    sizes = {"ROWS": tiles.rows, "COLUMNS": tiles.columns, "DEPTH": depth}
    with device_of(a):
        matmul_kernel[grid](a, b, out, rows, len(b), columns, **sizes, **tiles.launch)
    return out


def flash(
    q: Float[Tensor, "H T D"],
    k: Float[Tensor, "H S D"],
    v: Float[Tensor, "H S D"],
    tiles: Tiles,
) -> Float[Tensor, "H T D"]:
    """Attention without a mask, one program instance for each tile of queries."""
    heads, num_queries, width = q.shape
    out = torch.empty_like(q)
    grid = triton.cdiv(num_queries, tiles.rows), heads
    lengths = num_queries, k.shape[1], width**-0.5
    sizes = {"D": width, "ROWS": tiles.rows, "COLUMNS": tiles.columns}
    with device_of(q):
        flash_kernel[grid](q, k, v, out, *lengths, **sizes, **tiles.launch)
    return out


def grouped_tile(
    number: int, tiles_down: int, tiles_across: int, group: int
) -> tuple[int, int]:
    """Row and column of the tile that program instance `number` computes when
    instances run through groups of `group` tile rows, column by column.
    """
    in_group = group * tiles_across
    first_row = number // in_group * group
    height = min(group, tiles_down - first_row)  # the last group may be lower
    return first_row + number % in_group % height, number % in_group // height
