"""Differently written correct solutions of chapter 14, part 3."""

import math

from autograder.checks.mistakes.registry import alternative
from reference_impl.kernels.backend import tl, triton


@triton.jit
def _one_head(
    k, v, k_cache, v_cache, slots, s, D, kt, kh, vt, vh, kb, ks, kk, vb, vs, vk, WIDTH: tl.constexpr
):
    t, h = tl.program_id(1), tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    slot = tl.load(slots + t)
    ok = lane < tl.where(slot >= 0, D, 0)
    block = slot // s
    offset = slot - block * s
    tl.store(
        k_cache + block * kb + offset * ks + h * kk + lane,
        tl.load(k + t * kt + h * kh + lane, mask=ok, other=0.0),
        mask=ok,
    )
    tl.store(
        v_cache + block * vb + offset * vs + h * vk + lane,
        tl.load(v + t * vt + h * vh + lane, mask=ok, other=0.0),
        mask=ok,
    )


@alternative("14.write_kv", "a-program-for-each-head")
def _(k, v, k_cache, v_cache, slots):
    _one_head[(k.size(1), k.size(0))](
        k,
        v,
        k_cache,
        v_cache,
        slots,
        k_cache.size(1),
        k.size(2),
        k.stride(0),
        k.stride(1),
        v.stride(0),
        v.stride(1),
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        WIDTH=triton.next_power_of_2(k.size(2)),
    )


@triton.jit
def _put(
    source,
    target,
    token,
    slot,
    s,
    K,
    D,
    token_stride,
    head_stride,
    block_stride,
    place_stride,
    row_stride,
    COUNT: tl.constexpr,
):
    flat = tl.arange(0, COUNT)
    head, number = flat // D, flat % D
    real = flat < K * D
    found = tl.load(source + token * token_stride + head * head_stride + number, mask=real)
    tl.store(
        target
        + (slot // s) * block_stride
        + (slot % s) * place_stride
        + head * row_stride
        + number,
        found,
        mask=real,
    )


@triton.jit
def _flat(
    k,
    v,
    k_cache,
    v_cache,
    slots,
    s,
    K,
    D,
    kt,
    kh,
    vt,
    vh,
    kb,
    ks,
    kk,
    vb,
    vs,
    vk,
    COUNT: tl.constexpr,
):
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if slot != -1:
        _put(k, k_cache, token, slot, s, K, D, kt, kh, kb, ks, kk, COUNT)
        _put(v, v_cache, token, slot, s, K, D, vt, vh, vb, vs, vk, COUNT)


@alternative("14.write_kv", "all-numbers-in-a-row")
def _(k, v, k_cache, v_cache, slots):
    T, K, D = k.shape
    _flat[(T,)](
        k,
        v,
        k_cache,
        v_cache,
        slots,
        k_cache.shape[1],
        K,
        D,
        *k.stride()[:2],
        *v.stride()[:2],
        *k_cache.stride()[:3],
        *v_cache.stride()[:3],
        COUNT=triton.next_power_of_2(K * D),
    )


@triton.jit
def _grouped(
    q,
    k_cache,
    v_cache,
    tables,
    lengths,
    parts,
    lse,
    s,
    M,
    N,
    scale,
    kb,
    ks,
    kk,
    vb,
    vs,
    vk,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    D: tl.constexpr,
    LOG2E: tl.constexpr,
    KEYS: tl.constexpr,
):
    """All heads of a group in one program, by `tl.dot`, in powers of two."""
    i, kv, n = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    heads = tl.num_programs(1) * GROUP
    length = tl.load(lengths + i)
    each = (length + N - 1) // N
    lane, member = tl.arange(0, D), tl.arange(0, ROWS)
    rows = i * heads + kv * GROUP + member
    real = member < GROUP
    q_tile = tl.load(q + rows[:, None] * D + lane[None, :], mask=real[:, None], other=0.0)
    top = tl.full([ROWS], -1e30, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    mix = tl.zeros([ROWS, D], tl.float32)
    start = n * each
    for step in range(0, tl.cdiv(each, KEYS)):
        token = start + step * KEYS + tl.arange(0, KEYS)
        ok = (token < start + each) & (token < length)
        block = tl.load(tables + i * M + token // s, mask=ok, other=0)
        k_tile = tl.load(
            k_cache + (block * kb + token % s * ks + kv * kk)[None, :] + lane[:, None],
            mask=ok[None, :],
            other=0.0,
        )
        v_tile = tl.load(
            v_cache + (block * vb + token % s * vs + kv * vk)[:, None] + lane[None, :],
            mask=ok[:, None],
            other=0.0,
        )
        z = tl.where(
            ok[None, :],
            tl.dot(q_tile, k_tile, input_precision="ieee") * (scale * LOG2E),
            float("-inf"),
        )
        new = tl.maximum(top, tl.max(z, axis=1))
        w = tl.exp2(z - new[:, None])
        total = total * tl.exp2(top - new) + tl.sum(w, axis=1)
        mix = mix * tl.exp2(top - new)[:, None] + tl.dot(w, v_tile, input_precision="ieee")
        top = new
    none = total == 0
    tl.store(
        parts + (rows * N + n)[:, None] * D + lane[None, :],
        mix / tl.where(none, 1.0, total)[:, None],
        mask=real[:, None],
    )
    tl.store(
        lse + rows * N + n,
        tl.where(none, float("-inf"), (top + tl.log2(tl.where(none, 1.0, total))) / LOG2E),
        mask=real,
    )


@alternative("14.decode_shares", "a-program-for-each-group")
def _(q, k_cache, v_cache, tables, lengths, parts, lse):
    B, H, D = q.shape
    K = k_cache.size(2)
    _grouped[(B, K, lse.size(2))](
        q,
        k_cache,
        v_cache,
        tables,
        lengths,
        parts,
        lse,
        k_cache.size(1),
        tables.size(1),
        lse.size(2),
        1 / math.sqrt(D),
        *k_cache.stride()[:3],
        *v_cache.stride()[:3],
        GROUP=H // K,
        ROWS=16,
        D=D,
        LOG2E=math.log2(math.e),
        KEYS=16,
    )


@triton.jit
def _key_by_key(
    q,
    k_cache,
    v_cache,
    tables,
    lengths,
    parts,
    lse,
    s,
    M,
    H,
    N,
    group,
    kb,
    ks,
    kk,
    vb,
    vs,
    vk,
    D: tl.constexpr,
):
    """One key after the other, one axis of programs."""
    number = tl.program_id(0)
    n, h, i = number % N, number // N % H, number // (N * H)
    lane = tl.arange(0, D)
    query = tl.load(q + (i * H + h) * D + lane)
    length = tl.load(lengths + i)
    each = tl.cdiv(length, N)
    best, total, mix = (
        tl.full([], -3e38, tl.float32),
        tl.full([], 0.0, tl.float32),
        tl.zeros([D], tl.float32),
    )
    for token in range(n * each, tl.minimum((n + 1) * each, length)):
        block = tl.load(tables + i * M + token // s)
        key = tl.load(k_cache + block * kb + (token % s) * ks + (h // group) * kk + lane)
        value = tl.load(v_cache + block * vb + (token % s) * vs + (h // group) * vk + lane)
        z = tl.sum(key * query, 0) / tl.sqrt(D * 1.0)
        new = tl.maximum(best, z)
        total = total * tl.exp(best - new) + tl.exp(z - new)
        mix = mix * tl.exp(best - new) + tl.exp(z - new) * value
        best = new
    if total > 0:
        tl.store(parts + number * D + lane, mix / total)
        tl.store(lse + number, best + tl.log(total))
    else:
        tl.store(parts + number * D + lane, mix)
        tl.store(lse + number, float("-inf"))


@alternative("14.decode_shares", "key-by-key")
def _(q, k_cache, v_cache, tables, lengths, parts, lse):
    B, H, D = q.shape
    N = parts.shape[2]
    _key_by_key[(B * H * N,)](
        q,
        k_cache,
        v_cache,
        tables,
        lengths,
        parts,
        lse,
        k_cache.shape[1],
        tables.stride(0),
        H,
        N,
        H // k_cache.shape[2],
        k_cache.stride(0),
        k_cache.stride(1),
        k_cache.stride(2),
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        D=D,
    )


@triton.jit
def _one_after_the_other(parts, lse, out, N, D: tl.constexpr):
    row, lane = tl.program_id(0), tl.arange(0, D)
    peak, total, mix = (
        tl.full([], -1e30, tl.float32),
        tl.full([], 0.0, tl.float32),
        tl.zeros([D], tl.float32),
    )
    for n in range(0, N):
        end = tl.load(lse + row * N + n)
        new = tl.maximum(peak, end)
        weight, shrunk = tl.exp(end - new), tl.exp(peak - new)
        total = total * shrunk + weight
        mix = mix * shrunk + weight * tl.load(parts + (row * N + n) * D + lane)
        peak = new
    tl.store(out + row * D + lane, mix / tl.where(total > 0, total, 1.0))


@alternative("14.merge_shares", "one-after-the-other")
def _(parts, lse, out):
    B, H, N, D = parts.shape
    _one_after_the_other[(B * H,)](parts, lse, out, N, D=D)


@triton.jit
def _by_place(parts, lse, out, N, H, SHARES: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * H + tl.program_id(1)
    n, lane = tl.arange(0, SHARES)[None, :], tl.arange(0, D)[:, None]
    ends = tl.load(lse + row * N + n, mask=n < N, other=float("-inf"))
    most = tl.max(ends, 1)
    most = tl.where(most == float("-inf"), 0.0, most)
    weights = tl.exp(ends - most[:, None])
    table = tl.load(parts + (row * N + n) * D + lane, mask=n < N, other=0.0)
    share = weights / tl.maximum(tl.sum(weights, 1), 1e-30)[:, None]
    tl.store(out + row * D + tl.arange(0, D), tl.sum(table * share, 1))


@alternative("14.merge_shares", "numbers-down-shares-across")
def _(parts, lse, out):
    B, H, N, D = parts.shape
    _by_place[(B, H)](parts, lse, out, N, H, SHARES=triton.next_power_of_2(N), D=D)
