"""Attention of many new tokens a sequence to a cache in blocks: prefill, in one piece
or in chunks.

Kwon et al. 2023, section 4.3; Agrawal et al. 2024, section 4 (chunks). The new tokens'
keys and values are written to the cache first (see `cache_write`), so that all keys,
cached before or new, are found through the block table. The queries are the last tokens
of each context and attend causally: flash attention with another address for a key.

Not here: one query a sequence, for which `paged_decode` shares the context among
programs.
"""

from typing import no_type_check

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.kernels.backend import (
    KernelError,
    Tiles,
    choose,
    device_of,
    flash_tiles,
    side_by_side,
    tl,
    triton,
)
from reference_impl.kernels.flash_attention import flash_attention, flash_forward_twin
from reference_impl.kernels.paged_decode import (
    check_paged,
    gather_kv,
    in_powers_of_two,
    load_tile,
    without_share_of_sink,
)
from reference_impl.kernels.tile_ranges import (
    LOG2_E,
    LOWEST,
    attend,
    bounds,
    key_ranges,
    tile_mask,
)


def paged_prefill_twin(
    q: Float[Tensor, "N H D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    block_tables: Int[Tensor, "B W"],
    cu_seqlens_q: Int[Tensor, "P"],
    context_lens: Int[Tensor, "B"],
    scale: float,
    window: int | None = None,
    sink: Float[Tensor, "H"] | None = None,
    *,
    fused: bool = False,
    tiles: Tiles = Tiles(64, 64),
) -> Float[Tensor, "N H D"]:
    """Gather each sequence's keys and values, then attend: flash attention's twin, or
    torch's operator if `fused`, which takes no sink.
    """
    out = torch.zeros_like(q)
    bounds = cu_seqlens_q.tolist()
    for i, context in enumerate(context_lens.tolist()):
        rows = slice(bounds[i], bounds[i + 1])
        if bounds[i] == bounds[i + 1]:
            continue
        first = (
            0
            if window is None
            else max(context - (bounds[i + 1] - bounds[i]) - window + 1, 0)
        )
        k, v = (
            gather_kv(cache, block_tables[i], first, context).to(q.dtype)
            for cache in (k_cache, v_cache)
        )
        if fused:
            heads_first = (x.transpose(0, 1)[None] for x in (q[rows], k, v))
            out[rows] = flash_attention(
                *heads_first, causal=True, window=window, scale=scale, backend="sdpa"
            )[0].transpose(0, 1)
        else:
            mixed, lse = flash_forward_twin(
                q[rows], k, v, causal=True, window=window, scale=scale, tiles=tiles
            )
            out[rows] = without_share_of_sink(mixed, lse, sink).to(q.dtype)
    return out


@triton.jit
@no_type_check
def _walk_blocks(
    q,
    k_cache,
    v_cache,
    table,
    maximum,
    total,
    accumulator,
    query,
    start,
    stop,
    num_keys,
    window,
    scale,
    block_size,
    stride_kb,
    stride_ks,
    stride_vb,
    stride_vs,
    D: tl.constexpr,
    COLUMNS: tl.constexpr,
    WINDOWED: tl.constexpr,
    MASKED: tl.constexpr,
):
    for first in range(start, stop, COLUMNS):
        key = first + tl.arange(0, COLUMNS)
        inside = key < num_keys
        k_tile, v_tile = load_tile(
            k_cache,
            v_cache,
            table,
            key,
            inside,
            block_size,
            stride_kb,
            stride_ks,
            stride_vb,
            stride_vs,
            D,
        )
        mask = True
        if MASKED:
            mask = tile_mask(
                query[:, None], key[None, :], num_keys, window, True, WINDOWED
            )
        maximum, total, accumulator = attend(
            q,
            k_tile.to(q.dtype),
            v_tile.to(q.dtype),
            maximum,
            total,
            accumulator,
            scale,
            mask,
            MASKED,
        )
    return maximum, total, accumulator


@triton.jit
@no_type_check
def _prefill_kernel(
    q,
    k_cache,
    v_cache,
    out,
    block_tables,
    cu_seqlens_q,
    context_lens,
    sinks,
    scale,
    window,
    block_size,
    stride_q,
    stride_qh,
    stride_kb,
    stride_ks,
    stride_kk,
    stride_vb,
    stride_vs,
    stride_vk,
    stride_table,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    WINDOWED: tl.constexpr,
    SINKS: tl.constexpr,
    LOWEST: tl.constexpr,
):
    head, sequence = (
        tl.program_id(1).to(tl.int64),
        tl.program_id(2),
    )  # a head's stride may pass 2^31
    start_q, num_queries = bounds(cu_seqlens_q, sequence)
    num_keys = tl.load(context_lens + sequence).to(tl.int32)
    number = tl.num_programs(0) - 1 - tl.program_id(0)
    if number * ROWS >= num_queries:
        return

    rows, width = number * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    q_tile = tl.load(
        q + (start_q + rows)[:, None] * stride_q + head * stride_qh + width[None, :],
        mask=rows[:, None] < num_queries,
        other=0.0,
    )
    maximum = tl.full([ROWS], LOWEST, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    if SINKS:  # a score that is seen already, with a value of zeros
        maximum = tl.zeros([ROWS], tl.float32) + tl.load(sinks + head)
        total += 1.0
    accumulator = tl.zeros([ROWS, D], tl.float32)
    table = block_tables + sequence.to(tl.int64) * stride_table
    k_cache += head // GROUP * stride_kk
    v_cache += head // GROUP * stride_vk
    shift = num_keys - num_queries
    query = rows + shift
    start, middle, middle_end, stop = key_ranges(
        number * ROWS + shift, num_keys, window, ROWS, COLUMNS, True, WINDOWED
    )
    if WINDOWED:
        maximum, total, accumulator = _walk_blocks(
            q_tile,
            k_cache,
            v_cache,
            table,
            maximum,
            total,
            accumulator,
            query,
            start,
            tl.minimum(middle, stop),
            num_keys,
            window,
            scale,
            block_size,
            stride_kb,
            stride_ks,
            stride_vb,
            stride_vs,
            D,
            COLUMNS,
            WINDOWED,
            True,
        )
    maximum, total, accumulator = _walk_blocks(
        q_tile,
        k_cache,
        v_cache,
        table,
        maximum,
        total,
        accumulator,
        query,
        middle,
        middle_end,
        num_keys,
        window,
        scale,
        block_size,
        stride_kb,
        stride_ks,
        stride_vb,
        stride_vs,
        D,
        COLUMNS,
        WINDOWED,
        False,
    )
    maximum, total, accumulator = _walk_blocks(
        q_tile,
        k_cache,
        v_cache,
        table,
        maximum,
        total,
        accumulator,
        query,
        tl.maximum(middle, middle_end),
        stop,
        num_keys,
        window,
        scale,
        block_size,
        stride_kb,
        stride_ks,
        stride_vb,
        stride_vs,
        D,
        COLUMNS,
        WINDOWED,
        True,
    )
    accumulator = accumulator / tl.where(total > 0, total, 1.0)[:, None]
    target = (start_q + rows)[:, None] * tl.num_programs(1) + head
    tl.store(
        out + target * D + width[None, :],
        accumulator.to(out.dtype.element_ty),
        mask=rows[:, None] < num_queries,
    )


def paged_prefill(
    q: Float[Tensor, "N H D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    block_tables: Int[Tensor, "B W"],
    cu_seqlens_q: Int[Tensor, "P"],
    context_lens: Int[Tensor, "B"],
    scale: float,
    window: int | None = None,
    sink: Float[Tensor, "H"] | None = None,
    *,
    max_seqlen_q: int | None = None,
    backend: str | None = None,
    tiles: Tiles | None = None,
) -> Float[Tensor, "N H D"]:
    """Queries cu_seqlens_q[i] to cu_seqlens_q[i + 1], the last of context i, against
    the rows of its blocks, causally.

    context_lens counts the new tokens too: their keys and values are in the cache
    already. A sequence may have no query in this step. `max_seqlen_q` is the most
    queries of one sequence, looked up if None. `sink` as in `paged_attention`.
    """
    backend = choose("paged_prefill", q, backend, q.shape[-1])
    check_paged(
        "paged_prefill",
        q,
        k_cache,
        v_cache,
        block_tables,
        context_lens,
        window,
        backend,
    )
    if len(cu_seqlens_q) != len(context_lens) + 1:
        raise KernelError(
            f"{len(cu_seqlens_q)} bounds in cu_seqlens_q but {len(context_lens)}"
            " contexts: give one bound more, from 0 to the number of queries"
        )
    if backend != "triton":
        return paged_prefill_twin(
            q,
            k_cache,
            v_cache,
            block_tables,
            cu_seqlens_q,
            context_lens,
            scale,
            window,
            sink,
            fused=backend == "sdpa" and sink is None,
            tiles=tiles or Tiles(64, 64),
        )
    q = side_by_side(q)
    block_tables, context_lens = block_tables.contiguous(), context_lens.contiguous()
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if not q.numel():
        return out
    longest = int(cu_seqlens_q.diff().max()) if max_seqlen_q is None else max_seqlen_q
    tiles = tiles or flash_tiles("forward", q.shape[2], q.dtype)
    with device_of(q):
        _prefill_kernel[
            (triton.cdiv(longest, tiles.rows), q.shape[1], len(context_lens))
        ](
            q,
            k_cache,
            v_cache,
            out,
            block_tables,
            cu_seqlens_q,
            context_lens,
            in_powers_of_two(sink, q),
            scale * LOG2_E,
            window or 0,
            k_cache.shape[1],
            *q.stride()[:2],
            *k_cache.stride()[:3],
            *v_cache.stride()[:3],
            block_tables.stride(0),
            GROUP=q.shape[1] // k_cache.shape[2],
            D=q.shape[2],
            ROWS=tiles.rows,
            COLUMNS=tiles.columns,
            WINDOWED=window is not None,
            SINKS=sink is not None,
            LOWEST=LOWEST,
            **tiles.launch,
        )
    return out
