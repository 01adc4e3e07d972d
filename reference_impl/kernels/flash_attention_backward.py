"""The gradient of flash attention: the scores are computed again, tile by tile, in the
place of being kept.

Dao et al. 2022, algorithm 4 and appendix B.2; one number kept a row: Dao 2023, section
3.1.2. With P = exp(scores - lse), dO the gradient of the output and delta = rowsum(dO *
O):

    dV = P^T dO            dS = P * (dO V^T - delta)
    dQ = scale dS K        dK = scale dS^T Q

delta takes the place of rowsum(dP * P), which would need a whole row of scores at once.

One kernel holds a tile of keys and walks over the queries of all heads of its group: dK
and dV. Another holds a tile of queries and walks over the keys: dQ. P is so computed
twice, five products become seven, and no two programs ever add to the same number: no
atomics, and the same bits in every run.

Not here: the forward pass and the entry point (see `flash_attention`), gradients
through the log-sum-exp.
"""

from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.backend import (
    Tiles,
    device_of,
    flash_tiles,
    side_by_side,
    tl,
    triton,
)
from reference_impl.kernels.tile_ranges import (
    LOG2_E,
    bounds,
    key_ranges,
    key_tiles,
    query_ranges,
    query_tiles,
    tile_mask,
    visible,
)
from reference_impl.kernels.traffic import load, store


def flash_backward_twin(
    grad: Float[Tensor, "T H D"],
    q: Float[Tensor, "T H D"],
    k: Float[Tensor, "S K D"],
    v: Float[Tensor, "S K D"],
    out: Float[Tensor, "T H D"],
    lse: Float[Tensor, "T H"],
    *,
    causal: bool,
    window: int | None,
    scale: float,
    tiles: Tiles,
) -> tuple[Float[Tensor, "T H D"], Float[Tensor, "S K D"], Float[Tensor, "S K D"]]:
    """dQ, dK and dV of one sequence; `tiles` are rows of queries by columns of keys, as
    in the forward pass.
    """
    work = torch.promote_types(q.dtype, torch.float32)
    delta = (grad.to(work) * out.to(work)).sum(-1)  # (T, H)
    group = q.shape[1] // k.shape[1]
    lengths = len(q), len(k), causal, window

    def tile(x: Tensor, part: range) -> Tensor:
        repeat = group if x.shape[1] != q.shape[1] else 1
        return (
            load(x, part.start, part.stop)
            .to(work)
            .transpose(0, 1)
            .repeat_interleave(repeat, dim=0)
        )  # (H, part, D)

    def weights_and_gradient(rows: range, columns: range) -> tuple[Tensor, Tensor]:
        """P and dS of one tile of scores, (H, rows, columns)."""
        mask = visible(rows, columns, *lengths, q.device)
        scores = tile(q, rows) @ tile(k, columns).mT * scale
        weights = (
            (scores - load(lse, rows.start, rows.stop).T[..., None])
            .exp()
            .masked_fill(~mask, 0)
        )
        grad_weights = tile(grad, rows) @ tile(v, columns).mT
        return weights, weights * (
            grad_weights - load(delta, rows.start, rows.stop).T[..., None]
        )

    grad_q, grad_k, grad_v = (
        torch.empty_like(q),
        torch.empty_like(k),
        torch.empty_like(v),
    )
    for first in range(0, len(k), tiles.columns):
        columns = range(first, min(first + tiles.columns, len(k)))
        sum_k = torch.zeros(
            q.shape[1], len(columns), q.shape[2], dtype=work, device=q.device
        )
        sum_v = torch.zeros_like(sum_k)
        for rows in query_tiles(columns, tiles.rows, *lengths):
            weights, grad_scores = weights_and_gradient(rows, columns)
            sum_v += weights.mT @ tile(grad, rows)
            sum_k += grad_scores.mT @ tile(q, rows) * scale
        for target, total in ((grad_k, sum_k), (grad_v, sum_v)):
            shared = total.unflatten(0, (-1, group)).sum(
                1
            )  # (K, columns, D): the heads of a group add up
            store(target, columns.start, columns.stop, shared.transpose(0, 1))
    for first in range(0, len(q), tiles.rows):
        rows = range(first, min(first + tiles.rows, len(q)))
        sum_q = torch.zeros(
            q.shape[1], len(rows), q.shape[2], dtype=work, device=q.device
        )
        for columns in key_tiles(rows, tiles.columns, *lengths):
            sum_q += weights_and_gradient(rows, columns)[1] @ tile(k, columns) * scale
        store(grad_q, rows.start, rows.stop, sum_q.transpose(0, 1))
    return grad_q, grad_k, grad_v


@triton.jit
@no_type_check
def _delta_kernel(
    grad,
    out,
    delta,
    num_tokens,
    num_heads,
    stride_grad,
    stride_grad_h,
    ROWS: tl.constexpr,
    D: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    head = tl.program_id(1).to(tl.int64)
    inside, width = rows < num_tokens, tl.arange(0, D)
    grad_tile = tl.load(
        grad + rows[:, None] * stride_grad + head * stride_grad_h + width[None, :],
        mask=inside[:, None],
        other=0.0,
    ).to(tl.float32)
    out_tile = tl.load(
        out + (rows * num_heads + head)[:, None] * D + width[None, :],
        mask=inside[:, None],
        other=0.0,
    ).to(tl.float32)
    tl.store(
        delta + head * num_tokens + rows, tl.sum(grad_tile * out_tile, 1), mask=inside
    )


@triton.jit
@no_type_check
def _walk_queries(
    q,
    grad,
    lse,
    delta,
    sum_q,
    k_tile,
    v_tile,
    sum_k,
    sum_v,
    key,
    start,
    stop,
    num_queries,
    num_keys,
    window,
    scale,
    stride_q,
    stride_grad,
    stride_sum,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    MASKED: tl.constexpr,
    FIVE: tl.constexpr,
    LOG2_E: tl.constexpr,
):
    row, width = tl.arange(0, ROWS), tl.arange(0, D)
    q_offsets = row[:, None] * stride_q + width[None, :]
    grad_offsets = row[:, None] * stride_grad + width[None, :]
    for first in range(start, stop, ROWS):
        rows = first + row
        inside = rows < num_queries
        at = tl.cast(first, tl.int64)
        if MASKED:
            q_tile = tl.load(
                q + at * stride_q + q_offsets, mask=inside[:, None], other=0.0
            )
            grad_tile = tl.load(
                grad + at * stride_grad + grad_offsets, mask=inside[:, None], other=0.0
            )
            lse_tile = tl.load(lse + rows, mask=inside, other=0.0)
            delta_tile = tl.load(delta + rows, mask=inside, other=0.0)
        else:
            q_tile = tl.load(q + at * stride_q + q_offsets)
            grad_tile = tl.load(grad + at * stride_grad + grad_offsets)
            lse_tile, delta_tile = tl.load(lse + rows), tl.load(delta + rows)
        # Scores lie with keys down and queries across: P^T and dS^T are then what the
        # sums need.
        scores = tl.dot(k_tile, tl.trans(q_tile), input_precision="ieee")
        weights = tl.exp2(scores * (scale * LOG2_E) - (lse_tile * LOG2_E)[None, :])
        if MASKED:
            # Rows past the last query need none: their dO and delta are 0, and with
            # them all that they would add.
            query = rows + (num_keys - num_queries)
            mask = tile_mask(
                query[None, :], key[:, None], num_keys, window, CAUSAL, WINDOWED
            )
            weights = tl.where(mask, weights, 0.0)
        sum_v = tl.dot(
            weights.to(grad_tile.dtype), grad_tile, sum_v, input_precision="ieee"
        )
        grad_weights = tl.dot(v_tile, tl.trans(grad_tile), input_precision="ieee")
        grad_scores = weights * (grad_weights - delta_tile[None, :])
        sum_k = tl.dot(
            grad_scores.to(q_tile.dtype), q_tile, sum_k, input_precision="ieee"
        )
        if FIVE:
            part = tl.dot(
                tl.trans(grad_scores.to(k_tile.dtype)), k_tile, input_precision="ieee"
            )
            tl.atomic_add(
                sum_q + at * stride_sum + row[:, None] * stride_sum + width[None, :],
                part * scale,
                mask=inside[:, None],
                sem="relaxed",
            )
    return sum_k, sum_v


@triton.jit
@no_type_check
def _keys_kernel(
    q,
    k,
    v,
    grad,
    lse,
    delta,
    sum_q,
    grad_k,
    grad_v,
    cu_seqlens_q,
    cu_seqlens_k,
    scale,
    window,
    num_tokens,
    stride_q,
    stride_qh,
    stride_k,
    stride_kh,
    stride_v,
    stride_vh,
    stride_grad,
    stride_grad_h,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    LOG2_E: tl.constexpr,
    FIVE: tl.constexpr,
):
    kv_head, sequence = (
        tl.program_id(1).to(tl.int64),
        tl.program_id(2),
    )  # a head's stride may pass 2^31
    start_q, num_queries = bounds(cu_seqlens_q, sequence)
    start_k, num_keys = bounds(cu_seqlens_k, sequence)
    first_key = tl.program_id(0) * COLUMNS
    if first_key >= num_keys:
        return

    key, width = first_key + tl.arange(0, COLUMNS), tl.arange(0, D)
    at, inside = (start_k + key)[:, None], key[:, None] < num_keys
    k_tile = tl.load(
        k + at * stride_k + kv_head * stride_kh + width[None, :], mask=inside, other=0.0
    )
    v_tile = tl.load(
        v + at * stride_v + kv_head * stride_vh + width[None, :], mask=inside, other=0.0
    )
    sum_k, sum_v = (
        tl.zeros([COLUMNS, D], tl.float32),
        tl.zeros([COLUMNS, D], tl.float32),
    )
    start, middle, middle_end, stop = query_ranges(
        first_key,
        num_queries,
        num_keys - num_queries,
        window,
        ROWS,
        COLUMNS,
        CAUSAL,
        WINDOWED,
    )
    first_head = kv_head * GROUP
    stride_sum = (
        tl.num_programs(1) * GROUP * D
    )  # dQ's rows have the heads of one token side by side
    if FIVE:
        sum_q += start_q * stride_sum + first_head * D
    q += start_q * stride_q + first_head * stride_qh
    grad += start_q * stride_grad + first_head * stride_grad_h
    lse += first_head * num_tokens + start_q
    delta += first_head * num_tokens + start_q
    for _ in range(GROUP):
        if CAUSAL:
            sum_k, sum_v = _walk_queries(
                q,
                grad,
                lse,
                delta,
                sum_q,
                k_tile,
                v_tile,
                sum_k,
                sum_v,
                key,
                start,
                tl.minimum(middle, stop),
                num_queries,
                num_keys,
                window,
                scale,
                stride_q,
                stride_grad,
                stride_sum,
                D,
                ROWS,
                CAUSAL,
                WINDOWED,
                True,
                FIVE,
                LOG2_E,
            )
        sum_k, sum_v = _walk_queries(
            q,
            grad,
            lse,
            delta,
            sum_q,
            k_tile,
            v_tile,
            sum_k,
            sum_v,
            key,
            middle,
            middle_end,
            num_queries,
            num_keys,
            window,
            scale,
            stride_q,
            stride_grad,
            stride_sum,
            D,
            ROWS,
            CAUSAL,
            WINDOWED,
            False,
            FIVE,
            LOG2_E,
        )
        sum_k, sum_v = _walk_queries(
            q,
            grad,
            lse,
            delta,
            sum_q,
            k_tile,
            v_tile,
            sum_k,
            sum_v,
            key,
            tl.maximum(middle, middle_end),
            stop,
            num_queries,
            num_keys,
            window,
            scale,
            stride_q,
            stride_grad,
            stride_sum,
            D,
            ROWS,
            CAUSAL,
            WINDOWED,
            True,
            FIVE,
            LOG2_E,
        )
        q += stride_qh
        grad += stride_grad_h
        lse += num_tokens
        delta += num_tokens
        if FIVE:
            sum_q += D
    target = (at * (tl.num_programs(1)) + kv_head) * D + width[None, :]
    tl.store(grad_k + target, (sum_k * scale).to(grad_k.dtype.element_ty), mask=inside)
    tl.store(grad_v + target, sum_v.to(grad_v.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def _walk_keys(
    q_tile,
    grad_tile,
    lse_tile,
    delta_tile,
    k,
    v,
    sum_q,
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
    LOG2_E: tl.constexpr,
):
    column, width = tl.arange(0, COLUMNS), tl.arange(0, D)
    k_offsets = column[:, None] * stride_k + width[None, :]
    v_offsets = column[:, None] * stride_v + width[None, :]
    for first in range(start, stop, COLUMNS):
        columns = first + column
        at = tl.cast(first, tl.int64)
        if MASKED:
            k_tile = tl.load(
                k + at * stride_k + k_offsets,
                mask=columns[:, None] < num_keys,
                other=0.0,
            )
            v_tile = tl.load(
                v + at * stride_v + v_offsets,
                mask=columns[:, None] < num_keys,
                other=0.0,
            )
        else:
            k_tile = tl.load(k + at * stride_k + k_offsets)
            v_tile = tl.load(v + at * stride_v + v_offsets)
        scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
        weights = tl.exp2(scores * (scale * LOG2_E) - (lse_tile * LOG2_E)[:, None])
        if MASKED:
            mask = tile_mask(
                query[:, None], columns[None, :], num_keys, window, CAUSAL, WINDOWED
            )
            weights = tl.where(mask, weights, 0.0)
        grad_weights = tl.dot(grad_tile, tl.trans(v_tile), input_precision="ieee")
        grad_scores = weights * (grad_weights - delta_tile[:, None])
        sum_q = tl.dot(
            grad_scores.to(k_tile.dtype), k_tile, sum_q, input_precision="ieee"
        )
    return sum_q


@triton.jit
@no_type_check
def _queries_kernel(
    q,
    k,
    v,
    grad,
    lse,
    delta,
    grad_q,
    cu_seqlens_q,
    cu_seqlens_k,
    scale,
    window,
    num_tokens,
    stride_q,
    stride_qh,
    stride_k,
    stride_kh,
    stride_v,
    stride_vh,
    stride_grad,
    stride_grad_h,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
    LOG2_E: tl.constexpr,
):
    head, sequence = (
        tl.program_id(1).to(tl.int64),
        tl.program_id(2),
    )  # a head's stride may pass 2^31
    start_q, num_queries = bounds(cu_seqlens_q, sequence)
    start_k, num_keys = bounds(cu_seqlens_k, sequence)
    number = tl.num_programs(0) - 1 - tl.program_id(0) if CAUSAL else tl.program_id(0)
    if number * ROWS >= num_queries:
        return

    rows, width = number * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    at, inside = start_q + rows, rows < num_queries
    q_tile = tl.load(
        q + at[:, None] * stride_q + head * stride_qh + width[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    grad_tile = tl.load(
        grad + at[:, None] * stride_grad + head * stride_grad_h + width[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    lse_tile = tl.load(lse + head * num_tokens + at, mask=inside, other=0.0)
    delta_tile = tl.load(delta + head * num_tokens + at, mask=inside, other=0.0)
    kv_head = head // GROUP
    k += start_k * stride_k + kv_head * stride_kh
    v += start_k * stride_v + kv_head * stride_vh
    shift = num_keys - num_queries
    query = rows + shift
    start, middle, middle_end, stop = key_ranges(
        number * ROWS + shift, num_keys, window, ROWS, COLUMNS, CAUSAL, WINDOWED
    )
    sum_q = tl.zeros([ROWS, D], tl.float32)
    if WINDOWED:
        sum_q = _walk_keys(
            q_tile,
            grad_tile,
            lse_tile,
            delta_tile,
            k,
            v,
            sum_q,
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
            LOG2_E,
        )
    sum_q = _walk_keys(
        q_tile,
        grad_tile,
        lse_tile,
        delta_tile,
        k,
        v,
        sum_q,
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
        LOG2_E,
    )
    sum_q = _walk_keys(
        q_tile,
        grad_tile,
        lse_tile,
        delta_tile,
        k,
        v,
        sum_q,
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
        LOG2_E,
    )
    target = (at[:, None] * tl.num_programs(1) + head) * D + width[None, :]
    tl.store(
        grad_q + target,
        (sum_q * scale).to(grad_q.dtype.element_ty),
        mask=inside[:, None],
    )


def flash_backward(
    grad: Float[Tensor, "N H D"],
    q: Float[Tensor, "N H D"],
    k: Float[Tensor, "M K D"],
    v: Float[Tensor, "M K D"],
    out: Float[Tensor, "N H D"],
    lse: Float[Tensor, "N H"],
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlens: tuple[int, int],
    *,
    causal: bool,
    window: int | None,
    scale: float,
    tiles: Tiles | None = None,
    five_products: bool = False,
) -> tuple[Float[Tensor, "N H D"], Float[Tensor, "M K D"], Float[Tensor, "M K D"]]:
    """dQ, dK and dV by three kernels: delta, then keys, then queries.

    `lse` has a head's numbers side by side.

    With `five_products` the kernel of keys adds to dQ in float32 too, and there is no
    third: see `flash_attention_hopper`.
    """
    num_tokens, num_heads, head_dim = q.shape
    grad = side_by_side(grad)
    delta = torch.empty(num_heads, num_tokens, dtype=torch.float32, device=q.device)
    grad_q, grad_k, grad_v = (
        torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v)
    )
    shared = (
        cu_seqlens_q,
        cu_seqlens_k,
        scale,
        window or 0,
        num_tokens,
        *q.stride()[:2],
        *k.stride()[:2],
        *v.stride()[:2],
        *grad.stride()[:2],
    )
    rules = {
        "GROUP": num_heads // k.shape[1],
        "D": head_dim,
        "CAUSAL": causal,
        "WINDOWED": window is not None,
        "LOG2_E": LOG2_E,
    }
    num_sequences = len(cu_seqlens_q) - 1
    sum_q = torch.zeros(
        q.shape if five_products else (1,), dtype=torch.float32, device=q.device
    )
    keys, queries = (
        tiles or flash_tiles(part, head_dim, q.dtype) for part in ("keys", "queries")
    )
    with device_of(q):
        _delta_kernel[(triton.cdiv(num_tokens, 64), num_heads)](
            grad,
            out,
            delta,
            num_tokens,
            num_heads,
            *grad.stride()[:2],
            ROWS=64,
            D=head_dim,
        )
        _keys_kernel[
            (triton.cdiv(max_seqlens[1], keys.columns), k.shape[1], num_sequences)
        ](
            q,
            k,
            v,
            grad,
            lse,
            delta,
            sum_q,
            grad_k,
            grad_v,
            *shared,
            **rules,
            ROWS=keys.rows,
            COLUMNS=keys.columns,
            FIVE=five_products,
            **keys.launch,
        )
        if five_products:
            return sum_q.to(q.dtype), grad_k, grad_v
        _queries_kernel[
            (triton.cdiv(max_seqlens[0], queries.rows), num_heads, num_sequences)
        ](
            q,
            k,
            v,
            grad,
            lse,
            delta,
            grad_q,
            *shared,
            **rules,
            ROWS=queries.rows,
            COLUMNS=queries.columns,
            **queries.launch,
        )
    return grad_q, grad_k, grad_v
