"""Flash attention: exact attention that never writes the T x S scores down.

Dao et al. 2022, algorithm 1, in the loop order of Dao 2023, section 3.1: a program
holds one tile of queries and walks over the keys with the online softmax (see
`softmax`), values in the place of the ones that are summed. What is kept for the
backward pass is one number a query, the logarithm of its softmax's sum.

Sequences lie one after the other, (N, H, D), with `cu_seqlens` saying where each
begins: a batch is the special case of equal lengths. Heads may share keys and values in
groups. A query that sees no key gives zeros.

Not here: dropout, biases, ALiBi; windows to both sides; what Hopper adds for Dao et
al.'s third version (asynchronous copies by another warp, float8). The gradient is in
`flash_attention_backward`.
"""

import math
from typing import Any, no_type_check

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from reference_impl.kernels.backend import (
    KernelError,
    Tiles,
    choose,
    device_of,
    flash_tiles,
    padded_heads,
    side_by_side,
    tl,
    triton,
)
from reference_impl.kernels.flash_attention_backward import (
    flash_backward,
    flash_backward_twin,
)
from reference_impl.kernels.tile_ranges import (
    LOG2_E,
    LOWEST,
    attend,
    bounds,
    key_ranges,
    key_tiles,
    tile_mask,
    visible,
)
from reference_impl.kernels.traffic import load, store


def flash_forward_twin(
    q: Float[Tensor, "T H D"],
    k: Float[Tensor, "S K D"],
    v: Float[Tensor, "S K D"],
    *,
    causal: bool,
    window: int | None,
    scale: float,
    tiles: Tiles,
) -> tuple[Float[Tensor, "T H D"], Float[Tensor, "T H"]]:
    """Attention of one sequence and the log-sum-exp of its scores, tile by tile.

    Nothing is larger than a tile of rows x columns scores for each head. Half precision
    is worked in float32.
    """
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    work = torch.promote_types(q.dtype, torch.float32)
    lse = torch.empty(q.shape[:2], dtype=work, device=q.device)
    group = q.shape[1] // k.shape[1]
    for first in range(0, len(q), tiles.rows):
        rows = range(first, min(first + tiles.rows, len(q)))
        q_tile = load(q, rows.start, rows.stop).to(work).transpose(0, 1)  # (H, rows, D)
        maximum = q_tile.new_full(q_tile.shape[:2], LOWEST)  # (H, rows)
        total = torch.zeros_like(maximum)
        accumulator = torch.zeros_like(q_tile)
        for columns in key_tiles(rows, tiles.columns, len(q), len(k), causal, window):
            k_tile, v_tile = (
                load(x, columns.start, columns.stop)
                .to(work)
                .transpose(0, 1)
                .repeat_interleave(group, dim=0)
                for x in (k, v)
            )  # (H, columns, D)
            mask = visible(rows, columns, len(q), len(k), causal, window, q.device)
            scores = (q_tile @ k_tile.mT * scale).masked_fill(
                ~mask, -torch.inf
            )  # (H, rows, columns)
            new_maximum = torch.maximum(maximum, scores.amax(-1))
            weights = (scores - new_maximum[..., None]).exp()
            rescale = (maximum - new_maximum).exp()
            total = total * rescale + weights.sum(-1)
            accumulator = accumulator * rescale[..., None] + weights @ v_tile
            maximum = new_maximum
        store(
            out,
            rows.start,
            rows.stop,
            (accumulator / total.masked_fill(total == 0, 1)[..., None]).transpose(0, 1),
        )
        store(
            lse, rows.start, rows.stop, (maximum + total.log()).T
        )  # log 0 is -inf: such a query saw no key
    return out, lse


@triton.jit
@no_type_check
def _walk(
    q,
    k,
    v,
    maximum,
    total,
    accumulator,
    query,
    start,
    stop,
    num_keys,
    window,
    scale,
    stride_k,
    stride_v,
    D: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    MASKED: tl.constexpr,
):
    column, width = tl.arange(0, COLUMNS), tl.arange(0, D)
    k_offsets = width[:, None] + column[None, :] * stride_k
    v_offsets = column[:, None] * stride_v + width[None, :]
    for first in range(start, stop, COLUMNS):
        columns = first + column
        at = tl.cast(
            first, tl.int64
        )  # a tile's first row may lie past 2^31 numbers, its own rows don't
        if MASKED:
            k_tile = tl.load(
                k + at * stride_k + k_offsets,
                mask=columns[None, :] < num_keys,
                other=0.0,
            )
            v_tile = tl.load(
                v + at * stride_v + v_offsets,
                mask=columns[:, None] < num_keys,
                other=0.0,
            )
            mask = tile_mask(
                query[:, None], columns[None, :], num_keys, window, CAUSAL, WINDOWED
            )
        else:
            k_tile = tl.load(k + at * stride_k + k_offsets)
            v_tile = tl.load(v + at * stride_v + v_offsets)
            mask = True
        maximum, total, accumulator = attend(
            q, k_tile, v_tile, maximum, total, accumulator, scale, mask, MASKED
        )
    return maximum, total, accumulator


@triton.jit
@no_type_check
def _forward_kernel(
    q,
    k,
    v,
    out,
    lse,
    cu_seqlens_q,
    cu_seqlens_k,
    scale,
    window,
    num_heads,
    num_tokens,
    stride_q,
    stride_qh,
    stride_k,
    stride_kh,
    stride_v,
    stride_vh,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    LOWEST: tl.constexpr,
    LOG2_E: tl.constexpr,
):
    head, sequence = (
        tl.program_id(1).to(tl.int64),
        tl.program_id(2),
    )  # a head's stride may pass 2^31
    start_q, num_queries = bounds(cu_seqlens_q, sequence)
    start_k, num_keys = bounds(cu_seqlens_k, sequence)
    # Causal, the last tiles walk furthest: they start first, so that none is left alone
    # at the end.
    number = tl.num_programs(0) - 1 - tl.program_id(0) if CAUSAL else tl.program_id(0)
    if number * ROWS >= num_queries:
        return

    rows = number * ROWS + tl.arange(0, ROWS)
    width = tl.arange(0, D)
    kv_head = head // GROUP
    k += start_k * stride_k + kv_head * stride_kh
    v += start_k * stride_v + kv_head * stride_vh
    q_tile = tl.load(
        q + (start_q + rows)[:, None] * stride_q + head * stride_qh + width[None, :],
        mask=rows[:, None] < num_queries,
        other=0.0,
    )
    maximum = tl.full([ROWS], LOWEST, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    accumulator = tl.zeros([ROWS, D], tl.float32)

    shift = num_keys - num_queries
    query = rows + shift
    start, middle, middle_end, stop = key_ranges(
        number * ROWS + shift, num_keys, window, ROWS, COLUMNS, CAUSAL, WINDOWED
    )
    if WINDOWED:
        maximum, total, accumulator = _walk(
            q_tile,
            k,
            v,
            maximum,
            total,
            accumulator,
            query,
            start,
            tl.minimum(middle, stop),
            num_keys,
            window,
            scale,
            stride_k,
            stride_v,
            D,
            COLUMNS,
            CAUSAL,
            WINDOWED,
            True,
        )
    maximum, total, accumulator = _walk(
        q_tile,
        k,
        v,
        maximum,
        total,
        accumulator,
        query,
        middle,
        middle_end,
        num_keys,
        window,
        scale,
        stride_k,
        stride_v,
        D,
        COLUMNS,
        CAUSAL,
        WINDOWED,
        False,
    )
    maximum, total, accumulator = _walk(
        q_tile,
        k,
        v,
        maximum,
        total,
        accumulator,
        query,
        tl.maximum(middle, middle_end),
        stop,
        num_keys,
        window,
        scale,
        stride_k,
        stride_v,
        D,
        COLUMNS,
        CAUSAL,
        WINDOWED,
        True,
    )

    seen = total > 0
    accumulator = accumulator / tl.where(seen, total, 1.0)[:, None]
    target = ((start_q + rows) * num_heads + head)[:, None]
    tl.store(
        out + target * D + width[None, :],
        accumulator.to(out.dtype.element_ty),
        mask=rows[:, None] < num_queries,
    )
    logsumexp = tl.where(
        seen, (maximum + tl.log2(tl.where(seen, total, 1.0))) / LOG2_E, float("-inf")
    )
    tl.store(
        lse + head * num_tokens + start_q + rows, logsumexp, mask=rows < num_queries
    )


def _forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    causal: bool,
    window: int | None,
    scale: float,
    tiles: Tiles,
) -> tuple[Tensor, Tensor]:
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(
        q.shape[1], len(q), dtype=torch.float32, device=q.device
    ).T  # a head's numbers lie together
    if q.numel():
        grid = (
            triton.cdiv(max_seqlen_q, tiles.rows),
            q.shape[1],
            len(cu_seqlens_q) - 1,
        )
        with device_of(q):
            _forward_kernel[grid](
                q,
                k,
                v,
                out,
                lse,
                cu_seqlens_q,
                cu_seqlens_k,
                scale * LOG2_E,
                window or 0,
                q.shape[1],
                len(q),
                *q.stride()[:2],
                *k.stride()[:2],
                *v.stride()[:2],
                GROUP=q.shape[1] // k.shape[1],
                D=q.shape[2],
                ROWS=tiles.rows,
                COLUMNS=tiles.columns,
                CAUSAL=causal,
                WINDOWED=window is not None,
                LOWEST=LOWEST,
                LOG2_E=LOG2_E,
                **tiles.launch,
            )
    return out, lse


def _each(cu_seqlens_q: Tensor, cu_seqlens_k: Tensor) -> list[tuple[slice, slice]]:
    bounds_q, bounds_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    return [
        (slice(*bounds_q[i : i + 2]), slice(*bounds_k[i : i + 2]))
        for i in range(len(bounds_q) - 1)
    ]


class _FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        cu_seqlens_q: Tensor,
        cu_seqlens_k: Tensor,
        max_seqlens: tuple[int, int],
        rules: dict[str, Any],
        backend: str,
        tiles: Tiles | None,
    ) -> Tensor:
        if backend == "triton":
            q, k, v = (side_by_side(x) for x in (q, k, v))
            out, lse = _forward(
                q,
                k,
                v,
                cu_seqlens_q,
                cu_seqlens_k,
                max_seqlens[0],
                **rules,
                tiles=tiles or flash_tiles("forward", q.shape[-1], q.dtype),
            )
        else:
            parts = [
                flash_forward_twin(
                    q[a], k[b], v[b], **rules, tiles=tiles or Tiles(64, 64)
                )
                for a, b in _each(cu_seqlens_q, cu_seqlens_k)
            ]
            out, lse = (torch.cat(part) for part in zip(*parts, strict=True))
        ctx.save_for_backward(q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k)
        ctx.settings = max_seqlens, rules, backend, tiles
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse, cu_seqlens_q, cu_seqlens_k = ctx.saved_tensors
        max_seqlens, rules, backend, tiles = ctx.settings
        if backend == "triton":
            grads = flash_backward(
                grad,
                q,
                k,
                v,
                out,
                lse,
                cu_seqlens_q,
                cu_seqlens_k,
                max_seqlens,
                **rules,
                tiles=tiles,
            )
        else:
            parts = [
                flash_backward_twin(
                    grad[a],
                    q[a],
                    k[b],
                    v[b],
                    out[a],
                    lse[a],
                    **rules,
                    tiles=tiles or Tiles(64, 64),
                )
                for a, b in _each(cu_seqlens_q, cu_seqlens_k)
            ]
            grads = tuple(torch.cat(part) for part in zip(*parts, strict=True))
        return *grads, None, None, None, None, None, None


def _sdpa(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, window: int | None, scale: float
) -> Tensor:
    """torch's operator, for heads before tokens, (B, H, T, D).

    A mask costs it T x S numbers, unlike the others.
    """
    num_queries, num_keys = q.shape[2], k.shape[2]
    if not q.numel() or not num_keys:
        return q * 0
    causal = causal and num_queries > 1  # a single query is the last of the keys
    window = None if window is not None and window >= num_keys else window
    plain = window is None and (not causal or num_queries == num_keys)
    mask = (
        None
        if plain
        else visible(
            range(num_queries),
            range(num_keys),
            num_queries,
            num_keys,
            causal,
            window,
            q.device,
        )
    )
    out = scaled_dot_product_attention(
        q,
        k,
        v,
        mask,
        is_causal=causal and plain,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    if mask is not None and num_queries > num_keys:  # a row that sees no key
        out = out.masked_fill(~mask.any(1)[:, None], 0)
    return out


def _check(
    q: Tensor, k: Tensor, causal: bool, window: int | None, scale: float | None
) -> float:
    heads, kv_heads = q.shape[1], k.shape[1]
    if heads % kv_heads:
        raise KernelError(
            f"{heads} heads of queries are not a multiple of {kv_heads} heads of keys"
        )
    if window is not None and (not causal or window < 1):
        raise KernelError(
            f"a window of {window} with causal={causal}: a window is at least 1, the"
            " query itself, and looks back only: pass causal=True"
        )
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if scale <= 0 or not math.isfinite(scale):
        raise KernelError(f"a scale of {scale}: give a positive number")
    return scale


def flash_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    v: Float[Tensor, "B K S D"],
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    backend: str | None = None,
    tiles: Tiles | None = None,
) -> Float[Tensor, "B H T D"]:
    """Attention with gradients, as `layers.attention.attention` gives it.

    See the module for causal and window.

    Fastest where the tokens' rows lie together, as in (B, T, H, D) seen through
    transpose(1, 2): others are copied. `tiles` must not change the result; the table in
    `backend` is used if None.
    """
    backend = choose("flash_attention", q, backend, q.shape[-1])
    scale = _check(q, k, causal, window, scale)
    if backend == "sdpa":
        return _sdpa(q, k, v, causal, window, scale)
    if not q.numel():
        return q.clone()
    lengths = q.shape[2], k.shape[2]
    starts = [
        torch.arange(len(q) + 1, dtype=torch.int32, device=q.device) * length
        for length in lengths
    ]
    packed = tuple(
        x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3]) for x in (q, k, v)
    )
    if backend == "triton":
        packed = padded_heads(*packed)
    out = _FlashAttention.apply(
        *packed,
        *starts,
        lengths,
        {"causal": causal, "window": window, "scale": scale},
        backend,
        tiles,
    )
    return out.unflatten(0, (len(q), q.shape[2]))[..., : q.shape[3]].transpose(1, 2)


def flash_attention_varlen(
    q: Float[Tensor, "N H D"],
    k: Float[Tensor, "M K D"],
    v: Float[Tensor, "M K D"],
    cu_seqlens_q: Int[Tensor, "P"],
    cu_seqlens_k: Int[Tensor, "P"],
    *,
    max_seqlens: tuple[int, int] | None = None,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    backend: str | None = None,
    tiles: Tiles | None = None,
) -> Float[Tensor, "N H D"]:
    """Attention, with gradients, inside each of P - 1 sequences that lie one after the
    other without padding.

    Sequence i has queries cu_seqlens_q[i] to cu_seqlens_q[i + 1] and keys by
    cu_seqlens_k; either may have none. `max_seqlens` are the longest of each; if None
    they are looked up, for which a GPU must finish what is queued.
    """
    backend = choose("flash_attention", q, backend, q.shape[-1])
    scale = _check(q, k, causal, window, scale)
    if cu_seqlens_q.device.type == "cpu" and (
        int(cu_seqlens_q[-1]),
        int(cu_seqlens_k[-1]),
    ) != (len(q), len(k)):
        raise KernelError(
            f"cu_seqlens end at {int(cu_seqlens_q[-1])} and {int(cu_seqlens_k[-1])} but"
            f" there are {len(q)} queries and {len(k)} keys: start at 0 and end at the"
            " number of tokens"
        )
    if not q.numel():
        return q.clone()
    if backend == "sdpa":
        parts = [
            _sdpa(
                *(x.transpose(0, 1)[None] for x in (q[a], k[b], v[b])),
                causal,
                window,
                scale,
            )[0].transpose(0, 1)
            for a, b in _each(cu_seqlens_q, cu_seqlens_k)
        ]
        return torch.cat(parts)
    if max_seqlens is None:
        max_seqlens = int(cu_seqlens_q.diff().max()), int(cu_seqlens_k.diff().max())
    packed = padded_heads(q, k, v) if backend == "triton" else (q, k, v)
    out = _FlashAttention.apply(
        *packed,
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlens,
        {"causal": causal, "window": window, "scale": scale},
        backend,
        tiles,
    )
    return out[..., : q.shape[-1]]
