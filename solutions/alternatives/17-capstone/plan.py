"""Differently written correct solutions of chapter 17, part 1."""

import math
from math import prod

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("17.plan", "from-the-shapes")
def _(V, C, F, layers, H, K, batch, T, steps):
    D = C // H
    block = [(C, C), (K * D, C), (K * D, C), (C, C), (F, C), (F, C), (C, F)]
    matrices = V * C + layers * sum(map(prod, block))
    vectors = (2 * layers + 1) * C
    return {
        "parameters": matrices + vectors,
        "matrix_flops": 6 * matrices * (batch * T * steps),
        "attention_flops": 14 * layers * batch * steps * T * T * H * D,
    }


@alternative("17.plan", "step-by-step")
def _(V, C, F, layers, H, K, batch, T, steps):
    group = H // K
    attention = C * C + 2 * (C * C // group) + C * C
    block = attention + 3 * C * F
    forward = batch * T * 2 * (layers * block + V * C)
    scores = 2 * batch * T * T * C
    found = {"parameters": C * V + C}
    found["parameters"] += layers * (block + C + C)
    found["matrix_flops"] = (forward + 2 * forward) * steps
    found["attention_flops"] = (scores + scores) * 7 // 2 * layers * steps
    return found


@alternative("17.predict_loss", "polyfit")
def _(flops, losses, irreducible, target):
    line = np.polyfit(np.log(flops), np.log(np.subtract(losses, irreducible)), 1)
    loss = irreducible + np.exp(np.polyval(line, np.log(target)))
    return {"exponent": -float(line[0]), "loss": float(loss)}


@alternative("17.predict_loss", "lstsq-in-base-2")
def _(flops, losses, irreducible, target):
    x = torch.tensor(flops, dtype=torch.float64).log2()
    y = (torch.tensor(losses, dtype=torch.float64) - irreducible).log2()
    rows = torch.stack([x, torch.ones_like(x)], 1)
    slope, intercept = torch.linalg.lstsq(rows, y[:, None]).solution.flatten().tolist()
    return {
        "exponent": -slope,
        "loss": irreducible + 2 ** (slope * math.log2(target) + intercept),
    }
