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
    caught_by="slopes",
    loses=4,
    misconception=(
        "Your first head has the slope 1: you count heads from 0. The first has 2^(-8 / H)."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: _even(heads, lambda h, H: 2 ** (-8 * h / H))
    )


@mistake(
    BIAS,
    "halved-each-time",
    caught_by="slopes",
    loses=4,
    misconception=(
        "Your slopes are 1/2, 1/4, 1/8, ... for any number of heads. That is right for 8: the last"
        " slope is always 1/256."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: _even(heads, lambda h, H: 2.0 ** -(h + 1))
    )


@mistake(
    BIAS,
    "exponent-upside-down",
    caught_by="slopes",
    loses=4,
    misconception="Your exponent is -h H / 8. It is -8 h / H.",
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
    "slopes-in-equal-steps",
    caught_by="slopes",
    loses=4,
    misconception="Your slopes go down in equal steps. They go down by equal factors.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: _even(heads, lambda h, H: (H - h) / (2 * H))
    )


@mistake(
    BIAS,
    "flattest-first",
    caught_by="slopes",
    loses=4,
    misconception="Your flattest head stands first. The steepest does.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, lambda heads: _slopes(heads)[::-1])


@mistake(
    BIAS,
    "one-slope-for-all",
    caught_by="slopes",
    loses=4,
    misconception="All your heads have the slope of the first. Each has its own.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, lambda heads: _slopes(heads)[:1] * heads)


@mistake(
    BIAS,
    "no-slopes",
    caught_by="slopes",
    loses=4,
    misconception="You give every head minus the distance and leave the slopes out.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, lambda heads: [1.0] * heads)


@mistake(
    BIAS,
    "plus",
    caught_by="slopes",
    loses=4,
    misconception="Your bias is positive, so that far keys win. It is taken away.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, sign=1.0)


@mistake(
    BIAS,
    "heads-last",
    caught_by="slopes",
    loses=4,
    misconception="Your heads are on the last axis. They come first: (H, T, S).",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys).permute(1, 2, 0).contiguous()


@mistake(
    BIAS,
    "slopes-cut-to-integers",
    caught_by="slopes",
    loses=4,
    misconception="You keep the slopes as integers, where they are all 0.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: [float(int(one)) for one in _slopes(heads)]
    )


@mistake(
    BIAS,
    "squared",
    caught_by="distance",
    loses=3,
    misconception="You square the distance. The price grows in equal steps.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=torch.square)


@mistake(
    BIAS,
    "logarithm",
    caught_by="distance",
    loses=3,
    misconception="You take the logarithm of the distance. ALiBi takes the distance itself.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: torch.log2(1 + gap.abs()))


@mistake(
    BIAS,
    "signed",
    caught_by="distance",
    loses=3,
    misconception=(
        "Keys after the query get a positive bias in your table. Distances have no sign, here."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: -gap)


@mistake(
    BIAS,
    "nothing-for-later-keys",
    caught_by="distance",
    loses=3,
    misconception=(
        "Keys after the query get 0 in your table. They get the bias of their distance: hiding them"
        " is the mask's work."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: (-gap).clamp(min=0))


@mistake(
    BIAS,
    "mask-put-in",
    caught_by="distance",
    loses=3,
    misconception=(
        "You hide keys after the query with minus infinity. That is the mask's work: here they get"
        " the bias of their distance."
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
    caught_by="distance",
    loses=3,
    misconception=(
        "You multiply the slope by the key's place, the same for every query, as BLOOM's program"
        " does. A softmax over keys that are not hidden makes the same of it. The distances"
        " themselves are asked for."
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
    "one-more",
    caught_by="distance",
    loses=3,
    misconception="A token is at distance 1 from itself in your table. It is 0.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: gap.abs() + 1)


@mistake(
    BIAS,
    "shared-out",
    caught_by="slopes",
    loses=4,
    misconception="You divide the distance by the number of keys. It is counted in tokens.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, away=lambda gap: gap.abs() / gap.shape[1])


@mistake(
    BIAS,
    "window",
    caught_by="distance",
    loses=3,
    misconception="Your distance ends at some length. It grows on.",
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
    caught_by="cache",
    loses=2,
    misconception=(
        "Your first query is the first of the tokens. With fewer queries than keys, the queries are"
        " the last of them."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, first=lambda queries, keys: 0)


@mistake(
    BIAS,
    "past-the-end",
    caught_by="distance",
    loses=3,
    misconception="Your queries stand behind all keys. The last query is the last key.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_queries, num_keys, first=lambda queries, keys: keys)


@mistake(
    BIAS,
    "square-only",
    caught_by="cache",
    loses=2,
    misconception="Your table is as high as it is wide. It has one row for each query.",
)
def _(num_heads, num_queries, num_keys):
    return _bias(num_heads, num_keys, num_keys)


@mistake(
    BIAS,
    "plain-formula",
    caught_by="other-numbers",
    loses=1,
    misconception=(
        "You take 2^(-8h / H) for every H. Where H is no power of two, the slopes of the power of"
        " two below it come first."
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
    caught_by="other-numbers",
    loses=1,
    misconception=(
        "You take the first H slopes of the power of two above. The slopes of the power of two"
        " below come first."
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
    caught_by="other-numbers",
    loses=1,
    misconception=(
        "You go on with ever flatter slopes. The other heads stand between the first ones: 2^(-8(j"
        " - 1/2) / P)."
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
    caught_by="other-numbers",
    loses=1,
    misconception=(
        "You give the other heads the slopes of the first ones once more. Theirs stand between:"
        " 2^(-8(j - 1/2) / P)."
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
    caught_by="other-numbers",
    loses=1,
    misconception=(
        "Your other heads begin with j = 0. They begin with j = 1: the first of them has the root"
        " of the steepest slope."
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
    "in-order-of-steepness",
    caught_by="other-numbers",
    loses=1,
    misconception=(
        "You sort the slopes. The heads of the power of two come first, the others behind them."
    ),
)
def _(num_heads, num_queries, num_keys):
    return _bias(
        num_heads, num_queries, num_keys, lambda heads: sorted(_slopes(heads), reverse=True)
    )


@mistake(
    BIAS,
    "powers-of-two-only",
    caught_by="other-numbers",
    loses=1,
    misconception="Your code refuses a number of heads that is no power of two.",
)
def _(num_heads, num_queries, num_keys):
    if num_heads & (num_heads - 1):
        raise ValueError("the number of heads must be a power of two")
    return _bias(num_heads, num_queries, num_keys)
