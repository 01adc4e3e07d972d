"""Checks of chapter 4, part 2: several heads, each with its own columns."""

import math

import torch

from autograder.chapters.c04_attention_and_the_transformer.withholding import FUSED, LAYERS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, whole
from autograder.checks.protocol import exercise, expect
from autograder.checks.shown_call import shown

PAGE = "04-attention-and-the-transformer/heads"
CLOSE = {"rtol": 1e-4, "atol": 4e-6}
DOUBLE = {"rtol": 1e-9, "atol": 1e-11}

multi_head = exercise(
    "04.multi_head",
    function="multi_head",
    points=7,
    see=f"{PAGE}#split-attend-merge",
    withhold=LAYERS | FUSED,
)


def mixed(x, w_q, w_k, w_v, w_o, num_heads: int) -> torch.Tensor:
    """The right answer in float64; no axis is moved."""
    x, w_q, w_k, w_v, w_o = (one.double() for one in (x, w_q, w_k, w_v, w_o))
    q, k, v = (
        torch.einsum("btc,dc->btd", x, weight).unflatten(2, (num_heads, -1))
        for weight in (w_q, w_k, w_v)
    )  # (B, T, H, D)
    scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[3])
    powers = (scores - scores.amax(3, keepdim=True)).exp()
    out = torch.einsum("bhts,bshd->bthd", powers / powers.sum(3, keepdim=True), v).flatten(2)
    return torch.einsum("btc,dc->btd", out, w_o)


def ask(student, parts: tuple, cause: str) -> None:
    """Compare one answer; parts: x, the four matrices, and the number of heads."""
    x, num_heads = parts[0], parts[5]
    given = "B = {}, T = {}, C = {}, H = {}".format(*x.shape, num_heads)
    if x.numel() <= 12 and all(torch.equal(one, torch.eye(x.shape[2])) for one in parts[1:5]):
        given = f"x = {shown(x)}, all four matrices the identity, H = {num_heads}"
    asked = expect(student.multi_head(*parts), given=given)
    asked.close(mixed(*parts).to(x.dtype), **CLOSE, cause=cause)
    if x.dtype == torch.float64 and asked.value.dtype == torch.float64:
        asked.close(
            mixed(*parts),
            **DOUBLE,
            cause=(
                "Keep float64: your result must have the dtype of x and all its digits, so"
                " nothing in between may be float32."
            ),
        )


def drawn(
    rng: torch.Generator, batch: int, tokens: int, width: int, num_heads: int, plain: bool = False
) -> tuple:
    """Arguments whose scores differ plainly in each head; plain: w_o is the identity."""
    matrices = [
        gain * normal(rng, width, width) / math.sqrt(width) for gain in (1.4, 1.4, 1.0, 1.0)
    ]
    if plain:
        matrices[3] = torch.eye(width)
    return normal(rng, batch, tokens, width), *matrices, num_heads


@multi_head.stage("single head", points=1.5)
def test_one_head_attends_with_projected_queries_keys_and_values(student, rng):
    rule = (
        "Project x with the transposes of w_q, w_k and w_v, then attend over all"
        " tokens of the same sequence."
    )
    ask(
        student,
        (normal(rng, 1, 3, 2), *[torch.eye(2)] * 4, 1),
        (
            "Project x with each matrix, then attend over all tokens of the same"
            " sequence; here all four matrices are the identity."
        ),
    )
    for sizes in (
        (1, 2, 2, 1),
        (1, 3, 4, 1),
        (2, 4, 3, 1),
        (3, 5, 4, 1),
        (2, whole(rng, 6, 9), 5, 1),
    ):
        ask(student, drawn(rng, *sizes, plain=True), rule)


@multi_head.stage("concatenating the heads", points=1)
def test_the_heads_are_concatenated_in_every_token(student, rng):
    rule = (
        "Concatenate the heads in order: head h owns columns hD to (h + 1)D - 1,"
        " before attention and after it."
    )
    for sizes in (
        (1, 2, 4, 2),
        (1, 3, 4, 2),
        (2, 3, 6, 2),
        (2, 4, 6, 3),
        (3, 5, 8, 4),
        (2, 4, 8, whole(rng, 1, 2) * 2),
    ):
        x, w_q, w_k, w_v, w_o, num_heads = drawn(rng, *sizes, plain=True)
        ask(student, (x, torch.zeros_like(w_q), w_k, w_v, w_o, num_heads), rule)


SPLIT = (
    "Give each head D = C / H adjacent columns of q, k and v, its own weights, and scores divided"
    " by the square root of D."
)


@multi_head.stage("columns per head", points=2)
def test_each_head_attends_with_its_own_columns(student, rng):
    for sizes in (
        (1, 2, 4, 2),
        (1, 3, 4, 2),
        (1, 5, 6, 2),
        (2, 4, 6, 3),
        (3, 3, 9, 3),
        (2, 5, 12, 4),
        (2, whole(rng, 6, 9), 8, 2),
        (4, 4, 16, 4),
    ):
        ask(student, drawn(rng, *sizes, plain=True), SPLIT)
    ask(student, drawn(rng, 1, 3, 64, 2, plain=True), SPLIT)


@multi_head.stage("output projection", points=1.5)
def test_the_output_projection_mixes_the_heads(student, rng):
    rule = "Multiply the concatenated heads by the transpose of w_o as the last step."
    for sizes in (
        (1, 3, 3, 1),
        (1, 3, 4, 2),
        (2, 4, 6, 3),
        (3, 2, 8, 4),
        (2, 5, 6, 2),
        (1, whole(rng, 3, 6), 12, 3),
    ):
        ask(student, drawn(rng, *sizes), rule)
    for parts in one_changed(drawn(rng, 2, 3, 6, 2), drawn(rng, 2, 3, 6, 3)):
        ask(student, parts, rule)
    for parts in look_alikes(drawn(rng, 2, 3, 4, 2)):
        ask(
            student,
            parts,
            (
                "Use every element of every argument at its own index: your result must"
                " depend on all of them."
            ),
        )


@multi_head.stage("sizes and float64", points=1)
def test_sizes_may_be_one_or_large_and_the_arguments_float64(student, rng):
    rule = "Support every size from 1 to hundreds, and as many heads as columns."
    for sizes in (
        (1, 1, 1, 1),
        (2, 3, 1, 1),
        (1, 1, 4, 2),
        (3, 1, 6, 3),
        (1, 4, 6, 2),
        (2, 3, 5, 5),
        (2, 3, 2, 2),
        (1, 5, 4, 4),
        (2, 2, 2, 2),
        (2, 2, 2, 1),
        (3, 3, 3, 3),
        (1, 300, 2, 1),
        (600, 2, 4, 2),
        (1, 2, 600, 3),
        (1, 2, 300, 300),
        (1, 3, 32, 32),
        (2, 3, 48, 24),
        (1, 2, 256, 128),
        (2, 3, whole(rng, 2, 5) * 6, 6),
    ):
        ask(student, drawn(rng, *sizes), rule)
    for sizes, num_heads in (((1, 1, 2), 1), ((3, 1, 4), 2)) * 2:
        ask(
            student,
            (normal(rng, *sizes), *[torch.eye(sizes[2])] * 4, num_heads),
            (
                "Let a single token attend to itself: with identity matrices your result is a"
                " new tensor with the values of x."
            ),
        )
    two = torch.tensor([[2.0, 1.0], [-1.0, 2.0]])
    ask(
        student,
        (
            10 * torch.tensor([[[3.0, 1.0], [-2.0, 1.0], [3.0, 2.0]]]),
            two,
            torch.eye(2),
            two.T.contiguous(),
            two,
            2,
        ),
        (
            "Subtract the row's maximum before you exponentiate, or use softmax: scores"
            " can reach several hundred."
        ),
    )
    x, *matrices = drawn(rng, 2, 3, 6, 2)
    ask(
        student,
        (x.double() / 3, *(one.double() / 0.7 for one in matrices[:4]), 2),
        "Support float64: the same rules, and a float64 result.",
    )
