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
    caught_by="single key",
    loses=9,
    misconception=(
        "You apply the softmax over the queries. A query's weights add up to 1 over the keys."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, weigh=lambda scores: scores.softmax(-2).nan_to_num(0))


@mistake(
    LOOK,
    "softmax-over-heads",
    caught_by="single key",
    loses=9,
    misconception=(
        "You apply the softmax over the heads. Each head is independent; its weights add up to 1"
        " over the keys."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, weigh=lambda scores: scores.softmax(1).nan_to_num(0))


@mistake(
    LOOK,
    "no-softmax",
    caught_by="single key",
    loses=9,
    misconception=(
        "You multiply the values by the raw scores. Turn the scores into weights with a softmax"
        " first."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, weigh=lambda scores: scores, fill=0.0)


@mistake(
    LOOK,
    "divided-by-the-sum",
    caught_by="softmax over keys",
    loses=8.5,
    misconception="You divide the scores by their sum. A softmax exponentiates each of them first.",
)
def _(q, k, v, mask):
    return _attend(
        q, k, v, mask, weigh=lambda scores: scores / scores.sum(-1, keepdim=True), fill=0.0
    )


@mistake(
    LOOK,
    "best-key-only",
    caught_by="softmax over keys",
    loses=8.5,
    misconception=(
        "You return the value of the best key alone. Every key that is not masked has a weight."
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
    caught_by="softmax over keys",
    loses=8.5,
    misconception="You average the values and never use the scores.",
)
def _(q, k, v, mask):
    return _attend(0 * q, k, v, mask)


@mistake(
    LOOK,
    "cosines",
    caught_by="softmax over keys",
    loses=8.5,
    misconception=(
        "You normalize queries and keys: that is cosine similarity. A score is the dot product,"
        " divided by the square root of D."
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
    caught_by="single key",
    loses=9,
    misconception="You apply a causal mask, though `mask` does not ask for one.",
)
def _(q, k, v, mask):
    behind = torch.ones(1, 1, q.shape[2], k.shape[2], dtype=torch.bool).tril(
        k.shape[2] - q.shape[2]
    )
    return _attend(q, k, v, behind if mask is None else behind & mask)


@mistake(
    LOOK,
    "causal-without-a-mask",
    caught_by="softmax over keys",
    loses=7.5,
    misconception=(
        "You apply a causal mask where `mask` is None. Every query then attends to every key."
    ),
)
def _(q, k, v, mask):
    behind = torch.ones(1, 1, q.shape[2], k.shape[2], dtype=torch.bool).tril()
    return _attend(q, k, v, behind if mask is None else mask)


@mistake(
    LOOK,
    "keys-for-values",
    caught_by="single key",
    loses=9,
    misconception="You average the keys. The keys determine the weights; the values are averaged.",
)
def _(q, k, v, mask):
    return _attend(q, k, k, mask)


@mistake(
    LOOK,
    "keys-for-queries",
    caught_by="single key",
    loses=9,
    misconception=(
        "You score keys against queries instead of queries against keys: your outputs belong to the"
        " keys."
    ),
)
def _(q, k, v, mask):
    return (k @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v


@mistake(
    LOOK,
    "values-turned-round",
    caught_by="softmax over keys",
    loses=8.5,
    misconception=(
        "You give the first key's weight to the last value. Key and value at the same index belong"
        " together."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v.flip(2), mask)


@mistake(
    LOOK,
    "as-many-keys-as-queries",
    caught_by="single key",
    loses=9,
    misconception=(
        "You assume as many keys as queries. There are S keys, which may be more or fewer."
    ),
)
def _(q, k, v, mask):
    number = range(q.shape[2])
    return _attend(q, k[:, :, number], v[:, :, number], None if mask is None else mask[..., number])


@mistake(
    LOOK,
    "keys-of-the-first-text",
    caught_by="softmax over keys",
    loses=7.5,
    misconception=(
        "You score all queries against the keys of the first sequence. Each sequence has its own."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k[:1], v, mask)


@mistake(
    LOOK,
    "keys-of-the-first-head",
    caught_by="softmax over keys",
    loses=7.5,
    misconception=(
        "You score the queries of all heads against the keys of the first head. Each head has its"
        " own."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k[:, :1], v, mask)


@mistake(
    LOOK,
    "no-scale",
    caught_by="scaling by root D",
    loses=3.5,
    misconception="You do not divide the scores by the square root of D.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1.0)


@mistake(
    LOOK,
    "divided-by-width",
    caught_by="scaling by root D",
    loses=3.5,
    misconception="You divide the scores by D. Divide by its square root.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1 / q.shape[-1])


@mistake(
    LOOK,
    "times-the-root",
    caught_by="scaling by root D",
    loses=3.5,
    misconception="You multiply the scores by the square root of D. Divide by it.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: q.shape[-1] ** 0.5)


OTHER_ROOTS = {  # the sizes of q and k to the number whose root is taken, and what is said
    "all-heads": (
        lambda q, k: q.shape[1] * q.shape[-1],
        "You divide by the square root of HD, the dimension of all heads together. Divide by that"
        " of D, the dimension of one.",
    ),
    "the-keys": (
        lambda q, k: k.shape[-2],
        "You divide by the square root of S, the number of keys. Divide by that of D, the dimension"
        " of a head.",
    ),
    "the-queries": (
        lambda q, k: q.shape[-2],
        "You divide by the square root of T, the number of queries. Divide by that of D, the"
        " dimension of a head.",
    ),
}


def _register_root(name, number, says):
    """Twice: large scores differ in float32 between a product and a quotient."""
    details = {"caught_by": "softmax over keys", "loses": 8.5, "misconception": says}

    @mistake(LOOK, f"root-of-{name}", **details)
    def _(q, k, v, mask):
        return _attend(q, k, v, mask, scale=lambda q, k: number(q, k) ** -0.5)

    @mistake(LOOK, f"divided-by-the-root-of-{name}", **details)
    def _(q, k, v, mask):
        root = math.sqrt(number(q, k))
        return _attend(
            q, k, v, mask, lambda q, k: 1.0, weigh=lambda scores: (scores / root).softmax(-1)
        )


for _name, (_number, _says) in OTHER_ROOTS.items():
    _register_root(_name, _number, _says)


@mistake(
    LOOK,
    "scaled-after-the-softmax",
    caught_by="single key",
    loses=4,
    misconception=(
        "You divide the weights by the square root of D, after the softmax. Divide the scores,"
        " before it."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1.0) / math.sqrt(q.shape[-1])


@mistake(
    LOOK,
    "scale-of-64",
    caught_by="softmax over keys",
    loses=8.5,
    misconception="You always divide by 8. That is the square root of D only for D = 64.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, scale=lambda q, k: 1 / 8)


@mistake(
    LOOK,
    "masked-after-the-softmax",
    caught_by="masked keys",
    loses=5,
    misconception=(
        "You set masked weights to 0 after the softmax, so the others do not add up to 1. Mask the"
        " scores before it."
    ),
)
def _(q, k, v, mask):
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights if mask is None else weights * mask) @ v


@mistake(
    LOOK,
    "filled-with-0",
    caught_by="masked keys",
    loses=5,
    misconception=(
        "You set masked scores to 0; exp(0) = 1 still gives them weight. Use minus infinity."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=0.0)


@mistake(
    LOOK,
    "filled-with-0-and-no-zeros",
    caught_by="masked keys",
    loses=5,
    misconception=(
        "You set masked scores to 0; exp(0) = 1 still gives them weight. Use minus infinity."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=0.0, empty=False)


@mistake(
    LOOK,
    "filled-with-minus-10000-and-no-zeros",
    caught_by="fully masked queries",
    loses=3,
    misconception=(
        "You give masked keys the score -10,000: other scores can be as low, and a fully masked"
        " query gets an average. Use minus infinity."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-1e4, empty=False)


@mistake(
    LOOK,
    "filled-with-minus-100",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You give masked keys the score -100. Other scores can be far lower: use minus infinity."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-100.0)


@mistake(
    LOOK,
    "filled-with-minus-10000",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You give masked keys the score -10,000. Other scores can be as low: use minus infinity."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-1e4)


@mistake(
    LOOK,
    "mask-times-minus-infinity-added",
    caught_by="masked keys",
    loses=5,
    misconception=(
        "You multiply the inverted mask by minus infinity: 0 times infinity is NaN at the keys that"
        " are not masked. Use `masked_fill`."
    ),
)
def _(q, k, v, mask):
    hidden = 0 if mask is None else -torch.inf * (~mask).to(q.dtype)
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + hidden).softmax(-1) @ v


@mistake(
    LOOK,
    "minus-10000-added",
    caught_by="fully masked queries",
    loses=3,
    misconception=(
        "You add -10,000 to masked scores: a masked score of 10,000 is back at 0, and a fully"
        " masked query gets an average."
    ),
)
def _(q, k, v, mask):
    hidden = 0 if mask is None else -1e4 * (~mask).to(q.dtype)
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + hidden).softmax(-1) @ v


@mistake(
    LOOK,
    "true-means-hidden",
    caught_by="masked keys",
    loses=5,
    misconception=(
        "You read the mask the other way round. True means that the query may attend to the key."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, None if mask is None else ~mask)


@mistake(
    LOOK,
    "mask-of-the-first-text",
    caught_by="masked keys",
    loses=4,
    misconception="You use the first sequence's mask for all of them. Each sequence has its own.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, None if mask is None else mask[:1])


@mistake(
    LOOK,
    "mask-of-the-first-query",
    caught_by="masked keys",
    loses=5,
    misconception="You use the first row of the mask for all queries. Each query has its own row.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, None if mask is None else mask[:, :, :1])


@mistake(
    LOOK,
    "mask-never-used",
    caught_by="masked keys",
    loses=5,
    misconception="You never use the mask.",
)
def _(q, k, v, mask):
    return _attend(q, k, v, None)


@mistake(
    LOOK,
    "zero-score-is-hidden",
    caught_by="softmax over keys",
    loses=7.5,
    misconception="You treat a score of 0 as masked. Only the mask says what is masked.",
)
def _(q, k, v, mask):
    scores = q @ k.transpose(-2, -1)
    return _attend(q, k, v, (scores != 0) if mask is None else mask & (scores != 0))


@mistake(
    LOOK,
    "empty-rows-nan",
    caught_by="fully masked queries",
    loses=2,
    misconception=(
        "You return NaN for a fully masked query: a softmax over minus infinity alone is 0 / 0."
        " Return zeros for it."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, empty=False)


@mistake(
    LOOK,
    "empty-rows-mean",
    caught_by="fully masked queries",
    loses=2,
    misconception=(
        "You give a fully masked query equal large negative scores, so the softmax averages masked"
        " values. Return zeros for it."
    ),
)
def _(q, k, v, mask):
    return _attend(q, k, v, mask, fill=-1e9, empty=False)


@mistake(
    LOOK,
    "one-empty-row-empties-the-text",
    caught_by="fully masked queries",
    loses=2,
    misconception=(
        "You zero a whole sequence where one of its queries is fully masked. The other queries keep"
        " their outputs."
    ),
)
def _(q, k, v, mask):
    out = _attend(q, k, v, mask)
    return out if mask is None else out * mask.any(-1).all(-1)[..., None, None]


@mistake(
    LOOK,
    "overflow",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You exponentiate the scores as they are, which overflows from 89 on. Subtract the row's"
        " maximum first, or use softmax."
    ),
)
def _(q, k, v, mask):
    return _attend(
        q, k, v, mask, weigh=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True)
    )


@mistake(
    LOOK,
    "largest-of-all",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You subtract the maximum of all scores. Subtract each row's own, or all exponentials of a"
        " row can underflow to 0."
    ),
)
def _(q, k, v, mask):
    def weigh(scores):
        powers = (scores - scores.max()).exp()
        return powers / powers.sum(-1, keepdim=True)

    return _attend(q, k, v, mask, weigh=weigh, fill=-1e9)


@mistake(
    LOOK,
    "largest-of-all-or-zero",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You subtract the maximum of all scores. Subtract each row's own, or all exponentials of a"
        " row can underflow to 0."
    ),
)
def _(q, k, v, mask):
    def weigh(scores):
        powers = (scores - scores.max()).exp()
        return (powers / powers.sum(-1, keepdim=True)).nan_to_num(0)

    return _attend(q, k, v, mask, weigh=weigh)


@mistake(
    LOOK,
    "divided-again",
    caught_by="large scores",
    loses=1,
    misconception=(
        "You renormalize the weights after zeroing masked ones. Where a masked key had nearly all"
        " the weight, nothing is left."
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
    caught_by="large scores",
    loses=1,
    misconception=(
        "You add 1e-12 when you renormalize the masked weights. Where a masked key had nearly all"
        " the weight, the sum is as small."
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
    caught_by="large scores",
    loses=1,
    misconception="You clip the scores to ±50, which loses the differences between them.",
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
    caught_by="sizes and float64",
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
    caught_by="sizes and float64",
    loses=1,
    misconception="You compute in float32 whatever comes in, and lose the digits of float64.",
)
def _(q, k, v, mask):
    return _attend(q.float(), k.float(), v.float(), mask).to(q.dtype)
