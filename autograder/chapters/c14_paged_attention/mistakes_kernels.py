"""Plausible wrong solutions of chapter 14, part 3: kernels that write, read or weigh something
else.
"""

from autograder.checks.mistakes.registry import mistake
from reference_impl.kernels.backend import tl, triton

WRITE, SHARES, MERGE = "14.write_kv", "14.decode_shares", "14.merge_shares"


@triton.jit
def _write(
    k,
    v,
    k_cache,
    v_cache,
    slots,
    s,
    K,
    D,
    k_token,
    k_head,
    v_token,
    v_head,
    kb,
    ks,
    kh,
    vb,
    vs,
    vh,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    PADDING: tl.constexpr,
    MASK: tl.constexpr,
    BLOCK: tl.constexpr,
    VALUES: tl.constexpr,
    AGAIN: tl.constexpr,
    ROW: tl.constexpr,
    SHORT: tl.constexpr,
):
    """Tokens into their slots, with one thing or another wrong."""
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    if ROW:
        slot = token.to(tl.int64)
    if PADDING == 1:
        if slot < 0:
            slot = s * 0
    if PADDING == 2:
        if slot < 0:
            slot += BLOCK
    if slot >= 0:
        head, number = tl.arange(0, HEADS)[:, None], tl.arange(0, WIDTH)[None, :]
        there = (head < K) & (number < D)
        if MASK == 2:
            there = (head < 1) & (number < D)
        key = tl.load(k + token * k_token + head * k_head + number, mask=there)
        value = tl.load(v + token * v_token + head * v_head + number, mask=there)
        if AGAIN:
            key += 0.0 * tl.load(k + token * k_token + head * k_head + number, mask=there)
        if VALUES == 1:
            value = key
        place = slot // s * kb + slot % s * ks
        other = slot // s * vb + slot % s * vs
        if SHORT:
            place, other = place.to(tl.int16), other.to(tl.int16)
        tl.store(k_cache + place + head * kh + number, key, mask=there)
        if VALUES != 2:
            tl.store(v_cache + other + head * vh + number, value, mask=there)


def _put(
    k,
    v,
    k_cache,
    v_cache,
    slots,
    padding=0,
    mask=0,
    values=0,
    again=False,
    row=False,
    strides=None,
    size=None,
    short=False,
):
    """Start the kernel above."""
    T, K, D = k.shape
    own = dict(
        zip(
            ("k_token", "k_head", "v_token", "v_head", "kb", "ks", "kh", "vb", "vs", "vh"),
            (*k.stride()[:2], *v.stride()[:2], *k_cache.stride()[:3], *v_cache.stride()[:3]),
        )
    )
    _write[(T,)](
        k,
        v,
        k_cache,
        v_cache,
        slots,
        k_cache.shape[1] if size is None else size,
        K,
        D,
        **own | (strides or {}),
        HEADS=triton.next_power_of_2(K),
        WIDTH=triton.next_power_of_2(D),
        PADDING=padding,
        MASK=mask,
        BLOCK=k_cache.shape[0] * k_cache.shape[1],
        VALUES=values,
        AGAIN=again,
        ROW=row,
        SHORT=short,
    )


def writes(name, caught_by, loses, misconception, **wrong):
    """Register a write with one thing wrong; what is callable is asked for its value with the
    tensors.
    """

    def wrongly(k, v, k_cache, v_cache, slots):
        _put(
            k,
            v,
            k_cache,
            v_cache,
            slots,
            **{
                key: one(k, v, k_cache, v_cache) if callable(one) else one
                for key, one in wrong.items()
            },
        )

    mistake(WRITE, name, caught_by=caught_by, loses=loses, misconception=misconception)(wrongly)


writes(
    "by-token-number",
    "one token",
    6,
    "You write token t to slot t. It goes to `slots[t]`.",
    row=True,
)
writes("keys-for-values", "one token", 6, "You write the keys into both caches.", values=1)
writes(
    "keys-only", "one token", 6, "You write the keys alone. The values go into `v_cache`.", values=2
)
writes(
    "place-for-offset",
    "one token",
    6,
    "You take the slot's offset over the number of blocks: a block has `k_cache.shape[1]` slots.",
    size=lambda k, v, k_cache, v_cache: k_cache.shape[0],
)
writes(
    "minus-one-to-place-0",
    "padding",
    3,
    "You write a token with slot -1 to slot 0. It is written nowhere.",
    padding=1,
)
writes(
    "minus-one-to-the-last",
    "padding",
    2.5,
    "You write a token with slot -1 to the last slot, as an index of Python's would. It is written"
    " nowhere.",
    padding=2,
)
writes("first-head-only", "heads", 3, "You write the first head only.", mask=2)
writes(
    "caches-side-by-side",
    "strides",
    1,
    "You take other strides of a cache than it says: `k_cache` and `v_cache` have each their own,"
    " for blocks, slots and heads.",
    strides=lambda k, v, k_cache, v_cache: dict(
        zip(
            ("kb", "ks", "kh", "vb", "vs", "vh"),
            2
            * (
                k_cache.shape[1] * k_cache.shape[2] * k_cache.shape[3],
                k_cache.shape[2] * k_cache.shape[3],
                k_cache.shape[3],
            ),
        )
    ),
)
writes(
    "one-stride-for-both",
    "strides",
    1,
    "You take other strides of a cache than it says: `k_cache` and `v_cache` have each their own,"
    " for blocks, slots and heads.",
    strides=lambda k, v, k_cache, v_cache: dict(zip(("vb", "vs", "vh"), k_cache.stride()[:3])),
)
writes(
    "tokens-side-by-side",
    "strides",
    1.5,
    "You take `k` and `v` for one piece of memory each. Ask them for their strides.",
    strides=lambda k, v, k_cache, v_cache: dict(
        zip(("k_token", "k_head", "v_token", "v_head"), 2 * (k.shape[1] * k.shape[2], k.shape[2]))
    ),
)
writes("read-twice", "once", 0.5, "You read the keys twice.", again=True)


@mistake(
    WRITE, "two-starts", caught_by="once", loses=0.5, misconception="You start a kernel twice."
)
def _(k, v, k_cache, v_cache, slots):
    for _ in range(2):
        _put(k, v, k_cache, v_cache, slots)


@triton.jit
def _first_writes_all(
    k,
    v,
    k_cache,
    v_cache,
    slots,
    s,
    D,
    k_token,
    k_head,
    v_token,
    v_head,
    kb,
    ks,
    kh,
    vb,
    vs,
    vh,
    WIDTH: tl.constexpr,
):
    """The program of a token's first head writes all heads; the others have nothing to do."""
    token, number = tl.program_id(0), tl.arange(0, WIDTH)
    slot = tl.load(slots + token)
    if (slot >= 0) & (tl.program_id(1) == 0):
        for head in range(0, tl.num_programs(1)):
            key, value = (
                tl.load(k + token * k_token + head * k_head + number, mask=number < D),
                tl.load(v + token * v_token + head * v_head + number, mask=number < D),
            )
            tl.store(
                k_cache + slot // s * kb + slot % s * ks + head * kh + number, key, mask=number < D
            )
            tl.store(
                v_cache + slot // s * vb + slot % s * vs + head * vh + number,
                value,
                mask=number < D,
            )


@mistake(
    WRITE,
    "first-head-writes-all",
    caught_by="once",
    loses=0.5,
    misconception="The program of a token's first head writes all of its heads.",
)
def _(k, v, k_cache, v_cache, slots):
    _first_writes_all[k.shape[:2]](
        k,
        v,
        k_cache,
        v_cache,
        slots,
        k_cache.shape[1],
        k.shape[2],
        *k.stride()[:2],
        *v.stride()[:2],
        *k_cache.stride()[:3],
        *v_cache.stride()[:3],
        WIDTH=triton.next_power_of_2(k.shape[2]),
    )


writes(
    "short-places",
    "one token",
    3,
    "You count slots in 16 bits: a cache may have more.",
    short=True,
)


@mistake(
    WRITE,
    "into-a-copy",
    caught_by="strides",
    loses=1,
    misconception="You write into a copy of the cache where it does not lie in one piece.",
)
def _(k, v, k_cache, v_cache, slots):
    _put(k, v, k_cache.contiguous(), v_cache.contiguous(), slots)


@triton.jit
def _shares(
    q,
    k_cache,
    v_cache,
    tables,
    lengths,
    parts,
    lse,
    s,
    M,
    group,
    scale,
    kb,
    ks,
    kh,
    vb,
    vs,
    vh,
    D: tl.constexpr,
    TILE: tl.constexpr,
    TABLE: tl.constexpr,
    EACH: tl.constexpr,
    TAIL: tl.constexpr,
    SHRINK: tl.constexpr,
    START: tl.constexpr,
    MODULO: tl.constexpr,
    DIVIDE: tl.constexpr,
    LSE: tl.constexpr,
    EMPTY: tl.constexpr,
    OWN: tl.constexpr,
    PEAK: tl.constexpr,
    LOOK: tl.constexpr,
    HALVES: tl.constexpr,
):
    """A share of decoding, with one thing or another wrong."""
    row, head, number = tl.program_id(0) // HALVES, tl.program_id(1), tl.program_id(2)
    heads, width = tl.num_programs(1), tl.arange(0, D)
    length = tl.load(lengths + row)
    kv = head % group if MODULO else head // group
    each = tl.cdiv(length, tl.num_programs(2))
    if EACH == 1:
        each = tl.maximum(length // tl.num_programs(2), 1)
    if EACH == 2:
        each = tl.cdiv(tl.cdiv(length, s), tl.num_programs(2)) * s
    start = number * each
    stop = tl.minimum(start + each, length)
    if EACH == 3:
        start = number * 0
        stop = length
    if TAIL == 1:
        stop = stop - 1
    if TAIL == 2:
        stop = tl.minimum(tl.cdiv(stop, s) * s, M * s)
    if TAIL == 3:
        start = start // s * s
    query = tl.load(q + (row * heads + head) * D + width)
    peak = tl.full([], START, tl.float32)
    total = tl.full([], 0.0, tl.float32)
    mixed = tl.zeros([D], tl.float32)
    for first in range(start, stop, TILE):
        token = first + tl.arange(0, TILE)
        inside = token < stop
        entry = token // s
        if TABLE == 3:
            entry = (token - start) // s
        block = tl.load(
            tables + (row * M if OWN else 0) + entry, mask=inside & (entry >= 0), other=0
        )
        if TABLE == 1:
            block = token // s
        offset = token % s
        place, seen = block * kb + offset * ks + kv * kh, inside
        if LOOK == 1:
            place = place.to(tl.int16).to(tl.int32)
        if LOOK == 2:
            seen = token < tl.minimum(stop + 1, length)
            place = (
                tl.load(tables + row * M + entry, mask=seen, other=0) * kb + offset * ks + kv * kh
            )
        keys = tl.load(k_cache + place[:, None] + width[None, :], mask=seen[:, None], other=0.0)
        values = tl.load(
            v_cache + (block * vb + offset * vs + kv * vh)[:, None] + width[None, :],
            mask=inside[:, None],
            other=0.0,
        )
        scores = tl.sum(keys * query[None, :], 1) * scale
        if TAIL != 4:
            scores = tl.where(inside, scores, float("-inf"))
        new = peak
        if PEAK:
            new = tl.maximum(peak, tl.max(scores, 0))
        weights = tl.exp(scores - new)
        if SHRINK:
            total *= tl.exp(peak - new)
            mixed *= tl.exp(peak - new)
        total += tl.sum(weights, 0)
        mixed += tl.sum(weights[:, None] * values, 0)
        peak = new
    safe = tl.where(total == 0, 1.0, total)
    if EMPTY == 1:
        safe = total
    at = (row * heads + head) * tl.num_programs(2) + number
    ended = tl.where(total == 0, float("-inf"), peak + tl.log(safe))
    if LSE == 1:
        ended = tl.where(total == 0, float("-inf"), tl.log(safe))
    if LSE == 2:
        ended = ended * 1.4426950408889634
    if LSE == 3:
        ended = peak
    if LSE == 4:
        ended = tl.where(total == 0, 0.0, ended)
    if EMPTY == 2:
        if stop > start:
            tl.store(parts + at * D + width, mixed / safe)
            tl.store(lse + at, ended)
    else:
        own = width // (D // HALVES) == tl.program_id(0) % HALVES
        tl.store(parts + at * D + width, mixed / safe if DIVIDE else mixed, mask=own)
        tl.store(lse + at, ended)


def _split(
    q,
    k_cache,
    v_cache,
    tables,
    lengths,
    parts,
    lse,
    table=0,
    each=0,
    tail=0,
    shrink=True,
    start=-1e30,
    modulo=False,
    divide=True,
    ends=0,
    empty=0,
    own=True,
    peak=True,
    scale=None,
    strides=None,
    tile=16,
    look=0,
    halves=1,
):
    """Start the kernel above."""
    (B, H, D), K = q.shape, k_cache.shape[2]
    right = dict(
        zip(("kb", "ks", "kh", "vb", "vs", "vh"), (*k_cache.stride()[:3], *v_cache.stride()[:3]))
    )
    _shares[(B * halves, H, parts.shape[2])](
        q,
        k_cache,
        v_cache,
        tables,
        lengths,
        parts,
        lse,
        k_cache.shape[1],
        tables.shape[1],
        K if modulo else H // K,
        D**-0.5 if scale is None else scale,
        **right | (strides or {}),
        D=D,
        TILE=tile,
        TABLE=table,
        EACH=each,
        TAIL=tail,
        SHRINK=shrink,
        START=start,
        MODULO=modulo,
        DIVIDE=divide,
        LSE=ends,
        EMPTY=empty,
        OWN=own,
        PEAK=peak,
        LOOK=look,
        HALVES=halves,
    )


def splits(name, caught_by, loses, misconception, **wrong):
    """Register a share with one thing wrong; what is callable is asked for its value with the
    tensors.
    """

    def wrongly(q, k_cache, v_cache, tables, lengths, parts, lse):
        _split(
            q,
            k_cache,
            v_cache,
            tables,
            lengths,
            parts,
            lse,
            **{
                key: one(q, k_cache, v_cache) if callable(one) else one
                for key, one in wrong.items()
            },
        )

    mistake(SHARES, name, caught_by=caught_by, loses=loses, misconception=misconception)(wrongly)


splits(
    "no-scale", "one block", 8, "You do not divide the scores by the square root of D.", scale=1.0
)
splits(
    "scale-twice",
    "one block",
    8,
    "You divide the scores by D: by the square root of D twice.",
    scale=lambda q, k_cache, v_cache: 1 / q.shape[2],
)
splits(
    "two-instances-store-lse",
    "one block",
    8,
    "Two of your program instances divide a head's dimensions, and both store its log-sum-exp.",
    halves=2,
)
splits("not-divided", "one block", 7, "You do not divide the mixture by the sum.", divide=False)
splits("last-token-missing", "one block", 8, "You leave out the last token.", tail=1)
splits(
    "padding-counts",
    "one block",
    8,
    "Tokens beyond the end of the split count: their scores are 0, and not -inf.",
    tail=4,
)
splits(
    "no-table",
    "table",
    7,
    "You take the blocks in the order of their numbers. The table says which they are.",
    table=1,
)
splits(
    "whole-blocks",
    "one block",
    8,
    "You read the last block to its end: behind the length stands what somebody left there.",
    tail=2,
)
splits(
    "nothing-shrinks",
    "table",
    6,
    "Sum and mixture do not shrink when the peak climbs.",
    shrink=False,
)
splits(
    "entry-counted-from-the-share",
    "shares",
    5.5,
    "You count the entries of the table from the split's beginning.",
    table=3,
)
splits(
    "rounded-down",
    "shares",
    5.5,
    "You round the length of a split down: the last tokens belong to none.",
    each=1,
)
splits(
    "shares-of-blocks",
    "shares",
    5.5,
    "You divide whole blocks. A split has the length over N, rounded up, of the tokens.",
    each=2,
)
splits("each-reads-all", "shares", 5.5, "Every share attends over all tokens.", each=3)
splits(
    "share-from-its-blocks-beginning",
    "shares",
    5.5,
    "You begin a split at the beginning of a block: tokens before it are counted in two splits.",
    tail=3,
)
splits(
    "empty-divides-by-0",
    "shares",
    3,
    "You divide by the sum of an empty share, which is 0.",
    empty=1,
)
splits(
    "empty-not-written",
    "shares",
    4,
    "You write nothing for an empty share. Its zeros and its -inf belong there.",
    empty=2,
)
splits(
    "lse-without-peak",
    "log-sum-exp",
    2,
    "Your log-sum-exp is the logarithm of the sum alone. The peak belongs to it.",
    ends=1,
)
splits("lse-in-base-2", "log-sum-exp", 2, "Your log-sum-exp is a logarithm to base 2.", ends=2)
splits(
    "peak-for-lse",
    "log-sum-exp",
    2,
    "You give the peak. The logarithm of the sum belongs to it.",
    ends=3,
)
splits(
    "lse-0-where-empty",
    "log-sum-exp",
    1,
    "You give 0 for an empty share: that counts as one token with score 0. It is -inf.",
    ends=4,
)
splits(
    "first-row-of-the-table",
    "sequences",
    4,
    "All sequences use the first row of `tables`.",
    own=False,
)
splits(
    "heads-in-turns",
    "heads",
    2.5,
    "You give head h the keys of head h mod K. Neighbours share: h // (H / K).",
    modulo=True,
)
splits(
    "caches-side-by-side",
    "heads",
    1.5,
    "You take the cache for one piece of memory. Ask it for its strides.",
    strides=lambda q, k_cache, v_cache: dict(
        zip(
            ("kb", "ks", "kh", "vb", "vs", "vh"),
            2
            * (
                k_cache.shape[1] * k_cache.shape[2] * k_cache.shape[3],
                k_cache.shape[2] * k_cache.shape[3],
                k_cache.shape[3],
            ),
        )
    ),
)
splits(
    "one-stride-for-both",
    "heads",
    1.5,
    "You take the strides of `k_cache` for those of `v_cache`. Each has its own.",
    strides=lambda q, k_cache, v_cache: dict(zip(("vb", "vs", "vh"), k_cache.stride()[:3])),
)
splits("short-places", "heads", 1, "You count slots in 16 bits: a cache may have more.", look=1)
splits(
    "a-key-too-many",
    "work",
    0.5,
    "You read a key of the next share too. A mask hides it, and it is read all the same.",
    look=2,
)
splits(
    "no-peak",
    "large scores",
    0.5,
    "You take `exp` of the scores as they are, with no peak.",
    peak=False,
    start=0.0,
)
splits(
    "peak-of-zero",
    "large scores",
    0.5,
    "Your peak starts at 0: where all scores are far below, their sum is 0.",
    start=0.0,
)


@triton.jit
def _merge(
    parts,
    lse,
    out,
    N,
    SHARES: tl.constexpr,
    D: tl.constexpr,
    WEIGHTS: tl.constexpr,
    PEAK: tl.constexpr,
    OTHER: tl.constexpr,
    SAFE: tl.constexpr,
    DIVIDE: tl.constexpr,
    AGAIN: tl.constexpr,
):
    """All shares of a head, with one thing or another wrong."""
    at, share, width = tl.program_id(0), tl.arange(0, SHARES), tl.arange(0, D)
    inside = share < N
    sums = tl.load(lse + at * N + share, mask=inside, other=OTHER)
    pieces = tl.load(
        parts + (at * N + share)[:, None] * D + width[None, :], mask=inside[:, None], other=0.0
    )
    if AGAIN:
        pieces += 0.0 * tl.load(
            parts + (at * N + share)[:, None] * D + width[None, :], mask=inside[:, None], other=0.0
        )
    peak = tl.full([], 0.0, tl.float32)
    if PEAK:
        peak = tl.max(sums, 0)
    if SAFE >= 1:
        peak = tl.maximum(peak, -1e30)
    weights = tl.exp(sums - peak)
    if WEIGHTS == 1:
        weights = tl.where(inside, 1.0, 0.0)
    if WEIGHTS == 2:
        weights = tl.where(inside, sums, 0.0)
    if WEIGHTS == 3:
        weights = tl.where(inside & (sums > float("-inf")), 1.0, 0.0)
    if WEIGHTS == 4:
        weights = tl.where(sums == peak, 1.0, 0.0)
    if WEIGHTS == 5:
        weights = tl.exp2(sums - peak)
    total = tl.sum(weights, 0)
    if SAFE == 2:
        total = tl.where(total == 0, 1.0, total)
    mixed = tl.sum(pieces * weights[:, None], 0)
    tl.store(out + at * D + width, mixed / total if DIVIDE else mixed)


def joins(name, caught_by, loses, misconception, **wrong):
    """Register a merging with one thing wrong."""
    given = {
        "WEIGHTS": 0,
        "PEAK": True,
        "OTHER": float("-inf"),
        "SAFE": 2,
        "DIVIDE": True,
        "AGAIN": False,
    } | wrong

    def wrongly(parts, lse, out):
        B, H, N, D = parts.shape
        _merge[(B * H,)](parts, lse, out, N, SHARES=triton.next_power_of_2(N), D=D, **given)

    mistake(MERGE, name, caught_by=caught_by, loses=loses, misconception=misconception)(wrongly)


joins(
    "mean-of-shares",
    "weights",
    4,
    "You take the mean of the splits. Each counts by its sum.",
    WEIGHTS=1,
)
joins(
    "lse-as-weight",
    "weights",
    4,
    "You take lse itself for the weight. It is the logarithm of the weight.",
    WEIGHTS=2,
)
joins(
    "mean-of-those-not-empty",
    "weights",
    4,
    "You take the mean of the splits that are not empty. Each counts by its sum.",
    WEIGHTS=3,
)
joins(
    "largest-share-only",
    "weights",
    4,
    "You take the split with the largest sum alone. The others count as well.",
    WEIGHTS=4,
)
joins("powers-of-2", "weights", 4, "You take powers of 2. lse is a natural logarithm.", WEIGHTS=5)
joins("not-divided", "weights", 4, "You do not divide by the sum of the weights.", DIVIDE=False)
joins(
    "padding-counts",
    "any number",
    2.5,
    "Shares that are not there count: their lse is read as 0, and not as -inf.",
    OTHER=0.0,
)
joins(
    "minus-infinity-taken-away",
    "empty",
    1,
    "Where all shares are empty you take -inf from -inf, or divide 0 by 0: NaN.",
    SAFE=0,
)
joins(
    "divides-by-0",
    "empty",
    1,
    "Where all shares are empty you take -inf from -inf, or divide 0 by 0: NaN.",
    SAFE=1,
)
joins(
    "no-peak",
    "large",
    0.5,
    "You take `exp` of lse as it is: take the largest away first.",
    PEAK=False,
)


@triton.jit
def _first_merges_all(parts, lse, out, N, SHARES: tl.constexpr, D: tl.constexpr):
    """The first program of a sequence merges all of its heads; the others have nothing to do."""
    if tl.program_id(1) == 0:
        for head in range(0, tl.num_programs(1)):
            at, share, width = (
                tl.program_id(0) * tl.num_programs(1) + head,
                tl.arange(0, SHARES),
                tl.arange(0, D),
            )
            sums = tl.load(lse + at * N + share, mask=share < N, other=float("-inf"))
            pieces = tl.load(
                parts + (at * N + share)[:, None] * D + width[None, :],
                mask=(share < N)[:, None],
                other=0.0,
            )
            weights = tl.exp(sums - tl.maximum(tl.max(sums, 0), -1e30))
            total = tl.sum(weights, 0)
            tl.store(
                out + at * D + width,
                tl.sum(pieces * weights[:, None], 0) / tl.where(total == 0, 1.0, total),
            )


@mistake(
    MERGE,
    "first-merges-all",
    caught_by="work",
    loses=0.5,
    misconception="The first program of a sequence merges all of its heads.",
)
def _(parts, lse, out):
    B, H, N, D = parts.shape
    _first_merges_all[(B, H)](parts, lse, out, N, SHARES=triton.next_power_of_2(N), D=D)


@triton.jit
def _add_share(parts, lse, out, N, SHARES: tl.constexpr, D: tl.constexpr):
    """Adds one share to what the other instances left in `out`."""
    row, share, width = tl.program_id(0), tl.arange(0, SHARES), tl.arange(0, D)
    at = row * N + tl.program_id(1)
    sums = tl.load(lse + row * N + share, mask=share < N, other=float("-inf"))
    peak = tl.maximum(tl.max(sums, 0), -1e30)
    total = tl.sum(tl.exp(sums - peak), 0)
    weight = tl.exp(tl.load(lse + at) - peak) / tl.where(total == 0, 1.0, total)
    piece = weight * tl.load(parts + at * D + width)
    tl.store(out + row * D + width, tl.load(out + row * D + width) + piece)


@mistake(
    MERGE,
    "lost-update",
    caught_by="weights",
    loses=4,
    misconception="An instance for each share adds to `out` without atomics: updates are lost.",
)
def _(parts, lse, out):
    B, H, N, D = parts.shape
    out.zero_()
    _add_share[(B * H, N)](parts, lse, out, N, SHARES=triton.next_power_of_2(N), D=D)


joins("read-twice", "work", 0.5, "You read the splits twice.", AGAIN=True)
