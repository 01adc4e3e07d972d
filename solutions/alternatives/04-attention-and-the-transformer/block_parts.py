"""Differently written correct solutions of chapter 4, the norm and the cost of a block."""

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("04.layer_norm", "moments")
def _(x, weight, bias, eps):
    deviation = torch.sqrt(x.var(dim=-1, unbiased=False, keepdim=True) + eps)
    return bias + weight * ((x - x.mean(dim=-1, keepdim=True)) / deviation)


@alternative("04.layer_norm", "token-by-token")
def _(x, weight, bias, eps):
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        token = token - token.sum() / len(token)
        rows.append(token / (token.dot(token) / len(token) + eps) ** 0.5 * weight + bias)
    return torch.stack(rows).reshape(x.shape)


@alternative("04.layer_norm", "numpy")
def _(x, weight, bias, eps):
    numbers = x.numpy()
    middle = numbers.mean(axis=-1, keepdims=True)
    normed = (numbers - middle) / ((numbers - middle) ** 2 + numbers.dtype.type(eps)).mean(
        axis=-1, keepdims=True
    ) ** 0.5
    return torch.from_numpy(normed * weight.numpy() + bias.numpy())


@alternative("04.predict_block", "by-parts")
def _(tokens, hidden, heads, inner):
    attention, feed_forward, norm = (
        4 * (hidden**2 + hidden),
        2 * hidden * inner + hidden + inner,
        2 * hidden,
    )
    width = hidden // heads
    per_head = 2 * (2 * tokens * tokens * width)
    return {
        "score_bytes": tokens**2 * heads * 4,
        "parameters": attention + feed_forward + 2 * norm,
        "operations": 8 * tokens * hidden**2 + 4 * tokens * hidden * inner + heads * per_head,
    }


@alternative("04.predict_block", "meta-tensors")
def _(tokens, hidden, heads, inner):
    layers = [torch.nn.Linear(hidden, hidden, device="meta") for _ in range(4)]
    layers += [
        torch.nn.Linear(hidden, inner, device="meta"),
        torch.nn.Linear(inner, hidden, device="meta"),
    ]
    operations = (
        sum(2 * tokens * one.weight.numel() for one in layers) + 2 * 2 * tokens * hidden * tokens
    )
    return {
        "parameters": sum(one.weight.numel() + one.bias.numel() for one in layers) + 4 * hidden,
        "operations": operations,
        "score_bytes": heads * tokens * tokens * torch.float32.itemsize,
    }
