"""Plausible wrong solutions of chapter 12, part 2."""

import torch

from autograder.checks.mistakes.registry import mistake

GROUPED, KEPT, HALVES = "12.grouped_attention", "12.predict_cache", "12.to_halves"


def _attended(
    q,
    k,
    v,
    spread=lambda x, groups: x.repeat_interleave(groups, 1),
    spread_v=None,
    scale=None,
    seen=lambda T, S: torch.arange(S) <= torch.arange(T)[:, None] + S - T,
    hidden=-torch.inf,
    weights=lambda scores: scores.softmax(-1),
):
    """The answer with one part replaced, head by head so that nothing is copied."""
    (_, H, T, D), S = q.shape, k.shape[2]
    place = torch.arange(k.shape[1])[None]
    keys_of, values_of = (
        way(place, H // k.shape[1])[0].tolist() for way in (spread, spread_v or spread)
    )
    out = []
    for head in range(H):
        scores = (
            q[:, head]
            @ k[:, keys_of[head]].transpose(1, 2)
            * (D**-0.5 if scale is None else scale(q, k))
        )
        out.append(weights(scores.masked_fill(~seen(T, S), hidden)) @ v[:, values_of[head]])
    return torch.stack(out, 1)


@mistake(
    GROUPED,
    "in-turns",
    caught_by="groups",
    loses=4,
    misconception=(
        "You assign the KV heads alternately: 0 1 0 1. Groups are consecutive: 0 0 1 1."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, spread=lambda x, groups: x.repeat(1, groups))


@mistake(
    GROUPED,
    "values-in-turns",
    caught_by="groups",
    loses=4,
    misconception=(
        "You assign the values' heads alternately: 0 1 0 1. Groups are consecutive, as for the"
        " keys: 0 0 1 1."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, spread_v=lambda x, groups: x.repeat(1, groups))


@mistake(
    GROUPED,
    "first-key-head",
    caught_by="groups",
    loses=4,
    misconception=(
        "All query heads use KV head 0 when there are fewer KV heads. Each group has its own."
    ),
)
def _(q, k, v):
    return _attended(
        q,
        k,
        v,
        spread=lambda x, groups: x if groups == 1 else x[:, :1].expand(-1, groups * x.shape[1]),
    )


@mistake(
    GROUPED,
    "groups-of-k",
    caught_by="groups",
    loses=4,
    misconception="You let K query heads share a KV head. A group has H / K of them.",
)
def _(q, k, v):
    return _attended(
        q,
        k,
        v,
        spread=lambda x, groups: (
            (torch.arange(groups * x.shape[1]) // x.shape[1] % x.shape[1])[None]
            if groups > 1
            else x
        ),
    )


@mistake(
    GROUPED,
    "mean-over-the-group",
    caught_by="groups",
    loses=4,
    misconception="You average the queries of a group. Each query head attends by itself.",
)
def _(q, k, v):
    groups = q.shape[1] // k.shape[1]
    return _attended(q.unflatten(1, (-1, groups)).mean(2), k, v).repeat_interleave(groups, 1)


@mistake(
    GROUPED,
    "mask-not-shifted",
    caught_by="step",
    loses=7,
    misconception=(
        "Your mask counts keys as if the queries were the first tokens. They are the last T of S."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, seen=lambda T, S: torch.ones(T, S).tril().bool())


@mistake(
    GROUPED,
    "mask-not-shifted-but-for-one",
    caught_by="later",
    loses=1,
    misconception=(
        "For T > 1 your mask counts keys as if the queries were the first tokens. They are the last"
        " T of S."
    ),
)
def _(q, k, v):
    return _attended(
        q,
        k,
        v,
        seen=lambda T, S: torch.ones(T, S).tril().bool() if T > 1 else torch.ones(1, S).bool(),
    )


@mistake(
    GROUPED,
    "no-mask",
    caught_by="causal",
    loses=2.5,
    misconception="Every query sees all keys. A query sees itself and what came before.",
)
def _(q, k, v):
    return _attended(q, k, v, seen=lambda T, S: torch.ones(T, S).bool())


@mistake(
    GROUPED,
    "not-itself",
    caught_by="causal",
    loses=2.5,
    misconception="With several queries, a query does not see its own token. It sees itself too.",
)
def _(q, k, v):
    return _attended(
        q,
        k,
        v,
        seen=lambda T, S: (
            torch.arange(S) < (torch.arange(T)[:, None] + S - T).clamp(min=1) + (T == 1)
        ),
    )


@mistake(
    GROUPED,
    "the-future",
    caught_by="causal",
    loses=2.5,
    misconception="Your mask is reversed: a query sees itself and later keys.",
)
def _(q, k, v):
    return _attended(
        q,
        k,
        v,
        seen=lambda T, S: (
            torch.arange(S) >= torch.arange(T)[:, None] if T > 1 else torch.ones(1, S).bool()
        ),
    )


@mistake(
    GROUPED,
    "no-scale",
    caught_by="step",
    loses=7,
    misconception="You do not divide the scores by sqrt(D).",
)
def _(q, k, v):
    return _attended(q, k, v, scale=lambda q, k: 1.0)


@mistake(
    GROUPED,
    "divided-by-d",
    caught_by="step",
    loses=7,
    misconception="You divide the scores by D. Divide by its root.",
)
def _(q, k, v):
    return _attended(q, k, v, scale=lambda q, k: 1 / q.shape[-1])


@mistake(
    GROUPED,
    "scaled-by-key-heads",
    caught_by="step",
    loses=7,
    misconception=(
        "You divide by the root of K · D. It is the root of D, the dimension of one head."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, scale=lambda q, k: (k.shape[1] * q.shape[-1]) ** -0.5)


@mistake(
    GROUPED,
    "hidden-by-a-number",
    caught_by="causal",
    loses=2.5,
    misconception=(
        "You set masked scores to -100, and visible ones may be lower. Use minus infinity."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, hidden=-100.0)


@mistake(
    GROUPED,
    "masked-behind-the-softmax",
    caught_by="causal",
    loses=2.5,
    misconception=(
        "You mask after the softmax, so the weights no longer sum to 1. Mask the scores, with minus"
        " infinity."
    ),
)
def _(q, k, v):
    out, (T, S) = [], (q.shape[2], k.shape[2])
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    for head in range(q.shape[1]):
        shared = head * k.shape[1] // q.shape[1]
        out.append(
            (q[:, head] @ k[:, shared].transpose(1, 2) / q.shape[-1] ** 0.5)
            .softmax(-1)
            .masked_fill(~seen, 0)
            @ v[:, shared]
        )
    return torch.stack(out, 1)


@mistake(
    GROUPED,
    "softmax-overflows",
    caught_by="step",
    loses=6,
    misconception=(
        "Your softmax takes exp of the scores themselves, which overflows. Subtract the largest"
        " first, or use `softmax`."
    ),
)
def _(q, k, v):
    return _attended(
        q, k, v, weights=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True)
    )


@mistake(
    GROUPED,
    "softmax-over-queries",
    caught_by="causal",
    loses=2.5,
    misconception="Your softmax goes over the queries. It goes over the keys of each query.",
)
def _(q, k, v):
    return _attended(
        q,
        k,
        v,
        weights=lambda scores: scores.softmax(1) if scores.shape[1] > 1 else scores.softmax(2),
    )


@mistake(
    GROUPED,
    "largest-of-the-unseen",
    caught_by="causal",
    loses=2.5,
    misconception=(
        "You subtract the largest of all scores before exp, so the visible ones may all underflow."
        " Mask first."
    ),
)
def _(q, k, v):
    (_, H, T, D), (K, S) = q.shape, k.shape[1:3]
    seen, out = torch.arange(S) <= torch.arange(T)[:, None] + S - T, torch.empty_like(q)
    for head in range(H):
        scores = q[:, head] @ k[:, head * K // H].transpose(1, 2) / D**0.5
        powers = (scores - scores.amax(2, keepdim=True)).exp() * seen
        out[:, head] = powers / powers.sum(2, keepdim=True) @ v[:, head * K // H]
    return out


@mistake(
    GROUPED,
    "copies",
    caught_by="no-copies",
    loses=1,
    misconception="You copy keys and values for each query head.",
)
def _(q, k, v):
    k, v = (one.repeat_interleave(q.shape[1] // one.shape[1], 1) for one in (k, v))
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    T, S = scores.shape[2:]
    return (
        scores.masked_fill(torch.arange(S) > torch.arange(T)[:, None] + S - T, -torch.inf).softmax(
            -1
        )
        @ v
    )


@mistake(
    GROUPED,
    "tokens-before-heads",
    caught_by="later",
    loses=1,
    misconception=(
        "Your rows go head by head, but your mask expects token by token: reshape the scores to (B,"
        " K, H // K, T, S)."
    ),
)
def _(q, k, v):
    (B, H, T, D), (K, S) = q.shape, k.shape[1:3]
    scores = q.reshape(B, K, H // K * T, D) @ k.transpose(2, 3) / D**0.5
    seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
    scores = scores.reshape(B, K, T, H // K, S).masked_fill(~seen[:, None], -torch.inf)
    return (scores.softmax(-1).reshape(B, K, -1, S) @ v).reshape(B, H, T, D)


@mistake(
    GROUPED,
    "hidden-by-zero",
    caught_by="causal",
    loses=2.5,
    misconception=(
        "You set masked scores to 0, which still gives them weight. Set them to minus infinity"
        " before the softmax."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, hidden=0.0)


@mistake(
    GROUPED,
    "next-token-too",
    caught_by="causal",
    loses=2.5,
    misconception="Your mask is one position too wide: a query also sees the token after it.",
)
def _(q, k, v):
    return _attended(
        q, k, v, seen=lambda T, S: torch.arange(S) <= torch.arange(T)[:, None] + S - T + 1
    )


@mistake(
    GROUPED,
    "strictly-before",
    caught_by="step",
    loses=7,
    misconception=(
        "Your mask is one position too narrow: a query does not see its own token. Use j <= S - T +"
        " t."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, seen=lambda T, S: torch.arange(S) < torch.arange(T)[:, None] + S - T)


@mistake(
    GROUPED,
    "softmax-over-queries-always",
    caught_by="step",
    loses=7,
    misconception=(
        "Your softmax goes over the queries, so one query gives every key the weight 1. It goes"
        " over the keys."
    ),
)
def _(q, k, v):
    return _attended(q, k, v, weights=lambda scores: scores.softmax(1))


@mistake(
    KEPT,
    "keys-only",
    caught_by="token",
    loses=4,
    misconception="You count keys or values. A token adds both.",
)
def _(layers, H, K, D, bits, length, gib):
    token = layers * K * D * bits // 8
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}


def _kept(layers, H, K, D, bits, length, gib, heads=None, width=8, gibibyte=2**30, text=None):
    token = 2 * layers * (K if heads is None else heads) * D * bits // width
    text = length * token if text is None else text(token)
    return {"token": token, "text": text, "texts": gib * gibibyte // text}


@mistake(
    KEPT,
    "query-heads",
    caught_by="token",
    loses=4,
    misconception=("You count query heads. Only the K KV heads are cached."),
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(layers, H, K, D, bits, length, gib, heads=H)


@mistake(
    KEPT,
    "queries-too",
    caught_by="token",
    loses=4,
    misconception="You count the queries too. They are not cached.",
)
def _(layers, H, K, D, bits, length, gib):
    token = layers * (H + 2 * K) * D * bits // 8
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}


@mistake(
    KEPT,
    "one-layer",
    caught_by="token",
    loses=4,
    misconception="You count one layer. Each has its own cache.",
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(1, H, K, D, bits, length, gib)


@mistake(
    KEPT,
    "in-bits",
    caught_by="token",
    loses=4,
    misconception="You count bits. A byte has eight.",
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(layers, H, K, D, bits, length, gib, width=1)


@mistake(
    KEPT,
    "whole-bytes",
    caught_by="token",
    loses=4,
    misconception=(
        "You divide the bits of a value by 8 before multiplying, so 4 bits become 0 bytes. Divide"
        " last."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    token = 2 * layers * K * D * (bits // 8)
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}


@mistake(
    KEPT,
    "a-head-s-share",
    caught_by="token",
    loses=4,
    misconception=(
        "You divide D by the number of query heads. D is the dimension of one head already."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    token = max(2 * layers * K * (D // H) * bits // 8, 1)
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}


@mistake(
    KEPT,
    "square",
    caught_by="text",
    loses=2,
    misconception="You let the cache grow with the square of the length. Each token adds the same.",
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(
        layers, H, K, D, bits, length, gib, text=lambda token: token * length * min(length, 50)
    )


@mistake(
    KEPT,
    "thousands",
    caught_by="texts",
    loses=1.5,
    misconception="Your GiB has 10**9 bytes. That is a GB; a GiB has 2**30.",
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(layers, H, K, D, bits, length, gib, gibibyte=10**9)


@mistake(
    KEPT,
    "rounded-up",
    caught_by="texts",
    loses=1.5,
    misconception="You count a sequence that fits in part.",
)
def _(layers, H, K, D, bits, length, gib):
    found = _kept(layers, H, K, D, bits, length, gib)
    return found | {"texts": -(-gib * 2**30 // found["text"])}


@mistake(
    KEPT,
    "floats",
    caught_by="text",
    loses=0.5,
    misconception=(
        "You multiply in floats, which have 53 bits and round large results. Count in ints."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    found = _kept(layers, H, K, D, bits, length, gib)
    return found | {"text": int(float(found["token"]) * length)}


@mistake(
    KEPT,
    "token-in-floats",
    caught_by="token",
    loses=2.5,
    misconception=(
        "You count a token's bytes in floats, which have 53 bits and round large results. Count in"
        " ints."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    token = int(2.0 * layers * K * D * bits / 8)
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}


@mistake(
    KEPT,
    "texts-of-one-token",
    caught_by="texts",
    loses=1.5,
    misconception="You divide by the bytes of a token. A whole sequence has to fit.",
)
def _(layers, H, K, D, bits, length, gib):
    found = _kept(layers, H, K, D, bits, length, gib)
    return found | {"texts": gib * 2**30 // found["token"]}


@mistake(
    KEPT,
    "whole-bytes-at-least-one",
    caught_by="token",
    loses=4,
    misconception=(
        "You round the bytes of one value up to 1: 4 bits are half a byte. Divide by 8 last."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    token = 2 * layers * K * D * max(bits // 8, 1)
    return {"token": token, "text": length * token, "texts": gib * 2**30 // (length * token)}


@mistake(
    KEPT,
    "no-bytes-no-sequences",
    caught_by="token",
    loses=4,
    misconception=(
        "You divide the bits of a value by 8 before multiplying, so 4 bits become 0 bytes. Divide"
        " last."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    text = 2 * layers * K * D * (bits // 8) * length
    return {"token": text // length, "text": text, "texts": gib * 2**30 // text if text else 0}


@mistake(
    KEPT,
    "rounded",
    caught_by="texts",
    loses=1.5,
    misconception=(
        "You round to the nearest number of sequences. One that fits in part does not count: divide"
        " with //."
    ),
)
def _(layers, H, K, D, bits, length, gib):
    found = _kept(layers, H, K, D, bits, length, gib)
    return found | {"texts": round(gib * 2**30 / found["text"])}


@mistake(
    KEPT,
    "gib-not-bytes",
    caught_by="texts",
    loses=1.5,
    misconception="You divide GiB by bytes. Convert `gib` to bytes first: a GiB has 2**30.",
)
def _(layers, H, K, D, bits, length, gib):
    found = _kept(layers, H, K, D, bits, length, gib)
    return found | {"texts": gib // found["text"]}


@mistake(
    KEPT,
    "heads-of-a-group",
    caught_by="token",
    loses=4,
    misconception="You count H // K heads. That is the size of a group; K heads are cached.",
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(layers, H, K, D, bits, length, gib, heads=H // K)


@mistake(
    KEPT,
    "mebibytes",
    caught_by="texts",
    loses=1.5,
    misconception="You take 2**20 bytes for a GiB. That is a MiB; a GiB has 2**30.",
)
def _(layers, H, K, D, bits, length, gib):
    return _kept(layers, H, K, D, bits, length, gib, gibibyte=2**20)


def _moved(w, H, axes=(0, 2, 1), check=True):
    """Rows in another order of the three axes head, pair, member."""
    if check and len(w) % (2 * H):
        raise ValueError("no pairs")
    return w[torch.arange(len(w)).reshape(H, -1, 2).permute(axes).flatten()]


@mistake(
    HALVES,
    "inverse",
    caught_by="one-head",
    loses=4,
    misconception=(
        "You reorder from half-split to interleaved. It is the other way round; for D = 4 both are"
        " the same."
    ),
)
def _(w, H):
    if len(w) % (2 * H):
        raise ValueError("no pairs")
    return w[torch.arange(len(w)).reshape(H, 2, -1).transpose(1, 2).flatten()]


@mistake(
    HALVES,
    "as-it-was",
    caught_by="one-head",
    loses=4,
    misconception="You return the rows in their old order.",
)
def _(w, H):
    return _moved(w, H, (0, 1, 2)).clone()


@mistake(
    HALVES,
    "seconds-first",
    caught_by="one-head",
    loses=4,
    misconception="You put the second dimensions of the pairs before the first ones.",
)
def _(w, H):
    if len(w) % (2 * H):
        raise ValueError("no pairs")
    return w[torch.arange(len(w)).reshape(H, -1, 2).flip(2).transpose(1, 2).flatten()]


@mistake(
    HALVES,
    "as-one-head",
    caught_by="heads",
    loses=2.5,
    misconception=(
        "You treat all rows as one head, which mixes heads. Each head keeps its own rows."
    ),
)
def _(w, H):
    if len(w) % (2 * H):
        raise ValueError("no pairs")
    return _moved(w, 1)


@mistake(
    HALVES,
    "first-head-only",
    caught_by="heads",
    loses=2.5,
    misconception="You move the rows of the first head and leave the others as they were.",
)
def _(w, H):
    size = len(w) // H
    return torch.cat((_moved(w, H)[:size], w[size:]))


@mistake(
    HALVES,
    "heads-and-size-exchanged",
    caught_by="one-head",
    loses=4,
    misconception="You treat H as the number of rows of a head. It is the number of heads.",
)
def _(w, H):
    if len(w) % (2 * H):
        raise ValueError("no pairs")
    size = 2 * H if len(w) % (2 * H) == 0 else len(w)
    return _moved(w, len(w) // size)


@mistake(
    HALVES,
    "columns",
    caught_by="one-head",
    loses=4,
    misconception="You reorder columns. Rows are reordered.",
)
def _(w, H):
    if len(w) % (2 * H):
        raise ValueError("no pairs")
    return (
        _moved(w.T, H).T.contiguous()
        if w.dim() == 2 and w.shape[1] % (2 * H) == 0
        else _moved(w, H)
    )


@mistake(
    HALVES,
    "matrix-only",
    caught_by="bias",
    loses=0.5,
    misconception="You return a bias as it was. Its entries are reordered as rows are.",
)
def _(w, H):
    return _moved(w, H) if w.dim() == 2 else _moved(w, H, (0, 1, 2))


@mistake(
    HALVES,
    "odd-taken",
    caught_by="odd",
    loses=0.5,
    misconception="You accept heads with an odd number of rows, which have no pairs.",
)
def _(w, H):
    size = len(w) // H
    order = [
        head * size + row for head in range(H) for row in (*range(0, size, 2), *range(1, size, 2))
    ]
    return w[order]


@mistake(
    HALVES,
    "another-error",
    caught_by="odd",
    loses=0.5,
    misconception=(
        "Where the rows are not heads of pairs you raise an error other than a ValueError."
    ),
)
def _(w, H):
    return w.reshape(H, -1, 2, *w.shape[1:]).transpose(1, 2).reshape(w.shape).clone()


@mistake(
    HALVES,
    "two-axes-only",
    caught_by="bias",
    loses=0.5,
    misconception="You expect two axes. A bias has one: reshape to `w.shape`, or index the rows.",
)
def _(w, H):
    R, C = w.shape
    return _moved(w, H).reshape(R, C)


@mistake(
    HALVES,
    "odd-heads-taken",
    caught_by="odd",
    loses=0.5,
    misconception=(
        "You check that the rows are H heads, but not that a head has an even number of rows."
    ),
)
def _(w, H):
    if len(w) % H:
        raise ValueError("not H heads")
    parts = (part for head in w.split(len(w) // H) for part in (head[0::2], head[1::2]))
    return torch.cat(list(parts))
