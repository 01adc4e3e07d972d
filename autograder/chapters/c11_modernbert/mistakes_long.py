"""Plausible wrong solutions of chapter 11, part 4: YaRN's frequencies."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

YARN = "11.yarn_frequencies"


def _mixed(D, base, s, N, alpha, beta, *, exponent=2, full=2 * math.pi, clamp=True, swap=False):
    """NTK-by-parts with one thing changed."""
    omega = base ** -(exponent * torch.arange(D // 2) / D)
    gamma = (N * omega / full - alpha) / (beta - alpha)
    gamma = gamma.clamp(0, 1) if clamp else gamma
    gamma = 1 - gamma if swap else gamma
    return (1 - gamma) * omega / s + gamma * omega


def _factor(s):
    return 0.1 * math.log(s) + 1


@mistake(
    YARN,
    "unchanged",
    caught_by="slow pairs",
    loses=3,
    misconception="You return RoPE's frequencies unchanged.",
)
def _(D, base, s, N, alpha, beta):
    return base ** -(torch.arange(0, D, 2) / D), _factor(s)


@mistake(
    YARN,
    "position-interpolation",
    caught_by="fast pairs",
    loses=2,
    misconception="You divide all frequencies by s. That is position interpolation.",
)
def _(D, base, s, N, alpha, beta):
    return base ** -(torch.arange(0, D, 2) / D) / s, _factor(s)


@mistake(
    YARN,
    "ntk-aware",
    caught_by="slow pairs",
    loses=3,
    misconception="You enlarge the base. That is NTK-aware scaling, and treats no pair by its own.",
)
def _(D, base, s, N, alpha, beta):
    larger = base * s ** (D / max(D - 2, 1))
    return larger ** -(torch.arange(0, D, 2) / D), _factor(s)


@mistake(
    YARN,
    "swapped",
    caught_by="slow pairs",
    loses=3,
    misconception="You slow the fast pairs and keep the slow ones. It is the other way round.",
)
def _(D, base, s, N, alpha, beta):
    return _mixed(D, base, s, N, alpha, beta, swap=True), _factor(s)


@mistake(
    YARN,
    "no-clamp",
    caught_by="slow pairs",
    loses=3,
    misconception="Your gamma leaves the range from 0 to 1. Clamp it.",
)
def _(D, base, s, N, alpha, beta):
    return _mixed(D, base, s, N, alpha, beta, clamp=False), _factor(s)


@mistake(
    YARN,
    "no-two-pi",
    caught_by="slow pairs",
    loses=3,
    misconception="You count radians. A rotation has 2 pi of them.",
)
def _(D, base, s, N, alpha, beta):
    return _mixed(D, base, s, N, alpha, beta, full=1.0), _factor(s)


@mistake(
    YARN,
    "half-the-exponent",
    caught_by="slow pairs",
    loses=3,
    misconception="Your exponent is i / D. It is 2i / D.",
)
def _(D, base, s, N, alpha, beta):
    return _mixed(D, base, s, N, alpha, beta, exponent=1), _factor(s)


@mistake(
    YARN,
    "mixed-divisors",
    caught_by="ramp",
    loses=1,
    misconception="You mix the divisors, s and 1. The frequencies are to be mixed.",
)
def _(D, base, s, N, alpha, beta):
    omega = base ** -(torch.arange(0, D, 2) / D)
    gamma = ((N * omega / (2 * math.pi) - alpha) / (beta - alpha)).clamp(0, 1)
    return omega / ((1 - gamma) * s + gamma), _factor(s)


@mistake(
    YARN,
    "no-ramp",
    caught_by="ramp",
    loses=1,
    misconception="You keep every pair above alpha. Up to beta it is mixed.",
)
def _(D, base, s, N, alpha, beta):
    omega = base ** -(torch.arange(0, D, 2) / D)
    return torch.where(N * omega / (2 * math.pi) < alpha, omega / s, omega), _factor(s)


@mistake(
    YARN,
    "log-ramp",
    caught_by="ramp",
    loses=1,
    misconception="Your gamma is linear in the pair's index. It is linear in its rotations.",
)
def _(D, base, s, N, alpha, beta):
    omega = base ** -(torch.arange(0, D, 2) / D)
    turns = (N * omega / (2 * math.pi)).log()
    gamma = ((turns - math.log(alpha)) / math.log(beta / alpha)).clamp(0, 1)
    return (1 - gamma) * omega / s + gamma * omega, _factor(s)


@mistake(
    YARN,
    "common-logarithm",
    caught_by="temperature",
    loses=1,
    misconception="Your logarithm has base 10. It is the natural one.",
)
def _(D, base, s, N, alpha, beta):
    return _mixed(D, base, s, N, alpha, beta), 0.1 * math.log10(s) + 1


@mistake(
    YARN,
    "squared",
    caught_by="temperature",
    loses=1,
    misconception="You square the factor. Scores grow by the square, the tables by the factor.",
)
def _(D, base, s, N, alpha, beta):
    return _mixed(D, base, s, N, alpha, beta), _factor(s) ** 2
