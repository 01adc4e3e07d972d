"""Differently written correct solutions of chapter 7, parts 1 and 2."""

import math

import torch
from torch.nn.functional import cross_entropy, kl_div

from autograder.checks.mistakes.registry import alternative


@alternative("07.asked_share", "masking-by-masking")
def _(share, maskings, epochs):
    missed = 1.0
    for _ in range(min(epochs, maskings)):
        missed *= 1 - share
    return 1 - missed


@alternative("07.asked_share", "logarithms")
def _(share, maskings, epochs):
    used = {epoch % maskings for epoch in range(epochs)}
    return 1.0 if share == 1 else -math.expm1(len(used) * math.log1p(-share))


@alternative("07.albert_sizes", "tensor-by-tensor")
def _(V, E, C, L, I):
    shapes = [(C, C)] * 4 + [(I, C), (C, I)]
    return {
        "products": C * E + sum(rows * columns for _ in range(L) for rows, columns in shapes),
        "embedding": E * V + C * (E + 1),
        "block": sum((columns + 1) * rows for rows, columns in shapes) + 2 * (C + C),
    }


@alternative("07.albert_sizes", "helpers")
def _(V, E, C, L, I):
    def linear(into, out):
        return into * out + out

    norm = 2 * C
    return dict(
        embedding=V * E + linear(E, C),
        block=4 * linear(C, C) + linear(C, I) + linear(I, C) + 2 * norm,
        products=L * (4 * C**2 + 2 * I * C) + E * C,
    )


@alternative("07.soft_loss", "kl-div")
def _(student, teacher, T):
    return (
        kl_div((student / T).log_softmax(-1), (teacher / T).softmax(-1), reduction="batchmean")
        * T
        * T
    )


@alternative("07.soft_loss", "cross-entropy-less-entropy")
def _(student, teacher, T):
    student, teacher = student.double() / T, teacher.double() / T
    shares = teacher.softmax(1)
    return ((cross_entropy(student, shares) - cross_entropy(teacher, shares)) * T**2).float()


@alternative("07.soft_loss", "row-by-row")
def _(student, teacher, T):
    prices = []
    for one, other in zip(student / T, teacher / T):
        p = torch.exp(other - torch.logsumexp(other, 0))
        gap = (other - other.max() - (one - one.max())) - (
            torch.logsumexp(other - other.max(), 0) - torch.logsumexp(one - one.max(), 0)
        )
        prices.append(torch.dot(p, gap))
    return T * T * torch.stack(prices).mean()
