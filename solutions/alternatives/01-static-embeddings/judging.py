"""Differently written correct solutions of chapter 1, parts 3 and 4."""

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("01.glove_weight", "where")
def _(counts, x_max=100.0, alpha=0.75):
    return torch.where(counts < x_max, (counts / x_max) ** alpha, torch.ones(counts.shape)).float()


@alternative("01.glove_weight", "limit-after-the-power")
def _(counts, x_max=100.0, alpha=0.75):
    return torch.pow(counts.float() / x_max, alpha).clamp(max=1.0)


@alternative("01.glove_weight", "powers-clamped-and-divided")
def _(counts, x_max=100.0, alpha=0.75):
    return (counts**alpha).clamp(max=x_max**alpha).float() / x_max**alpha


@alternative("01.glove_weight", "counts-clamped-first")
def _(counts, x_max=100.0, alpha=0.75):
    return torch.clamp(counts, max=x_max).div(x_max).pow(alpha).float()


@alternative("01.glove_weight", "masks-added")
def _(counts, x_max=100.0, alpha=0.75):
    below = (counts < x_max).float()
    return below * (counts.float() / x_max) ** alpha + (1 - below)


@alternative("01.glove_weight", "numpy")
def _(counts, x_max=100.0, alpha=0.75):
    return torch.from_numpy(np.minimum(counts.double().numpy() / x_max, 1.0) ** alpha).float()


@alternative("01.analogy", "three-cosines")
def _(matrix, a, b, c):
    lengths = matrix.norm(dim=1)
    cosines = (
        matrix @ matrix[[a, b, c]].T / (lengths[:, None] * lengths[[a, b, c]]).clamp(min=1e-12)
    )  # (V, 3)
    scores = cosines[:, 1] - cosines[:, 0] + cosines[:, 2]
    return max(
        (row for row in range(len(matrix)) if row not in (a, b, c)),
        key=lambda row: scores[row].item(),
    )


@alternative("01.analogy", "numpy")
def _(matrix, a, b, c):
    rows = matrix.double().numpy()
    unit = np.nan_to_num(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30))
    scores = unit @ (unit[b] - unit[a] + unit[c])
    scores[[a, b, c]] = -np.inf
    return int(np.argmax(scores))


@alternative("01.analogy", "normalised-target")
def _(matrix, a, b, c):
    normalize = torch.nn.functional.normalize
    unit = normalize(matrix, dim=-1)
    target = normalize(unit[b] - unit[a] + unit[c], dim=0)
    scores = unit.mv(target)
    return next(
        int(row)
        for row in scores.sort(descending=True, stable=True).indices
        if row not in (a, b, c)
    )


@alternative("01.analogy", "only-the-others")
def _(matrix, a, b, c):
    others = [row for row in range(len(matrix)) if row not in (a, b, c)]
    unit = torch.nn.functional.normalize(matrix, dim=1)
    return others[int((unit[others] @ (unit[b] - unit[a] + unit[c])).argmax())]
