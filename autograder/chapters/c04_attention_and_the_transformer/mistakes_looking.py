"""Plausible wrong solutions of chapter 4, part 1: attention."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

LOOK = "04.attention"


def _attend(
    q,
    k,
    v,
    mask,
    scale=lambda q, k: q.shape[-1] ** -0.5,
    weigh=lambda scores: scores.softmax(-1),
    fill=-torch.inf,
    empty=True,
):
    """The answer with one part replaced.

    scale: of q and k; weigh: weights of scores; fill: at hidden keys; empty: zeros where nothing is
    seen.
    """
    scores = q @ k.transpose(-2, -1) * scale(q, k)
    weights = weigh(scores if mask is None else scores.masked_fill(~mask, fill))
    return (
        torch.where(mask.any(-1, keepdim=True), weights, 0.0)
        if empty and mask is not None
        else weights
    ) @ v


@mistake(
    LOOK,
    "softmax-over-queries",
    caught_by="one-key",
    loses=9,
    misconception=(
        "Your softmax goes over the queries. The weights of one query add up to 1 over the keys."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, weigh=lambda scores: scores.softmax(-2).nan_to_num(0))


@mistake(
    LOOK,
    "softmax-over-heads",
    caught_by="one-key",
    loses=9,
    misconception=(
        "Your softmax goes over the heads. Each head is for itself; the weights add up to 1 over"
        " the keys."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, weigh=lambda scores: scores.softmax(1).nan_to_num(0))


@mistake(
    LOOK,
    "no-softmax",
    caught_by="one-key",
    loses=9,
    misconception=(
        "You multiply the values by the scores themselves. A softmax makes weights of them first."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, weigh=lambda scores: scores, fill=0.0)


@mistake(
    LOOK,
    "divided-by-the-sum",
    caught_by="axis",
    loses=8.5,
    misconception="You divide the scores by their sum. A softmax takes e to each of them first.",
)
def _(q, k, v, mask):
    return _attend(
        q, k, v, mask, weigh=lambda scores: scores / scores.sum(-1, keepdim=True), fill=0.0
    )


@mistake(
    LOOK,
    "best-key-only",
    caught_by="axis",
    loses=8.5,
    misconception=(
        "You take the value of the best key alone. Every key that is seen has its weight."
    ),
)
def _(q, k, v, mask):
    return _attend(
        q,
        k,
        v,
        mask,
        weigh=lambda scores: torch.zeros_like(scores).scatter(
            -1, scores.argmax(-1, keepdim=True), 1.0
        ),
    )


@mistake(
    LOOK,
    "mean-of-the-values",
    caught_by="axis",
    loses=8.5,
    misconception="You take the mean of the values and never look at the scores.",
)
def _(q, k, v, mask):
    return _attend(0 * q, k, v, mask)


@mistake(
    LOOK,
    "cosines",
    caught_by="axis",
    loses=8.5,
    misconception=(
        "You divide queries and keys by their lengths. A score is the plain product, divided by the"
        " root of D."
    ),
)
def _(q, k, v, mask):
    return _attend(
        q / q.norm(dim=-1, keepdim=True).clamp(min=1e-12),
        k / k.norm(dim=-1, keepdim=True).clamp(min=1e-12),
        v,
        mask,
    )


@mistake(
    LOOK,
    "always-causal",
    caught_by="one-key",
    loses=9,
    misconception="You hide the keys after the query though the mask does not say so.",
)
def _(q, k, v, mask):
    behind = torch.ones(1, 1, q.shape[2], k.shape[2], dtype=torch.bool).tril(
        k.shape[2] - q.shape[2]
    )
    return _attend(q, k, v, behind if mask is None else behind & mask)


@mistake(
    LOOK,
    "keys-for-values",
    caught_by="one-key",
    loses=9,
    misconception=(
        "You take the mean of the keys. The keys decide the weights; what is averaged are the"
        " values."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, k, mask)


@mistake(
    LOOK,
    "keys-for-queries",
    caught_by="one-key",
    loses=9,
    misconception=(
        "You compare the keys with the queries, not the queries with the keys: your answers belong"
        " to the keys."
    ),
)
def _(q, k, v, mask):
    return (k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v


@mistake(
    LOOK,
    "values-turned-round",
    caught_by="axis",
    loses=8.5,
    misconception=(
        "You give the weight of the first key to the last value. A key and its value have the same"
        " number."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v.flip(2), mask)


@mistake(
    LOOK,
    "as-many-keys-as-queries",
    caught_by="one-key",
    loses=9,
    misconception=(
        "You take as many keys as there are queries. Their number is S, which may be larger or"
        " smaller."
    ),
)
def _(q, k, v, mask):
    number = range(q.shape[2])
    return _attend(q, k[:, :, number], v[:, :, number], None if mask is None else mask[..., number])


@mistake(
    LOOK,
    "keys-of-the-first-text",
    caught_by="axis",
    loses=7.5,
    misconception="You compare all queries with the keys of the first text. Each text has its own.",
)
def _(q, k, v, mask):
    return _attend(q, k[:1], v, mask)


@mistake(
    LOOK,
    "keys-of-the-first-head",
    caught_by="axis",
    loses=7.5,
    misconception=(
        "You compare the queries of all heads with the keys of the first head. Each head has its"
        " own."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k[:, :1], v, mask)


@mistake(
    LOOK,
    "no-scale",
    caught_by="scale",
    loses=3.5,
    misconception="You do not divide the scores by the root of D.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1.0)


@mistake(
    LOOK,
    "divided-by-width",
    caught_by="scale",
    loses=3.5,
    misconception="You divide the scores by D. It is the square root of D.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1 / q.shape[-1])


@mistake(
    LOOK,
    "times-the-root",
    caught_by="scale",
    loses=3.5,
    misconception="You multiply the scores by the root of D. They are divided by it.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: q.shape[-1] ** 0.5)


@mistake(
    LOOK,
    "root-of-all-heads",
    caught_by="axis",
    loses=8.5,
    misconception=(
        "You divide by the root of H times D, the width of all heads together. It is the root of D,"
        " the width of one."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: (q.shape[1] * q.shape[-1]) ** -0.5)


@mistake(
    LOOK,
    "root-of-the-keys",
    caught_by="axis",
    loses=8.5,
    misconception=(
        "You divide by the root of S, the number of keys. It is the root of D, the width of a head."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: k.shape[-2] ** -0.5)


@mistake(
    LOOK,
    "root-of-the-queries",
    caught_by="axis",
    loses=8.5,
    misconception=(
        "You divide by the root of T, the number of queries. It is the root of D, the width of a"
        " head."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: q.shape[-2] ** -0.5)


@mistake(
    LOOK,
    "scaled-after-the-softmax",
    caught_by="one-key",
    loses=4,
    misconception=(
        "You divide the weights by the root of D, after the softmax. The scores are divided,"
        " before it."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1.0) / math.sqrt(q.shape[-1])


@mistake(
    LOOK,
    "scale-of-64",
    caught_by="axis",
    loses=8.5,
    misconception="You divide by 8 in every case. That is the root of D for D = 64 only.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1 / 8)


@mistake(
    LOOK,
    "masked-after-the-softmax",
    caught_by="mask",
    loses=5,
    misconception=(
        "You set the weights of hidden keys to 0 after the softmax: the others do not add up to 1."
    ),
)
def _(q, k, v, mask):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights if mask is None else weights * mask) @ v


@mistake(
    LOOK,
    "filled-with-0",
    caught_by="mask",
    loses=5,
    misconception=(
        "You give hidden keys the score 0, or one next to it. e to the 0 is 1: that hides nothing."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=0.0)


@mistake(
    LOOK,
    "filled-with-minus-100",
    caught_by="large",
    loses=1,
    misconception="You give hidden keys the score -100. Other scores may be far below that.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-100.0)


@mistake(
    LOOK,
    "filled-with-minus-10000",
    caught_by="large",
    loses=1,
    misconception="You give hidden keys the score -10,000. Other scores may be as low as that.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-1e4)


@mistake(
    LOOK,
    "minus-10000-added",
    caught_by="empty",
    loses=3,
    misconception=(
        "You add -10,000 to the scores of hidden keys. A query that sees nothing then gets a mean"
        " of what it may not see, and a hidden score of 10,000 is back at 0."
    ),
)
def _(q, k, v, mask):
    hidden = 0 if mask is None else -1e4 * (~mask).to(q.dtype)
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + hidden).softmax(-1) @ v


@mistake(
    LOOK,
    "true-means-hidden",
    caught_by="mask",
    loses=5,
    misconception=(
        "You read the mask the other way round. True means that the query may see the key."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, None if mask is None else ~mask)


@mistake(
    LOOK,
    "mask-of-the-first-text",
    caught_by="mask",
    loses=4,
    misconception="You use the mask of the first text for all of them. Each text has its own.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, None if mask is None else mask[:1])


@mistake(
    LOOK,
    "mask-of-the-first-query",
    caught_by="mask",
    loses=5,
    misconception=(
        "You use the first row of a mask for all queries. Each query has a row of its own."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, None if mask is None else mask[:, :, :1])


@mistake(
    LOOK, "mask-never-used", caught_by="mask", loses=5, misconception="You never look at the mask."
)
def _(q, k, v, mask):
    return _attend(q, k, v, None)


@mistake(
    LOOK,
    "zero-score-is-hidden",
    caught_by="axis",
    loses=7.5,
    misconception="You take a score of 0 for a hidden key. Only the mask says what is hidden.",
)
def _(q, k, v, mask):
    scores = q @ k.transpose(-2, -1)
    return _attend(q, k, v, (scores != 0) if mask is None else mask & (scores != 0))


@mistake(
    LOOK,
    "empty-rows-nan",
    caught_by="empty",
    loses=2,
    misconception=(
        "Where a query sees nothing, all its scores are minus infinity: the softmax is 0 divided by"
        " 0, NaN. Give it zeros."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, empty=False)


@mistake(
    LOOK,
    "empty-rows-mean",
    caught_by="empty",
    loses=2,
    misconception=(
        "Where a query sees nothing, all its scores are the same large negative number: the softmax"
        " gives every hidden key the same weight. Give it zeros."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-1e9, empty=False)


@mistake(
    LOOK,
    "one-empty-row-empties-the-text",
    caught_by="empty",
    loses=2,
    misconception=(
        "You set a whole text to zeros where one of its queries sees nothing. The other queries"
        " keep their answers."
    ),
)
def _(q, k, v, mask):
    out = _attend(q, k, v, mask)
    return out if mask is None else out * mask.any(-1).all(-1)[..., None, None]


@mistake(
    LOOK,
    "overflow",
    caught_by="large",
    loses=1,
    misconception=(
        "You take e to the score as it is: e to the 89 is infinite. Take the largest score of the"
        " query away first, or use softmax."
    ),
)
def _(q, k, v, mask):
    return _attend(
        q, k, v, mask, weigh=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True)
    )


@mistake(
    LOOK,
    "largest-of-all",
    caught_by="large",
    loses=1,
    misconception=(
        "You take the largest score of the whole table away. Each query needs the largest of its"
        " own row, or all its powers may be 0."
    ),
)
def _(q, k, v, mask):
    def weigh(scores):
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(-1, keepdim=True)

    return _attend(q, k, v, mask, weigh=weigh, fill=-1e9)


@mistake(
    LOOK,
    "divided-again",
    caught_by="large",
    loses=1,
    misconception=(
        "You divide the weights by their sum after the hidden ones were set to 0. Where a hidden"
        " key had nearly all of the weight, nothing is left of the others."
    ),
)
def _(q, k, v, mask):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return weights.nan_to_num(0) @ v


@mistake(
    LOOK,
    "small-number-added",
    caught_by="large",
    loses=1,
    misconception=(
        "You add 1e-12 to the sum of the weights that are left after masking. Where a hidden key"
        " had nearly all of the weight, the sum is not much larger itself."
    ),
)
def _(q, k, v, mask):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-12)
    return weights @ v


@mistake(
    LOOK,
    "scores-cut",
    caught_by="large",
    loses=1,
    misconception="You cut the scores at 50 and -50. How far they are from each other is lost.",
)
def _(q, k, v, mask):
    return _attend(
        q.double(),
        k.double(),
        v.double(),
        mask,
        weigh=lambda scores: torch.where(
            scores == -torch.inf, scores, scores.clamp(-50, 50)
        ).softmax(-1),
    ).to(q.dtype)


@mistake(
    LOOK,
    "one-query-fails",
    caught_by="sizes",
    loses=1,
    misconception="Your code fails for one query.",
)
def _(q, k, v, mask):
    if q.shape[2] == 1:
        raise IndexError("too many indices for tensor of dimension 3")
    return _attend(q, k, v, mask)


@mistake(
    LOOK,
    "single-precision",
    caught_by="sizes",
    loses=1,
    misconception="You work in float32, whatever comes in: the digits of float64 are lost.",
)
def _(q, k, v, mask):
    return _attend(q.float(), k.float(), v.float(), mask).to(q.dtype)
