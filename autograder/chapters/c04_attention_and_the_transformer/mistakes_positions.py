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
    caught_by="frequencies per pair",
    loses=2,
    misconception="You use the exponent i / C for pair i. It is 2i / C.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: pair / hidden)


@mistake(
    SINES,
    "exponent-of-the-column",
    caught_by="frequencies per pair",
    loses=2,
    misconception=("You give each column its own frequency. A sine and its cosine share one."),
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
    "frequency-of-the-column",
    caught_by="single pair",
    loses=4,
    misconception="You give each column its own frequency. A sine and its cosine share one.",
)
def _(positions, hidden):
    columns = torch.arange(hidden, dtype=torch.float64)
    angles = positions.double()[:, None] * 10_000.0 ** -(columns / hidden)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


@mistake(
    SINES,
    "exponent-doubled",
    caught_by="frequencies per pair",
    loses=2,
    misconception=(
        "You double the exponent twice: with columns 0, 2, 4, ... it is column / C, which is 2i / C"
        " for pair i."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 4 * pair / hidden)


@mistake(
    SINES,
    "last-exponent-one",
    caught_by="frequencies per pair",
    loses=2,
    misconception=(
        "You end with the exponent 1, as in the released code. The paper's formula, asked for here,"
        " ends at (C - 2) / C."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: pair / max(hidden // 2 - 1, 1))


@mistake(
    SINES,
    "first-pair-slower",
    caught_by="single pair",
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
    caught_by="frequencies per pair",
    loses=2,
    misconception="You multiply by 10,000^(2i / C). Divide: frequencies fall from pair to pair.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: -2 * pair / hidden)


@mistake(
    SINES,
    "exp-of-a-base-10-logarithm",
    caught_by="frequencies per pair",
    loses=2,
    misconception="You use the base-10 logarithm with `exp`. Use the natural one, `math.log`.",
)
def _(positions, hidden):
    return _waves(positions, hidden, base=math.exp(math.log10(10_000.0)))


@mistake(
    SINES,
    "pairs-from-the-slowest",
    caught_by="frequencies per pair",
    loses=2,
    misconception="You put the lowest frequency first. The highest comes first.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 2 * pair.flip(0) / hidden)


@mistake(
    SINES,
    "one-angle",
    caught_by="frequencies per pair",
    loses=2,
    misconception="You use the same frequency for all pairs. It falls from pair to pair.",
)
def _(positions, hidden):
    return _waves(positions, hidden, lambda pair, hidden: 0 * pair)


@mistake(
    SINES,
    "speeds-in-equal-steps",
    caught_by="frequencies per pair",
    loses=2,
    misconception=(
        "You lower the frequencies in equal steps. They fall by equal factors: powers of 10,000."
    ),
)
def _(positions, hidden):
    pairs = torch.arange(hidden // 2, dtype=torch.float64)
    angles = positions.double()[:, None] * (1 - 2 * pairs / hidden)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1).float()


@mistake(
    SINES,
    "base-1000",
    caught_by="frequencies per pair",
    loses=2,
    misconception="You use the base 1,000. It is 10,000.",
)
def _(positions, hidden):
    return _waves(positions, hidden, base=1_000.0)


@mistake(
    SINES,
    "halves",
    caught_by="interleaved sine and cosine",
    loses=3,
    misconception="You put all sines first, then all cosines. They alternate here.",
)
def _(positions, hidden):
    return _waves(positions, hidden, layout="halves")


@mistake(
    SINES,
    "cosine-first",
    caught_by="single pair",
    loses=4,
    misconception="You begin with the cosine. The sine comes first.",
)
def _(positions, hidden):
    return _waves(positions, hidden, first=torch.cos, second=torch.sin)


@mistake(
    SINES, "sign", caught_by="single pair", loses=4, misconception="You flip the sign of the sines."
)
def _(positions, hidden):
    return _waves(positions, hidden, first=lambda angles: -angles.sin())


@mistake(
    SINES,
    "only-sines",
    caught_by="single pair",
    loses=4,
    misconception="You use sines everywhere. Every second column is a cosine.",
)
def _(positions, hidden):
    return _waves(positions, hidden, second=torch.sin)


@mistake(
    SINES,
    "half-the-width",
    caught_by="single pair",
    loses=4,
    misconception="You return C / 2 columns. There are C / 2 pairs, so C columns.",
)
def _(positions, hidden):
    return _waves(positions, hidden)[:, : hidden // 2]


@mistake(
    SINES,
    "twice-the-width",
    caught_by="single pair",
    loses=4,
    misconception="You return 2C columns, a pair for each. There are C / 2 pairs.",
)
def _(positions, hidden):
    return _waves(positions, 2 * hidden)


@mistake(
    SINES,
    "degrees",
    caught_by="single pair",
    loses=4,
    misconception="You treat the angle as degrees. It is in radians, as torch.sin expects.",
)
def _(positions, hidden):
    return _waves(positions.double() * math.pi / 180, hidden)


@mistake(
    SINES,
    "turns",
    caught_by="single pair",
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
    caught_by="single pair",
    loses=4,
    misconception="You add 1 to every position. Position 0 gives (0, 1).",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: positions + 1)


@mistake(
    SINES,
    "positions-ignored",
    caught_by="given positions",
    loses=1,
    misconception="You number the rows 0, 1, 2, ... and never use `positions`.",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: torch.arange(len(positions)))


@mistake(
    SINES,
    "positions-sorted",
    caught_by="given positions",
    loses=1,
    misconception="You sort the positions. Row t encodes positions[t].",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: positions.sort().values)


@mistake(
    SINES,
    "positions-from-the-first",
    caught_by="given positions",
    loses=1,
    misconception="You count from the first position given. Use the positions as they are.",
)
def _(positions, hidden):
    return _waves(positions, hidden, places=lambda positions: positions - positions[0])


@mistake(
    SINES,
    "positions-shared-out",
    caught_by="single pair",
    loses=4,
    misconception=(
        "You divide the positions by their number. A position has the same encoding in a long"
        " sequence as in a short one."
    ),
)
def _(positions, hidden):
    return _waves(positions.double() / len(positions), hidden)


@mistake(
    SINES,
    "table-of-512",
    caught_by="far positions",
    loses=0.5,
    misconception="You build a table for the first 512 positions. Positions go on to 100,000.",
)
def _(positions, hidden):
    return _waves(torch.arange(512), hidden)[positions]


@mistake(
    SINES,
    "angles-in-float32",
    caught_by="far positions",
    loses=0.5,
    misconception=(
        "You compute the angles in float32, where those of far positions are off by up to 0.008."
        " Compute them in float64."
    ),
)
def _(positions, hidden):
    return _waves(positions, hidden, dtype=torch.float32)


@mistake(
    SINES,
    "angles-in-float16",
    caught_by="frequencies per pair",
    loses=2,
    misconception="You compute the angles in float16, which keeps three digits.",
)
def _(positions, hidden):
    pairs = torch.arange(hidden // 2)
    angles = positions.half()[:, None] * (10_000.0 ** (-2 * pairs / hidden)).half()
    return torch.stack([angles.float().sin(), angles.float().cos()], 2).flatten(1)


@mistake(
    SINES,
    "scaled",
    caught_by="single pair",
    loses=4,
    misconception="You divide by the square root of C. Sines and cosines stay as they are.",
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
    caught_by="pairs across halves",
    loses=4,
    misconception=(
        "You pair dimension 2i with 2i + 1, the paper's layout. Here dimension i is paired with i +"
        " D/2."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, layout="pairs")


@mistake(
    ROTATE,
    "mixed-layouts",
    caught_by="pairs across halves",
    loses=4,
    misconception=(
        "You pair i with i + D/2, but lay the angles out for neighbours: the two dimensions of a"
        " pair rotate by different angles."
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
    caught_by="pairs across halves",
    loses=4,
    misconception=(
        "You pair neighbours and write the results out in halves: the dimensions come back in"
        " another order."
    ),
)
def _(x, positions, base):
    return torch.cat(
        _turned(x, positions, base, layout="pairs").unflatten(-1, (-1, 2)).unbind(-1), -1
    )


@mistake(
    ROTATE,
    "interleaved",
    caught_by="pairs across halves",
    loses=4,
    misconception=(
        "You interleave the two new halves, as in exercise 4. Concatenate them: dimension i stays"
        " at index i."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base).unflatten(-1, (2, -1)).mT.flatten(-2)


@mistake(
    ROTATE,
    "first-with-last",
    caught_by="pairs across halves",
    loses=4,
    misconception="You pair the first dimension with the last. Dimension i is paired with i + D/2.",
)
def _(x, positions, base):
    half = x.shape[-1] // 2
    swapped = torch.cat([x[..., :half], x[..., half:].flip(-1)], -1)
    out = _turned(swapped, positions, base)
    return torch.cat([out[..., :half], out[..., half:].flip(-1)], -1)


@mistake(
    ROTATE,
    "clockwise",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You rotate clockwise: your two sines have each other's sign.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)
    )


@mistake(
    ROTATE,
    "mirrored",
    caught_by="rotation of a pair",
    loses=5,
    misconception=(
        "You compute a sin - b cos for the second dimension, which is a reflection. It is a sin + b"
        " cos."
    ),
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * cos - b * sin, a * sin - b * cos)
    )


@mistake(
    ROTATE,
    "both-plus",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You add in both sums. The first is a cos - b sin, so that the length stays.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)
    )


@mistake(
    ROTATE,
    "sine-for-cosine",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You swap sine and cosine: position 0 must leave a vector unchanged.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, pair=lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)
    )


@mistake(
    ROTATE,
    "overwritten",
    caught_by="rotation of a pair",
    loses=5,
    misconception=(
        "You overwrite a before you compute the new b. Compute both from the old a and b."
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
    caught_by="rotation of a pair",
    loses=5,
    misconception="You rotate the first dimension of a pair and leave the second unchanged.",
)
def _(x, positions, base):
    return _turned(x, positions, base, pair=lambda a, b, cos, sin: (a * cos - b * sin, b))


@mistake(
    ROTATE,
    "only-the-cosine",
    caught_by="rotation of a pair",
    loses=5,
    misconception=(
        "You multiply by the cosine and leave out the term of the pair's other dimension."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, pair=lambda a, b, cos, sin: (a * cos, b * cos))


@mistake(
    ROTATE,
    "added",
    caught_by="rotation of a pair",
    loses=5,
    misconception=(
        "You add sine and cosine to the vector, as sinusoidal encodings do. RoPE rotates it."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, pair=lambda a, b, cos, sin: (a + sin, b + cos))


@mistake(
    ROTATE,
    "degrees",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You treat the angle as degrees. It is in radians.",
)
def _(x, positions, base):
    return _turned(x, positions.double() * math.pi / 180, base)


@mistake(
    ROTATE,
    "positions-from-one",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You add 1 to every position. Position 0 leaves a vector unchanged.",
)
def _(x, positions, base):
    return _turned(x, positions, base, places=lambda positions: positions + 1)


@mistake(
    ROTATE,
    "place-of-the-head",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You count positions along the heads. The tokens are on the second-to-last axis.",
)
def _(x, positions, base):
    return _turned(x.transpose(1, 2), torch.arange(x.shape[1]), base).transpose(1, 2)


@mistake(
    ROTATE,
    "one-angle",
    caught_by="frequencies per pair",
    loses=3,
    misconception=(
        "You rotate all pairs by the same angle. Pair i rotates by position · base^(-2i / D)."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, torch.ones)


@mistake(
    ROTATE,
    "exponent-halved",
    caught_by="frequencies per pair",
    loses=3,
    misconception="You use the exponent i / D for pair i. It is 2i / D, which is i / (D/2).",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: pair / (2 * half)))


@mistake(
    ROTATE,
    "exponent-doubled",
    caught_by="frequencies per pair",
    loses=3,
    misconception="You use the exponent 4i / D for pair i. It is 2i / D.",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: 2 * pair / half))


@mistake(
    ROTATE,
    "last-exponent-one",
    caught_by="frequencies per pair",
    loses=3,
    misconception="You give the last pair the exponent 1. It is (D - 2) / D: pair i has 2i / D.",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: pair / max(half - 1, 1)))


@mistake(
    ROTATE,
    "base-inverse",
    caught_by="frequencies per pair",
    loses=3,
    misconception="You leave out the minus: frequencies fall from pair to pair, base^(-2i / D).",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: -pair / half))


@mistake(
    ROTATE,
    "first-pair-slower",
    caught_by="rotation of a pair",
    loses=5,
    misconception="You count pairs from 1. Pair 0 rotates by the position itself.",
)
def _(x, positions, base):
    return _turned(x, positions, base, _powers(base, lambda pair, half: (pair + 1) / half))


@mistake(
    ROTATE,
    "base-ignored",
    caught_by="frequencies per pair",
    loses=3,
    misconception="You use the base 10,000 whatever is given.",
)
def _(x, positions, base):
    return _turned(x, positions, 10_000.0)


@mistake(
    ROTATE,
    "slowest-first",
    caught_by="pairs across halves",
    loses=4,
    misconception="You put the lowest frequency first. Pair 0 has the highest.",
)
def _(x, positions, base):
    return _turned(
        x, positions, base, lambda half: _powers(base, lambda pair, half: pair / half)(half).flip(0)
    )


@mistake(
    ROTATE,
    "counts-from-zero",
    caught_by="given positions",
    loses=2,
    misconception="You number the tokens 0, 1, 2, ... and never use `positions`.",
)
def _(x, positions, base):
    return _turned(x, torch.arange(len(positions)), base)


@mistake(
    ROTATE,
    "positions-sorted",
    caught_by="given positions",
    loses=2,
    misconception="You sort the positions. Token t is at positions[t].",
)
def _(x, positions, base):
    return _turned(x, positions.sort().values, base)


@mistake(
    ROTATE,
    "from-the-first-position",
    caught_by="given positions",
    loses=2,
    misconception=(
        "You count from the first position given: keys rotated earlier, as in a cache, no longer"
        " match."
    ),
)
def _(x, positions, base):
    return _turned(x, positions - positions[0], base)


@mistake(
    ROTATE,
    "table-of-2048",
    caught_by="far positions",
    loses=1,
    misconception="You build a table for the first 2,048 positions. Positions go on to 100,000.",
)
def _(x, positions, base):
    if int(positions.max()) >= 2048:
        raise IndexError("index out of range")
    return _turned(x, positions, base)


@mistake(
    ROTATE,
    "comes-round",
    caught_by="far positions",
    loses=1,
    misconception="You take positions modulo 4,096. They go on to 100,000.",
)
def _(x, positions, base):
    return _turned(x, positions % 4096, base)


@mistake(
    ROTATE,
    "angles-in-float32",
    caught_by="far positions",
    loses=1,
    misconception=(
        "You compute the angles in float32, where those of far positions are off by up to 0.008."
        " Compute them in float64."
    ),
)
def _(x, positions, base):
    return _turned(x, positions, base, dtype=torch.float32)


@mistake(
    ROTATE,
    "angles-in-bfloat16",
    caught_by="frequencies per pair",
    loses=3,
    misconception=(
        "You compute the angles in bfloat16, which keeps two digits and cannot tell position 257"
        " from 256."
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
    caught_by="float64 precision",
    loses=0.5,
    misconception="Your code fails where x is float64.",
)
def _(x, positions, base):
    if x.dtype != torch.float32:
        raise RuntimeError("expected Float but found Double")
    return _turned(x, positions, base)
