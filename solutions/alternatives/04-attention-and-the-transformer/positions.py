"""Differently written correct solutions of chapter 4, order."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("04.sinusoids", "number-by-number")
def _(positions, hidden):
    def number(position, column):
        angle = position / 10_000 ** (column // 2 * 2 / hidden)
        return math.cos(angle) if column % 2 else math.sin(angle)

    return torch.tensor(
        [[number(position, column) for column in range(hidden)] for position in positions.tolist()],
        dtype=torch.float32,
    )


@alternative("04.sinusoids", "columns-written-in")
def _(positions, hidden):
    angles = positions.double().unsqueeze(1) * torch.exp(
        torch.arange(0, hidden, 2).double() * (-math.log(10_000.0) / hidden)
    )
    table = torch.zeros(len(positions), hidden)
    table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
    return table


@alternative("04.sinusoids", "complex")
def _(positions, hidden):
    speeds = torch.logspace(0, -4 * (hidden - 2) / hidden, hidden // 2, dtype=torch.float64)
    hands = torch.polar(
        torch.ones(len(positions), hidden // 2, dtype=torch.float64),
        math.pi / 2 - torch.outer(positions.double(), speeds),
    )
    return torch.view_as_real(hands).reshape(len(positions), hidden).to(torch.float32)


@alternative("04.sinusoids", "numpy")
def _(positions, hidden):
    angles = positions.numpy()[:, None] / np.power(10_000.0, np.arange(hidden // 2) * 2 / hidden)
    return torch.from_numpy(
        np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), -1)
    ).float()


@alternative("04.rotate", "complex")
def _(x, positions, base):
    half = x.shape[-1] // 2
    angles = torch.outer(
        positions.double(), base ** (torch.arange(half).double() * (-2 / x.shape[-1]))
    )
    arrows = torch.complex(*x.double().contiguous().split(half, -1)) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.cat([arrows.real, arrows.imag], -1).to(x.dtype)


@alternative("04.rotate", "other-half")
def _(x, positions, base):
    first, second = x.chunk(2, dim=-1)
    speeds = 1.0 / base ** (torch.arange(0, x.size(-1), 2).double() / x.size(-1))
    angles = torch.einsum("t,f->tf", positions.double(), speeds)
    angles = torch.cat((angles, angles), dim=-1)[None, None]
    return x * angles.cos().to(x.dtype) + torch.cat((-second, first), dim=-1) * angles.sin().to(
        x.dtype
    )


@alternative("04.rotate", "matrices")
def _(x, positions, base):
    width = x.shape[-1]
    matrices = torch.zeros(len(positions), width, width, dtype=x.dtype)
    for t, position in enumerate(positions.tolist()):
        for i in range(width // 2):
            angle, j = position * base ** (-2 * i / width), i + width // 2
            matrices[t, i, i] = matrices[t, j, j] = math.cos(angle)
            matrices[t, i, j], matrices[t, j, i] = -math.sin(angle), math.sin(angle)
    return torch.einsum("tij,bhtj->bhti", matrices, x)


@alternative("04.rotate", "in-a-copy")
def _(x, positions, base):
    out, half = x.clone(), x.shape[-1] // 2
    for i in range(half):
        angle = positions.double() * base ** (-2 * i / (2 * half))
        cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
        out[..., i] = x[..., i] * cos - x[..., i + half] * sin
        out[..., i + half] = x[..., i] * sin + x[..., i + half] * cos
    return out


@alternative("04.distance_bias", "number-by-number")
def _(num_heads, num_queries, num_keys):
    power = 2 ** int(math.log2(num_heads))
    slopes = [
        2 ** (-8 * h / power) if h <= power else 2 ** (-8 * (h - power - 0.5) / power)
        for h in range(1, num_heads + 1)
    ]
    table = torch.empty(num_heads, num_queries, num_keys)
    for t in range(num_queries):
        table[:, t] = torch.tensor(
            [-float(abs(num_keys - num_queries + t - s)) for s in range(num_keys)]
        )
    return table * torch.tensor(slopes).reshape(-1, 1, 1)


@alternative("04.distance_bias", "every-other-of-twice")
def _(num_heads, num_queries, num_keys):
    def slopes(number):
        if number & (number - 1) == 0:
            ratio = 2 ** (-8 / number)
            return [ratio ** (h + 1) for h in range(number)]
        below = 1 << (number.bit_length() - 1)
        return slopes(below) + slopes(2 * below)[::2][: number - below]

    places = torch.arange(num_keys, dtype=torch.float32)
    square = torch.cdist(places[:, None], places[-num_queries:, None], p=1).T  # (T, S)
    return torch.einsum("h,ts->hts", -torch.tensor(slopes(num_heads)), square)


@alternative("04.distance_bias", "cut-from-the-square")
def _(num_heads, num_queries, num_keys):
    power = 1
    while 2 * power <= num_heads:
        power *= 2
    exponents = torch.cat(
        [
            torch.arange(1, power + 1) * 8 / power,
            (torch.arange(num_heads - power) + 0.5) * 8 / power,
        ]
    )
    queries, keys = np.ogrid[num_keys - num_queries : num_keys, :num_keys]
    return -torch.exp2(-exponents)[:, None, None] * torch.from_numpy(np.abs(queries - keys)).float()
