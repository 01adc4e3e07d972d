"""Differently written correct solutions of chapter 8, part 3."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("08.adamw_step", "as-torch-writes-it")
def _(p, g, m, v, t, rate, betas, eps, decay):
    p, m, v = p.clone(), m.clone(), v.clone()
    p.mul_(1 - rate * decay)
    m.lerp_(g, 1 - betas[0])
    v.mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
    root = v.sqrt() / math.sqrt(1 - betas[1] ** t)
    p.addcdiv_(m, root.add_(eps), value=-rate / (1 - betas[0] ** t))
    return p, m, v


@alternative("08.adamw_step", "lerp-from-the-gradient")
def _(p, g, m, v, t, rate, betas, eps, decay):
    m, v = torch.lerp(g, m, betas[0]), torch.lerp(g.square(), v, betas[1])
    corrected = v / (1 - betas[1] ** t)
    step = m / (1 - betas[0] ** t) / (corrected.sqrt() + eps)
    return p - rate * step - rate * decay * p, m, v


@alternative("08.adamw_step", "numpy-in-double")
def _(p, g, m, v, t, rate, betas, eps, decay):
    p, g, m, v = (one.numpy().astype(np.float64) for one in (p, g, m, v))
    m = m + (1 - betas[0]) * (g - m)
    v = v + (1 - betas[1]) * (np.square(g) - v)
    step = (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return tuple(
        torch.from_numpy(one.astype(np.float32))
        for one in (p - rate * step - rate * decay * p, m, v)
    )


@alternative("08.combine", "one-long-vector")
def _(parts, counts, max_norm):
    names = sorted(parts[0])
    rows = torch.stack([torch.cat([part[name].flatten() for name in names]) for part in parts])
    mean = rows.double().sum(0) / sum(counts)
    length = mean.norm().item()
    mean = (mean * min(1.0, max_norm / length) if length else mean).float()
    pieces = mean.split([parts[0][name].numel() for name in names])
    return {
        name: piece.reshape(parts[0][name].shape).clone() for name, piece in zip(names, pieces)
    }, length


@alternative("08.combine", "running-sum-and-torchs-norm")
def _(parts, counts, max_norm):
    total = {name: torch.zeros_like(one) for name, one in parts[0].items()}
    for part in parts:
        for name in total:
            total[name] += part[name]
    for name in total:
        total[name] /= sum(counts)
    length = torch.nn.utils.get_total_norm(list(total.values())).item()
    if length > max_norm:
        for one in total.values():
            one.mul_(max_norm / (length + 1e-6))
    return total, length
