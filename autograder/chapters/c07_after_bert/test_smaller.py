"""Checks of chapter 7, parts 1 and 2: which tokens are ever asked, ALBERT's sizes, and what a
teacher knows.
"""

import math

import torch

from autograder.chapters.c07_after_bert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import look_alikes, normal, one_changed, uniform, whole
from autograder.checks.inputs.gradients import ask_gradients
from autograder.checks.protocol import exercise, expect

BOOK = "07-after-bert"

asked_share = exercise(
    "07.asked_share",
    function="asked_share",
    points=3,
    kind="predict",
    see=f"{BOOK}/roberta#dynamic-masking",
    withhold=OURS | LIBRARIES,
)


def asked_ever(share: float, maskings: int, epochs: int) -> float:
    """The right share, by logarithms."""
    return 1.0 if share == 1 else -math.expm1(min(maskings, epochs) * math.log1p(-share))


def ask_share(student, cause: str, share: float, maskings: int, epochs: int) -> None:
    """Compare the prediction."""
    given = f"share {share:.4g}, {maskings} maskings, {epochs} epochs"
    expect(student.asked_share(share, maskings, epochs), given=given).close(
        asked_ever(share, maskings, epochs), rtol=1e-4, atol=1e-5, cause=cause
    )


def share(rng, low: float = 0.02, high: float = 0.4) -> float:
    """A fraction between two numbers."""
    return float(uniform(rng, low, high))


@asked_share.stage("ever", points=2)
def test_a_token_is_missed_when_every_masking_misses_it(student, rng):
    rule = (
        "As many epochs as maskings here, so each masking is used once. A token is never asked if"
        " each of them misses it: the power of one number, taken from 1."
    )
    for number in (1, 2, 3, 10, 40, 300, whole(rng, 4, 60)):
        for size in (0.001, 0.05, 0.15, 0.5, 0.9, share(rng)):
            ask_share(student, rule, size, number, number)
    for number in (1, 2, 40):
        ask_share(
            student, f"{rule} A fraction of 0 asks nothing, however often.", 0.0, number, number
        )
        ask_share(student, f"{rule} A fraction of 1 asks everything at once.", 1.0, number, number)


@asked_share.stage("again", points=1, after="ever")
def test_a_masking_that_comes_again_covers_nothing_new(student, rng):
    rule = (
        "Which maskings has the training used at its end? With more epochs than maskings all, each"
        " several times; with fewer epochs only so many as there are epochs."
    )
    for maskings, epochs in (
        (2, 3),
        (10, 40),
        (1, 40),
        (1, 300),
        (40, 10),
        (10, 1),
        (300, 1),
        (5, 4),
        (4, 5),
        (whole(rng, 2, 20), whole(rng, 21, 60)),
        (whole(rng, 21, 60), whole(rng, 2, 20)),
    ):
        for size in (0.05, 0.15, share(rng)):
            ask_share(student, rule, size, maskings, epochs)
    for case in (
        *one_changed((0.15, 6, 9), (0.2, 5, 4)),
        (0.15, 7, 8),
        (0.15, 5, 10),
        (0.15, 10, 5),
        (0.15, 2, 6),
        (0.15, 3, 4),
    ):
        ask_share(student, rule, *case)


albert_sizes = exercise(
    "07.albert_sizes",
    function="albert_sizes",
    points=5,
    kind="predict",
    see=f"{BOOK}/albert#factorized-embedding",
    withhold=OURS | LIBRARIES,
)
KEYS = ("embedding", "block", "products")


def counted(V: int, E: int, C: int, L: int, I: int) -> dict[str, int]:
    """The numbers tensor by tensor; a test holds them against a real model."""
    matrices = [*[(C, C)] * 4, (I, C), (C, I)]
    stored = [rows * columns + rows for rows, columns in matrices]
    return {
        "embedding": sum((V * E, C * E, C)),
        "block": sum(stored) + 4 * C,
        "products": C * E + L * sum(rows * columns for rows, columns in matrices),
    }


def sizes(rng) -> list[tuple[int, ...]]:
    """The case by hand, the smallest, the paper's, drawn ones, and some that differ in one
    number.
    """
    base = (50, 6, 12, 3, 30)
    return [
        (10, 2, 8, 3, 16),
        (1, 1, 1, 1, 1),
        (30_000, 128, 768, 12, 3072),
        (30_000, 128, 4096, 12, 16_384),
        (7, 8, 8, 1, 5),
        (9, 20, 4, 2, 3),
        (
            whole(rng, 20, 9000),
            whole(rng, 2, 60),
            whole(rng, 61, 900),
            whole(rng, 2, 30),
            whole(rng, 3, 3000),
        ),
        *one_changed(base, (51, 7, 13, 4, 31)),
        (50, 12, 6, 3, 30),
        (50, 6, 12, 30, 3),
        (999_983, 511, 20_480, 120, 81_923),
        (999_983, 999_979, 999_961, 9_991, 999_959),
    ]


def ask_sizes(student, rng, key: str, cause: str) -> None:
    """Compare one of the predictions for all sizes."""
    for case in sizes(rng):
        given = "V {}, E {}, C {}, L {}, I {}".format(*case)
        came = expect(student.albert_sizes(*case), given=given).only_keys(KEYS)
        came.has(key).equals(counted(*case)[key], cause=cause)


@albert_sizes.stage("embedding", points=1.5)
def test_the_table_and_the_matrix_that_widens(student, rng):
    ask_sizes(
        student,
        rng,
        "embedding",
        "A table of V embeddings of E dimensions, a matrix that makes C parameters of E, and a"
        " bias for each of"
        " the C.",
    )


@albert_sizes.stage("block", points=1.5)
def test_one_block_is_stored(student, rng):
    ask_sizes(
        student,
        rng,
        "block",
        "Six matrices with a bias each, four of C by C and two of C by I, and two norms with 2 C"
        " parameters each. It is one block, however many layers use it.",
    )


@albert_sizes.stage("products", points=2)
def test_every_layer_makes_its_products(student, rng):
    ask_sizes(
        student,
        rng,
        "products",
        "Each use of a matrix makes as many multiply-adds as it has numbers: the widening once,"
        " the six"
        " matrices of the block in each of the L layers. Biases and norms make none.",
    )


soft_loss = exercise(
    "07.soft_loss",
    function="soft_loss",
    points=6,
    see=f"{BOOK}/distillation#the-distillation-loss",
    withhold=OURS | LIBRARIES,
)
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def divergence(student, teacher, T: float) -> torch.Tensor:
    """The right loss, in float64."""
    log_q, log_p = ((one.double() / T).log_softmax(1) for one in (student, teacher))
    return (T * T * (log_p.exp() * (log_p - log_q)).sum() / len(student)).float()


def logits(rng, rows: int, entries: int, scale: float = 1.5) -> tuple:
    """The student's and the teacher's."""
    return scale * normal(rng, rows, entries), scale * normal(rng, rows, entries)


def ask_soft(student, cause: str, found, wanted, T: float) -> None:
    """Compare the loss."""
    given = "N = {}, V = {}, ".format(*found.shape) + f"T = {T:g}"
    expect(student.soft_loss(found, wanted, T), "Your loss", given).close(
        divergence(found, wanted, T), **CLOSE, cause=cause
    )


@soft_loss.stage("direction", points=2)
def test_the_teachers_probabilities_weigh_the_differences_of_logarithms(student, rng):
    rule = (
        "One prediction at temperature 1: sum over all V tokens the teacher's probability times"
        " what its logarithm is above the student's. The two are not exchanged, and nothing is"
        " divided by V."
    )
    for entries in (2, 3, 5, 30, 300, whole(rng, 6, 40)):
        ask_soft(student, rule, *logits(rng, 1, entries), 1.0)
    certain, unsure = torch.tensor([[4.0, 0.0, 0.0]]), torch.zeros(1, 3)
    ask_soft(student, rule, certain, unsure, 1.0)
    ask_soft(student, rule, unsure, certain, 1.0)


@soft_loss.stage("temperature", points=1.5)
def test_both_are_softened_and_the_price_grows_by_the_square(student, rng):
    rule = (
        "Both logits are divided by the temperature before the softmax, and the sum is multiplied"
        " by the temperature twice."
    )
    half = 2 * math.log(2)
    ask_soft(
        student,
        f"{rule} This is the case by hand.",
        torch.tensor([[0.0, half, 0.0]]),
        torch.tensor([[half, 0.0, 0.0]]),
        2.0,
    )
    for T in (0.5, 0.7, 2.0, 3.0, 10.0, float(uniform(rng, 1.3, 6.0))):
        for entries in (2, 4, 50):
            ask_soft(student, rule, *logits(rng, 1, entries, min(1.5 * T, 4.0)), T)
    for case in one_changed((*logits(rng, 1, 5), 2.0), (*logits(rng, 1, 5), 3.0)):
        ask_soft(student, rule, *case)


@soft_loss.stage("batch", points=1)
def test_it_is_the_mean_over_the_predictions(student, rng):
    rule = (
        "Several predictions at temperature 1: the sum over the V tokens of each, and then the mean"
        " over the N predictions. Not over N times V."
    )
    for rows, entries in (
        (2, 3),
        (3, 2),
        (3, 3),
        (5, 40),
        (300, 3),
        (2, 300),
        (whole(rng, 4, 20), whole(rng, 4, 20)),
    ):
        ask_soft(student, rule, *logits(rng, rows, entries), 1.0)
    for case in look_alikes((*logits(rng, 3, 4), 1.0)):
        ask_soft(student, rule, *case)


@soft_loss.stage("borders", points=1, after="direction")
def test_logits_may_be_huge_equal_or_alone(student, rng):
    huge = (
        "Logits may be as large as 10,000, and then a softmax holds exact zeros: take the logarithm"
        " of the softmax in one step, with `log_softmax`, and add nothing."
    )
    for teacher in (
        (10_000.0, -10_000.0, 0.0),
        (0.0, 200.0, -300.0),
        (-10_000.0, -9_900.0, -10_000.0),
    ):
        for found in ((-10_000.0, 10_000.0, 0.0), (10_000.0, 9_900.0, 9_950.0), (5.0, -120.0, 0.0)):
            ask_soft(student, huge, torch.tensor([found]), torch.tensor([teacher]), 1.0)
    ask_soft(
        student, huge, torch.tensor([[10_000.0, -10_000.0]]), torch.tensor([[0.0, -14.0]]), 1.0
    )
    ask_soft(student, huge, *(3000 * one.clamp(-3, 3) for one in logits(rng, 4, 6, 1.0)), 1.0)
    for rows, entries, scale in ((1, 2, 1.0), (3, 5, 2.0), (2, 40, 2000.0)):
        same = logits(rng, rows, entries, scale)[0]
        ask_soft(student, "Student and teacher agree here: the loss is 0.", same, same.clone(), 1.0)
        ask_soft(
            student,
            "Student and teacher differ by the same number at every token, which a softmax cannot"
            " see: the loss is 0.",
            (64 * same).round() / 64 + 2,
            (64 * same).round() / 64,
            1.0,
        )
    for rows in (1, 4):
        ask_soft(
            student,
            "With one token in the vocabulary both give it all: the loss is 0.",
            *logits(rng, rows, 1),
            1.0,
        )


@soft_loss.stage("gradient", points=0.5, after="direction")
def test_the_gradient_reaches_the_student(student, rng):
    rule = (
        "The gradient at the student's logits is the student's softmax less the teacher's, divided"
        " by the number of predictions. `.item()`, `.detach()`, `no_grad` and a tensor that is made"
        " again cut it off."
    )
    for rows, entries in ((1, 2), (1, 7), (3, 4)):
        found, wanted = logits(rng, rows, entries)
        right = (found.softmax(1) - wanted.softmax(1)) / rows
        ask_gradients(student, "soft_loss", (found, wanted, 1.0), {0: right}, rule)
    far = torch.tensor([[400.0, -400.0, 0.0]]), torch.tensor([[-400.0, 400.0, 0.0]])
    ask_gradients(
        student,
        "soft_loss",
        (*far, 1.0),
        {0: far[0].softmax(1) - far[1].softmax(1)},
        f"{rule} Logits may be huge: the gradient is no NaN.",
    )
