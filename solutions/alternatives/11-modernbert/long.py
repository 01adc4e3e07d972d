"""Differently written correct solutions of chapter 11, part 4."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("11.yarn_frequencies", "pair-by-pair")
def _(D, base, s, N, alpha, beta):
    found = []
    for i in range(D // 2):
        omega = math.exp(-2 * i / D * math.log(base))
        r = N * omega / math.tau
        gamma = min(max((r - alpha) / (beta - alpha), 0.0), 1.0)
        found.append(omega * (gamma + (1 - gamma) / s))
    return torch.tensor(found), 1 + math.log(s) / 10


@alternative("11.yarn_frequencies", "wavelengths")
def _(D, base, s, N, alpha, beta):
    waves = 2 * np.pi * base ** (np.arange(0, D, 2) / D)
    kept = np.interp(N / waves, [alpha, beta], [0.0, 1.0])
    omega = 2 * np.pi / waves
    return torch.from_numpy(omega / s + kept * (omega - omega / s)).float(), 0.1 * np.log(
        s
    ).item() + 1
