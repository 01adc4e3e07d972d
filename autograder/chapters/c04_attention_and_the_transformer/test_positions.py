"""Checks of chapter 4, sinusoids, rotary embeddings, ALiBi."""

import math

import torch

from autograder.chapters.c04_attention_and_the_transformer.withholding import LAYERS
from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.values import in_digits
from autograder.checks.inputs.draws import distinct, look_alikes, normal, one_changed, whole
from autograder.checks.protocol import exercise, expect

PAGE = "04-attention-and-the-transformer/positions"
RELATIVE = "04-attention-and-the-transformer/relative"
ROTARY = "04-attention-and-the-transformer/rotary"
FARTHEST = 100_000
NEAR = {"rtol": 1e-4, "atol": 5e-6}  # angles in float32 are right to here while positions are small

sinusoids = exercise(
    "04.sinusoids",
    function="sinusoids",
    points=4,
    see=f"{PAGE}#sinusoidal-encodings",
    withhold=LAYERS,
)


def in_words(positions: torch.Tensor) -> str:
    """ "positions [0, 1, 2]", or from where to where if there are many."""
    few = len(positions) <= 12
    return (
        f"positions {positions.tolist() if few else f'from {positions.min()} to {positions.max()}'}"
    )


def right_sinusoids(positions: torch.Tensor, hidden: int) -> torch.Tensor:
    """Column by column: the sine of an even one's angle, the cosine of an odd one's."""
    columns = torch.arange(hidden)
    angles = positions.double()[:, None] / 10_000.0 ** (
        (columns - columns % 2).double() / hidden
    )  # (T, C)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


def ask_sinusoids(
    student, positions: torch.Tensor | list[int], hidden: int, cause: str, **close: float
) -> None:
    """Compare the rows of these positions."""
    positions = torch.as_tensor(positions)
    given = f"T = {len(positions)}, {in_words(positions)}, hidden {hidden}"
    came = student.sinusoids(positions, hidden)
    expect(came, given=given).close(
        right_sinusoids(positions, hidden), **{**NEAR, **close}, cause=cause
    )


@sinusoids.stage("single pair", points=1)
def test_one_pair_is_the_sine_and_the_cosine_of_the_position(student, rng):
    for places in (3, 1, 2, 8, whole(rng, 4, 7), 130):
        ask_sinusoids(
            student,
            torch.arange(places),
            2,
            (
                "Return sine, then cosine, of the position in radians: with hidden 2 there is"
                " one pair, and position 1 gives (0.841, 0.540)."
            ),
        )


@sinusoids.stage("interleaved sine and cosine", points=1, after="single pair")
def test_sines_and_cosines_alternate(student, rng):
    for hidden in (4, 6, 2, 8, 64, 130, 300, 2 * whole(rng, 5, 9)):
        ask_sinusoids(
            student,
            [0],
            hidden,
            (
                "Alternate sines and cosines: position 0 gives 0, 1, 0, 1, ... with `hidden`"
                " columns, half of them sines."
            ),
        )


@sinusoids.stage("frequencies per pair", points=1)
def test_the_frequency_falls_from_pair_to_pair(student, rng):
    for places, hidden in (
        (2, 4),
        (4, 4),
        (6, 6),
        (3, 8),
        (5, 10),
        (1, 12),
        (8, 2),
        (7, 64),
        (4, 130),
        (3, 300),
        (2, 768),
        (2, 1000),
        (5, 2 * whole(rng, 6, 9)),
    ):
        ask_sinusoids(
            student,
            torch.arange(places),
            hidden,
            (
                "Give columns 2i and 2i + 1 the angle position / 10,000^(2i / hidden):"
                " exponents run from 0 to (hidden - 2) / hidden."
            ),
        )


@sinusoids.stage("given positions", points=0.5)
def test_the_positions_are_those_that_are_given(student, rng):
    rule = (
        "Encode positions[t] in row t: positions need not start at 0 or increase, and may repeat."
    )
    for positions in (
        [5],
        [1],
        [7, 3, 3, 0],
        [4, 5, 6],
        [0, 2, 4, 6, 8],
        [9, 9],
        [3, 2, 1, 0],
        [0, 1, 2, 3],
        [1, 3, 0, 2],
    ):
        ask_sinusoids(student, positions, 6, rule)
    for number in (4, 4, 6, 600):
        ask_sinusoids(
            student,
            torch.randint(0, 50, (number,), generator=rng),
            2 * whole(rng, 2, 5),
            rule,
            atol=2e-5,
        )
    for positions, hidden in one_changed(
        (torch.tensor(distinct(rng, 3, 20)), 4), (torch.tensor([21, 30, 25]), 10)
    ):
        ask_sinusoids(student, positions, hidden, rule, atol=2e-5)
    for positions, hidden in look_alikes((torch.tensor([3, *distinct(rng, 4, 40), 9]), 6)):
        ask_sinusoids(student, positions, hidden, rule, atol=2e-5)


@sinusoids.stage("far positions", points=0.5)
def test_far_positions_are_as_accurate_as_near_ones(student, rng):
    rule = (
        "Compute frequencies and angles in float64 and return float32: at positions up to"
        " 100,000, float32 angles are off by up to 0.008."
    )
    ask_sinusoids(student, [99_999], 6, rule, atol=1e-5)
    for hidden in (2, 6, 64, 2 * whole(rng, 5, 20)):
        drawn = torch.randint(20_000, FARTHEST, (5,), generator=rng)
        ask_sinusoids(
            student,
            torch.cat([drawn, torch.tensor([FARTHEST, 0, 65_537])]),
            hidden,
            rule,
            atol=1e-5,
        )
    ask_sinusoids(student, [FARTHEST], 8, rule, atol=1e-5)


rotate = exercise(
    "04.rotate",
    function="rotate",
    points=5,
    see=f"{ROTARY}#rotating-queries-and-keys",
    withhold=LAYERS,
)


def turned(x: torch.Tensor, positions: torch.Tensor, base: float) -> torch.Tensor:
    """The right answer, by products of complex numbers."""
    pairs = x.shape[-1] // 2
    z = torch.complex(x[..., :pairs].double(), x[..., pairs:].double())
    angles = positions.double()[:, None] / float(base) ** (
        torch.arange(pairs).double() / pairs
    )  # (T, D/2)
    z = z * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag], -1).to(x.dtype)


def ask_rotate(
    student,
    x: torch.Tensor,
    positions: torch.Tensor | list[int],
    base: float,
    cause: str,
    atol: float = 5e-6,
    rtol: float = 1e-4,
) -> None:
    """Compare all numbers; atol: as a part of the largest number in x."""
    positions = torch.as_tensor(positions)
    given = "B = {}, H = {}, T = {}, D = {}, base {}, {}".format(
        *x.shape, in_digits(base, 9), in_words(positions)
    )
    came = student.rotate(x, positions, base)
    expect(came, given=given).close(
        turned(x, positions, base), rtol=rtol, atol=atol * float(x.abs().max()), cause=cause
    )


@rotate.stage("rotation of a pair", points=1)
def test_a_pair_is_rotated_by_the_position(student, rng):
    rule = "Rotate (a, b) counterclockwise by p radians: (a cos p - b sin p, a sin p + b cos p)."
    for size in (
        (1, 1, 2, 2),
        (1, 1, 1, 2),
        (2, 3, 5, 2),
        (3, 1, 3, 2),
        (1, 4, 4, 2),
        (2, 2, 2, 2),
        (1, 2, 130, 2),
        (2, 1, whole(rng, 4, 7), 2),
    ):
        ask_rotate(student, normal(rng, *size), torch.arange(size[2]), 10_000.0, rule)
    ask_rotate(
        student,
        torch.tensor([[[[1.0, 0.0]] * 4, [[0.0, 1.0]] * 4]]),
        torch.arange(4),
        10_000.0,
        rule,
    )


@rotate.stage("pairs across halves", points=1)
def test_dimension_i_is_paired_with_the_one_half_a_vector_on(student, rng):
    for size in (
        (1, 1, 3, 4),
        (2, 3, 2, 6),
        (1, 2, 4, 8),
        (2, 1, 3, 64),
        (1, 1, 2, 130),
        (1, 2, 3, 2 * whole(rng, 5, 9)),
    ):
        x, half = torch.zeros(size), size[3] // 2
        x[..., 0], x[..., half] = normal(rng, *size[:3]), normal(rng, *size[:3])
        ask_rotate(
            student,
            x,
            torch.arange(size[2]),
            10_000.0,
            (
                "Pair dimension 0 with dimension D/2: both rotate by the pair's angle and"
                " keep their indices, half a vector apart."
            ),
        )


@rotate.stage("frequencies per pair", points=1)
def test_each_pair_has_its_own_angle(student, rng):
    rule = "Rotate the pair (i, i + D/2) by position · base^(-2i / D) radians, with the given base."
    for size in (
        (1, 1, 2, 4),
        (2, 3, 5, 4),
        (1, 2, 3, 6),
        (3, 1, 4, 8),
        (2, 2, 6, 12),
        (1, 1, 4, 64),
        (1, 2, 2, 128),
        (1, 1, 2, 256),
        (1, 1, 2, 600),
        (600, 1, 2, 4),
        (1, 600, 2, 4),
        (4, 4, 4, 4),
        (1, 1, 6, 6),
        (5, 2, 3, 4),
        (1, 12, 2, 4),
        (2, 1, 3, 2 * whole(rng, 5, 9)),
    ):
        ask_rotate(student, normal(rng, *size), torch.arange(size[2]), 10_000.0, rule)
    for base in (1.0, 1.5, 2.0, 10.5, 500.0, 500_000.0, 1_000_000.0):
        ask_rotate(student, normal(rng, 2, 1, 4, 6), torch.arange(4), base, rule)
    for scale in (1e-3, 1e3):
        ask_rotate(
            student,
            scale * normal(rng, 1, 2, 3, 4),
            torch.arange(3),
            10_000.0,
            "Rotate the pairs and change nothing else: no scaling and no clipping.",
        )


@rotate.stage("given positions", points=1)
def test_the_positions_of_the_tokens_are_given(student, rng):
    rule = (
        "Use positions[t] for token t in every sequence and head: positions need not"
        " start at 0 or increase, and may repeat."
    )
    for positions in (
        [5],
        [1],
        [7, 3, 3, 0],
        [4, 5, 6],
        [0, 2, 4, 6, 8],
        [9, 9],
        [3, 2, 1, 0],
        [0, 1, 2, 3],
        [1, 3, 0, 2],
        [0, 0],
        [0, 0],
    ):
        ask_rotate(student, normal(rng, 2, 3, len(positions), 4), positions, 10_000.0, rule)
    ask_rotate(
        student,
        normal(rng, 2, 1, 6, 8),
        torch.randint(0, 50, (6,), generator=rng),
        10_000.0,
        rule,
        2e-5,
    )
    ask_rotate(
        student,
        normal(rng, 1, 1, 600, 2),
        torch.randint(0, 50, (600,), generator=rng),
        10_000.0,
        rule,
        2e-5,
    )
    for parts in look_alikes(
        (normal(rng, 1, 2, 5, 4), torch.tensor([2, *distinct(rng, 3, 20), 7]), 30.0)
    ):
        ask_rotate(student, *parts, rule, 2e-5)
    first = normal(rng, 2, 2, 3, 4), torch.tensor(distinct(rng, 3, 20)), 10_000.0
    for parts in one_changed(first, (normal(rng, 2, 2, 3, 4), torch.tensor([21, 30, 25]), 100.0)):
        ask_rotate(student, *parts, rule, 2e-5)


@rotate.stage("far positions", points=0.5)
def test_far_tokens_are_as_accurate_as_near_ones(student, rng):
    rule = (
        "Compute frequencies and angles in float64: at positions up to 100,000, float32 angles"
        " are off by up to 0.008."
    )
    one = torch.tensor([[[[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]]]])
    ask_rotate(student, one, [99_999], 10_000.0, rule, 1e-5)
    for size in (2, 6, 64, 2 * whole(rng, 5, 20)):
        positions = torch.cat(
            [torch.randint(20_000, FARTHEST, (3,), generator=rng), torch.tensor([FARTHEST, 0])]
        )
        ask_rotate(student, normal(rng, 1, 2, 5, size), positions, 10_000.0, rule, 1e-5)
    for base in (500_000.0, 10.5, 1.0):
        ask_rotate(student, normal(rng, 1, 2, 3, 8), [54_321, 100_000, 7], base, rule, 1e-5)


@rotate.stage("float64 precision", points=0.5)
def test_double_precision_comes_back_in_double_precision(student, rng):
    rule = "Keep float64: x may be float64, so nothing in between may be float32."
    for size in ((1, 1, 2, 2), (2, 3, 4, 6), (1, 2, whole(rng, 3, 6), 8)):
        ask_rotate(
            student, normal(rng, *size).double(), torch.arange(size[2]), 10_000.0, rule, 1e-9, 1e-9
        )
    for base in (500.0, 12_345.678, 1.1):
        ask_rotate(
            student,
            normal(rng, 1, 2, 3, 6).double() / 3,
            [90_000, 3, 54_321],
            base,
            rule,
            1e-9,
            1e-9,
        )


BIAS = {"rtol": 1e-4, "atol": 2e-6}
distance_bias = exercise(
    "04.distance_bias",
    function="distance_bias",
    points=4,
    see=f"{RELATIVE}#alibi",
    withhold=LAYERS,
)


def right_bias(num_heads: int, num_queries: int, num_keys: int) -> torch.Tensor:
    """Number by number over the heads, in double precision."""
    power = 1 << int(math.log2(num_heads) + 1e-9)
    eighths = [(h + 1) / power for h in range(power)] + [
        (h + 0.5) / power for h in range(num_heads - power)
    ]
    queries = torch.arange(num_queries) + num_keys - num_queries
    away = (torch.arange(num_keys)[None] - queries[:, None]).abs().double()  # (T, S)
    return torch.stack([-away / 256.0**share for share in eighths]).float()


def ask_bias(student, num_heads: int, num_queries: int, num_keys: int, cause: str) -> None:
    """Compare the whole table."""
    came = student.distance_bias(num_heads, num_queries, num_keys)
    expect(came, given=f"H = {num_heads}, T = {num_queries}, S = {num_keys}").close(
        right_bias(num_heads, num_queries, num_keys), **BIAS, cause=cause
    )


@distance_bias.stage("slopes per head", points=1)
def test_each_head_has_its_slope(student):
    rule = (
        "Give head h, counted from 1, the bias -2^(-8h / H) times the distance where H is a power"
        " of two."
    )
    for heads in (8, 1, 2, 4, 16, 32, 64, 128):
        asked = expect(student.distance_bias(heads, 2, 2), given=f"H = {heads}, T = 2, S = 2")
        bias, right = asked.is_tensor(shape=(heads, 2, 2))[:, 1], right_bias(heads, 2, 2)[:, 1]
        try:
            expect(bias[:, 1] - bias[:, 0]).close(right[:, 1] - right[:, 0], **BIAS, cause=rule)
        except CheckFailed:  # told by the rows themselves: their difference is not asked for
            for head in range(heads):
                row = expect(bias[head], f"Your result[{head}, 1]", asked.given)
                row.whole = asked.whole
                row.close(right[head], **BIAS, cause=rule)
            raise


@distance_bias.stage("distance on both sides", points=1)
def test_the_bias_falls_with_the_distance_on_both_sides(student, rng):
    for heads, tokens in (
        (2, 3),
        (4, 5),
        (1, 1),
        (8, 1),
        (1, 6),
        (128, 3),
        (64, 2),
        (2, 130),
        (4, whole(rng, 6, 9)),
        (8, 8),
    ):
        ask_bias(
            student,
            heads,
            tokens,
            tokens,
            (
                "Multiply minus the slope by the absolute distance: 0 on the diagonal, equal"
                " for keys before and after the query, linear."
            ),
        )


@distance_bias.stage("queries come last", points=1)
def test_fewer_queries_are_at_the_last_positions(student, rng):
    tokens = whole(rng, 4, 6)
    for heads, queries, keys in (
        (2, 1, 3),
        (4, 2, 5),
        (1, 1, 2),
        (8, 3, 4),
        (4, 2, 2),
        (2, 1, 130),
        (2, tokens, tokens + whole(rng, 2, 5)),
        (16, 3, 16),
        (1, 40, 1500),
        (1, 300, 300),
        (4, 1, 2000),
        (128, 2, 130),
        (4, 2, 6),
        (4, 3, 4),
        (4, 1, 12),
        (4, 3, 7),
        (4, 4, 6),
    ):
        ask_bias(
            student,
            heads,
            queries,
            keys,
            (
                "Put query t at position S - T + t: the queries are the last tokens, so the"
                " last query and last key coincide."
            ),
        )


@distance_bias.stage("other head counts", points=1)
def test_numbers_of_heads_that_are_not_a_power_of_two(student, rng):
    for heads in (
        3,
        6,
        12,
        5,
        7,
        9,
        10,
        11,
        15,
        20,
        24,
        25,
        31,
        33,
        40,
        48,
        96,
        127,
        whole(rng, 17, 23),
    ):
        ask_bias(
            student,
            heads,
            2,
            2,
            (
                "Give the first P heads the slopes of P heads, and the others 2^(-8(j - 1/2) / P),"
                " where j counts from 1."
            ),
        )
    for heads, queries, keys in ((3, 2, 4), (12, 5, 7), (3, 20, 130), (5, 5, 5), (100, 2, 300)):
        ask_bias(
            student,
            heads,
            queries,
            keys,
            (
                "Use the same distances for any number of heads, with the queries at the last"
                " positions."
            ),
        )
