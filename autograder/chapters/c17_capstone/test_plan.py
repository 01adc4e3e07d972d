"""Checks of chapter 17, part 1: parameters, FLOPs and the predicted loss of a run."""

import math
from math import prod

import numpy as np

from autograder.chapters.c17_capstone.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import one_changed, uniform, whole
from autograder.checks.protocol import exercise, expect

plan = exercise(
    "17.plan",
    function="plan",
    points=6,
    see="17-capstone/plan#flops",
    withhold=OURS | LIBRARIES,
)

HAND = (10, 4, 5, 2, 2, 1, 3, 2, 7)
FULL_HEADS = (
    (10, 4, 5, 2, 2, 2, 3, 2, 7),
    (1, 1, 1, 1, 1, 1, 1, 1, 1),
    (7, 6, 9, 1, 3, 3, 2, 5, 1),
    (50_257, 768, 3072, 12, 12, 12, 4, 1024, 300_000),
    (200_000, 199_998, 199_999, 199_999, 3, 3, 1, 1, 1),
    (2, 6, 300, 200_000, 6, 6, 1, 1, 2),
    *one_changed((10, 4, 5, 2, 2, 2, 3, 2, 7), (11, 6, 8, 3, 2, 2, 4, 3, 9)),
)
GROUPED = (
    HAND,
    (1024, 128, 344, 4, 4, 2, 16, 128, 2400),
    (49_152, 576, 1536, 30, 9, 3, 8, 2048, 32_001),
    (32_000, 4096, 11_008, 32, 32, 8, 2, 4096, 6657),
    (3, 12, 7, 5, 12, 4, 3, 11, 13),
    (3, 200, 7, 5, 200, 1, 3, 11, 13),
    (17, 60, 99, 3, 6, 2, 1, 8192, 1),
    (199_999, 199_950, 1, 2, 30, 5, 1, 3, 1),
    *one_changed((30, 12, 5, 2, 6, 2, 3, 4, 7), (31, 24, 6, 3, 12, 3, 4, 5, 8)),
)

LARGE = (18, 99, 10_001, 3, 3, 1, 9, 9999, 9999)  # odd sizes, of which floats lose digits


def planned(
    V: int, C: int, F: int, layers: int, H: int, K: int, batch: int, T: int, steps: int
) -> dict[str, int]:
    """The right numbers, from the shapes of all tensors and of all products."""
    D = C // H
    matrices = [(H * D, C), (K * D, C), (K * D, C), (C, H * D), (F, C), (F, C), (C, F)]
    entries = layers * sum(map(prod, matrices)) + V * C
    forward = 2 * entries * batch * T
    scores = layers * batch * H * (2 * T * T * D)
    return {
        "parameters": entries + layers * 2 * C + C,
        "matrix_flops": steps * (forward + 2 * forward),
        # forward two products; backward four gradients, and the scores again
        "attention_flops": steps * (2 * scores + 4 * scores + scores),
    }


def ask_plan(student, key: str, sizes: tuple, cause: str) -> None:
    """Compare one of the three numbers."""
    given = (
        "V = {}, C = {}, F = {}, {} layers, H = {}, K = {}, {} sequences of {} tokens, {} steps"
    ).format(*sizes)
    right = planned(*sizes)
    came = expect(student.plan(*sizes), given=given).only_keys(right)
    came.has(key).equals(right[key], cause=cause)


def drawn(rng, group: int) -> tuple:
    """Small sizes with so many query heads for each KV head."""
    K = whole(rng, 2, 5)
    H = K * group
    sizes = (whole(rng, 2, 99), H * whole(rng, 2, 9), whole(rng, 2, 99), whole(rng, 2, 9), H, K)
    return (*sizes, whole(rng, 2, 9), whole(rng, 2, 99), whole(rng, 2, 99))


@plan.stage("parameters", points=2)
def test_the_parameters_of_a_tied_llama(student, rng):
    for sizes in (*FULL_HEADS, drawn(rng, 1)):
        ask_plan(
            student,
            "parameters",
            sizes,
            "Count V · C for the tied embedding, once. Each block has four attention matrices,"
            " gate, up, down and two norms of C weights. One more norm follows the last block.",
        )


@plan.stage("KV heads", points=1)
def test_keys_and_values_have_their_own_heads(student, rng):
    for sizes in (*GROUPED, drawn(rng, 3)):
        ask_plan(
            student,
            "parameters",
            sizes,
            "The key and value matrices have K · C / H rows each. Query and output matrices are C"
            " by C.",
        )


@plan.stage("matrix FLOPs", points=1.5)
def test_six_flops_for_each_matrix_entry_and_token(student, rng):
    for sizes in (*GROUPED, LARGE, drawn(rng, 2)):
        ask_plan(
            student,
            "matrix_flops",
            sizes,
            "Each entry of a matrix costs 2 FLOPs per token forward and 4 backward. The tied"
            " embedding is a matrix at the output. Tokens are batch · T · steps.",
        )


@plan.stage("attention FLOPs", points=1.5)
def test_scores_and_weighted_sums_of_all_pairs(student, rng):
    for sizes in (*GROUPED, LARGE, drawn(rng, 2)):
        ask_plan(
            student,
            "attention_flops",
            sizes,
            "A sequence has T · T pairs, masked ones included. A pair costs 4 · C / H forward in"
            " each of the H query heads and each layer, and 2.5 times that backward.",
        )


predict_loss = exercise(
    "17.predict_loss",
    function="predict_loss",
    points=5,
    see="17-capstone/plan#the-loss-predicted",
    withhold=OURS | LIBRARIES,
)

Runs = tuple[list[float], list[float], float, float]
POWER = (
    "On logarithmic axes the law is a line: fit log(loss - E) against log(FLOPs), then undo both."
)


def fitted(
    flops: list[float], losses: list[float], irreducible: float, target: float
) -> dict[str, float]:
    """The right numbers, by the pseudo-inverse."""
    rows = np.stack([np.ones(len(flops)), np.log(flops)], 1)
    intercept, slope = np.linalg.pinv(rows) @ np.log(np.array(losses) - irreducible)
    loss = irreducible + math.exp(intercept + slope * math.log(target))
    return {"exponent": -slope, "loss": loss}


def runs(rng, number: int, irreducible: float, noise: float) -> Runs:
    """Runs of growing FLOPs near a power law; the prediction is for more than all of them."""
    steps = uniform(rng, 0.4, 2.0, number).double().cumsum(0)
    flops = 10 ** (12 + steps)
    near = (noise * (2 * uniform(rng, 0, 1, number).double() - 1)).exp()
    exponent, first = float(uniform(rng, 0.05, 0.4)), float(uniform(rng, 1, 4))
    losses = irreducible + first * (flops / flops[0]) ** -exponent * near
    return flops.tolist(), losses.tolist(), irreducible, float(flops[-1]) * whole(rng, 2, 90)


def ask_loss(student, case: Runs, cause: str) -> None:
    """Compare the exponent and the loss."""
    right = fitted(*case)
    given = f"{len(case[0])} runs, irreducible loss {case[2]:g}, target {case[3]:.3g} FLOPs"
    came = expect(student.predict_loss(*case), given=given).only_keys(right)
    for key, meant in right.items():
        came.has(key).close(float(meant), rtol=1e-4, atol=1e-5, cause=cause)


FIRST = ([1e3, 1e5], [4.0, 2.0], 0.0, 1e7)
SECOND = ([1e4, 1e6], [5.0, 3.0], 0.0, 1e9)


@predict_loss.stage("two runs", points=1.5)
def test_a_power_law_through_two_runs(student, rng):
    for case in one_changed(FIRST, SECOND):
        ask_loss(student, case, POWER)
    ask_loss(student, ([1e12, 1e14], [3.0, 2.0], 0.0, 1e13), POWER)
    ask_loss(student, ([10.0, 1000.0], [4.0, 2.0], 0.0, 2.0), POWER)
    ask_loss(student, ([1e14, 1e12], [2.0, 3.0], 0.0, 1e10), POWER)
    for _ in range(4):
        ask_loss(student, runs(rng, 2, 0.0, 0.1), POWER)


@predict_loss.stage("irreducible loss", points=1.5)
def test_the_irreducible_loss_is_taken_off_and_added_again(student, rng):
    cause = (
        "Subtract the irreducible loss from every loss before the logarithm, and add it to the"
        " prediction."
    )
    other = ([20.0, 500.0], [6.0, 3.0], 0.5, 1e5)
    for case in one_changed(([10.0, 1000.0], [5.0, 2.0], 1.0, 1e4), other):
        ask_loss(student, case, cause)
    for irreducible in (0.5, 1.0, 1.7, 3.0):
        ask_loss(student, runs(rng, 2, irreducible, 0.1), cause)


@predict_loss.stage("least squares", points=2)
def test_all_runs_decide(student, rng):
    cause = (
        "With more than two runs take the least-squares line. Its slope is the covariance over the"
        " variance of log FLOPs, and it passes through both means."
    )
    ask_loss(student, ([10.0, 100.0, 1000.0], [5.0, 3.0, 2.0], 1.0, 1e4), cause)
    ask_loss(student, ([1e12, 1e13, 1e16], [4.0, 3.9, 1.9], 1.5, 1e18), cause)
    ask_loss(student, ([1e16, 1e12, 1e13], [1.9, 4.0, 3.9], 1.5, 1e18), cause)
    ask_loss(student, ([1e12, 1e12, 1e13], [4.0, 3.8, 3.0], 1.5, 1e14), cause)
    for number in (3, 4, 9, 20):
        ask_loss(student, runs(rng, number, 1.2, 0.3), cause)
