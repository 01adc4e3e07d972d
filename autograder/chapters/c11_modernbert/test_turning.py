"""Checks of chapter 11, part 1: rotary positions and GeGLU."""

import math

import torch
from torch import Tensor

from autograder.chapters.c11_modernbert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, look_alikes, normal, one_changed, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "11-modernbert"
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
NEAR, FAR = 300, 8191

rotary = exercise(
    "11.rotary",
    function="rotary",
    also=["slowest"],
    points=7,
    see=f"{BOOK}/rotary#frequencies-and-wavelengths",
    withhold=OURS | LIBRARIES,
)


def turned(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The right answer in float64, by products of complex numbers."""
    half = x.shape[3] // 2
    speeds = torch.exp(-math.log(base) * torch.arange(half, dtype=torch.float64) / half)
    angles = positions[:, None, :, None].double() * speeds  # (B, 1, T, D/2)
    z = torch.complex(x[..., :half].double(), x[..., half:].double()) * torch.complex(
        angles.cos(), angles.sin()
    )
    return torch.cat((z.real, z.imag), 3)


def ask_rotary(student, x: Tensor, positions: Tensor, base: float, cause: str) -> None:
    """Compare all numbers, as closely as the statement says."""
    given = (
        "B = {}, H = {}, T = {}, D = {}, ".format(*x.shape)
        + f"base {base:g}, positions from {int(positions.min())} to {int(positions.max())},"
        f" {str(x.dtype)[6:]}"
    )
    size = max(1.0, float(x.abs().max()) / 2)
    atol = 0.03 if x.dtype == torch.bfloat16 else 5e-4 if int(positions.max()) <= NEAR else 0.01
    expect(student.rotary(x, positions, base), given=given).close(
        turned(x, positions, base).to(x.dtype),
        rtol=0.02 if x.dtype == torch.bfloat16 else 1e-4,
        atol=atol * size,
        cause=cause,
    )


def in_order(B: int, T: int) -> Tensor:
    """Positions 0, 1, 2, ... in each text."""
    return torch.arange(T).repeat(B, 1)


@rotary.stage("rotation", points=1)
def test_one_pair_turns_by_its_position(student, rng):
    rule = (
        "With D = 2 there is one pair, (a, b), which the token at position m rotates by m"
        " radians: (a cos m - b sin m, a sin m + b cos m), both from the same a and b. At position"
        " 0 it stays as it is."
    )
    for size in (
        (1, 1, 2, 2),
        (1, 1, 1, 2),
        (2, 3, 5, 2),
        (3, 1, 3, 2),
        (1, 4, 4, 2),
        (2, 2, 2, 2),
        (1, 2, 250, 2),
        (1, 300, 2, 2),
        (300, 1, 2, 2),
        (2, 1, whole(rng, 4, 7), 2),
    ):
        ask_rotary(student, normal(rng, *size), in_order(size[0], size[2]), 10_000.0, rule)
    ask_rotary(
        student,
        torch.tensor([[[[1.0, 0.0]] * 4, [[0.0, 1.0]] * 4]]),
        in_order(1, 4),
        160_000.0,
        rule,
    )


@rotary.stage("speeds", points=1.5)
def test_each_pair_has_a_speed_of_its_own(student, rng):
    rule = (
        "Dimensions i and i + D/2 are a pair, which is rotated by position · base^(-2i / D)"
        " radians: the"
        " first pair by 1 a position, each later one more slowly."
    )
    ask_rotary(
        student,
        torch.tensor([[[[1.0, 1.0, 0.0, 0.0]]]]),
        torch.tensor([[2]]),
        100.0,
        f"{rule} This is the case by hand.",
    )
    for size in (
        (1, 1, 2, 4),
        (2, 3, 5, 4),
        (1, 2, 3, 6),
        (3, 1, 4, 8),
        (4, 4, 4, 4),
        (1, 1, 4, 64),
        (1, 2, 2, 128),
        (1, 1, 2, 300),
        (1, 12, 2, 4),
        (2, 1, 3, 2 * whole(rng, 5, 9)),
    ):
        ask_rotary(student, normal(rng, *size), in_order(size[0], size[2]) + 3, 10_000.0, rule)
    for base in (2.0, 10.5, 500.0, 10_000.0, 160_000.0, 1_000_000.0, float(whole(rng, 20, 9000))):
        ask_rotary(student, normal(rng, 2, 1, 9, 6), in_order(2, 9), base, rule)
    ask_rotary(
        student,
        30 * normal(rng, 1, 2, 3, 4).clamp(-3.3, 3.3),
        in_order(1, 3),
        10_000.0,
        f"{rule} Nothing else is done to the numbers.",
    )
    x, positions, upstream = (
        normal(rng, 2, 3, 4, 6),
        counts(rng, 0, 20, 1, 4).repeat(2, 1),
        normal(rng, 2, 3, 4, 6),
    )
    ask_gradients(
        student,
        "rotary",
        (x, positions, 100.0),
        {0: turned(upstream, -positions, 100.0).float()},
        "The result is differentiated. A gradient is rotated back by the same angles: nothing on"
        " the"
        " way is detached or created again.",
        atol=1e-4,
        upstream=upstream,
    )


@rotary.stage("rows", points=1.5)
def test_every_text_has_positions_of_its_own(student, rng):
    rule = (
        "Row b of `positions` belongs to text b: token t of it stands at positions[b, t], in every"
        " head. Positions need not begin at 0, nor go up, and one may come twice."
    )
    for B, H, T in (
        (2, 2, 3),
        (2, 1, 1),
        (3, 2, 4),
        (2, 3, 2),
        (3, 3, 3),
        (1, 2, 5),
        (4, 2, 2),
        (300, 2, 2),
        (2, 300, 2),
        (2, 2, 300),
        (whole(rng, 2, 6), 3, 4),
    ):
        ask_rotary(student, normal(rng, B, H, T, 4), counts(rng, 0, NEAR, B, T), 10_000.0, rule)
    for row in ([5], [7, 3, 3, 0], [9, 9], [3, 2, 1, 0], [0, 0]):
        ask_rotary(
            student, normal(rng, 2, 2, len(row), 4), torch.tensor([row, row[::-1]]), 100.0, rule
        )
    x = normal(rng, 2, 2, 4, 4)
    for one, other in (
        ([0, 1, 2, 3], [4, 5, 6, 7]),
        ([0, 1, 2, 3], [4, 6, 5, 7]),
        ([0, 1, 2, 3], [7, 6, 5, 4]),
        ([0, 2, 1, 3], [7, 6, 5, 4]),
        ([0, 2, 1, 3], [4, 5, 6, 7]),
    ):
        ask_rotary(student, x, torch.tensor([one, other]), 30.0, rule)
    first, second = (
        (normal(rng, 2, 2, 3, 4), counts(rng, 0, 20, 2, 3), 50.0),
        (normal(rng, 2, 2, 3, 4), counts(rng, 21, 40, 2, 3), 90.0),
    )
    for case in (
        *one_changed(first, second),
        *look_alikes((normal(rng, 2, 2, 4, 4), torch.tensor([[0, 1, 2, 3], [9, 5, 6, 8]]), 30.0)),
    ):
        ask_rotary(student, *case, rule)


@rotary.stage("far", points=1, after="speeds")
def test_far_positions_are_told_apart(student, rng):
    rule = (
        "Positions go up to 8191, and neighbours are told apart there as anywhere: make the angles"
        " in float32 or float64. Half precision has no room for them."
    )
    for B, T, D, base in (
        (1, 6, 2, 10_000.0),
        (2, 5, 8, 10_000.0),
        (3, 40, 64, 160_000.0),
        (2, 4, 2 * whole(rng, 2, 20), 160_000.0),
    ):
        positions = counts(rng, 1000, FAR, 1, T).repeat(B, 1)
        positions[:, :3] = torch.tensor([FAR, FAR - 1, 4097])
        ask_rotary(student, normal(rng, B, 2, T, D), positions, base, rule)


@rotary.stage("half", points=1, after="speeds")
def test_bfloat16_is_turned_as_precisely_as_it_can_be(student, rng):
    rule = (
        "x is bfloat16 here, and so is the result, but angles, sines and cosines are made in"
        " float32: bfloat16 has eight bits for a position, and takes 257 for 256. Cast the sines"
        " and cosines to the dtype of x, when they are done."
    )
    for B, H, T, D in ((1, 1, 2, 2), (2, 2, 3, 8), (1, 2, 4, 64), (2, 1, 300, 4), (3, 3, 3, 6)):
        positions = counts(rng, 200, NEAR, 1, T).repeat(B, 1)
        positions[:, :2] = torch.tensor([257, 259])
        ask_rotary(student, normal(rng, B, H, T, D).bfloat16(), positions, 10_000.0, rule)
    ask_rotary(
        student,
        normal(rng, 2, 2, 6, 8).bfloat16(),
        counts(rng, 2000, FAR, 1, 6).repeat(2, 1),
        160_000.0,
        rule,
    )
    x, positions, upstream = (
        normal(rng, 2, 3, 4, 6).bfloat16(),
        counts(rng, 0, 20, 1, 4).repeat(2, 1),
        normal(rng, 2, 3, 4, 6).bfloat16(),
    )
    ask_gradients(
        student,
        "rotary",
        (x, positions, 100.0),
        {0: turned(upstream, -positions, 100.0).bfloat16()},
        "The result is differentiated, in bfloat16 too: a gradient reaches x.",
        rtol=0.02,
        atol=0.05,
        upstream=upstream,
    )


@rotary.stage("slowest", points=1)
def test_the_last_pair_comes_round(student, rng):
    rule = (
        "The last pair, i = D/2 - 1, rotates by base^(-(D - 2) / D) per position: by 2"
        " pi within 2 pi times base^((D - 2) / D) positions."
    )
    for D, base in (
        (4, 100.0),
        (2, 10_000.0),
        (64, 10_000.0),
        (64, 160_000.0),
        (128, 500_000.0),
        (6, 2.0),
        (300, 1_000_000.0),
        (8, 10_000.0),
        (64, 2.5),
        (2 * whole(rng, 3, 50), float(whole(rng, 50, 9000))),
    ):
        expect(
            student.slowest(D, base), "Your number of positions", f"D = {D}, base {base:g}"
        ).close(2 * math.pi / math.exp(-math.log(base) * (D - 2) / D), rtol=1e-4, cause=rule)


geglu = exercise(
    "11.geglu",
    function="geglu",
    points=4,
    see=f"{BOOK}/block#geglu",
    withhold=OURS | LIBRARIES,
)


def gated(x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """The right answer in float64; GELU by the probability below."""
    units = x.double() @ gate_up.double().T  # (..., 2F)
    gate, up = units[..., : down.shape[1]], units[..., down.shape[1] :]
    return (gate * torch.special.ndtr(gate) * up) @ down.double().T


def drawn(rng, *shape: int, F: int, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """The three arguments."""
    C = shape[-1]
    return normal(rng, *shape), scale * normal(rng, 2 * F, C) / C**0.5, normal(rng, C, F) / F**0.5


def ask_geglu(
    student, case: tuple[Tensor, Tensor, Tensor], cause: str, exact: bool = False
) -> None:
    """Compare all numbers; exact: to four digits, which the stage of this name judges alone."""
    given = "; ".join(
        f"{name} {tuple(one.shape)}" for name, one in zip(("x", "gate_up", "down"), case)
    )
    expect(student.geglu(*case), given=given).close(
        gated(*case).float(), **CLOSE if exact else {"rtol": 1e-3, "atol": 5e-3}, cause=cause
    )


def ask_differentiated(
    student, case: tuple[Tensor, Tensor, Tensor], upstream: Tensor, cause: str
) -> None:
    """Compare the gradients of all three."""
    leaves = [one.double().requires_grad_() for one in case]
    (gated(*leaves) * upstream).sum().backward()
    ask_gradients(
        student,
        "geglu",
        case,
        {place: one.grad.float() for place, one in enumerate(leaves)},
        cause,
        rtol=1e-2,
        atol=0.02,
        upstream=upstream,
    )


@geglu.stage("gated", points=1.5)
def test_the_first_half_gates_the_second(student, rng):
    rule = (
        "The first F rows of `gate_up` make the gate, the last F what passes. GELU acts on the"
        " gate, and on nothing else; then the two are multiplied, number by number, and go through"
        " `down`. Matrices act as in nn.Linear: x times the transpose."
    )
    ask_geglu(
        student,
        (torch.ones(1, 1), torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0]])),
        f"{rule} This is the case by hand.",
    )
    for shape, F in (
        ((2, 3), 4),
        ((3, 3), 3),
        ((1, 1), 1),
        ((4, 2), 1),
        ((2, 1), 6),
        ((2, 4), 2),
        ((5, 8), 8),
        ((2, 300), 3),
        ((2, 3), 300),
        ((300, 2), 3),
        ((4, whole(rng, 3, 9)), whole(rng, 3, 9)),
    ):
        ask_geglu(student, drawn(rng, *shape, F=F), rule)
    for case in (
        *one_changed(drawn(rng, 3, 4, F=5), drawn(rng, 3, 4, F=5)),
        *look_alikes(drawn(rng, 3, 4, F=3)),
    ):
        ask_geglu(student, case, rule)


@geglu.stage("exact", points=1, after="gated")
def test_gelu_is_the_exact_one(student, rng):
    rule = (
        "GELU is z times the probability that a standard normal number is below z, torch's default."
        " The approximation by tanh differs by up to 0.0005, which shows here."
    )
    for sign in (1.0, -1.0):
        gates = sign * torch.linspace(0.5, 3.5, 12)[:, None]
        ask_geglu(student, (gates, torch.ones(2, 1), torch.tensor([[20.0]])), rule, exact=True)
    for shape, F in (((40, 3), 4), ((2, 5), 300), ((3, 300), 2), ((200, 1), 1)):
        ask_geglu(student, drawn(rng, *shape, F=F, scale=2.0), rule, exact=True)


@geglu.stage("large", points=0.5, after="gated")
def test_large_gates_are_open_or_shut(student, rng):
    rule = "A large gate is open, GELU(z) = z, and a gate far below 0 is shut: 0, and never NaN."
    for gate in (1000.0, -1000.0, 60.0, -60.0, 8.0, -8.0, 0.0):
        ask_geglu(
            student,
            (torch.tensor([[1.0], [0.5]]), torch.tensor([[gate], [0.3]]), torch.tensor([[0.7]])),
            rule,
        )
    ask_geglu(
        student,
        (torch.zeros(2, 3), normal(rng, 8, 3), normal(rng, 3, 4)),
        "Of a vector of zeros nothing is left.",
    )


@geglu.stage("axes", points=1, after="gated")
def test_any_number_of_axes(student, rng):
    rule = (
        "x may have any number of axes, the last of length C: each vector goes through by itself,"
        " and the result has the shape of x."
    )
    for shape in (
        (4,),
        (1,),
        (2, 3, 4),
        (1, 1, 5),
        (3, 3, 3),
        (2, 1, 3, 2),
        (2, 3, 2, 2, 3),
        (1, 300, 2),
        (300, 1, 2),
        (2, 6, 4),
        (6, 2, 6),
        (6, 6, 6),
        (6, 3),
        (3, 6, 3),
    ):
        ask_geglu(student, drawn(rng, *shape, F=3), rule)
    ask_differentiated(
        student,
        drawn(rng, 2, 3, 4, F=3),
        normal(rng, 2, 3, 4),
        "The result is differentiated: a gradient reaches x, gate_up and down. `.item()`,"
        " `.detach()` and a new tensor cut it off.",
    )
    case = (
        torch.tensor([[1.0], [-1.0], [0.1], [-0.1]]),
        torch.tensor([[1000.0], [0.3]]),
        torch.tensor([[0.7]]),
    )
    ask_differentiated(
        student,
        case,
        torch.tensor([[1.0], [-2.0], [0.5], [3.0]]),
        "Gates are as large as 1,000 here, up and down, and the gradients are no NaN.",
    )
