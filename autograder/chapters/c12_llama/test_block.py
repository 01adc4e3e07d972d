"""Checks of chapter 12, part 1: RMSNorm, SwiGLU, what they weigh, and which units are dead."""

from math import prod

import torch

from autograder.chapters.c12_llama.withholding import LIBRARIES, NORMS, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

BOOK = "12-llama"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
HALF = {"rtol": 1e-2, "atol": 1e-3}

rms_norm = exercise(
    "12.rms_norm",
    function="rms_norm",
    points=4,
    see=f"{BOOK}/block#by-hand-two-norms",
    withhold=OURS | LIBRARIES | NORMS,
)


def ask_norm(student, x, w, eps: float, cause: str) -> None:
    """Compare with the formula in float64, which torch's own norm confirms in the tests of this
    chapter.
    """
    wide = x.double()
    right = wide / (wide.square().sum(-1, keepdim=True) / x.shape[-1] + eps) ** 0.5 * w.double()
    asked = expect(
        student.rms_norm(x, w, eps),
        given=(
            f"x of shape {tuple(x.shape)} and {str(x.dtype).removeprefix('torch.')}, eps {eps:.3g}"
        ),
    )
    asked.close(right.to(x.dtype), **(HALF if x.dtype == torch.float16 else CLOSE), cause=cause)


def apart(rng, *shape: int) -> torch.Tensor:
    """Numbers from 0.5 to 2, with signs: no token is so small that eps shows."""
    return torch.where(torch.rand(shape, generator=rng) < 0.5, -1.0, 1.0) * uniform(
        rng, 0.5, 2, *shape
    )


@rms_norm.stage("size", points=1)
def test_each_token_is_divided_by_the_root_of_its_mean_square(student, rng):
    rule = (
        "Divide each token by the root of the mean of its squares, over the last axis. No mean is"
        " subtracted. Here w is 1 and eps tiny."
    )
    ask_norm(
        student,
        torch.tensor([1.0, 7.0, 1.0, 7.0]),
        torch.ones(4),
        1e-12,
        f"{rule} This is the case by hand.",
    )
    for width in (1, 2, 3, 5, 300, whole(rng, 6, 20)):
        for middle, size in ((0.0, 1.0), (10.0, 1.0), (-3.0, 0.5), (0.0, 1000.0)):
            ask_norm(student, middle + size * apart(rng, width), torch.ones(width), 1e-12, rule)
    for shape in (
        (1, 4),
        (3, 4),
        (4, 4),
        (2, 3, 4),
        (3, 3, 3),
        (2, 3, 2, 5),
        (1, 1, 1, 2),
        (1, 1),
        (3, 1),
        (2, 3, 1),
        (300, 3),
        (3, 300),
        (300, 300),
        (2, 300, 2),
    ):
        ask_norm(
            student,
            apart(rng, *shape) + 3,
            torch.ones(shape[-1]),
            1e-12,
            f"{rule} There may be one to four axes, and each token is divided by its own root.",
        )
    ask_norm(
        student,
        torch.cat((apart(rng, 2, 3), 1e6 * uniform(rng, 0.5, 1, 2, 3), 100 * apart(rng, 2, 3))),
        torch.ones(3),
        1e-12,
        f"{rule} Large and small tokens side by side.",
    )


@rms_norm.stage("eps", points=1)
def test_eps_is_added_inside_the_root(student, rng):
    rule = "eps is added to the mean of the squares, before the root is taken."
    ask_norm(
        student,
        torch.tensor([1.0, 7.0, 1.0, 7.0]),
        torch.ones(4),
        11.0,
        f"{rule} This is the case by hand: the root of 36.",
    )
    for shape in ((4,), (2, 3), (2, 2, 5)):
        for eps in (0.1, 1.0, 9.0, 100.0, float(uniform(rng, 2, 50)), 1e-3):
            ask_norm(student, normal(rng, *shape), torch.ones(shape[-1]), eps, rule)
    for size, eps in (
        (1e-3, 1e-6),
        (1e-3, 1e-5),
        (1e-2, 1e-10),
        (1e-4, 1e-8),
        (1e-5, 1e-12),
        (1e-6, 1e-12),
        (1e-5, 1e-9),
    ):
        ask_norm(
            student,
            size * torch.tensor([[1.0, -2.0, 3.0], [2.0, 2.0, 1.0]]),
            torch.ones(3),
            eps,
            f"{rule} Numbers may be small, and then eps decides: it is the one that is given, and"
            " nothing else is added.",
        )
    for eps in (1.0, 30.0):
        ask_norm(
            student,
            torch.tensor([[3.0], [-0.5], [7.0]]),
            torch.ones(1),
            eps,
            f"{rule} A token may be a single number.",
        )
    for eps in (1e-12, 1e-6, 1.0):
        for x in (
            torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]),
            torch.zeros(3),
            torch.zeros(2, 3),
        ):
            ask_norm(
                student,
                x,
                torch.ones(3),
                eps,
                "A token of zeros stays one of zeros, since eps is not 0.",
            )


@rms_norm.stage("weight", points=1)
def test_each_number_is_weighted(student, rng):
    rule = "In the end dimension i of each token is multiplied by w[i], not by 1 + w[i]."
    ask_norm(
        student,
        torch.tensor([1.0, 7.0, 1.0, 7.0]),
        torch.tensor([1.0, 1.0, 2.0, 0.0]),
        1e-12,
        f"{rule} This is the case by hand.",
    )
    for shape in ((1,), (3,), (3, 3), (2, 5), (2, 2, 2), (2, 3, 1, 4), (4, 300), (300, 300)):
        ask_norm(
            student,
            normal(rng, *shape) + 0.5,
            normal(rng, shape[-1]),
            1e-5,
            f"{rule} A weight may be negative, or 0.",
        )
    for case in (
        *one_changed(
            (normal(rng, 4, 5), normal(rng, 5), 0.1), (normal(rng, 4, 5), normal(rng, 5), 0.5)
        ),
        *look_alikes((normal(rng, 4, 5), normal(rng, 5), 0.1)),
        *look_alikes((normal(rng, 8), normal(rng, 8), 0.1)),
    ):
        ask_norm(student, *case, f"{rule} The answer depends on all three arguments.")


@rms_norm.stage("half", points=1)
def test_half_precision_is_squared_in_float32(student, rng):
    rule = (
        "In float16 the square of 300 is infinite and the square of 0.0001 is 0. Take squares, mean"
        " and root in float32, and return float16."
    )
    for size in (1.0, 300.0, 1000.0, 1e-2, 1e-3, 2e-4):
        for shape in ((4,), (3, 8), (2, 2, 300)):
            ask_norm(
                student,
                (size * (normal(rng, *shape) + 2)).half(),
                (1 + 0.3 * normal(rng, shape[-1])).half(),
                min(1e-6, size * size / 100),
                rule,
            )
    ask_norm(
        student,
        torch.tensor([60_000.0, -60_000.0, 30_000.0, 1000.0]).half(),
        torch.tensor([1.0, 2.0, -1.0, 4.0]).half(),
        1e-6,
        f"{rule} Numbers may be as large as 60,000.",
    )
    ask_norm(
        student,
        torch.full((2, 300), 255.0).half(),
        torch.ones(300).half(),
        1e-6,
        f"{rule} Each square may fit, and their sum not.",
    )
    ask_norm(
        student,
        torch.tensor([1e-3, 2e-3]).half(),
        torch.ones(2).half(),
        1e-12,
        f"{rule} eps may be too small for float16.",
    )
    ask_norm(
        student,
        torch.tensor([[0.0, 0.0], [1.0, 2.0]]).half(),
        torch.ones(2).half(),
        1e-8,
        f"{rule} A token of zeros stays one, also where eps is too small for float16.",
    )
    ask_norm(
        student,
        torch.tensor([3.0, 4.0]).half(),
        torch.ones(2).half(),
        100.0,
        f"{rule} eps counts here as it does elsewhere.",
    )


swiglu = exercise(
    "12.swiglu",
    function="swiglu",
    points=4,
    see=f"{BOOK}/block#by-hand-a-gated-unit",
    withhold=OURS | LIBRARIES,
)


def gated(x, gate, up, down) -> torch.Tensor:
    """The right answer in float64."""
    x, gate, up, down = (one.double() for one in (x, gate, up, down))
    said = torch.einsum("...c,fc->...f", x, gate)
    return torch.einsum(
        "...f,cf->...c", said / (1 + (-said).exp()) * torch.einsum("...c,fc->...f", x, up), down
    ).float()


def ask_gated(student, parts: tuple, cause: str) -> None:
    """Compare one answer; parts: x, gate, up, down."""
    x, gate = parts[:2]
    expect(
        student.swiglu(*parts),
        given=f"x of shape {tuple(x.shape)}, C = {gate.shape[1]}, F = {gate.shape[0]}",
    ).close(gated(*parts), **CLOSE, cause=cause)


def matrices(rng, C: int, F: int) -> tuple:
    """Gate, up and down, such that the result is about 1 in size."""
    return 1.5 * normal(rng, F, C) / C**0.5, normal(rng, F, C) / C**0.5, normal(rng, C, F) / F**0.5


@swiglu.stage("one-unit", points=1.5)
def test_one_unit_gates_with_silu_of_what_the_gate_says(student, rng):
    rule = (
        "One dimension, one unit: the result is down · silu(gate · x) · up · x, with silu(z) = z"
        " / (1 + exp(-z))."
    )
    for x in (1.0, -1.0, 0.5, 2.0, float(uniform(rng, -3, 3))):
        for gate, up, down in (
            (1.0, 1.0, 1.0),
            (2.0, 1.0, 1.0),
            (1.0, 2.0, 1.0),
            (-1.5, 0.5, 3.0),
            (0.3, -2.0, 1.0),
            (4.0, 3.0, -0.5),
            (1.0, 0.5, 0.25),
        ):
            ask_gated(
                student,
                tuple(
                    torch.tensor(one).view(shape)
                    for one, shape in ((x, (1,)), (gate, (1, 1)), (up, (1, 1)), (down, (1, 1)))
                ),
                rule,
            )
    for x, gate in (
        (1.0, 500.0),
        (1.0, -500.0),
        (-2.0, 400.0),
        (20.0, -40.0),
        (1.0, 90.0),
        (1.0, -90.0),
        (1.0, -12.0),
    ):
        ask_gated(
            student,
            tuple(
                torch.tensor(one).view(shape)
                for one, shape in ((x, (1,)), (gate, (1, 1)), (0.5, (1, 1)), (1.0, (1, 1)))
            ),
            "Pre-activations may be in the hundreds, positive or negative: silu(-500) is 0 to all"
            " digits, and never NaN.",
        )


@swiglu.stage("closed", points=0.5, after="one-unit")
def test_a_gate_of_zeros_and_an_up_of_zeros_let_nothing_through(student, rng):
    for C, F in ((1, 1), (3, 3), (2, 5), (5, 2)):
        x, (gate, up, down) = normal(rng, 3, C), matrices(rng, C, F)
        ask_gated(
            student,
            (x, torch.zeros_like(gate), up, down),
            "silu(0) is 0: a gate of zeros gives 0. A sigmoid would give half of up.",
        )
        ask_gated(
            student,
            (x, gate, torch.zeros_like(up), down),
            "Where the up projection is 0, the result is 0, whatever the gate is.",
        )
        ask_gated(
            student,
            (x, gate, up, torch.zeros_like(down)),
            "With `down` all zeros the result is 0: x itself is not added here.",
        )
        ask_gated(
            student,
            (torch.zeros_like(x), gate, up, down),
            "For a token of zeros everything is 0: there are no biases.",
        )


@swiglu.stage("matrices", points=1)
def test_rows_are_units_on_the_way_out_and_numbers_on_the_way_back(student, rng):
    rule = (
        "Multiply by the transposes, as nn.Linear does: a row of `gate` or `up` belongs to one"
        " unit, a row of `down` to one dimension of the result."
    )
    ask_gated(
        student,
        tuple(
            torch.tensor(one)
            for one in (
                [1.0, 2.0],
                [[1.0, 1.0], [0.0, -1.0]],
                [[2.0, 0.0], [0.0, 2.0]],
                [[1.0, 0.0], [1.0, 1.0]],
            )
        ),
        f"{rule} This is the case by hand.",
    )
    for C, F in (
        (2, 2),
        (3, 3),
        (2, 3),
        (3, 2),
        (4, 1),
        (1, 4),
        (8, 22),
        (22, 8),
        (4, 8),
        (whole(rng, 4, 9), whole(rng, 4, 9)),
        (16, 16),
    ):
        ask_gated(student, (normal(rng, C), *matrices(rng, C, F)), rule)


@swiglu.stage("tokens", points=1)
def test_each_token_is_worked_on_alone(student, rng):
    rule = "There may be axes before the last one, and each token is computed on its own."
    for shape, F in (
        ((1, 1), 1),
        ((1, 3), 4),
        ((4, 3), 3),
        ((3, 3), 3),
        ((2, 3, 4), 6),
        ((3, 3, 3), 3),
        ((2, 1, 2, 3), 5),
        ((2, 2, 2, 2), 2),
        ((300, 2), 3),
        ((2, 300), 2),
        ((2, 2), 300),
        ((3, 300), 300),
    ):
        ask_gated(student, (normal(rng, *shape), *matrices(rng, shape[-1], F)), rule)
    said = torch.tensor([[300.0], [-300.0], [1.0], [-0.5], [2.0], [80.0], [-12.0]])
    for order in (range(7), range(6, -1, -1)):
        ask_gated(
            student,
            (
                said[list(order)],
                torch.tensor([[1.0], [2.0], [-1.0]]),
                torch.tensor([[0.5], [1.0], [-0.3]]),
                torch.tensor([[1.0, -1.0, 0.5]]),
            ),
            f"{rule} The gate says hundreds for one token, and small numbers for the next.",
        )
    first, second = ((normal(rng, 3, 4), *matrices(rng, 4, 6)) for _ in range(2))
    for case in (
        *one_changed(first, second),
        *look_alikes(first),
        *look_alikes((normal(rng, 3, 3), *matrices(rng, 3, 3))),
    ):
        ask_gated(student, case, f"{rule} The answer depends on all four arguments.")


predict_llama = exercise(
    "12.predict_llama",
    function="predict_llama",
    points=4,
    kind="predict",
    see=f"{BOOK}/block#three-matrices-as-many-parameters",
    withhold=OURS | LIBRARIES,
)

SIZES = (
    (10, 4, 2, 2, 1, 3, 5, False),
    (10, 4, 2, 2, 1, 3, 5, True),
    (1, 1, 1, 1, 1, 1, 1, False),
    (1, 1, 1, 1, 1, 1, 1, True),
    (49152, 576, 30, 9, 3, 64, 1536, True),
    (32000, 4096, 32, 32, 32, 128, 11008, False),
    (32000, 8192, 80, 64, 8, 128, 28672, False),
    (7, 6, 1, 4, 4, 5, 9, False),
    (7, 6, 3, 4, 1, 5, 9, True),
    (300, 2, 300, 6, 2, 7, 3, False),
    (1_000_000, 999_983, 5, 100, 10, 999, 77_777, True),
    (999_999, 3, 1_000_000, 6, 3, 1001, 20_011, False),
    (999_961, 999_979, 99, 1000, 500, 999, 99_991, False),
    (3, 33_331, 999_983, 1, 1, 1, 99_991, True),
    (3, 999_979, 999_983, 2, 1, 9999, 1, False),
    *one_changed((10, 4, 2, 6, 3, 5, 9, False), (11, 7, 3, 12, 2, 8, 10, True)),
)


def weighed(
    V: int, C: int, layers: int, H: int, K: int, D: int, F: int, tied: bool
) -> dict[str, int]:
    """The right numbers, from the shapes of all tensors by name; a block's are multiplied, since
    blocks are alike.
    """
    block = {
        "attention": [(H * D, C), (K * D, C), (K * D, C), (C, H * D)],
        "feed_forward": [(F, C), (F, C), (C, F)],
        "norms": [(C,), (C,)],
    }
    found = {part: layers * sum(map(prod, shapes)) for part, shapes in block.items()}
    found["norms"] += C
    found |= {"embedding": V * C, "output": (1 - tied) * V * C}
    return found | {"total": sum(found.values())}


def ask_part(student, rng, keys: tuple[str, ...], cause: str) -> None:
    """Compare some of the numbers."""
    key_heads = whole(rng, 1, 5)
    drawn = (
        *(whole(rng, 2, 99) for _ in range(3)),
        key_heads * whole(rng, 2, 6),
        key_heads,
        whole(rng, 2, 40),
        whole(rng, 2, 200),
    )
    for sizes in (*SIZES, (*drawn, True), (*drawn, False)):
        given = "V = {}, C = {}, {} layers, H = {}, K = {}, D = {}, F = {}, tied: {}"
        right = weighed(*sizes)
        came = student.predict_llama(*sizes)
        asked = expect(came, given=given.format(*sizes)).only_keys(right)
        for key in keys:
            asked.has(key).equals(right[key], cause=cause)


@predict_llama.stage("ends", points=1)
def test_the_embedding_and_the_output_layer(student, rng):
    ask_part(
        student,
        rng,
        ("embedding", "output"),
        "The embedding has V · C parameters. The output layer has as many of its own, or none if it"
        " is tied: then it is the embedding.",
    )


@predict_llama.stage("attention", points=1)
def test_the_four_matrices_of_attention(student, rng):
    ask_part(
        student,
        rng,
        ("attention",),
        "Queries: H · D rows of C. Keys and values: K · D rows of C each. The output projects from"
        " H · D back to C. There are no biases, and H · D need not be C.",
    )


@predict_llama.stage("feed_forward", points=0.5)
def test_the_three_matrices_of_swiglu(student, rng):
    ask_part(
        student,
        rng,
        ("feed_forward",),
        "SwiGLU has three matrices of F · C parameters in each block, and no biases.",
    )


@predict_llama.stage("norms", points=1)
def test_two_norms_a_block_and_one_at_the_end(student, rng):
    ask_part(
        student,
        rng,
        ("norms",),
        "There are two norms in each block and one after the last. Each has C weights and no bias.",
    )


@predict_llama.stage("total", points=0.5)
def test_the_total_is_what_is_stored(student, rng):
    ask_part(
        student,
        rng,
        ("total",),
        "The total is the sum of the five parts. What is tied is stored once.",
    )


dead_units = exercise(
    "12.dead_units",
    function="dead_units",
    points=4,
    see=f"{BOOK}/block#dead-units",
    withhold=OURS | LIBRARIES,
)


def share_of_dead(pre: torch.Tensor, slope: float) -> float:
    """The right share, by the gradient that torch sends back: a unit is dead if none of it arrives
    in any row.
    """
    leaf = pre.double().requires_grad_()
    torch.where(leaf > 0, leaf, slope * leaf).sum().backward()
    arrived = leaf.grad.ne(0).any(0).tolist()
    return arrived.count(False) / len(arrived) if len(pre) else 0.0


def ask_share(student, pre: torch.Tensor, slope: float, cause: str) -> None:
    """Compare one share."""
    expect(
        student.dead_units(pre, slope),
        given=f"{pre.shape[0]} rows, {pre.shape[1]} units, slope {slope:g}",
    ).close(share_of_dead(pre, slope), **CLOSE, cause=cause)


def answers(rng, N: int, F: int, dead: int) -> torch.Tensor:
    """What units say, so many of them below 0 in every row, and the others above 0 in one row at
    least and, where there are more rows, below in one.
    """
    said = normal(rng, N, F)
    rows = torch.rand(N, F, generator=rng).argsort(0)
    size = uniform(rng, 0.1, 2, N, F)
    said = torch.where(rows == 0, size, torch.where(rows == 1, -size, said))
    order = torch.rand(F, generator=rng).argsort()
    said[:, order[:dead]] = -said[:, order[:dead]].abs() - 0.01
    return said


@dead_units.stage("all-rows", points=2)
def test_a_unit_is_dead_that_is_silent_in_all_rows(student, rng):
    rule = (
        "The slope is 0 here. Count the units whose pre-activation is above 0 for no input, and"
        " divide by the number of units."
    )
    ask_share(student, torch.tensor([[2.0, -1.0, -3.0], [-1.0, -2.0, -0.5]]), 0.0, rule)
    for N, F, dead in (
        (2, 4, 1),
        (3, 4, 2),
        (5, 3, 0),
        (5, 3, 3),
        (4, 4, 1),
        (2, 1, 0),
        (2, 1, 1),
        (1, 5, 2),
        (1, 1, 1),
        (1, 1, 0),
        (40, 7, 3),
        (300, 9, 4),
        (3, 300, 100),
        (300, 300, 1),
        (299, 2, 1),
        (whole(rng, 3, 20), 10, whole(rng, 1, 9)),
    ):
        ask_share(student, answers(rng, N, F, dead), 0.0, rule)
    alone = -torch.ones(300, 3)
    for row in (0, 150, 299):
        ask_share(
            student,
            torch.where((torch.arange(300) == row)[:, None] & (torch.arange(3) == 1), 1.0, alone),
            0.0,
            f"{rule} One row in 300 is enough, whichever it is.",
        )
    for case in (
        *one_changed((answers(rng, 6, 5, 2), 0.0), (answers(rng, 6, 5, 4), 0.0)),
        *look_alikes((torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]), 0.0)),
    ):
        ask_share(student, *case, f"{rule} The answer depends on each of the numbers.")


@dead_units.stage("border", points=0.5, after="all-rows")
def test_zero_is_silent_and_the_smallest_number_is_not(student, rng):
    ask_share(
        student,
        torch.tensor([[2.0, -1.0, -3.0], [-1.0, -2.0, 0.0]]),
        0.0,
        "This is the case by hand: at exactly 0 no gradient arrives, as below it.",
    )
    ask_share(
        student,
        torch.tensor([[0.0, -1.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]]),
        0.0,
        "At exactly 0 no gradient arrives, as below it: a unit that is 0 for every input is dead.",
    )
    ask_share(
        student,
        torch.zeros(3, 4),
        0.0,
        "At exactly 0 no gradient arrives, as below it: a unit that is 0 for every input is dead.",
    )
    ask_share(
        student,
        torch.tensor([[-0.0, 0.0], [0.0, -0.0]]),
        0.0,
        "At exactly 0 no gradient arrives, as below it; -0.0 is 0.",
    )
    for tiny in (1e-6, 1e-12, 1e-30, 1e-37, 1e-42):
        ask_share(
            student,
            torch.tensor([[-1.0, tiny, -1.0], [-1.0, -1e6, -tiny]]),
            0.0,
            "However small a positive pre-activation is, the unit is active.",
        )
    ask_share(
        student,
        torch.tensor([[1e30, -1e30], [-1e30, -1e30]]),
        0.0,
        "Numbers may be huge: it is each single one that counts, and no sum or mean of them.",
    )


@dead_units.stage("leaky", points=1, after="all-rows")
def test_with_a_slope_nobody_is_dead(student, rng):
    rule = "With a slope other than 0 some gradient arrives below 0 too, so no unit is dead: 0.0."
    for slope in (0.01, 0.5, 1.0, 1e-6, float(uniform(rng, 0.001, 0.9))):
        for N, F, dead in ((2, 4, 1), (5, 3, 3), (1, 1, 1), (40, 7, 7)):
            ask_share(student, answers(rng, N, F, dead), slope, rule)
        ask_share(student, torch.zeros(3, 4), slope, f"{rule} At 0 the slope counts as well.")
        ask_share(
            student,
            torch.full((2, 2), -1e-37),
            slope,
            f"{rule} What the unit says after the activation may be too small to be written, and"
            " yet the slope is there.",
        )
    said = answers(rng, 6, 5, 2)
    for slope in (0.0, 0.01, 0.0, 1e-6):
        ask_share(student, said, slope, f"{rule} The same numbers with a slope and without one.")


@dead_units.stage("empty", points=0.5, after="all-rows")
def test_an_empty_batch_shows_nobody_dead(student):
    for F in (1, 4, 300):
        for slope in (0.0, 0.01):
            ask_share(
                student,
                torch.zeros(0, F),
                slope,
                "An empty batch has not shown that any unit is dead: 0.0. (`all` over no rows is"
                " True.)",
            )
