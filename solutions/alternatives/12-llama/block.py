"""Differently written correct solutions of chapter 12, part 1."""

import numpy as np
import torch
from torch import nn

from autograder.checks.mistakes.registry import alternative


@alternative("12.rms_norm", "reciprocal-root")
def _(x, w, eps):
    full = x.to(torch.float32)
    return (w.float() * (full * torch.rsqrt(full.pow(2).mean(dim=-1, keepdim=True) + eps))).to(
        x.dtype
    )


@alternative("12.rms_norm", "token-by-token-in-double")
def _(x, w, eps):
    flat = x.reshape(-1, x.shape[-1])
    made = torch.empty(flat.shape, dtype=x.dtype)
    for row in range(len(flat)):
        token = flat[row].double()
        made[row] = (token / (token @ token / len(token) + eps) ** 0.5 * w.double()).to(x.dtype)
    return made.reshape(x.shape)


@alternative("12.rms_norm", "length-of-a-vector")
def _(x, w, eps):
    full = x.float()
    length = torch.linalg.vector_norm(full, dim=-1, keepdim=True)
    return (full / torch.hypot(length / full.shape[-1] ** 0.5, torch.tensor(eps).sqrt()) * w).to(
        x.dtype
    )


@alternative("12.swiglu", "linear-and-torch-s-silu")
def _(x, gate, up, down):
    linear = nn.functional.linear
    return linear(nn.functional.silu(linear(x, gate)) * linear(x, up), down)


@alternative("12.swiglu", "numpy-in-double")
def _(x, gate, up, down):
    said = np.einsum("...c,fc->...f", x.numpy().astype(np.float64), gate.numpy().astype(np.float64))
    opened = said * 0.5 * (1 + np.tanh(said / 2))
    return torch.from_numpy(
        np.einsum(
            "...f,cf->...c",
            opened * np.einsum("...c,fc->...f", x.numpy(), up.numpy()),
            down.numpy(),
        )
    ).float()


@alternative("12.swiglu", "joined")
def _(x, gate, up, down):
    said, other = (x @ torch.cat((gate, up)).T).chunk(2, dim=-1)
    return (said / (1 + torch.exp(-said)) * other) @ down.T


@alternative("12.predict_llama", "modules-on-the-meta-device")
def _(V, C, layers, H, K, D, F, tied):
    def size(*shapes):
        total = 0
        for rows, columns in shapes:
            total += rows * columns
        return total

    made = {
        "attention": layers * size((H * D, C), (K * D, C), (K * D, C), (C, H * D)),
        "feed_forward": layers * size((F, C), (F, C), (C, F)),
    }
    made["embedding"] = size((V, C))
    made["output"] = made["embedding"] * (not tied)
    made["norms"] = C + layers * size((2, C))
    made["total"] = sum(made.values())
    return made


@alternative("12.predict_llama", "by-token-and-by-block")
def _(V, C, layers, H, K, D, F, tied):
    attention, feed_forward, norms = 2 * (H + K) * D * C, 3 * F * C, 2 * C
    total = V * C * (1 if tied else 2) + layers * (attention + feed_forward + norms) + C
    return dict(
        total=total,
        embedding=C * V,
        attention=attention * layers,
        feed_forward=feed_forward * layers,
        norms=norms * layers + C,
        output=total - total if tied else C * V,
    )


@alternative("12.dead_units", "largest-answer")
def _(pre, slope):
    if pre.shape[0] == 0 or slope > 0:
        return 0.0
    return float((pre.max(dim=0).values <= 0).sum()) / pre.shape[1]


@alternative("12.dead_units", "by-autograd")
def _(pre, slope):
    if len(pre) == 0:
        return 0.0
    leaf = pre.clone().double().requires_grad_()
    (
        nn.functional.leaky_relu(leaf, slope).sum().backward()
        if slope
        else torch.relu(leaf).sum().backward()
    )
    return (leaf.grad == 0).all(dim=0).double().mean().item()


@alternative("12.dead_units", "lists")
def _(pre, slope):
    columns = list(zip(*pre.tolist()))
    dead = [slope == 0 and all(one <= 0 for one in column) for column in columns]
    return sum(dead) / len(dead) if dead else 0.0
