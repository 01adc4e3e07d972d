"""Differently written correct solutions of chapter 13, part 3."""

import math

from autograder.checks.mistakes.registry import alternative
from reference_impl.kernels.backend import tl, triton


@triton.jit
def _from_the_end(x, y, out, N, BLOCK: tl.constexpr):
    last = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK
    at = last + tl.arange(0, BLOCK)
    ok = at < N
    tl.store(
        out + at,
        tl.load(y + at, mask=ok, other=1.0) + tl.load(x + at, mask=ok, other=-1.0),
        mask=ok,
    )


@alternative("13.add", "from-the-end")
def _(x, y, out, block):
    _from_the_end[((x.shape[0] + block - 1) // block,)](x, y, out, x.numel(), block)


@triton.jit
def _moved(x, y, out, N, BLOCK: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK
    left = N - start
    lane = tl.arange(0, BLOCK)
    total = tl.load(x + start + lane, mask=lane < left, other=0)
    total += tl.load(y + start + lane, mask=lane < left, other=0)
    tl.store(out + start + lane, total, mask=lane < left)


@alternative("13.add", "pointers-moved")
def _(x, y, out, block):
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    _moved[grid](x, y, out, x.numel(), BLOCK=block)


@triton.jit
def _powers_of_two(x, out, C, xs, os, LOG2E: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    peaks = tl.full([BLOCK], -1e30, tl.float32)  # each lane its own piece, merged at the end
    sums = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.cdiv(C, BLOCK)):
        z = tl.load(x + r * xs + i * BLOCK + lane, mask=i * BLOCK + lane < C, other=float("-inf"))
        new = tl.maximum(peaks, z)
        sums = sums * tl.exp2((peaks - new) * LOG2E) + tl.exp2((z - new) * LOG2E)
        peaks = new
    top = tl.max(peaks, axis=0)
    total = tl.sum(sums * tl.exp2((peaks - top) * LOG2E), axis=0)
    for i in range(tl.cdiv(C, BLOCK)):
        z = tl.load(x + r * xs + i * BLOCK + lane, mask=i * BLOCK + lane < C, other=0.0)
        tl.store(
            out + r * os + i * BLOCK + lane,
            tl.exp2((z - top) * LOG2E) / total,
            mask=i * BLOCK + lane < C,
        )


@alternative("13.softmax", "lane-by-lane-in-powers-of-two")
def _(x, out, block):
    _powers_of_two[(x.shape[0],)](
        x, out, x.shape[1], x.stride(0), out.stride(0), math.log2(math.e), block
    )


@triton.jit
def _from_the_right(x, out, C, xs, os, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    blocks = tl.cdiv(C, BLOCK)
    peak = tl.full([], -3e38, tl.float32)
    total = tl.full([], 0.0, tl.float32)
    for i in range(blocks):
        first = (blocks - 1 - i) * BLOCK
        z = tl.load(x + r * xs + first + at, mask=first + at < C, other=-3e38)
        top = tl.max(z, 0)
        here = tl.sum(tl.where(first + at < C, tl.exp(z - top), 0.0), 0)
        new = tl.maximum(top, peak)
        total = total * tl.exp(peak - new) + here * tl.exp(top - new)
        peak = new
    for first in range(0, C, BLOCK):
        z = tl.load(x + r * xs + first + at, mask=first + at < C, other=0.0)
        tl.store(out + r * os + first + at, tl.exp(z - peak) * (1.0 / total), mask=first + at < C)


@alternative("13.softmax", "from-the-right-block-by-block")
def _(x, out, block):
    _from_the_right[(x.shape[0],)](x, out, x.shape[1], x.stride(0), out.stride(0), BLOCK=block)


@triton.jit
def _step(scores, v_tile, peak, total, mixed):
    new = tl.maximum(peak, tl.max(scores, 1))
    weights = tl.exp2(scores - new[:, None])
    shrink = tl.exp2(peak - new)
    return (
        new,
        total * shrink + tl.sum(weights, 1),
        tl.dot(weights, v_tile, mixed * shrink[:, None], input_precision="ieee"),
    )


@triton.jit
def _two_stretches(
    q,
    k,
    v,
    out,
    lse,
    T,
    S,
    H,
    group,
    scale,
    qh,
    qt,
    kh,
    kt,
    vh,
    vt,
    oh,
    ot,
    lh,
    D: tl.constexpr,
    R: tl.constexpr,
    C: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    h, i = tl.program_id(0) % H, tl.program_id(0) // H
    kv = h // group
    r, c, d = i * R + tl.arange(0, R), tl.arange(0, C), tl.arange(0, D)
    tile = tl.load(q + h * qh + r[:, None] * qt + d[None, :], mask=(r < T)[:, None], other=0.0)
    peak, total, mixed = (
        tl.full((R,), -1e30, tl.float32),
        tl.full((R,), 0.0, tl.float32),
        tl.zeros((R, D), tl.float32),
    )
    whole = S // C * C
    stop = S
    if CAUSAL:
        whole = tl.minimum(whole, tl.maximum(i * R + S - T + 1, 0) // C * C)
        stop = tl.maximum(tl.minimum(S, i * R + R + S - T), 0)
    for at in range(0, whole, C):
        keys = tl.load(k + kv * kh + (at + c)[:, None] * kt + d[None, :])
        values = tl.load(v + kv * vh + (at + c)[:, None] * vt + d[None, :])
        peak, total, mixed = _step(
            tl.dot(tile, tl.trans(keys), input_precision="ieee") * scale, values, peak, total, mixed
        )
    for at in range(whole, stop, C):
        keys = tl.load(
            k + kv * kh + (at + c)[:, None] * kt + d[None, :], mask=(at + c)[:, None] < S, other=0.0
        )
        values = tl.load(
            v + kv * vh + (at + c)[:, None] * vt + d[None, :], mask=(at + c)[:, None] < S, other=0.0
        )
        scores = tl.dot(tile, tl.trans(keys), input_precision="ieee") * scale
        scores += tl.where((at + c)[None, :] < S, 0.0, float("-inf"))
        if CAUSAL:
            scores = tl.where((at + c)[None, :] > (r + S - T)[:, None], float("-inf"), scores)
        peak, total, mixed = _step(scores, values, peak, total, mixed)
    mixed /= tl.maximum(total, 1e-37)[:, None]
    tl.store(out + h * oh + r[:, None] * ot + d[None, :], mixed, mask=(r < T)[:, None])
    tl.store(lse + h * lh + r, (peak + tl.log2(total)) * 0.6931471805599453, mask=r < T)


@alternative("13.flash", "two-stretches-and-a-helper")
def _(q, k, v, out, lse, rows, columns, causal):
    H, T, D = q.shape
    _two_stretches[(triton.cdiv(T, rows) * H,)](
        q,
        k,
        v,
        out,
        lse,
        T,
        k.shape[1],
        H,
        H // k.shape[0],
        math.log2(math.e) / math.sqrt(D),
        *q.stride()[:2],
        *k.stride()[:2],
        *v.stride()[:2],
        *out.stride()[:2],
        lse.stride(0),
        D=D,
        R=rows,
        C=columns,
        CAUSAL=causal,
    )


@triton.jit
def _backwards(
    q,
    k,
    v,
    out,
    lse,
    T,
    S,
    group,
    qh,
    qt,
    kh,
    kt,
    vh,
    vt,
    oh,
    ot,
    lh,
    D: tl.constexpr,
    R: tl.constexpr,
    C: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    h, i = tl.program_id(0), tl.program_id(1)
    q, k, v, out, lse = (
        q + h * qh,
        k + h // group * kh,
        v + h // group * vh,
        out + h * oh,
        lse + h * lh,
    )
    r, d = i * R + tl.arange(0, R), tl.arange(0, D)
    tile = tl.load(q + r[:, None] * qt + d[None, :], mask=r[:, None] < T, other=0.0) / tl.sqrt(
        D * 1.0
    )
    ends = tl.full([R], -1e30, tl.float32)  # the log-sum-exp so far, and the mean so far
    mean = tl.zeros([R, D], tl.float32)
    stop = S
    if CAUSAL:
        stop = tl.minimum(S, i * R + R + S - T)
    tiles = (stop + C - 1) // C
    for back in range(0, tiles):
        key = (tiles - 1 - back) * C + tl.arange(0, C)
        keys = tl.load(k + key[None, :] * kt + d[:, None], mask=key[None, :] < S, other=0.0)
        values = tl.load(v + key[:, None] * vt + d[None, :], mask=key[:, None] < S, other=0.0)
        limit = tl.full([R], S, tl.int32)
        if CAUSAL:
            limit = tl.minimum(limit, r + S - T + 1)
        scores = tl.where(
            key[None, :] < limit[:, None], tl.dot(tile, keys, input_precision="ieee"), float("-inf")
        )
        top = tl.maximum(tl.max(scores, 1), -1e30)
        weights = tl.exp(scores - top[:, None])
        total = tl.sum(weights, 1)
        here = top + tl.log(tl.maximum(total, 1e-37))
        high = tl.maximum(here, ends)
        after = high + tl.log(tl.exp(here - high) + tl.exp(ends - high))
        mean = (
            mean * tl.exp(ends - after)[:, None]
            + tl.dot(weights, values, input_precision="ieee") * tl.exp(top - after)[:, None]
        )
        ends = after
    tl.store(out + r[:, None] * ot + d[None, :], mean, mask=r[:, None] < T)
    tl.store(lse + r, tl.where(ends < -1e29, float("-inf"), ends), mask=r < T)


@alternative("13.flash", "backwards-with-means")
def _(q, k, v, out, lse, rows, columns, causal):
    _backwards[(len(q), triton.cdiv(q.shape[1], rows))](
        q,
        k,
        v,
        out,
        lse,
        q.shape[1],
        k.shape[1],
        len(q) // len(k),
        *q.stride()[:2],
        *k.stride()[:2],
        *v.stride()[:2],
        *out.stride()[:2],
        lse.stride(0),
        D=q.shape[2],
        R=rows,
        C=columns,
        CAUSAL=causal,
    )
