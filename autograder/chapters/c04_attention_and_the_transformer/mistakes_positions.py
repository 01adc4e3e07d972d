"""Plausible wrong solutions of chapter 4, waves and turns."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

SINES, ROTATE = "04.sinusoids", "04.rotate"


def _waves(
    positions,
    hidden,
    exponent=lambda pair, hidden: 2 * pair / hidden,
    base=10_000.0,
    places=lambda positions: positions,
    dtype=torch.float64,
    first=torch.sin,
    second=torch.cos,
    layout="turns",
):
    """The table with one part replaced.

    exponent: of the pair's number, from 0; places: what is taken for the positions.
    """
    pairs = torch.arange(hidden // 2, dtype=torch.float64)
    angles = places(positions).to(dtype)[:, None] * (base ** -exponent(pairs, hidden)).to(
        dtype
    )  # (T, C/2)
    both = [first(angles), second(angles)]
    return (torch.cat(both, 1) if layout == "halves" else torch.stack(both, 2).flatten(1)).float()


@mistake(
    SINES,
    "exponent-of-the-pair",
    caught_by="speeds",
    loses=2,
    misconception="Your exponent is i / hidden for pair i. It is 2i / hidden.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: pair / hidden)


@mistake(
    SINES,
    "exponent-of-the-column",
    caught_by="speeds",
    loses=2,
    misconception=(
        "Each of your columns has an angle of its own, column / hidden. The two columns of a pair"
        " share one, so that they are sine and cosine of the same number."
    ),
)
def _(positions, hidden):
    columns = torch.arange(hidden, dtype=torch.float64)
    angles = positions.double()[:, None] * 10_000.0 ** -(columns / hidden)
    return (
        torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()
        if hidden > 2
        else _waves(positions, hidden)
    )


@mistake(
    SINES,
    "exponent-doubled",
    caught_by="speeds",
    loses=2,
    misconception=(
        "You double the exponent twice: with columns 0, 2, 4, ... it is column / hidden, and 2i /"
        " hidden for pair i."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 4 * pair / hidden)


@mistake(
    SINES,
    "last-exponent-one",
    caught_by="speeds",
    loses=2,
    misconception=(
        "Your last pair has the exponent 1, as in the released program. The paper's formula, asked"
        " for here, ends at (hidden - 2) / hidden."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: pair / max(hidden // 2 - 1, 1))


@mistake(
    SINES,
    "first-pair-slower",
    caught_by="one-pair",
    loses=4,
    misconception=(
        "You count pairs from 1. The first has the exponent 0: its angle is the position itself."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 2 * (pair + 1) / hidden)


@mistake(
    SINES,
    "exponent-positive",
    caught_by="speeds",
    loses=2,
    misconception="You multiply by 10,000^(2i / hidden). Divide: later pairs are slower.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: -2 * pair / hidden)


@mistake(
    SINES,
    "pairs-from-the-slowest",
    caught_by="speeds",
    loses=2,
    misconception="Your slowest pair stands first. The fastest does.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 2 * pair.flip(0) / hidden)


@mistake(
    SINES,
    "one-angle",
    caught_by="speeds",
    loses=2,
    misconception="All your pairs have the same angle. Each is slower than the one before.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 0 * pair)


@mistake(
    SINES,
    "speeds-in-equal-steps",
    caught_by="speeds",
    loses=2,
    misconception=(
        "Your speeds go down in equal steps. They go down by equal factors: a power of 10,000."
    ),
)
def _(positions, hidden):
    pairs = torch.arange(hidden // 2, dtype=torch.float64)
    angles = positions.double()[:, None] * (1 - 2 * pairs / hidden)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1).float()


@mistake(
    SINES,
    "base-1000",
    caught_by="speeds",
    loses=2,
    misconception="Your base is 1,000. It is 10,000.",
)
def _(positions, hidden):
    return _waves(positions, hidden, base=1_000.0)


@mistake(
    SINES,
    "halves",
    caught_by="interleaved",
    loses=3,
    misconception="You put all sines first and all cosines behind. Here they take turns.",
)
def _(positions, hidden):
    return _waves(positions, hidden, layout="halves")


@mistake(
    SINES,
    "cosine-first",
    caught_by="one-pair",
    loses=4,
    misconception="You begin with the cosine. The sine comes first.",
)
def _(positions, hidden):
    return _waves(positions, hidden, first=torch.cos, second=torch.sin)


@mistake(
    SINES, "sign", caught_by="one-pair", loses=4, misconception="Your sines have the other sign."
)
def _(positions, hidden):
    return _waves(positions, hidden, first=lambda angles: -angles.sin())


@mistake(
    SINES,
    "only-sines",
    caught_by="one-pair",
    loses=4,
    misconception="You take sines everywhere. Every second number is a cosine.",
)
def _(positions, hidden):
    return _waves(positions, hidden, second=torch.sin)


@mistake(
    SINES,
    "half-the-width",
    caught_by="one-pair",
    loses=4,
    misconception=(
        "Your rows have hidden / 2 numbers. There are hidden / 2 pairs, so `hidden` numbers."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden)[:, : hidden // 2]


@mistake(
    SINES,
    "twice-the-width",
    caught_by="one-pair",
    loses=4,
    misconception=(
        "Your rows have twice `hidden` numbers: a pair for each of them. There are hidden / 2"
        " pairs."
    ),
)
def _(positions, hidden):
    return _waves(positions, 2 * hidden)


@mistake(
    SINES,
    "degrees",
    caught_by="one-pair",
    loses=4,
    misconception="You take the angle for degrees. It is in radians, as torch.sin takes it.",
)
def _(positions, hidden):
    return _waves(positions.double() * math.pi / 180, hidden)


@mistake(
    SINES,
    "turns",
    caught_by="one-pair",
    loses=4,
    misconception=(
        "You multiply the position by 2 pi. The first pair's angle is the position itself."
    ),
)
def _(positions, hidden):
    return _waves(positions.double() * 2 * math.pi, hidden)


@mistake(
    SINES,
    "positions-from-one",
    caught_by="one-pair",
    loses=4,
    misconception="You add 1 to every position. Position 0 gives (0, 1).",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: positions + 1)


@mistake(
    SINES,
    "positions-ignored",
    caught_by="given",
    loses=1,
    misconception="You count the rows 0, 1, 2, ... and never look at `positions`.",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: torch.arange(len(positions)))


@mistake(
    SINES,
    "positions-sorted",
    caught_by="given",
    loses=1,
    misconception=(
        "You sort the positions. Each row belongs to the number that stands at its place."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: positions.sort().values)


@mistake(
    SINES,
    "positions-from-the-first",
    caught_by="given",
    loses=1,
    misconception="You count from the first position given. Take the positions as they are.",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: positions - positions[0])


@mistake(
    SINES,
    "positions-shared-out",
    caught_by="one-pair",
    loses=4,
    misconception=(
        "You divide the positions by their number. A position has the same row in a long text as in"
        " a short one."
    ),
)
def _(positions, hidden):
    return _waves(positions.double() / len(positions), hidden)


@mistake(
    SINES,
    "table-of-512",
    caught_by="far",
    loses=0.5,
    misconception="You make a table for the first 512 positions. There is no last position here.",
)
def _(positions, hidden):
    return _waves(torch.arange(512), hidden)[positions]


@mistake(
    SINES,
    "angles-in-float32",
    caught_by="far",
    loses=0.5,
    misconception=(
        "You make the angles in float32: 100,000 times a rounded number is off in the second digit"
        " after the point. Make them in float64."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, dtype=torch.float32)


@mistake(
    SINES,
    "angles-in-float16",
    caught_by="speeds",
    loses=2,
    misconception="You make the angles in float16, which keeps three digits.",
)
def _(positions, hidden):
    pairs = torch.arange(hidden // 2)
    angles = positions.half()[:, None] * (10_000.0 ** (-2 * pairs / hidden)).half()
    return torch.stack([angles.float().sin(), angles.float().cos()], 2).flatten(1)


@mistake(
    SINES,
    "scaled",
    caught_by="one-pair",
    loses=4,
    misconception="You divide by the root of `hidden`. Sines and cosines stay as they are.",
)
def _(positions, hidden):
    return _waves(positions, hidden) / hidden**0.5


def _turned(
    x,
    positions,
    base,
    speeds=None,
    places=lambda positions: positions,
    layout="halves",
    dtype=torch.float64,
    pair=lambda a, b, cos, sin: (a * cos - b * sin, a * sin + b * cos),
):
    """The rotation with one part replaced.

    speeds: of the number of pairs; places: what is taken for the positions.
    """
    half = x.shape[-1] // 2
    each = (
        base ** -(torch.arange(half, dtype=torch.float64) / half)
        if speeds is None
        else speeds(half)
    )
    angles = places(positions).to(dtype)[:, None] * each.to(dtype)  # (T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    if layout == "pairs":
        return torch.stack(pair(x[..., 0::2], x[..., 1::2], cos, sin), -1).flatten(-2)
    return torch.cat(pair(x[..., :half], x[..., half:], cos, sin), -1)


def _powers(base, exponent):
    return lambda half: base ** -exponent(torch.arange(half, dtype=torch.float64), half)


@mistake(
    ROTATE,
    "neighbours",
    caught_by="halves",
    loses=4,
    misconception=(
        "You pair number 2i with number 2i + 1, the other layout. Here number i goes with number i"
        " + D/2."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, layout="pairs")


@mistake(
    ROTATE,
    "mixed-layouts",
    caught_by="halves",
    loses=4,
    misconception=(
        "Your pairs are i and i + D/2, but your angles are laid out for neighbours: each angle"
        " stands twice in a row, so that the two numbers of a pair are turned by different ones."
    ),
)
def _(x, positions, base):
    half = x.shape[-1] // 2
    angles = positions.double()[:, None] * base ** -(torch.arange(half, dtype=torch.float64) / half)
    angles = angles.repeat_interleave(2, -1)
    other = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * angles.cos().to(x.dtype) + other * angles.sin().to(x.dtype)


@mistake(
    ROTATE,
    "turned-and-not-put-back",
    caught_by="halves",
    loses=4,
    misconception=(
        "You take neighbours for pairs and lay the results out in halves: the numbers come back in"
        " another order."
    ),
)
def _(x, positions, base):
    return torch.cat(
        _turned(x, positions, base, layout="pairs").unflatten(-1, (-1, 2)).unbind(-1), -1
    )


@mistake(
    ROTATE,
    "first-with-last",
    caught_by="halves",
    loses=4,
    misconception="You pair the first number with the last. Number i goes with number i + D/2.",
)
def _(x, positions, base):
    half = x.shape[-1] // 2
    swapped = torch.cat([x[..., :half], x[..., half:].flip(-1)], -1)
    out = _turned(swapped, positions, base)
    return torch.cat([out[..., :half], out[..., half:].flip(-1)], -1)


@mistake(
    ROTATE,
    "clockwise",
    caught_by="turn",
    loses=5,
    misconception="You turn with the clock: your two sines have each other's sign.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)
    )


@mistake(
    ROTATE,
    "mirrored",
    caught_by="turn",
    loses=5,
    misconception=(
        "Your second number is a sin - b cos: that mirrors the pair. It is a sin + b cos."
    ),
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * cos - b * sin, a * sin - b * cos)
    )


@mistake(
    ROTATE,
    "both-plus",
    caught_by="turn",
    loses=5,
    misconception=(
        "Both of your sums have a plus. The first is a cos - b sin, so that the length stays."
    ),
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)
    )


@mistake(
    ROTATE,
    "sine-for-cosine",
    caught_by="turn",
    loses=5,
    misconception="You exchange sine and cosine: position 0 leaves a vector as it is.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)
    )


@mistake(
    ROTATE,
    "overwritten",
    caught_by="turn",
    loses=5,
    misconception=(
        "You write the first number of a pair back before the second is made: that one is made of"
        " the new a, not of the old."
    ),
)
def _(x, positions, base):
    def pair(a, b, cos, sin):
        new = a * cos - b * sin
        return new, new * sin + b * cos

    return _turned(x, positions, base, pair=pair)


@mistake(
    ROTATE,
    "second-half-left",
    caught_by="turn",
    loses=5,
    misconception="You turn the first number of a pair and leave the second as it was.",
)
def _(x, positions, base):
    return _turned(x, positions, base, pair=lambda a, b, cos, sin: (a * cos - b * sin, b))


@mistake(
    ROTATE,
    "only-the-cosine",
    caught_by="turn",
    loses=5,
    misconception="You multiply by the cosine and forget what the other number of the pair gives.",
)
def _(x, positions, base):
    return _turned(x, positions, base, pair=lambda a, b, cos, sin: (a * cos, b * cos))


@mistake(
    ROTATE,
    "added",
    caught_by="turn",
    loses=5,
    misconception=(
        "You add sine and cosine to the vector, as sinusoidal positions do. Rotary positions"
        " turn it."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, pair=lambda a, b, cos, sin: (a + sin, b + cos))


@mistake(
    ROTATE,
    "degrees",
    caught_by="turn",
    loses=5,
    misconception="You take the angle for degrees. It is in radians.",
)
def _(x, positions, base):
    return _turned(x, positions.double() * math.pi / 180, base)


@mistake(
    ROTATE,
    "positions-from-one",
    caught_by="turn",
    loses=5,
    misconception="You add 1 to every position. At position 0 a vector stays as it is.",
)
def _(x, positions, base):
    return _turned(x, positions, base, places=lambda positions: positions + 1)


@mistake(
    ROTATE,
    "place-of-the-head",
    caught_by="turn",
    loses=5,
    misconception=(
        "You count along the axis of the heads. The tokens are on the axis before the last, one"
        " position for each."
    ),
)
def _(x, positions, base):
    return _turned(x.transpose(1, 2), torch.arange(x.shape[1]), base).transpose(1, 2)


@mistake(
    ROTATE,
    "one-angle",
    caught_by="speeds",
    loses=3,
    misconception=(
        "You turn all pairs by the same angle. Pair i turns by position · base^(-2i / D)."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, torch.ones)


@mistake(
    ROTATE,
    "exponent-halved",
    caught_by="speeds",
    loses=3,
    misconception="Your exponent is i / D for pair i. It is 2i / D, which is i / (D/2).",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: pair / (2 * half)))


@mistake(
    ROTATE,
    "exponent-doubled",
    caught_by="speeds",
    loses=3,
    misconception="Your exponent is 4i / D for pair i. It is 2i / D.",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: 2 * pair / half))


@mistake(
    ROTATE,
    "last-exponent-one",
    caught_by="speeds",
    loses=3,
    misconception="Your last pair has the exponent 1. It is (D - 2) / D: pair i has 2i / D.",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: pair / max(half - 1, 1)))


@mistake(
    ROTATE,
    "base-inverse",
    caught_by="speeds",
    loses=3,
    misconception=(
        "You raise the base to 2i / D without the minus: later pairs turn slower, not faster."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: -pair / half))


@mistake(
    ROTATE,
    "first-pair-slower",
    caught_by="turn",
    loses=5,
    misconception="You count pairs from 1. The first one, pair 0, turns by the position itself.",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: (pair + 1) / half))


@mistake(
    ROTATE,
    "base-ignored",
    caught_by="speeds",
    loses=3,
    misconception="You take 10,000 for the base, whatever is given.",
)
def _(x, positions, base):
    return _turned(x, positions, 10_000.0)


@mistake(
    ROTATE,
    "slowest-first",
    caught_by="halves",
    loses=4,
    misconception="Your slowest pair stands first. Pair 0 is the fastest.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, lambda half: _powers(base, lambda pair, half: pair / half)(half).flip(0)
    )


@mistake(
    ROTATE,
    "counts-from-zero",
    caught_by="given",
    loses=2,
    misconception="You count the tokens 0, 1, 2, ... and never look at `positions`.",
)
def _(x, positions, base):
    return _turned(x, torch.arange(len(positions)), base)


@mistake(
    ROTATE,
    "positions-sorted",
    caught_by="given",
    loses=2,
    misconception="You sort the positions. Token t stands at positions[t].",
)
def _(x, positions, base):
    return _turned(x, positions.sort().values, base)


@mistake(
    ROTATE,
    "from-the-first-position",
    caught_by="given",
    loses=2,
    misconception=(
        "You count from the first position given: the scores of this batch stay, but a key that was"
        " turned earlier no longer fits."
    ),
)
def _(x, positions, base):
    return _turned(x, positions - positions[0], base)


@mistake(
    ROTATE,
    "table-of-2048",
    caught_by="far",
    loses=1,
    misconception="You make a table for the first 2,048 positions. There is no last position here.",
)
def _(x, positions, base):
    if int(positions.max()) >= 2048:
        raise IndexError("index out of range")
    return _turned(x, positions, base)


@mistake(
    ROTATE,
    "comes-round",
    caught_by="far",
    loses=1,
    misconception="You take the position's remainder by 4,096. Positions go on.",
)
def _(x, positions, base):
    return _turned(x, positions % 4096, base)


@mistake(
    ROTATE,
    "angles-in-float32",
    caught_by="far",
    loses=1,
    misconception=(
        "You make the angles in float32: 100,000 times a rounded number is off in the second digit"
        " after the point. Make them in float64."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, dtype=torch.float32)


@mistake(
    ROTATE,
    "angles-in-bfloat16",
    caught_by="speeds",
    loses=3,
    misconception=(
        "You make the angles in bfloat16, which keeps two digits and cannot tell position 257 from"
        " 256."
    ),
)
def _(x, positions, base):
    half = x.shape[-1] // 2
    angles = (positions.bfloat16()[:, None] * (base ** -(torch.arange(half) / half)).bfloat16()).to(
        x.dtype
    )
    cos, sin = angles.cos(), angles.sin()
    return torch.cat(
        [x[..., :half] * cos - x[..., half:] * sin, x[..., :half] * sin + x[..., half:] * cos], -1
    )


@mistake(
    ROTATE,
    "single-precision",
    caught_by="double",
    loses=0.5,
    misconception="Your code fails where x is float64.",
)
def _(x, positions, base):
    if x.dtype != torch.float32:
        raise RuntimeError("expected Float but found Double")
    return _turned(x, positions, base)
