"""Differently written correct solutions of chapter 4, several heads."""

import math

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("04.multi_head", "head-by-head")
def _(x, w_q, w_k, w_v, w_o, num_heads):
    width = x.shape[2] // num_heads
    out = torch.zeros_like(x)
    for head in range(num_heads):
        own = slice(head * width, (head + 1) * width)
        q, k, v = (torch.nn.functional.linear(x, weight[own]) for weight in (w_q, w_k, w_v))
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(width), dim=-1)
        out = out + weights @ v @ w_o[:, own].T  # each head's part of the mix
    return out


@alternative("04.multi_head", "einsum")
def _(x, w_q, w_k, w_v, w_o, num_heads):
    size = x.shape[-1]
    q, k, v = (
        torch.einsum("btc,hdc->bhtd", x, weight.reshape(num_heads, -1, size))
        for weight in (w_q, w_k, w_v)
    )
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) * (size // num_heads) ** -0.5
    answers = torch.einsum("bhts,bhsd->bthd", scores.softmax(3), v)
    return torch.einsum("bthd,chd->btc", answers, w_o.reshape(size, num_heads, -1))


@alternative("04.multi_head", "chunks")
def _(x, w_q, w_k, w_v, w_o, num_heads):
    parts = [
        torch.stack((x @ weight.t()).chunk(num_heads, dim=2)) for weight in (w_q, w_k, w_v)
    ]  # (H, B, T, D) each
    q, k, v = parts
    weights = (q / math.sqrt(q.size(-1)) @ k.mT).softmax(-1)
    return torch.cat(list(weights @ v), dim=-1) @ w_o.t()
