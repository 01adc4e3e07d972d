"""Checks of chapter 11, part 4: RoPE's frequencies for longer texts."""

import math

import torch

from autograder.chapters.c11_modernbert.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import whole
from autograder.checks.protocol import exercise, expect

yarn_frequencies = exercise(
    "11.yarn_frequencies",
    function="yarn_frequencies",
    points=4,
    see="11-modernbert/rotary#four-ways-to-change-the-frequencies",
    withhold=OURS | LIBRARIES,
)
Case = tuple[int, float, float, int, float, float]


def rotations(D: int, base: float, N: int) -> list[float]:
    """Of each pair within N positions."""
    return [N * base ** (-2 * i / D) / (2 * math.pi) for i in range(D // 2)]


def apart(case: Case) -> bool:
    """Whether no pair is as near to a bound as float32's rounding."""
    D, base, _, N, alpha, beta = case
    turns = rotations(D, base, N)
    return all(abs(r - bound) > 2e-3 * bound for r in turns for bound in (alpha, beta))


def frequencies(D: int, base: float, s: float, N: int, alpha: float, beta: float) -> list[float]:
    """The right ones, pair by pair."""
    found = []
    for r in rotations(D, base, N):
        omega = 2 * math.pi * r / N
        gamma = 0 if r < alpha else 1 if r > beta else (r - alpha) / (beta - alpha)
        found.append((1 - gamma) * omega / s + gamma * omega)
    return found


def ask(student, cause: str, cases: tuple[Case, ...]) -> None:
    """Compare the frequencies."""
    for case in filter(apart, cases):
        given = "D = {}, base {:g}, s = {:g}, N = {}, alpha {:g}, beta {:g}".format(*case)
        came = expect(student.yarn_frequencies(*case), given=given).unpacks(2)
        wanted = torch.tensor(frequencies(*case))
        expect(came[0], "Your frequencies", given).close(wanted, rtol=1e-3, atol=0, cause=cause)


@yarn_frequencies.stage("slow pairs", points=1)
def test_pairs_below_alpha_rotations_are_divided_by_s(student, rng):
    rule = (
        "A pair that completes fewer than alpha rotations in N tokens has its frequency divided by"
        " s; it completes N times its frequency over 2 pi."
    )
    ask(
        student,
        rule,
        (
            (2, 100.0, 4.0, 16, 3.0, 9.0),
            (6, 1000.0, 4.0, 20, 3.5, 8.0),
            (64, 150_000.0, 32.0, 100, 20.0, 40.0),
            (8, 10_000.0, 2.0, 64, 12.0, 32.0),
            (300, 1_000_000.0, 64.0, 4096, 700.0, 900.0),
            (2 * whole(rng, 2, 40), float(whole(rng, 50, 9000)), 8.0, 30, 5.0, 9.0),
        ),
    )


@yarn_frequencies.stage("fast pairs", points=1, after="slow pairs")
def test_pairs_above_beta_rotations_stay(student, rng):
    rule = "A pair that completes more than beta rotations in N tokens keeps its frequency."
    ask(
        student,
        rule,
        (
            (2, 100.0, 4.0, 1000, 1.0, 4.0),
            (4, 10.0, 8.0, 5000, 1.0, 32.0),
            (64, 2.0, 16.0, 4096, 1.0, 32.0),
            (6, 50.0, 1.0, 9000, 2.0, 4.0),
            (300, 100.0, 64.0, 100_000, 1.0, 32.0),
            (2 * whole(rng, 2, 40), float(whole(rng, 3, 20)), 8.0, 50_000, 1.0, 4.0),
        ),
    )


@yarn_frequencies.stage("ramp", points=1, after="fast pairs")
def test_in_between_both_frequencies_are_mixed(student, rng):
    rule = (
        "Between alpha and beta rotations the frequency and the one divided by s are mixed:"
        " gamma = (rotations - alpha) / (beta - alpha) is the weight of the unchanged one."
    )
    ask(
        student,
        rule,
        (
            (6, 1000.0, 4.0, 100, 1.0, 4.0),
            (2, 100.0, 4.0, 100, 1.0, 32.0),
            (64, 150_000.0, 32.0, 4096, 1.0, 32.0),
            (64, 10_000.0, 8.0, 1024, 1.0, 4.0),
            (128, 10_000.0, 8.0, 1024, 1.0, 4.0),
            (64, 500_000.0, 8.0, 1024, 1.0, 4.0),
            (64, 10_000.0, 8.0, 2048, 1.0, 4.0),
            (128, 500_000.0, 8.0, 8192, 1.0, 4.0),
            (300, 1_000_000.0, 40.0, 4096, 1.0, 32.0),
            (8, 10_000.0, 2.0, 777, 0.5, 100.0),
            (2 * whole(rng, 4, 40), float(whole(rng, 500, 9000)), 8.0, 2000, 1.0, 30.0),
        ),
    )


@yarn_frequencies.stage("temperature", points=1)
def test_the_temperature_factor(student, rng):
    rule = "The factor of the tables is 0.1 ln s + 1; scores grow by its square."
    for s in (1.0, 4.0, 32.0, 2.0, 64.0, 1.5, float(whole(rng, 3, 60))):
        came = expect(
            student.yarn_frequencies(6, 1000.0, s, 100, 1.0, 4.0), given=f"s = {s:g}"
        ).unpacks(2)
        expect(came[1], "Your temperature factor", f"s = {s:g}").close(
            0.1 * math.log(s) + 1, rtol=1e-4, cause=rule
        )
