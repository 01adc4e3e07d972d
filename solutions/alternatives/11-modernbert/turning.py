"""Differently written correct solutions of chapter 11, part 1."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("11.rotary", "complex")
def _(x, positions, base):
    D = x.size(-1)
    angles = torch.einsum(
        "bt,d->btd", positions.double(), 1.0 / base ** (torch.arange(0, D, 2).double() / D)
    ).unsqueeze(1)
    z = torch.complex(x[..., : D // 2].float(), x[..., D // 2 :].float()) * torch.polar(
        torch.ones_like(angles), angles
    ).to(torch.complex64)
    return torch.cat([z.real, z.imag], dim=-1).type_as(x)


@alternative("11.rotary", "text-by-text")
def _(x, positions, base):
    out, half = [], x.shape[3] // 2
    for text, places in zip(x, positions):
        pairs = []
        for i in range(half):
            angle = places.float() * math.exp(-2 * i / x.shape[3] * math.log(base))
            a, b, c, s = text[..., i].float(), text[..., i + half].float(), angle.cos(), angle.sin()
            pairs.append(torch.stack([a * c - b * s, b * c + a * s]))
        out.append(torch.stack(pairs, -1).permute(1, 2, 0, 3).flatten(2))
    return torch.stack(out).to(x.dtype)


@alternative("11.geglu", "einsum")
def _(x, gate_up, down):
    F = gate_up.size(0) // 2
    gate = torch.einsum("...c,fc->...f", x, gate_up[:F])
    up = torch.einsum("...c,fc->...f", x, gate_up[F:])
    return torch.einsum(
        "...f,cf->...c", 0.5 * gate * (1 + torch.erf(gate / math.sqrt(2))) * up, down
    )


@alternative("11.geglu", "linear-layers")
def _(x, gate_up, down):
    linear, gelu = torch.nn.functional.linear, torch.nn.GELU()
    made = linear(x, gate_up)
    return linear(gelu(made[..., : down.shape[-1]]).mul(made[..., down.shape[-1] :]), down)


@alternative("11.local_mask", "triangles")
def _(T, window):
    side = window // 2
    ones = torch.ones((T, T), dtype=torch.bool)
    return ones.tril(min(side, T)) & ones.triu(-min(side, T))


@alternative("11.local_mask", "numpy")
def _(T, window):
    i, j = np.indices((T, T))
    return torch.from_numpy(2 * np.abs(i - j) <= window - window % 2)


@alternative("11.count_pairs", "token-by-token")
def _(T, layers, window, every):
    side = window // 2
    local = sum(min(i + side, T - 1) - max(i - side, 0) + 1 for i in range(T))
    far = len([layer for layer in range(layers) if layer % every == 0])
    return {"total": far * T**2 + (layers - far) * local, "local": local, "global_layers": far}


@alternative("11.count_pairs", "diagonals")
def _(T, layers, window, every):
    reach = range(1, min(window // 2, T - 1) + 1)
    local = T + 2 * (len(reach) * T - sum(reach))
    kinds = [T * T if not layer % every else local for layer in range(layers)]
    return dict(local=local, global_layers=(layers + every - 1) // every, total=sum(kinds))
