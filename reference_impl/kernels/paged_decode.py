"""Attention of one new token a sequence to a cache in blocks: paged attention, split
over the cache.

Kwon et al. 2023, section 4.1 (keys and values are found through the block table); Dao
et al. 2023, Flash-Decoding (one long context is shared by many programs, each with a
softmax of its own, which a second kernel combines).

A program takes one sequence, one head of keys and values, and one share of the context.
The queries of that head's group are the rows of its products, padded to 16, the least a
tensor core takes: keys are read once for the group. Tiles of keys need not be blocks:
each key looks up its own block. There are as many shares as keep the GPU busy, the same
number for all sequences of a step; what a share holds depends on the context's length.

Not here: more than one query a sequence (see `paged_prefill`), who owns the blocks (see
`engine`).
"""

from typing import no_type_check

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from reference_impl.kernels.backend import (
    KernelError,
    choose,
    device_of,
    interpreting,
    side_by_side,
    tl,
    triton,
)
from reference_impl.kernels.cache_write import check_cache
from reference_impl.kernels.tile_ranges import LOG2_E, LOWEST, attend

COLUMNS = 64
PROGRAMS_A_MULTIPROCESSOR = 4
ROWS_TOGETHER = 4096


def gather_kv(
    cache: Float[Tensor, "b s K D"], blocks: Int[Tensor, "W"], first: int, stop: int
) -> Float[Tensor, "S K D"]:
    """Rows [first, stop) of a sequence, through its row of the block table."""
    size = cache.shape[1]
    start = first // size
    held = cache.index_select(
        0, blocks[start : -(-stop // size)]
    )  # (blocks, block_size, K, D)
    return held.flatten(0, 1)[first - start * size : stop - start * size]


def without_share_of_sink(
    out: Float[Tensor, "... H D"],
    lse: Float[Tensor, "... H"],
    sink: Float[Tensor, "H"] | None,
) -> Float[Tensor, "... H D"]:
    """What is left of attention's output if a score without a value joins the softmax;
    `lse` is the log-sum-exp of the other scores.
    """
    return out if sink is None else out * (lse - sink).sigmoid()[..., None]


def paged_attention_twin(
    q: Float[Tensor, "B H D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    block_tables: Int[Tensor, "B W"],
    context_lens: Int[Tensor, "B"],
    scale: float,
    window: int | None = None,
    num_splits: int = 2,
    sink: Float[Tensor, "H"] | None = None,
) -> Float[Tensor, "B H D"]:
    """Each sequence's context in `num_splits` shares, a softmax for each, then combined
    by their log-sum-exps.
    """
    work = torch.promote_types(q.dtype, torch.float32)
    out = torch.zeros_like(q)
    group = q.shape[1] // k_cache.shape[2]
    for i, context in enumerate(context_lens.tolist()):
        first = 0 if window is None else max(context - window, 0)
        share = max(-(-(context - first) // num_splits), 1)
        results, sums = [], []
        for start in range(first, context, share):
            k, v = (
                gather_kv(cache, block_tables[i], start, min(start + share, context))
                .to(work)
                .repeat_interleave(group, dim=1)
                for cache in (k_cache, v_cache)
            )  # (share, H, D)
            scores = torch.einsum("hd,shd->hs", q[i].to(work), k) * scale
            sums.append(scores.logsumexp(-1))
            results.append(torch.einsum("hs,shd->hd", scores.softmax(-1), v))
        if results:
            lse = torch.stack(sums)  # (splits, H)
            mixed = (torch.stack(results) * lse.softmax(0)[..., None]).sum(0)
            out[i] = without_share_of_sink(mixed, lse.logsumexp(0), sink).to(q.dtype)
    return out


@triton.jit
@no_type_check
def load_tile(
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
    D: tl.constexpr,
):
    """The keys (D, columns) and values (columns, D) at these positions of a sequence,
    each through its own block.
    """
    width = tl.arange(0, D)
    block = tl.load(table + key // block_size, mask=inside, other=0).to(
        tl.int64
    )  # a cache passes 2^31 numbers
    offset = (key % block_size).to(tl.int64)
    k_tile = tl.load(
        k_cache + (block * stride_kb + offset * stride_ks)[None, :] + width[:, None],
        mask=inside[None, :],
        other=0.0,
    )
    v_tile = tl.load(
        v_cache + (block * stride_vb + offset * stride_vs)[:, None] + width[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    return k_tile, v_tile


@triton.jit
@no_type_check
def _split_kernel(
    q,
    k_cache,
    v_cache,
    block_tables,
    context_lens,
    parts,
    part_sums,
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
    ROWS: tl.constexpr,
    D: tl.constexpr,
    COLUMNS: tl.constexpr,
    WINDOWED: tl.constexpr,
    SINKS: tl.constexpr,
    LOWEST: tl.constexpr,
):
    sequence, kv_head, split = (
        tl.program_id(0).to(tl.int64),
        tl.program_id(1).to(tl.int64),
        tl.program_id(2),
    )
    num_heads, num_splits = tl.num_programs(1) * GROUP, tl.num_programs(2)
    context = tl.load(context_lens + sequence)
    first = tl.maximum(context - window, 0) if WINDOWED else 0
    share = tl.cdiv(tl.cdiv(context - first, num_splits), COLUMNS) * COLUMNS
    start = (first + split.to(tl.int64) * share).to(tl.int32)
    stop = tl.minimum(start + share, context)

    member, width = tl.arange(0, ROWS), tl.arange(0, D)
    head = kv_head * GROUP + member
    real = member < GROUP
    q_tile = tl.load(
        q + sequence * stride_q + head[:, None] * stride_qh + width[None, :],
        mask=real[:, None],
        other=0.0,
    )
    maximum = tl.full([ROWS], LOWEST, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    if SINKS:  # a score that the first share has seen already, with a value of zeros
        sink = tl.load(sinks + head, mask=real, other=0.0)
        maximum = tl.where(split == 0, sink, maximum)
        total = tl.where(split == 0, 1.0, total)
    accumulator = tl.zeros([ROWS, D], tl.float32)
    table = block_tables + sequence * stride_table
    k_cache += kv_head * stride_kk
    v_cache += kv_head * stride_vk
    for column in range(start, stop, COLUMNS):
        key = column + tl.arange(0, COLUMNS)
        inside = key < stop
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
        maximum, total, accumulator = attend(
            q_tile,
            k_tile.to(q_tile.dtype),
            v_tile.to(q_tile.dtype),
            maximum,
            total,
            accumulator,
            scale,
            inside[None, :],
            True,
        )

    seen = total > 0  # not in a share past the end of the context
    target = (sequence * num_heads + head) * num_splits + split
    result = accumulator / tl.where(seen, total, 1.0)[:, None]
    tl.store(
        parts + target[:, None] * D + width[None, :],
        result.to(parts.dtype.element_ty),
        mask=real[:, None],
    )
    sums = tl.where(seen, maximum + tl.log2(tl.where(seen, total, 1.0)), LOWEST)
    tl.store(part_sums + target, sums, mask=real)


@triton.jit
@no_type_check
def _combine_kernel(
    parts, part_sums, out, num_splits, SPLITS: tl.constexpr, D: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    split, width = tl.arange(0, SPLITS), tl.arange(0, D)
    inside = split < num_splits
    sums = tl.load(
        part_sums + row * num_splits + split, mask=inside, other=float("-inf")
    )
    weights = tl.exp2(sums - tl.max(sums, 0))
    values = tl.load(
        parts + (row * num_splits + split)[:, None] * D + width[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    accumulator = tl.sum(values * weights[:, None], 0) / tl.sum(weights, 0)
    tl.store(out + row * D + width, accumulator.to(out.dtype.element_ty))


def _splits(num_programs: int, longest: int, device: torch.device) -> int:
    """Shares of a context: enough programs for every multiprocessor, none smaller than
    a few tiles of keys.
    """
    if device.type != "cuda":
        return 2
    wanted = (
        PROGRAMS_A_MULTIPROCESSOR
        * torch.cuda.get_device_properties(device).multi_processor_count
    )
    return max(1, min(wanted // num_programs, longest // (4 * COLUMNS), 64))


def _sdpa_together(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    longest: int,
    scale: float,
    window: int | None,
) -> Tensor:
    """All sequences in one call, padded to the longest: for short contexts, where calls
    cost more than padding.
    """
    size = k_cache.shape[1]
    position = torch.arange(longest, device=q.device)
    seen = position < context_lens[:, None]  # (B, S)
    if window is not None:
        seen &= position >= context_lens[:, None] - window
    # A row that isn't seen may hold anything, NaN too: the newest token's row stands in
    # for it.
    position = torch.where(seen, position, (context_lens[:, None] - 1).clamp(min=0))
    slots = (
        block_tables.gather(1, position // size).clamp(min=0) * size + position % size
    )
    k, v = (
        cache.flatten(0, 1)
        .index_select(0, slots.flatten())
        .unflatten(0, slots.shape)  # (B, S, K, D)
        .transpose(1, 2)
        .to(q.dtype)
        for cache in (k_cache, v_cache)
    )
    grouped = q.unflatten(1, (k.shape[1], -1))  # (B, K, H / K, D)
    out = scaled_dot_product_attention(
        grouped, k, v, seen[:, None, None], scale=scale
    ).flatten(1, 2)
    return out.masked_fill(context_lens[:, None, None] == 0, 0)


def _sdpa(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    scale: float,
    window: int | None,
) -> Tensor:
    contexts = context_lens.tolist()
    padded = len(contexts) * max(contexts, default=0)
    flat = k_cache.is_contiguous() and v_cache.is_contiguous()
    if (
        len(contexts) > 1
        and flat
        and 0 < padded <= min(ROWS_TOGETHER, 3 * sum(contexts))
    ):
        return _sdpa_together(
            q,
            k_cache,
            v_cache,
            block_tables,
            context_lens,
            max(contexts),
            scale,
            window,
        )
    out = torch.zeros_like(q)
    for i, context in enumerate(contexts):
        first = 0 if window is None else max(context - window, 0)
        if context:
            k, v = (
                gather_kv(cache, block_tables[i], first, context)
                .transpose(0, 1)[None]
                .to(q.dtype)
                for cache in (k_cache, v_cache)
            )  # (1, K, S, D)
            # The heads of a group are rows that share keys: no key is repeated.
            grouped = q[i].unflatten(0, (k.shape[1], -1))[None]  # (1, K, H / K, D)
            out[i] = scaled_dot_product_attention(grouped, k, v, scale=scale)[
                0
            ].flatten(0, 1)
    return out


def in_powers_of_two(sink: Float[Tensor, "H"] | None, q: Tensor) -> Tensor:
    """A kernel's `sinks`: scores in units of log 2; any tensor if there are none."""
    return q if sink is None else sink.float() * LOG2_E


def check_paged(
    operation: str,
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    window: int | None,
    backend: str,
) -> None:
    """Refuse heads that don't divide, a window below one and, on a CPU, contexts that
    their blocks can't hold.
    """
    if q.shape[-2] % k_cache.shape[2]:
        raise KernelError(
            f"{q.shape[-2]} heads of queries are not a multiple of {k_cache.shape[2]}"
            " in the cache"
        )
    if window is not None and window < 1:
        raise KernelError(f"a window of {window}: it is at least 1, the query itself")
    if context_lens.device.type == "cpu" and context_lens.numel():
        held = block_tables.shape[1] * k_cache.shape[1]
        if int(context_lens.max()) > held:
            raise KernelError(
                f"a context of {int(context_lens.max())} tokens but"
                f" {block_tables.shape[1]} blocks of {k_cache.shape[1]} in the block"
                " table: allocate the blocks first"
            )
    if backend == "triton":
        check_cache(operation, k_cache, v_cache)


def paged_attention(
    q: Float[Tensor, "B H D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    block_tables: Int[Tensor, "B W"],
    context_lens: Int[Tensor, "B"],
    scale: float,
    window: int | None = None,
    sink: Float[Tensor, "H"] | None = None,
    *,
    backend: str | None = None,
    num_splits: int | None = None,
) -> Float[Tensor, "B H D"]:
    """One query a sequence, the last of its context, against the first context_lens[i]
    rows of its blocks.

    block_tables (-1 where unused) names the blocks in order. With a window only the
    last `window` rows are seen. `sink` is one more score of each head, without a value;
    torch's operator takes none, and the twin stands in for it. A context of 0 gives
    zeros. `num_splits` must not change the result.
    """
    backend = choose("paged_attention", q, backend, q.shape[-1])
    check_paged(
        "paged_attention",
        q,
        k_cache,
        v_cache,
        block_tables,
        context_lens,
        window,
        backend,
    )
    if backend == "sdpa" and sink is None:
        return _sdpa(q, k_cache, v_cache, block_tables, context_lens, scale, window)
    num_sequences, num_heads, head_dim = q.shape
    num_kv_heads = k_cache.shape[2]
    if num_splits is None:
        num_splits = _splits(
            max(num_sequences * num_kv_heads, 1),
            block_tables.shape[1] * k_cache.shape[1],
            q.device,
        )
    if backend != "triton":
        return paged_attention_twin(
            q,
            k_cache,
            v_cache,
            block_tables,
            context_lens,
            scale,
            window,
            num_splits,
            sink,
        )
    q = side_by_side(q)
    block_tables, context_lens = block_tables.contiguous(), context_lens.contiguous()
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    if not q.numel():
        return out
    parts = torch.empty(
        num_sequences,
        num_heads,
        num_splits,
        head_dim,
        dtype=torch.float32,
        device=q.device,
    )
    sums = torch.empty(
        num_sequences, num_heads, num_splits, dtype=torch.float32, device=q.device
    )
    group = num_heads // num_kv_heads
    with device_of(q):
        _split_kernel[(num_sequences, num_kv_heads, num_splits)](
            q,
            k_cache,
            v_cache,
            block_tables,
            context_lens,
            parts,
            sums,
            in_powers_of_two(sink, q),
            scale * LOG2_E,
            window or 0,
            k_cache.shape[1],
            *q.stride()[:2],
            *k_cache.stride()[:3],
            *v_cache.stride()[:3],
            block_tables.stride(0),
            GROUP=group,
            ROWS=max(16, triton.next_power_of_2(group)),
            D=head_dim,
            COLUMNS=32 if interpreting() else COLUMNS,
            WINDOWED=window is not None,
            SINKS=sink is not None,
            LOWEST=LOWEST,
            num_warps=4,
            num_stages=3,
        )
        _combine_kernel[(num_sequences * num_heads,)](
            parts,
            sums,
            out,
            num_splits,
            SPLITS=triton.next_power_of_2(num_splits),
            D=head_dim,
        )
    return out
