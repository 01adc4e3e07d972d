"""Differently written correct solutions of chapter 16, part 3."""

import math

import torch
from torch.nn import functional

from autograder.checks.mistakes.registry import alternative


@alternative("16.broken_block", "torch-s-own-parts")
def _(x, weights, heads):
    linear = functional.linear
    a = functional.rms_norm(x, x.shape[1:], eps=1e-6)
    q, k, v = (
        linear(a, weights[name]).unflatten(1, (heads, -1)).transpose(0, 1)[None]
        for name in ("query", "key", "value")
    )
    y = x + linear(
        functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0]
        .transpose(0, 1)
        .flatten(1),
        weights["output"],
    )
    b = functional.rms_norm(y, y.shape[1:], eps=1e-6)
    return y + linear(
        functional.silu(linear(b, weights["gate"])) * linear(b, weights["up"]), weights["down"]
    )


@alternative("16.broken_block", "token-by-token-in-double")
def _(x, weights, heads):
    W, D = {name: one.double() for name, one in weights.items()}, x.shape[1] // heads
    normed = [row / math.sqrt(float(row @ row) / len(row) + 1e-6) for row in x.double()]
    keys, values = [W["key"] @ row for row in normed], [W["value"] @ row for row in normed]
    out = []
    for t, row in enumerate(normed):
        query, mixed = W["query"] @ row, []
        for head in range(heads):
            part = slice(head * D, (head + 1) * D)
            scores = torch.stack([query[part] @ key[part] for key in keys[: t + 1]]) / D**0.5
            mixed.append(
                scores.softmax(0) @ torch.stack([value[part] for value in values[: t + 1]])
            )
        y = x[t].double() + W["output"] @ torch.cat(mixed)
        b = y / math.sqrt(float(y @ y) / len(y) + 1e-6)
        gate = W["gate"] @ b
        out.append(y + W["down"] @ (gate / (1 + (-gate).exp()) * (W["up"] @ b)))
    return torch.stack(out).float()


@alternative("16.counterexamples", "other-data")
def _():
    then = torch.zeros(8, 8)
    then[0] = torch.tensor([0, 0, 0.28, 0.24, 0, 0, 0.24, 0.24])
    then[1] = torch.tensor([0, 0, 0, 0, 0.45, 0.55, 0, 0])
    then[2] = then[3] = then[6] = then[7] = torch.tensor([0, 0, 0, 0, 0, 0, 0, 1.0])
    then[4] = then[5] = torch.full((8,), 0.125)
    return {
        "loss": {
            "one": torch.tensor([[0.9, 0.05, 0.05], [0.3, 0.4, 0.3]]),
            "other": torch.tensor([[0.4, 0.3, 0.3], [0.36, 0.34, 0.3]]),
            "right": [0, 0],
        },
        "rotary": {"x": torch.tensor([3.0, 0.1, 0.0, 4.0, -0.1, 0.0]), "places": [2, 7]},
        "pooling": {
            "vectors": torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, -9.0]]),
            "real": [0, 0, 1],
        },
        "top_p": {"p": torch.tensor([0.19, 0.17, 0.15, 0.13, 0.11, 0.09, 0.07, 0.05, 0.03, 0.01])},
        "wider": {"first": torch.tensor([0.52, 0.48, 0, 0, 0, 0, 0, 0]), "then": then},
        "beam": {
            "first": torch.tensor([0.22, 0.24, 0.26, 0.28]),
            "then": torch.stack(
                (
                    torch.tensor([0, 0, 0, 1.0]),
                    torch.full((4,), 0.25),
                    torch.full((4,), 0.25),
                    torch.full((4,), 0.25),
                )
            ),
        },
    }


@alternative("16.counterexamples", "more-words-and-rows")
def _():
    first, certain = torch.tensor([0.3, 0.26, 0.22, 0.12, 0.1]), torch.eye(5)
    spread = torch.full((5, 5), 0.2)
    then = torch.stack((spread[0], spread[1], spread[2], certain[0], certain[1]))
    start = torch.zeros(6)
    start[0], start[1] = 0.6, 0.4
    after = torch.full((6, 6), 1 / 6)
    after[0] = torch.tensor([0.0, 0.0, 0.3, 0.24, 0.23, 0.23])
    after[1] = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.48, 0.52])
    after[2] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    weights = torch.arange(20.0) + 30.0
    guesses = torch.tensor([[0.4, 0.5, 0.1]] * 4)
    return {
        "beam": {"first": first, "then": then},
        "wider": {"first": start, "then": after},
        "top_p": {"p": weights / weights.sum()},
        "pooling": {
            "vectors": torch.cat((torch.zeros(3, 4), torch.full((1, 4), -10.0), torch.zeros(1, 4))),
            "real": [1, 0, 0, 1, 0],
        },
        "rotary": {"x": torch.tensor([2.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), "places": [9, 13]},
        "loss": {
            "one": guesses,
            "other": torch.tensor([[0.5, 0.4, 0.1]] * 2 + [[0.02, 0.9, 0.08]] * 2),
            "right": [0, 0, 0, 0],
        },
    }


@alternative("16.test_attention", "by-loops")
def _(attention):
    for seed, (T, S) in enumerate(((3, 5), (4, 4), (6, 2), (1, 1))):
        for size, limit in ((1.0, 5e-4), (60.0, 3e-3)):
            for blind in (False, True):
                chance = torch.Generator().manual_seed(seed)
                q, k, v = (torch.randn(2, 3, length, 4, generator=chance) for length in (T, S, S))
                mask = torch.rand(2, 1, T, S, generator=chance) < 0.7
                mask[..., -1] = True
                if blind:
                    mask[0, 0, 0] = mask[1, 0, -1] = False
                came = attention(q * size, k, v, mask)
                for b in range(2):
                    for h in range(3):
                        for t in range(T):
                            here = mask[b, 0, t]
                            right = torch.zeros(4)
                            if here.any():
                                right = (
                                    (k[b, h][here].double() @ (size * q[b, h, t]).double()) / 2
                                ).softmax(0) @ v[b, h][here].double()
                            assert ((came[b, h, t] - right).abs() < limit).all(), "another number"


@alternative("16.test_attention", "torch-s-own-operator")
def _(attention):
    for T, S in ((3, 5), (4, 4)):
        for size in (1.0, 80.0):
            for blind in (0, 1):
                torch.manual_seed(T)
                q, k, v = (
                    torch.randn(2, 4, T, 4) * size,
                    torch.randn(2, 4, S, 4),
                    torch.randn(2, 4, S, 4),
                )
                mask = torch.rand(2, 1, T, S) < 0.5
                mask[..., 1] = True
                right = functional.scaled_dot_product_attention(
                    q.double(), k.double(), v.double(), mask
                )
                if blind:
                    mask[:, :, 0], right[:, :, 0] = False, 0.0
                torch.testing.assert_close(
                    attention(q, k, v, mask),
                    right.float(),
                    rtol=0,
                    atol=1e-4 if size == 1 else 3e-3,
                )
