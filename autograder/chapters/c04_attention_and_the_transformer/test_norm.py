"""Checks of chapter 4, part 4: the norm of a token."""

import torch

from autograder.chapters.c04_attention_and_the_transformer.withholding import LAYERS, NORMS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

PAGE = "04-attention-and-the-transformer/block"
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
DOUBLE = {"rtol": 1e-9, "atol": 1e-11}

layer_norm = exercise(
    "04.layer_norm",
    function="layer_norm",
    points=4,
    see=f"{PAGE}#layernorm",
    withhold=LAYERS | NORMS,
)


def ask(student, x, weight, bias, eps: float, cause: str) -> None:
    """Compare with torch's own norm in float64; nothing but the student's code is refused it."""
    right = torch.nn.functional.layer_norm(
        x.double(), x.shape[-1:], weight.double(), bias.double(), eps
    )
    asked = expect(
        student.layer_norm(x, weight, bias, eps),
        given=f"x of shape {tuple(x.shape)}, eps {eps:.3g}",
    )
    asked.close(right.to(x.dtype), **CLOSE, cause=cause)
    if x.dtype == torch.float64 and asked.value.dtype == torch.float64:
        asked.close(
            right,
            **DOUBLE,
            cause=(
                "Keep float64: your result must have the dtype of x and all its digits, so"
                " nothing in between may be float32."
            ),
        )


def plain(width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight and a bias that change nothing."""
    return torch.ones(width), torch.zeros(width)


def spread(rng: torch.Generator, *shape: int) -> torch.Tensor:
    """Tokens whose numbers lie apart from each other, in random order: a token of nearly equal ones
    has no digits left in float32.
    """
    steps = torch.linspace(-1.5, 1.5, shape[-1]) if shape[-1] > 1 else torch.zeros(1)
    order = torch.rand(shape, generator=rng).argsort(-1)
    return steps[order] + uniform(rng, -0.4, 0.4, *shape)


@layer_norm.stage("mean and deviation", points=1)
def test_the_mean_is_subtracted_and_the_deviation_divided_by(student, rng):
    rule = (
        "Subtract the token's mean and divide by its standard deviation, the root of"
        " the mean of the squares: divided by C, not C - 1."
    )
    ask(
        student,
        torch.tensor([[2.0, 2.0, 6.0, 6.0]]),
        *plain(4),
        1e-12,
        (
            "Subtract the token's mean and divide by its standard deviation, with C and"
            " not C - 1, as in the example by hand."
        ),
    )
    for width in (2, 3, 5, 8, whole(rng, 9, 20)):
        for middle, size in ((0.0, 1.0), (2.5, 3.0), (-10.0, 0.5), (1.0, 50.0)):
            ask(student, middle + size * spread(rng, 1, width), *plain(width), 1e-12, rule)


@layer_norm.stage("eps inside the root", points=1)
def test_eps_is_added_to_the_variance_inside_the_root(student, rng):
    rule = "Add eps to the variance inside the root: divide by the square root of their sum."
    for width in (2, 4, whole(rng, 5, 9)):
        for eps in (0.25, 1.0, 9.0, float(uniform(rng, 2, 5)), 100.0, 1e-3, 1e-5):
            ask(student, spread(rng, 1, width) * 1.5 + 1, *plain(width), eps, rule)
    ask(
        student,
        1e-3 * torch.tensor([[1.0, -1.0, 2.0, -2.0]]),
        *plain(4),
        1e-5,
        ("Add eps to the variance inside the root: where the variance is small, eps decides."),
    )
    ask(
        student,
        1e-3 * spread(rng, 1, 4),
        *plain(4),
        1e-10,
        (
            "Add eps as it is given to the variance, however small: never replace it with"
            " a larger one."
        ),
    )
    for small in (1e-4, 1e-5):
        ask(
            student,
            small * spread(rng, 1, 4),
            *plain(4),
            1e-12,
            "Add nothing but eps to the variance, even if both are tiny.",
        )
    ask(
        student,
        torch.tensor([[3.0, 3.0, 3.0, 3.0]]),
        *plain(4),
        1e-5,
        (
            "Return 0 before weight and bias for a token of equal elements: eps keeps the"
            " divisor above 0."
        ),
    )


@layer_norm.stage("weight and bias", points=0.5)
def test_weight_multiplies_and_then_bias_is_added(student, rng):
    rule = (
        "Multiply each column by its weight and add its bias at the end; neither"
        " affects mean or variance."
    )
    for width in (2, 3, 6, whole(rng, 7, 12)):
        for eps in (1e-5, 0.5):
            ask(
                student,
                spread(rng, 1, width) * 2 - 1,
                normal(rng, width) + 0.5,
                2 * normal(rng, width),
                eps,
                rule,
            )
    for parts in one_changed(
        *((spread(rng, 1, 5), normal(rng, 5), normal(rng, 5), eps) for eps in (0.1, 2.0))
    ):
        ask(student, *parts, rule)
    ask(
        student,
        spread(rng, 1, 3),
        torch.tensor([0.0, -1.0, 30.0]),
        torch.tensor([5.0, 0.0, -20.0]),
        1e-5,
        (
            "Multiply each column by its weight and add its bias at the end; a weight may"
            " be 0 or negative."
        ),
    )


@layer_norm.stage("last axis only", points=1, at_most=0.5)
def test_each_token_is_normalized_by_itself_over_the_last_axis(student, rng):
    rule = "Take mean and variance over the last axis only, however many axes come before it."
    for shape in (
        (3, 4),
        (2, 3, 5),
        (2, 4, 4),
        (4, 4),
        (3, 3, 3),
        (5,),
        (2, 1, 3, 4),
        (2, 3, 2, 4, 3),
        (whole(rng, 4, 9), 6),
    ):
        size = uniform(rng, 1, 5, *shape[:-1], 1)
        ask(
            student,
            size * (spread(rng, *shape) + 2 * normal(rng, *shape[:-1], 1)),
            normal(rng, shape[-1]) + 0.5,
            normal(rng, shape[-1]),
            1e-12,
            rule,
        )
    for parts in look_alikes((spread(rng, 3, 5), normal(rng, 5) + 0.5, normal(rng, 5), 0.1)):
        ask(
            student,
            *parts,
            (
                "Use every element of x, weight and bias at its own index: your result must"
                " depend on all of them."
            ),
        )


@layer_norm.stage("sizes and large means", points=0.5)
def test_a_token_may_be_short_or_long_and_far_from_zero(student, rng):
    for shape in ((1,), (3, 1), (1, 1, 1), (2, 3, 1)):
        ask(
            student,
            4 * normal(rng, *shape),
            normal(rng, 1),
            normal(rng, 1),
            1e-5,
            "Return the bias for a token of one element: it equals its own mean.",
        )
    for shape in ((1, 4), (1, 1, 2), (600, 3), (2, 600), (1, 600, 2), (600,), (2,), (130, 130)):
        ask(
            student,
            spread(rng, *shape) + 1,
            normal(rng, shape[-1]),
            normal(rng, shape[-1]),
            1e-5,
            "Support axes of length 1 and of several hundred.",
        )
    alone = torch.zeros(2, 600)
    alone[0, whole(rng, 0, 599)], alone[1, :9] = 600.0, -40.0
    ask(
        student,
        alone,
        *plain(600),
        1e-5,
        (
            "Clip nothing: one element among hundreds may be twenty standard deviations"
            " from the mean."
        ),
    )
    far = torch.tensor([[1.0, -1, 3, -3], [2, 2, -2, -2], [0, 1, 0, -1]])
    for middle in (4096.0, -8192.0):
        ask(
            student,
            far + middle,
            *plain(4),
            1e-5,
            (
                "Subtract the mean before you square: E[x²] - E[x]² loses every digit when"
                " the mean is thousands of times the deviation."
            ),
        )
    ask(
        student,
        far + torch.tensor([[8192.0], [-8192.0], [4096.0]]),
        *plain(4),
        1e-5,
        ("Subtract each token's own mean, which may be thousands of times its deviation."),
    )
    ask(
        student,
        torch.tensor([[2.0, 2.0], [2.0, 3.0]]),
        torch.tensor([2.0, 3.0]),
        torch.tensor([7.0, -7.0]),
        1e-12,
        "Return the bias for a token of equal elements.",
    )
    ask(
        student,
        torch.full((3, 8), -4096.0),
        1000 * normal(rng, 8),
        normal(rng, 8),
        1e-12,
        "Return the bias for a token of equal elements.",
    )
    x, weight, bias = spread(rng, 2, 3, 5), normal(rng, 5), normal(rng, 5)
    ask(
        student,
        x.double() / 3,
        weight.double() / 7,
        bias.double() / 9,
        1e-5,
        "Support float64: the same rules, and a float64 result.",
    )
