"""Plausible wrong solutions of chapter 13, parts 1 and 2: bytes, pieces of a softmax, attention by
tiles and its gradient.
"""

import itertools
import math

import torch

from autograder.checks.mistakes.registry import mistake

TRAFFIC, MERGE, FORWARD, BACKWARD = (
    "13.predict_traffic",
    "13.merge",
    "13.flash_forward",
    "13.flash_backward",
)


def _counts(N, D, rows, size, plain=None, flash=None, operations=None):
    """The three numbers, some of them replaced."""
    tiles = math.ceil(N / rows)
    return {
        "plain": size * (4 * N * D + 4 * N * N) if plain is None else plain,
        "flash": size * (2 * N * D + tiles * 2 * N * D) + 4 * N if flash is None else flash,
        "operations": 4 * N * N * D if operations is None else operations,
    }


@mistake(
    TRAFFIC,
    "table-once",
    caught_by="plain attention bytes",
    loses=1.5,
    misconception=(
        "You count the scores only. The attention weights are a second N x N matrix, "
        "written and read as well."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, plain=size * (4 * N * D + 2 * N * N))


@mistake(
    TRAFFIC,
    "inputs-only",
    caught_by="plain attention bytes",
    loses=1.5,
    misconception=(
        "You count Q, K, V and the output only. Plain attention also writes scores and "
        "attention weights to HBM and reads them back."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, plain=size * 4 * N * D)


@mistake(
    TRAFFIC,
    "numbers-for-bytes",
    caught_by="plain attention bytes",
    loses=3.5,
    misconception="You count numbers instead of bytes. Each number has `size` bytes.",
)
def _(N, D, rows, size):
    return _counts(N, D, rows, 1)


@mistake(
    TRAFFIC,
    "keys-once",
    caught_by="FlashAttention bytes",
    loses=2,
    misconception="You read K and V once in all. Each tile of queries reads them again.",
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, flash=size * 4 * N * D + 4 * N)


@mistake(
    TRAFFIC,
    "table-in-flash",
    caught_by="FlashAttention bytes",
    loses=2,
    misconception=(
        "You count scores in FlashAttention. They are never written to HBM: a tile of "
        "scores stays on the chip."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, flash=_counts(N, D, rows, size)["flash"] + 2 * size * N * N)


@mistake(
    TRAFFIC,
    "no-log-sum-exp",
    caught_by="FlashAttention bytes",
    loses=2,
    misconception="You left out the log-sum-exp: one number of 4 bytes for each query.",
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, flash=_counts(N, D, rows, size)["flash"] - 4 * N)


@mistake(
    TRAFFIC,
    "log-sum-exp-of-size",
    caught_by="FlashAttention bytes",
    loses=2,
    misconception=(
        "You give the log-sum-exp `size` bytes for each query. It has 4, whatever `size` is."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, flash=_counts(N, D, rows, size)["flash"] - 4 * N + size * N)


@mistake(
    TRAFFIC,
    "ragged-tile-lost",
    caught_by="FlashAttention bytes",
    loses=2,
    misconception=(
        "You round the number of tiles down. The smaller last tile reads all keys as well."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, flash=size * (2 * N * D + N // rows * 2 * N * D) + 4 * N)


@mistake(
    TRAFFIC,
    "ragged-tile-in-part",
    caught_by="FlashAttention bytes",
    loses=2,
    misconception=(
        "You let the smaller last tile read only part of the keys. It reads all of them."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, flash=size * (2 * N * D + 2 * N * N * D // rows) + 4 * N)


@mistake(
    TRAFFIC,
    "fewer-operations",
    caught_by="FLOPs counted",
    loses=1.5,
    misconception=(
        "You let FlashAttention compute fewer FLOPs than plain attention. It computes all"
        " scores; what it saves is traffic."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, operations=4 * N * rows * D)


@mistake(
    TRAFFIC,
    "half-of-the-operations",
    caught_by="FLOPs counted",
    loses=1.5,
    misconception=(
        "You count half of the FLOPs: there are two products, and a multiplication and "
        "its addition are two FLOPs."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, operations=2 * N * N * D)


@mistake(
    TRAFFIC,
    "one-product-of-multiplications",
    caught_by="FLOPs counted",
    loses=1.5,
    misconception=(
        "You count the multiplications of one product. There are two products, and each "
        "multiplication comes with an addition."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, operations=N * N * D)


@mistake(
    TRAFFIC,
    "backward-too",
    caught_by="FLOPs counted",
    loses=1.5,
    misconception=(
        "You count the products of the backward pass as well. Only the two of the forward"
        " pass count."
    ),
)
def _(N, D, rows, size):
    return _counts(N, D, rows, size, operations=14 * N * N * D)


def _join(one, other, peak=None, left=None, right=None, sums=True, mixtures=True):
    """The right merge with its factors replaced."""
    (a, s, x), (b, t, y) = one, other
    top = torch.maximum(a, b) if peak is None else peak
    ground = torch.where(top == -torch.inf, 0.0, top)
    first, second = (
        ground_of(side, ground) if chosen is None else chosen
        for side, chosen in ((a, left), (b, right))
    )
    f, g = (first, second) if sums else (torch.ones_like(first), torch.ones_like(second))
    h, i = (first, second) if mixtures else (torch.ones_like(first), torch.ones_like(second))
    return top, f * s + g * t, h[:, None] * x + i[:, None] * y


def ground_of(side, ground):
    """By what a side shrinks."""
    return (side - ground).exp()


@mistake(
    MERGE,
    "nothing-shrinks",
    caught_by="either maximum larger",
    loses=4,
    misconception=(
        "You add sums and accumulators without rescaling the side with the smaller maximum."
    ),
)
def _(one, other):
    return _join(one, other, sums=False, mixtures=False)


@mistake(
    MERGE,
    "sum-not-shrunk",
    caught_by="either maximum larger",
    loses=4,
    misconception="You rescale the accumulator and not the sum. Both are relative to the maximum.",
)
def _(one, other):
    return _join(one, other, sums=False)


@mistake(
    MERGE,
    "mixture-not-shrunk",
    caught_by="either maximum larger",
    loses=4,
    misconception="You rescale the sum and not the accumulator. Both are relative to the maximum.",
)
def _(one, other):
    return _join(one, other, mixtures=False)


@mistake(
    MERGE,
    "first-shrinks-only",
    caught_by="either maximum larger",
    loses=4,
    misconception="You rescale the first part only. The second need not have the larger maximum.",
)
def _(one, other):
    return _join(one, other, right=torch.ones_like(one[0]))


@mistake(
    MERGE,
    "second-is-newer",
    caught_by="either maximum larger",
    loses=4,
    misconception="You use the second part's maximum. The merged maximum is the larger of the two.",
)
def _(one, other):
    return _join(one, other, peak=other[0].clone())


@mistake(
    MERGE,
    "reversed",
    caught_by="either maximum larger",
    loses=4,
    misconception=(
        "Your factor is exp(larger maximum - old maximum): the exponent has the wrong sign."
    ),
)
def _(one, other):
    top = torch.maximum(one[0], other[0])
    ground = torch.where(top == -torch.inf, 0.0, top)
    return _join(
        one,
        other,
        left=torch.where(one[0] == -torch.inf, 0.0, (ground - one[0]).exp()),
        right=torch.where(other[0] == -torch.inf, 0.0, (ground - other[0]).exp()),
    )


@mistake(
    MERGE,
    "means",
    caught_by="equal maxima",
    loses=5,
    misconception="You average the two parts. Sums and accumulators are added.",
)
def _(one, other):
    top, total, mixed = _join(one, other)
    return top, total / 2, mixed / 2


@mistake(
    MERGE,
    "divided",
    caught_by="equal maxima",
    loses=5,
    misconception=(
        "You divide the accumulator by the sum. Return both, so that the part can be merged again."
    ),
)
def _(one, other):
    top, total, mixed = _join(one, other)
    return top, total, mixed / total.clamp(min=1e-30)[:, None]


@mistake(
    MERGE,
    "peaks-added",
    caught_by="equal maxima",
    loses=5,
    misconception="You add the maxima. The merged one is the larger of the two.",
)
def _(one, other):
    top, total, mixed = _join(one, other)
    return one[0] + other[0], total, mixed


@mistake(
    MERGE,
    "nan-of-two-empty",
    caught_by="empty parts",
    loses=1,
    misconception="You subtract -inf from -inf, which is NaN.",
)
def _(one, other):
    top = torch.maximum(one[0], other[0])
    left, right = (one[0] - top).exp(), (other[0] - top).exp()
    return top, left * one[1] + right * other[1], left[:, None] * one[2] + right[:, None] * other[2]


@mistake(
    MERGE,
    "whole-tensor-peak",
    caught_by="either maximum larger",
    loses=2.5,
    misconception="You use one maximum for all rows. Each row has its own.",
)
def _(one, other):
    a, b = one[0], other[0]
    top = (
        torch.where(torch.maximum(a, b) == -torch.inf, -torch.inf, torch.maximum(a, b).amax())
        if (a != b).any()
        else a.clone()
    )
    ground = torch.where(top == -torch.inf, 0.0, top)
    left, right = ground_of(a, ground), ground_of(b, ground)
    return top, left * one[1] + right * other[1], left[:, None] * one[2] + right[:, None] * other[2]


@mistake(
    MERGE,
    "without-a-peak",
    caught_by="far apart",
    loses=1.5,
    misconception=(
        "You return to exp(score) before adding, which overflows when the maximum is a few hundred."
    ),
)
def _(one, other):
    top, total, mixed = _join(one, other)
    back = one[0].exp() * one[1] + other[0].exp() * other[1]
    shrunk = one[0].exp()[:, None] * one[2] + other[0].exp()[:, None] * other[2]
    lift = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    return top, back / lift.exp(), shrunk / lift.exp()[:, None]


def _walk(
    q,
    k,
    v,
    rows,
    columns,
    causal,
    *,
    scale=None,
    strict=False,
    aligned="last",
    by_tile=False,
    start=-1e30,
    shrink_sum=True,
    shrink_mixture=True,
    tile_peak=False,
    no_peak=False,
    each_divided=False,
    low=-torch.inf,
    lse_of="both",
    padded=False,
    halves=False,
    lost=False,
    full_mask=False,
    stops_early=False,
):
    """Attention by tiles with one thing or another wrong; see the mistakes below."""
    (H, T, D), S = q.shape, k.shape[1]
    scale = D**-0.5 if scale is None else scale
    out, lse = torch.empty_like(q), q.new_empty(H, T)
    table = torch.arange(S) > torch.arange(T)[:, None] + S - T if full_mask and causal else None
    for first in range(0, T, rows):
        mine = q[:, first : first + rows] * scale
        peak, total, mixed = (
            mine.new_full(mine.shape[:2], start),
            mine.new_zeros(mine.shape[:2]),
            torch.zeros_like(mine),
        )
        places = torch.arange(first, first + mine.shape[1]) + (S - T if aligned == "last" else 0)
        for at in range(0, S // columns * columns if lost else S, columns):
            keys, values = k[:, at : at + columns], v[:, at : at + columns]
            if stops_early and causal and at >= first + rows + S - T - 1:
                break
            if padded and keys.shape[1] < columns:
                keys, values = (
                    torch.nn.functional.pad(one, (0, 0, 0, columns - one.shape[1]))
                    for one in (keys, values)
                )
            scores = mine @ keys.mT
            key = torch.arange(at, at + scores.shape[2])
            if table is not None:
                scores = scores.masked_fill_(table[first : first + rows, at : at + columns], low)
            elif causal and by_tile:
                scores = scores if at <= int(places[-1]) else torch.full_like(scores, low)
            elif causal:
                hidden = key >= places[:, None] if strict else key > places[:, None]
                scores = scores.masked_fill(hidden, low)
            new = scores.amax(2) if tile_peak else torch.maximum(peak, scores.amax(2))
            new = torch.zeros_like(new) if no_peak else new
            weights, shrink = (
                (scores - new[..., None]).exp(),
                (peak - new).exp() if not no_peak else torch.ones_like(new),
            )
            total = total * (shrink if shrink_sum else 1) + weights.sum(2)
            if each_divided:
                mixed = (mixed * shrink[..., None] + weights @ values) / total[..., None]
            else:
                mixed = mixed * (shrink[..., None] if shrink_mixture else 1) + (
                    (weights.half().float() if halves else weights) @ values
                )
            peak = new
        out[:, first : first + rows] = (
            mixed if each_divided else mixed / torch.where(total == 0, 1.0, total)[..., None]
        )
        lse[:, first : first + rows] = {
            "both": peak + total.log(),
            "peak": peak,
            "sum": total.log(),
            "two": (peak + total.log()) / math.log(2),
        }[lse_of]
    return out, lse


def forward(name, caught_by, loses, misconception, **wrong):
    """Register a walk with one thing wrong."""
    mistake(FORWARD, name, caught_by=caught_by, loses=loses, misconception=misconception)(
        lambda q, k, v, rows, columns, causal: _walk(q, k, v, rows, columns, causal, **wrong)
    )


forward(
    "no-scale", "one tile", 8, "You do not divide the scores by the square root of D.", scale=1.0
)
forward(
    "sum-not-shrunk",
    "rescaled sums",
    7,
    "You rescale the accumulator and not the sum when the maximum increases.",
    shrink_sum=False,
)
forward(
    "mixture-not-shrunk",
    "rescaled sums",
    6,
    "You rescale the sum and not the accumulator when the maximum increases.",
    shrink_mixture=False,
)
forward(
    "nothing-shrinks",
    "rescaled sums",
    7,
    "You never rescale: sums relative to different maxima are added.",
    shrink_sum=False,
    shrink_mixture=False,
)
forward(
    "divided-in-each-tile",
    "several tiles",
    8,
    "You divide in each tile. Divide the accumulator once, at the end.",
    each_divided=True,
)
forward(
    "no-maximum",
    "large scores",
    1.5,
    "You take `exp` of the scores without subtracting the maximum.",
    no_peak=True,
)
forward(
    "peak-of-zero",
    "large scores",
    1.5,
    "Your maximum starts at 0: if all scores are far below, the sum underflows to 0.",
    start=0.0,
)
forward(
    "padding-counts",
    "one tile",
    3.5,
    ("You pad the last tile of keys with zeros and count them: their scores must be -inf, not 0."),
    padded=True,
)
forward("last-tile-lost", "one tile", 6, "You leave out an incomplete last tile.", lost=True)
forward(
    "counted-from-the-first",
    "fewer or more queries",
    2.5,
    (
        "You give query t the position t. It is t + S - T, because the queries are the "
        "last positions."
    ),
    aligned="first",
)
forward(
    "strict-diagonal",
    "causal mask",
    5,
    "Your queries do not attend to the key at their own position.",
    strict=True,
)
forward(
    "causal-by-tile",
    "causal mask",
    5,
    "You mask whole tiles only. The tile on the diagonal is partly visible.",
    by_tile=True,
)
forward(
    "minus-a-million",
    "fewer or more queries",
    2,
    (
        "You mask with a large negative number: a query without keys then attends to all "
        "of them equally."
    ),
    low=-1e6,
    start=-1e30,
)
forward(
    "lse-in-base-2",
    "large scores",
    1.5,
    "Your log-sum-exp is a logarithm to base 2, not a natural one.",
    lse_of="two",
)
forward(
    "lse-without-the-peak",
    "large scores",
    1.5,
    "Your log-sum-exp is the logarithm of the sum alone. Add the maximum.",
    lse_of="sum",
)
forward(
    "lse-is-the-peak",
    "large scores",
    1.5,
    "You return the maximum as log-sum-exp. Add the logarithm of the sum.",
    lse_of="peak",
)
forward(
    "tile-maximum",
    "causal mask",
    4,
    (
        "You replace the running maximum by the tile's own. Take the larger of both, or "
        "earlier terms grow to infinity."
    ),
    tile_peak=True,
)


forward(
    "mask-of-all",
    "memory",
    1,
    ("You build a mask of all queries by all keys at once. Build it for one tile at a time."),
    full_mask=True,
)
forward(
    "one-key-early",
    "causal mask",
    4,
    (
        "Your loop ends one key early: the last query of a tile attends to the key at its"
        " own position, t + S - T."
    ),
    stops_early=True,
)


@mistake(
    FORWARD,
    "nan-where-nothing-is-seen",
    caught_by="fewer or more queries",
    loses=2,
    misconception=(
        "Your maximum starts at -inf: for a query without keys, you subtract -inf from -inf."
    ),
)
def _(q, k, v, rows, columns, causal):
    return _walk(q, k, v, rows, columns, causal, start=-math.inf)


@mistake(
    FORWARD,
    "all-keys-in-one-tile",
    caught_by="memory",
    loses=1,
    misconception="Your tile holds all keys. Walk over the keys in tiles of `columns` as well.",
)
def _(q, k, v, rows, columns, causal):
    heads, T, S = len(q), q.shape[1], k.shape[1]
    out, lse = torch.empty_like(q), q.new_empty(heads, T)
    for head, above in itertools.product(range(heads), range(0, T, rows)):
        scores = q[head, above : above + rows] / q.shape[2] ** 0.5 @ k[head].mT
        if causal:
            last = torch.arange(above, above + len(scores)) + S - T
            scores.masked_fill_(torch.arange(S) > last[:, None], -torch.inf)
        peak = scores.amax(1).clamp(min=-1e30)
        total = scores.sub_(peak[:, None]).exp_().sum(1)
        mixed = scores @ v[head] / total.clamp(min=1e-30)[:, None]
        out[head, above : above + rows], lse[head, above : above + rows] = mixed, peak + total.log()
    return out, lse


@mistake(
    FORWARD,
    "all-queries-in-one-tile",
    caught_by="memory",
    loses=1,
    misconception="Your tile holds all queries. Cut the queries into tiles of `rows` as well.",
)
def _(q, k, v, rows, columns, causal):
    return _walk(q, k, v, q.shape[1], columns, causal)


def _back(
    grad,
    q,
    k,
    v,
    out,
    lse,
    rows,
    columns,
    causal,
    *,
    scales=(1, 1),
    scale=None,
    delta="out",
    again=False,
    aligned="last",
    masked=True,
    tiles="all",
    grouping="repeat",
    sum_groups=True,
    finite=True,
    mean_groups=False,
):
    """The gradients by tiles with one thing or another wrong."""
    (H, T, D), (K, S, _) = q.shape, k.shape
    group, scale = H // K, D**-0.5 if scale is None else scale
    spread = (
        (lambda x: x.repeat_interleave(group, 0))
        if grouping == "repeat"
        else (lambda x: x.repeat(group, 1, 1))
    )
    keys, values = spread(k), spread(v)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(keys), torch.zeros_like(values)
    ends = lse.nan_to_num(neginf=0.0) if finite else lse
    for a in range(0, T // rows * rows if tiles == "full" and T > rows else T, rows):
        i = slice(a, min(a + rows, T))
        places = torch.arange(i.start, i.stop) + (S - T if aligned == "last" else 0)
        for b in range(0, S, columns):
            j = slice(b, b + columns)
            scores = q[:, i] @ keys[:, j].mT * scale
            if causal and masked:
                scores = scores.masked_fill(
                    torch.arange(b, b + scores.shape[2]) > places[:, None], -torch.inf
                )
            weights = (
                scores.softmax(2).nan_to_num(0.0) if again else (scores - ends[:, i, None]).exp()
            )
            d_weights = grad[:, i] @ values[:, j].mT
            inner = {
                "out": (grad * out).sum(2)[:, i],
                "tile": (weights * d_weights).sum(2),
                "none": torch.zeros_like(lse[:, i]),
                "grad": grad.square().sum(2)[:, i],
            }[delta]
            ds = weights * (d_weights - inner[..., None])
            dq[:, i] += ds @ keys[:, j] * D**-0.5 * scales[0]
            dk[:, j] += (ds.mT @ q[:, i]) * D**-0.5 * scales[1]
            dv[:, j] += weights.mT @ grad[:, i]
    together = (
        (
            lambda x: x.unflatten(0, (K, group) if grouping == "repeat" else (group, K)).sum(
                1 if grouping == "repeat" else 0
            )
        )
        if sum_groups
        else (lambda x: x.unflatten(0, (K, group))[:, 0])
    )
    dk, dv = together(dk), together(dv)
    return (dq, dk / group, dv / group) if mean_groups else (dq, dk, dv)


def backward(name, caught_by, loses, misconception, **wrong):
    """Register a backward walk with one thing wrong."""
    mistake(BACKWARD, name, caught_by=caught_by, loses=loses, misconception=misconception)(
        lambda grad, q, k, v, out, lse, rows, columns, causal: _back(
            grad,
            q,
            k,
            v,
            out,
            lse,
            rows,
            columns,
            causal,
            **({key: one(q.shape[2]) if callable(one) else one for key, one in wrong.items()}),
        )
    )


backward(
    "scores-not-scaled",
    "gradient dV",
    8,
    "You do not divide the recomputed scores by the square root of D.",
    scale=1.0,
)
backward(
    "dq-not-scaled",
    "gradient dQ",
    6,
    "You do not divide dQ by the square root of D.",
    scales=lambda D: (D**0.5, 1),
)
backward(
    "scaled-twice",
    "gradient dQ",
    7,
    "You divide dQ and dK by the square root of D twice.",
    scales=lambda D: (D**-0.5, D**-0.5),
)
backward(
    "dk-not-scaled",
    "gradient dK",
    6,
    "You do not divide dK by the square root of D.",
    scales=lambda D: (1, D**0.5),
)
backward(
    "no-delta",
    "gradient dQ",
    7,
    "You left out delta, which the softmax's gradient subtracts.",
    delta="none",
)
backward(
    "delta-of-the-gradient",
    "gradient dQ",
    7,
    ("Your delta is the sum of the gradient's squares. It is the sum of gradient times output."),
    delta="grad",
)
backward(
    "delta-of-a-tile",
    "several tiles",
    5,
    (
        "You compute delta from one tile. It belongs to the whole row: gradient times "
        "output, summed over D."
    ),
    delta="tile",
)
backward(
    "softmax-again",
    "several tiles",
    5,
    (
        "You take a softmax in each tile. The weights are exp(score - log-sum-exp), with "
        "the log-sum-exp of the whole row."
    ),
    again=True,
)
backward(
    "no-mask",
    "causal mask",
    2.5,
    "You do not mask: keys after the query must have the weight 0.",
    masked=False,
)
backward(
    "counted-from-the-first",
    "causal mask",
    2.5,
    "You give query t the position t. It is t + S - T.",
    aligned="first",
)
backward(
    "nan-of-the-blind",
    "causal mask",
    1.5,
    ("You subtract the log-sum-exp -inf of a query without keys from -inf, which is NaN."),
    finite=False,
)
backward(
    "last-queries-lost",
    "ragged tiles",
    3.5,
    "You leave out an incomplete last tile of queries.",
    tiles="full",
)
backward(
    "other-groups",
    "grouped heads",
    1,
    "You give query head h the KV head h mod K. It is h // (H / K): neighbours share.",
    grouping="tile",
)
backward(
    "first-of-a-group",
    "grouped heads",
    1,
    ("You keep only the first head of each group in dK and dV. Add the contributions of all."),
    sum_groups=False,
)
backward(
    "mean-of-a-group",
    "grouped heads",
    1,
    "You average over the heads of a group in dK and dV. Add their contributions.",
    mean_groups=True,
)
