"""Flash attention in a second form, shaped for Hopper: the same numbers as
`flash_attention`, other orders of work.

Shah et al. 2024 (FlashAttention-3), sections 3.1 and 3.2; Dao 2023, section 3.1, for
the backward pass. In the place of what the plain form does:

- tensor descriptors: a tile is fetched and stored by the chip's copy unit from four
  coordinates, and what lies past the end of a sequence comes as zeros and is dropped;
  no thread computes an address or a mask for it;
- persistent tiles: one program a multiprocessor takes one tile of queries after the
  other, so that the end of one and the start of the next overlap, and heavy and light
  tiles of a causal pass are spread;
- delayed P V in two stages: the product of the last tile's weights with its values is
  begun after the product of the queries with the next keys, and runs on while the
  softmax of these is computed;
- five products backward in place of seven: the kernel that holds keys also adds dS K to
  dQ in float32, by atomic adds. Their order is not fixed, so that dQ may differ in its
  last bits from run to run.

It has not been timed, so nothing uses it unless called; the plain form is the default.
Not here: sequences of varied length and windows, for which the plain form is; float8; a
warp that only copies.
"""

from typing import Any, no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import (
    HEAD_DIMS,
    KernelError,
    Tiles,
    choose,
    device_of,
    interpreting,
    tl,
    triton,
)
from reference_impl.kernels.flash_attention_backward import flash_backward
from reference_impl.kernels.tile_ranges import LOG2_E, LOWEST

_TILES = {
    32: Tiles(128, 128, 8, 2),
    64: Tiles(128, 128, 8, 2),
    128: Tiles(128, 64, 8, 2),
}
# Backward. All five products are wide instructions, which takes 64 rows. Of the pairs
# that were compiled for heads of 128 this spills least, 208 bytes a thread (20 for
# heads of 64): the addresses of dQ's atomic adds take registers too.
_FIVE = {32: Tiles(64, 128, 8, 3), 64: Tiles(64, 64, 8, 2), 128: Tiles(64, 64, 8, 2)}


@triton.jit
@no_type_check
def _softmax_step(
    scores,
    maximum,
    total,
    scale,
    query,
    key,
    num_keys,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Weights of these keys, and the factor that rescales what was summed before."""
    if MASKED:
        mask = (key[None, :] < num_keys) & (query[:, None] == query[:, None])
        if CAUSAL:
            mask = mask & (key[None, :] <= query[:, None])
        scores = tl.where(mask, scores, float("-inf"))
    new_maximum = tl.maximum(maximum, tl.max(scores, 1) * scale)
    weights = tl.exp2(scores * scale - new_maximum[:, None])
    rescale = tl.exp2(maximum - new_maximum)
    return weights, new_maximum, total * rescale + tl.sum(weights, 1), rescale


@triton.jit
@no_type_check
def _walk_delayed(
    q_tile,
    k,
    v,
    weights,
    maximum,
    total,
    rescale,
    accumulator,
    sequence,
    kv_head,
    query,
    start,
    stop,
    num_keys,
    scale,
    D: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
):
    for first in range(start, stop, COLUMNS):
        k_tile = k.load([sequence, first, kv_head, 0]).reshape(COLUMNS, D)
        scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
        v_tile = v.load([sequence, first - COLUMNS, kv_head, 0]).reshape(COLUMNS, D)
        # Of the tile before. Nothing reads the sum in this round, so the product runs
        # on beside the softmax below.
        accumulator = tl.dot(
            weights.to(v_tile.dtype),
            v_tile,
            accumulator * rescale[:, None],
            input_precision="ieee",
        )
        weights, maximum, total, rescale = _softmax_step(
            scores,
            maximum,
            total,
            scale,
            query,
            first + tl.arange(0, COLUMNS),
            num_keys,
            CAUSAL,
            MASKED,
        )
    return weights, maximum, total, rescale, accumulator


@triton.jit
@no_type_check
def _persistent_kernel(
    q,
    k,
    v,
    out,
    lse,
    scale,
    num_queries,
    num_keys,
    num_heads,
    num_tiles,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    LOWEST: tl.constexpr,
    LOG2_E: tl.constexpr,
):
    tiles_down = tl.cdiv(num_queries, ROWS)
    shift = num_keys - num_queries
    for tile in range(tl.program_id(0), num_tiles, tl.num_programs(0)):
        number = (
            tiles_down - 1 - tile % tiles_down if CAUSAL else tile % tiles_down
        )  # those that walk furthest first
        head, sequence = tile // tiles_down % num_heads, tile // tiles_down // num_heads
        rows = number * ROWS + tl.arange(0, ROWS)
        query = rows + shift
        stop, middle_end = num_keys, num_keys // COLUMNS * COLUMNS
        if CAUSAL:
            first_query = number * ROWS + shift
            stop = tl.minimum(stop, tl.maximum(first_query + ROWS, 0))
            middle_end = tl.minimum(
                middle_end, tl.maximum(first_query + 1, 0) // COLUMNS * COLUMNS
            )

        q_tile = q.load([sequence, number * ROWS, head, 0]).reshape(ROWS, D)
        k_tile = k.load([sequence, 0, head // GROUP, 0]).reshape(COLUMNS, D)
        scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
        maximum = tl.full([ROWS], LOWEST, tl.float32)
        weights, maximum, total, rescale = _softmax_step(
            scores,
            maximum,
            tl.zeros([ROWS], tl.float32),
            scale,
            query,
            tl.arange(0, COLUMNS),
            num_keys,
            CAUSAL,
            True,
        )
        accumulator = tl.zeros([ROWS, D], tl.float32)
        weights, maximum, total, rescale, accumulator = _walk_delayed(
            q_tile,
            k,
            v,
            weights,
            maximum,
            total,
            rescale,
            accumulator,
            sequence,
            head // GROUP,
            query,
            COLUMNS,
            middle_end,
            num_keys,
            scale,
            D,
            COLUMNS,
            CAUSAL,
            False,
        )
        masked = tl.maximum(middle_end, COLUMNS)
        weights, maximum, total, rescale, accumulator = _walk_delayed(
            q_tile,
            k,
            v,
            weights,
            maximum,
            total,
            rescale,
            accumulator,
            sequence,
            head // GROUP,
            query,
            masked,
            stop,
            num_keys,
            scale,
            D,
            COLUMNS,
            CAUSAL,
            True,
        )
        last = tl.maximum(tl.cdiv(stop, COLUMNS) - 1, 0) * COLUMNS
        v_tile = v.load([sequence, last, head // GROUP, 0]).reshape(COLUMNS, D)
        accumulator = tl.dot(
            weights.to(v_tile.dtype),
            v_tile,
            accumulator * rescale[:, None],
            input_precision="ieee",
        )

        seen = total > 0
        accumulator = accumulator / tl.where(seen, total, 1.0)[:, None]
        out.store(
            [sequence, number * ROWS, head, 0],
            accumulator.to(out.dtype).reshape(1, ROWS, 1, D),
        )
        logsumexp = tl.where(
            seen,
            (maximum + tl.log2(tl.where(seen, total, 1.0))) / LOG2_E,
            float("-inf"),
        )
        # lse is (H, N), N tokens of all sequences
        num_tokens = (num_tiles // tiles_down // num_heads).to(tl.int64) * num_queries
        at = head.to(tl.int64) * num_tokens + sequence.to(tl.int64) * num_queries + rows
        tl.store(lse + at, logsumexp, mask=rows < num_queries)


def _forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float, tiles: Tiles
) -> tuple[Tensor, Tensor]:
    from triton.tools.tensor_descriptor import TensorDescriptor

    batch, num_queries, num_heads, head_dim = q.shape
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(
        num_heads, batch * num_queries, dtype=torch.float32, device=q.device
    )
    columns = [
        TensorDescriptor.from_tensor(x, [1, tiles.columns, 1, head_dim]) for x in (k, v)
    ]
    rows = [
        TensorDescriptor.from_tensor(x, [1, tiles.rows, 1, head_dim]) for x in (q, out)
    ]
    num_tiles = triton.cdiv(num_queries, tiles.rows) * num_heads * batch
    programs = (
        torch.cuda.get_device_properties(q.device).multi_processor_count
        if q.is_cuda
        else 3
    )
    with device_of(q):
        _persistent_kernel[(min(programs, num_tiles),)](
            rows[0],
            *columns,
            rows[1],
            lse,
            scale * LOG2_E,
            num_queries,
            k.shape[1],
            num_heads,
            num_tiles,
            GROUP=num_heads // k.shape[2],
            D=head_dim,
            ROWS=tiles.rows,
            COLUMNS=tiles.columns,
            CAUSAL=causal,
            LOWEST=LOWEST,
            LOG2_E=LOG2_E,
            **tiles.launch,
        )
    return out, lse.T


class _HopperAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        causal: bool,
        scale: float,
        tiles: Tiles,
    ) -> Tensor:
        q, k, v = (
            (
                x
                if x.stride(-1) == 1
                and all(s * x.element_size() % 16 == 0 for s in x.stride()[:3])
                and x.data_ptr() % 16 == 0
                else x.contiguous()
            )
            for x in (q, k, v)
        )  # what the copy unit takes
        out, lse = _forward(q, k, v, causal, scale, tiles)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.rules = {"causal": causal, "window": None, "scale": scale}
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        lengths = q.shape[1], k.shape[1]
        starts = [
            torch.arange(len(q) + 1, dtype=torch.int32, device=q.device) * length
            for length in lengths
        ]
        packed = (x.flatten(0, 1) for x in (grad, q, k, v, out))
        tiles = (
            None if interpreting() or q.dtype == torch.float32 else _FIVE[q.shape[-1]]
        )
        grads = flash_backward(
            *packed, lse, *starts, lengths, **ctx.rules, tiles=tiles, five_products=True
        )
        return *(x.unflatten(0, (len(q), -1)) for x in grads), None, None, None


def hopper_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    v: Float[Tensor, "B K S D"],
    *,
    causal: bool = False,
    scale: float | None = None,
    tiles: Tiles | None = None,
) -> Float[Tensor, "B H T D"]:
    """What `flash_attention` gives without a window, with gradients, by Triton alone:
    on a Hopper or interpreted.

    Heads are of 32, 64 or 128. KernelError says what it can't take. `tiles` must not
    change the result.
    """
    choose("flash_attention", q, "triton")
    if (
        q.shape[-1] not in HEAD_DIMS
        or q.shape[1] % k.shape[1]
        or not q.numel()
        or not k.shape[2]
    ):
        raise KernelError(
            f"{q.shape[1]} heads of queries, {k.shape[1]} of keys, of {q.shape[-1]}"
            f" numbers, {k.shape[2]} keys: give heads of {HEAD_DIMS}, a multiple of"
            " those of keys, and at least one token"
        )
    if q.is_cuda and torch.cuda.get_device_capability(q.device)[0] < 9:
        raise KernelError(
            "tensor descriptors need a Hopper or a later GPU: use flash_attention"
        )
    if tiles is None:
        tiles = (
            Tiles(32, 32, 4, 2)
            if interpreting() or q.dtype == torch.float32
            else _TILES[q.shape[-1]]
        )
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return _HopperAttention.apply(
        *(x.transpose(1, 2) for x in (q, k, v)), causal, scale, tiles
    ).transpose(1, 2)
