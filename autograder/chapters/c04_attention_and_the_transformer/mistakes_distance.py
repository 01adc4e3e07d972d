"""Plausible wrong solutions of chapter 4, a price for distance."""

import torch

from autograder.checks.mistakes.registry import mistake

BIAS = "04.distance_bias"


def _slopes(num_heads):
    power = 1 << (num_heads.bit_length() - 1)
    return [2 ** (-8 * (h + 1) / power) for h in range(power)] + [
        2 ** (-8 * (h + 0.5) / power) for h in range(num_heads - power)
    ]


def _bias(
    num_heads,
    num_queries,
    num_keys,
    slopes=_slopes,
    first=lambda queries, keys: keys - queries,
    away=torch.abs,
    sign=-1.0,
):
    """The table with one part replaced.

    first: the place of the first query; away: of key place less query place.
    """
    queries = first(num_queries, num_keys) + torch.arange(num_queries)
    gap = torch.arange(num_keys)[None] - queries[:, None]  # (T, S)
    return (
        sign
        * torch.tensor(slopes(num_heads), dtype=torch.float64)[:, None, None].float()
        * away(gap.float())
    )


def _even(num_heads, slope):
    """Slopes by the plain formula, for any number of heads."""
    return [slope(h, num_heads) for h in range(num_heads)]


@mistake(
    BIAS,
    "slope-one-first",
    caught_by="slopes per head",
    loses=4,
    misconception="You count heads from 0, so the first slope is 1. It is 2^(-8 / H).",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: _even(heads, lambda h, H: 2 ** (-8 * h / H))
    )


def _from_zero(first):
    """Slopes 1, 2^(-8 / P), ... of the first P heads; the others' j counts from `first`."""

    def slopes(num_heads):
        power = 1 << (num_heads.bit_length() - 1)
        return [2 ** (-8 * h / power) for h in range(power)] + [
            2 ** (-8 * (first + h - 0.5) / power) for h in range(num_heads - power)
        ]

    return slopes


@mistake(
    BIAS,
    "slope-one-first-of-both",
    caught_by="slopes per head",
    loses=4,
    misconception="You count heads from 0, so the first slope is 1. It is 2^(-8 / H).",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, _from_zero(first=1))


@mistake(
    BIAS,
    "slope-one-first-and-j-from-zero",
    caught_by="slopes per head",
    loses=4,
    misconception="You count heads and j from 0. Both start at 1: the first slope is 2^(-8 / H).",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, _from_zero(first=0))


@mistake(
    BIAS,
    "halved-each-time",
    caught_by="slopes per head",
    loses=4,
    misconception=(
        "You use the slopes 1/2, 1/4, 1/8, ... for any H. That is right for 8 heads: the last slope"
        " is always 1/256."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: _even(heads, lambda h, H: 2.0 ** -(h + 1))
    )


@mistake(
    BIAS,
    "exponent-upside-down",
    caught_by="slopes per head",
    loses=4,
    misconception="You use the exponent -h H / 8. It is -8h / H.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: _even(heads, lambda h, H: 2.0 ** -((h + 1) * H / 8)),
    )


@mistake(
    BIAS,
    "always-the-power-below",
    caught_by="slopes per head",
    loses=3,
    misconception=(
        "You take the power of two below H although H is one itself. All H heads then have the"
        " slopes 2^(-8h / H)."
    ),
)
def _(num_heads, num_queries, num_keys):
    power = 1 << (max(num_heads - 1, 1).bit_length() - 1)
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: (
            _slopes(power) + _even(heads - power, lambda h, H: 2 ** (-8 * (h + 0.5) / power))
        ),
    )


@mistake(
    BIAS,
    "slopes-in-equal-steps",
    caught_by="slopes per head",
    loses=4,
    misconception="You lower the slopes in equal steps. They fall by equal factors.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: _even(heads, lambda h, H: (H - h) / (2 * H))
    )


@mistake(
    BIAS,
    "flattest-first",
    caught_by="slopes per head",
    loses=4,
    misconception="You give the first head the smallest slope. It has the largest.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, lambda heads: _slopes(heads)[::-1])


@mistake(
    BIAS,
    "one-slope-for-all",
    caught_by="slopes per head",
    loses=4,
    misconception="You use the first head's slope for all heads. Each has its own.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, lambda heads: _slopes(heads)[:1] * heads)


@mistake(
    BIAS,
    "no-slopes",
    caught_by="slopes per head",
    loses=4,
    misconception="You return minus the distance and leave the slopes out.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, lambda heads: [1.0] * heads)


@mistake(
    BIAS,
    "plus",
    caught_by="slopes per head",
    loses=4,
    misconception="You return a positive bias, which favours distant keys. It is negative.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, sign=1.0)


@mistake(
    BIAS,
    "heads-last",
    caught_by="slopes per head",
    loses=4,
    misconception="You put the heads on the last axis. They come first: (H, T, S).",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys).permute(1, 2, 0).contiguous()


@mistake(
    BIAS,
    "slopes-cut-to-integers",
    caught_by="slopes per head",
    loses=4,
    misconception="You store the slopes as integers, where they are all 0.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: [float(int(one)) for one in _slopes(heads)]
    )


@mistake(
    BIAS,
    "squared",
    caught_by="distance on both sides",
    loses=3,
    misconception="You square the distance. The bias is linear in it.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=torch.square)


@mistake(
    BIAS,
    "logarithm",
    caught_by="distance on both sides",
    loses=3,
    misconception="You take the logarithm of the distance. The bias is linear in it.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: torch.log2(1 + gap.abs()))


@mistake(
    BIAS,
    "signed",
    caught_by="distance on both sides",
    loses=3,
    misconception=(
        "You keep the sign of the distance, so later keys get a positive bias. Use its absolute"
        " value."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: -gap)


@mistake(
    BIAS,
    "nothing-for-later-keys",
    caught_by="distance on both sides",
    loses=3,
    misconception=(
        "You give keys after the query a bias of 0. They get the bias of their distance: masking is"
        " not done here."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: (-gap).clamp(min=0))


@mistake(
    BIAS,
    "mask-put-in",
    caught_by="distance on both sides",
    loses=3,
    misconception=(
        "You mask keys after the query with minus infinity. Masking is not done here: they get the"
        " bias of their distance."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        away=lambda gap: torch.where(gap > 0, torch.inf, gap.abs()),
    )


@mistake(
    BIAS,
    "from-the-first-key",
    caught_by="distance on both sides",
    loses=3,
    misconception=(
        "You multiply the slope by the key's position, as BLOOM does. Under a causal softmax that"
        " is equivalent; here the distance is asked for."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        away=lambda gap: torch.arange(gap.shape[1]).float().expand(gap.shape),
        sign=1.0,
    )


@mistake(
    BIAS,
    "from-the-last-key",
    caught_by="distance on both sides",
    loses=3,
    misconception=(
        "You take the distance from the last position for every query, as MPT does. Each query has"
        " its own position."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        away=lambda gap: torch.arange(gap.shape[1]).flip(0).float().expand(gap.shape),
    )


@mistake(
    BIAS,
    "one-place-too-far",
    caught_by="distance on both sides",
    loses=3,
    misconception="You are off by one: query t is at position S - T + t.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, first=lambda queries, keys: keys - queries + 1)


@mistake(
    BIAS,
    "one-more",
    caught_by="distance on both sides",
    loses=3,
    misconception="You count a token's distance to itself as 1. It is 0.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: gap.abs() + 1)


@mistake(
    BIAS,
    "shared-out",
    caught_by="slopes per head",
    loses=4,
    misconception="You divide the distance by the number of keys. It is counted in tokens.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: gap.abs() / gap.shape[1])


@mistake(
    BIAS,
    "window",
    caught_by="distance on both sides",
    loses=3,
    misconception="You cap the distance. It keeps growing.",
)
def _(num_heads, num_queries, num_keys):
    return (
        _bias(num_heads, num_queries, num_keys, away=lambda gap: gap.abs().clamp(max=128))
        if num_keys < 129
        else _bias(num_heads, num_queries, num_keys, away=lambda gap: gap.abs().clamp(max=64))
    )


@mistake(
    BIAS,
    "top-left",
    caught_by="queries come last",
    loses=2,
    misconception=(
        "You start the queries at position 0. With fewer queries than keys, they are the last"
        " tokens."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, first=lambda queries, keys: 0)


@mistake(
    BIAS,
    "past-the-end",
    caught_by="distance on both sides",
    loses=3,
    misconception=(
        "You put the queries after all keys. The last query is at the position of the last key."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, first=lambda queries, keys: keys)


@mistake(
    BIAS,
    "square-only",
    caught_by="queries come last",
    loses=2,
    misconception="You return a square table. It has one row for each query.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_keys, num_keys)


@mistake(
    BIAS,
    "plain-formula",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You use 2^(-8h / H) for every H. If H is not a power of two, the slopes for P heads come"
        " first."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: _even(heads, lambda h, H: 2 ** (-8 * (h + 1) / H)),
    )


@mistake(
    BIAS,
    "power-above",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You take the first H slopes of the next larger power of two. The slopes for P, the one"
        " below, come first."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: _slopes(1 << (heads - 1).bit_length())[:heads],
    )


@mistake(
    BIAS,
    "others-go-on",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You continue with ever smaller slopes. Those of the remaining heads lie between the first"
        " ones: 2^(-8(j - 1/2) / P)."
    ),
)
def _(num_heads, num_queries, num_keys):
    power = 1 << (num_heads.bit_length() - 1)
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: _even(heads, lambda h, H: 2 ** (-8 * (h + 1) / power)),
    )


@mistake(
    BIAS,
    "others-twice",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You repeat the first slopes for the remaining heads. Theirs lie between: 2^(-8(j - 1/2) /"
        " P)."
    ),
)
def _(num_heads, num_queries, num_keys):
    power = 1 << (num_heads.bit_length() - 1)
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: [_slopes(power)[h % power] for h in range(heads)],
    )


@mistake(
    BIAS,
    "others-steeper-by-one",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You start the remaining heads at j = 0. They start at j = 1, with the square root of the"
        " largest slope."
    ),
)
def _(num_heads, num_queries, num_keys):
    power = 1 << (num_heads.bit_length() - 1)
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: (
            _slopes(power) + _even(heads - power, lambda h, H: 2 ** (-8 * (h - 0.5) / power))
        ),
    )


@mistake(
    BIAS,
    "others-flatter-by-one",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You start the remaining heads one step late, at j + 1/2. With j from 1, the exponent has"
        " j - 1/2."
    ),
)
def _(num_heads, num_queries, num_keys):
    power = 1 << (num_heads.bit_length() - 1)
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: (
            _slopes(power) + _even(heads - power, lambda h, H: 2 ** (-8 * (h + 1.5) / power))
        ),
    )


@mistake(
    BIAS,
    "others-in-half-steps",
    caught_by="other head counts",
    loses=1,
    misconception=(
        "You give the remaining heads the first slopes of 2P heads. Take every second of those: the"
        " first, the third and so on."
    ),
)
def _(num_heads, num_queries, num_keys):
    power = 1 << (num_heads.bit_length() - 1)
    return _bias(
        num_heads,
        num_queries,
        num_keys,
        lambda heads: _slopes(power) + _slopes(2 * power)[: heads - power],
    )


@mistake(
    BIAS,
    "in-order-of-steepness",
    caught_by="other head counts",
    loses=1,
    misconception="You sort the slopes. Those of the first P heads come first, the others follow.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: sorted(_slopes(heads), reverse=True)
    )


@mistake(
    BIAS,
    "powers-of-two-only",
    caught_by="other head counts",
    loses=1,
    misconception="Your code rejects numbers of heads that are not a power of two.",
)
def _(num_heads, num_queries, num_keys):
    if num_heads & (num_heads - 1):
        raise ValueError("the number of heads must be a power of two")
    return _bias(num_heads, num_queries, num_keys)
