"""Plausible wrong solutions of chapter 11, part 1: rotary positions and GeGLU."""

import math

import torch
from torch.nn.functional import gelu

from autograder.checks.mistakes.registry import mistake

ROTATE, GEGLU = "11.rotary", "11.geglu"


def _angles(x, positions, base, exponent=lambda i, D: 2 * i / D, dtype=torch.float32):
    """Position times base to the minus exponent, (B, 1, T, D/2)."""
    D = x.shape[3]
    speeds = float(base) ** -exponent(torch.arange(D // 2), D).to(dtype)
    return positions[:, None, :, None].to(dtype) * speeds


def _turned(x, angles, halves=True, sign=1):
    """Pairs turned by angles of the shape (.., T, D/2)."""
    cos, sin = angles.cos().to(x.dtype), sign * angles.sin().to(x.dtype)
    a, b = x.chunk(2, 3) if halves else (x[..., 0::2], x[..., 1::2])
    one, other = a * cos - b * sin, a * sin + b * cos
    return torch.cat((one, other), 3) if halves else torch.stack((one, other), 4).flatten(3)


@mistake(
    ROTATE,
    "neighbours",
    caught_by="speeds",
    loses=5,
    misconception=(
        "You pair neighbours, entries 0 and 1, 2 and 3. Here entry i goes with entry i + D/2:"
        " weights that were trained so need it so."
    ),
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base), halves=False)


@mistake(
    ROTATE,
    "half-the-exponent",
    caught_by="speeds",
    loses=5,
    misconception="Your exponent is i / D. It is 2i / D: the last pair has nearly the exponent 1.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base, exponent=lambda i, D: i / D))


@mistake(
    ROTATE,
    "last-exponent-one",
    caught_by="speeds",
    loses=5,
    misconception=(
        "Your last pair has the exponent 1. The exponents are 2i / D, so that the last is (D - 2)"
        " / D."
    ),
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base, exponent=lambda i, D: i / max(D // 2 - 1, 1)))


@mistake(
    ROTATE,
    "faster-and-faster",
    caught_by="speeds",
    loses=5,
    misconception="Your exponent has the wrong sign: later pairs rotate more slowly, not faster.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base, exponent=lambda i, D: -2 * i / D))


@mistake(
    ROTATE,
    "one-base",
    caught_by="speeds",
    loses=5,
    misconception="Your base is 10,000 whatever is given.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, 10_000))


@mistake(
    ROTATE,
    "other-way-round",
    caught_by="rotation",
    loses=6,
    misconception="You rotate in the wrong direction: the minus sign belongs to the other sine.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base), sign=-1)


@mistake(
    ROTATE,
    "from-one",
    caught_by="rotation",
    loses=6,
    misconception=(
        "You add 1 to the positions. They count as they are given: at position 0 nothing is"
        " rotated."
    ),
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions + 1, base))


@mistake(
    ROTATE,
    "turns-in-degrees",
    caught_by="rotation",
    loses=6,
    misconception="Your angles are in degrees, or in full rotations. Sine and cosine take radians.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base) * math.pi / 180)


@mistake(
    ROTATE,
    "one-of-two",
    caught_by="rotation",
    loses=6,
    misconception=("You overwrite a with its new value before b is computed: both need the old a."),
)
def _(x, positions, base):
    angles = _angles(x, positions, base)
    a, b = x.chunk(2, 3)
    a = (a * angles.cos() - b * angles.sin()).to(x.dtype)
    return torch.cat((a, (a * angles.sin() + b * angles.cos()).to(x.dtype)), 3)


@mistake(
    ROTATE,
    "counted-from-the-left",
    caught_by="speeds",
    loses=5,
    misconception="You do not read `positions`: you count from 0 in every row.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, torch.arange(x.shape[2]).expand(positions.shape), base))


@mistake(
    ROTATE,
    "first-row-for-all",
    caught_by="rows",
    loses=1.5,
    misconception="You take the first text's positions for all. Each text has a row of its own.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions[:1], base))


@mistake(
    ROTATE,
    "texts-for-heads",
    caught_by="rows",
    loses=1.5,
    misconception="You count the positions of texts along the axis of heads.",
)
def _(x, positions, base):
    B, H = x.shape[:2]
    return _turned(x, _angles(x, positions, base)[:, 0].repeat(-(-H // B), 1, 1)[None, :H])


@mistake(
    ROTATE,
    "half-precision",
    caught_by="half",
    loses=1,
    misconception=(
        "You make the angles in bfloat16. It has no number 257: positions that are next to each"
        " other fall together."
    ),
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions, base, dtype=x.dtype))


@mistake(
    ROTATE,
    "never-far",
    caught_by="rows",
    loses=3.5,
    misconception="Your positions come round after 256.",
)
def _(x, positions, base):
    return _turned(x, _angles(x, positions % 256, base))


@mistake(
    ROTATE,
    "detached",
    caught_by="speeds",
    loses=3.5,
    misconception="You cut the gradient off: nothing reaches x.",
)
def _(x, positions, base):
    return _turned(x.detach(), _angles(x, positions, base))


def _sums(misconception, name, replaces):
    """A wrong reach of the slowest pair."""
    mistake(
        ROTATE, name, replaces="slowest", caught_by="slowest", loses=1, misconception=misconception
    )(replaces)


_sums(
    "You give the reach of a pair that is not there, with the exponent 1. The last pair has (D - 2)"
    " / D.",
    "exponent-one",
    lambda D, base: 2 * math.pi * base,
)
_sums(
    "You leave out the 2 pi: until there the last pair has rotated by one radian.",
    "one-radian",
    lambda D, base: base ** ((D - 2) / D),
)
_sums(
    "You give the fastest pair's round. The slowest is the last one.",
    "fastest",
    lambda D, base: 2 * math.pi,
)
_sums(
    "Half a round is not a whole one: 2 pi, not pi.",
    "half-a-round",
    lambda D, base: math.pi * base ** ((D - 2) / D),
)
_sums(
    "You rounded. The number need not be whole.",
    "rounded",
    lambda D, base: float(round(2 * math.pi * base ** ((D - 2) / D))),
)


def _gated(x, gate_up, down, act=gelu, swap=False):
    gate, up = (x @ gate_up.T).chunk(2, -1)
    gate, up = (up, gate) if swap else (gate, up)
    return (act(gate) * up) @ down.T


@mistake(
    GEGLU,
    "swapped",
    caught_by="gated",
    loses=4,
    misconception="You take the second half for the gate. The first F rows of `gate_up` make it.",
)
def _(x, gate_up, down):
    return _gated(x, gate_up, down, swap=True)


@mistake(
    GEGLU,
    "tanh",
    caught_by="exact",
    loses=1,
    misconception=(
        "Your GELU is the approximation by tanh. Here it is the exact one, torch's default."
    ),
)
def _(x, gate_up, down):
    return _gated(x, gate_up, down, act=lambda gate: gelu(gate, approximate="tanh"))


@mistake(
    GEGLU,
    "sigmoid",
    caught_by="gated",
    loses=4,
    misconception="Your gate is a sigmoid, as in the first gated layers. GeGLU has GELU there.",
)
def _(x, gate_up, down):
    return _gated(x, gate_up, down, act=torch.sigmoid)


@mistake(
    GEGLU,
    "silu",
    caught_by="gated",
    loses=4,
    misconception="Your gate is SiLU: that is SwiGLU, LLaMA's. GeGLU has GELU.",
)
def _(x, gate_up, down):
    return _gated(x, gate_up, down, act=torch.nn.functional.silu)


@mistake(
    GEGLU,
    "sigmoid-form",
    caught_by="gated",
    loses=4,
    misconception=(
        "Your GELU is its approximation by a sigmoid of 1.702 z. Here it is the exact one."
    ),
)
def _(x, gate_up, down):
    return _gated(x, gate_up, down, act=lambda gate: gate * torch.sigmoid(1.702 * gate))


@mistake(
    GEGLU,
    "both-through-gelu",
    caught_by="gated",
    loses=4,
    misconception="GELU acts on both of your halves. It acts on the gate alone.",
)
def _(x, gate_up, down):
    gate, up = (x @ gate_up.T).chunk(2, -1)
    return (gelu(gate) * gelu(up)) @ down.T


@mistake(
    GEGLU,
    "odd-and-even",
    caught_by="gated",
    loses=4,
    misconception="You take every second row for the gate. It is the first half of the rows.",
)
def _(x, gate_up, down):
    made = x @ gate_up.T
    return (gelu(made[..., 0::2]) * made[..., 1::2]) @ down.T


@mistake(
    GEGLU,
    "added",
    caught_by="gated",
    loses=4,
    misconception="You add gate and content. They are multiplied.",
)
def _(x, gate_up, down):
    gate, up = (x @ gate_up.T).chunk(2, -1)
    return (gelu(gate) + up) @ down.T


@mistake(
    GEGLU,
    "overflows",
    caught_by="large",
    loses=1.5,
    misconception="A gate of 1,000 makes NaN or infinity in your function.",
)
def _(x, gate_up, down):
    return _gated(
        x,
        gate_up,
        down,
        act=lambda gate: torch.where(
            gate.abs() < 50, gelu(gate), gate * gate.exp() / (1 + gate.exp())
        ),
    )


@mistake(
    GEGLU,
    "second-axis",
    caught_by="axes",
    loses=1,
    misconception="You cut along the second axis. It is the last one, however many there are.",
)
def _(x, gate_up, down):
    gate, up = (x @ gate_up.T).chunk(2, 1) if x.dim() > 1 else (x @ gate_up.T).chunk(2, 0)
    return (gelu(gate) * up) @ down.T


@mistake(
    GEGLU,
    "detached",
    caught_by="axes",
    loses=1,
    misconception="You cut a gradient off: one reaches x and both matrices.",
)
def _(x, gate_up, down):
    return _gated(x, gate_up.detach(), down)
