"""Differently written correct solutions of chapter 12, part 4."""

import math

import torch
from torch.nn.functional import silu

from autograder.checks.mistakes.registry import alternative


@alternative("12.moe_layer", "token-by-token")
def _(x, router, gate, up, down, k):
    rows = []
    for token in x:
        scores, chosen = (router @ token).sort(descending=True)
        row = torch.zeros_like(token)
        for weight, e in zip(scores[:k].softmax(0), chosen[:k]):
            row = row + weight * (down[e] @ (silu(gate[e] @ token) * (up[e] @ token)))
        rows.append(row)
    return torch.stack(rows)


@alternative("12.moe_layer", "gathered-matrices")
def _(x, router, gate, up, down, k):
    scores, experts = torch.topk(x @ router.T, k, dim=1)
    weights = torch.softmax(scores, dim=1)
    out = torch.zeros_like(x)
    for choice in range(k):
        mine = experts[:, choice]
        opened = torch.einsum("nfc,nc->nf", gate[mine], x)
        inner = silu(opened) * torch.einsum("nfc,nc->nf", up[mine], x)
        out += weights[:, choice, None] * torch.einsum("ncf,nf->nc", down[mine], inner)
    return out


@alternative("12.latent_attention", "head-by-head")
def _(q, q_rot, c, k_rot, A, B):
    H, T, N = q.shape
    S = c.shape[0]
    hidden = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
    heads = []
    for h in range(H):
        scores = (q[h] @ (c @ A[h].T).T + q_rot[h] @ k_rot.T) / math.sqrt(N + k_rot.shape[1])
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=1)
        heads.append(weights @ (c @ B[h].T))
    return torch.stack(heads)


@alternative("12.latent_attention", "joined-keys")
def _(q, q_rot, c, k_rot, A, B):
    absorbed = torch.cat((torch.einsum("htn,hnl->htl", q, A), q_rot), dim=-1)
    scores = torch.einsum("htl,sl->hts", absorbed, torch.cat((c, k_rot), dim=-1))
    scores = scores * (q.shape[-1] + q_rot.shape[-1]) ** -0.5
    T, S = scores.shape[1:]
    bias = torch.zeros(T, S).masked_fill(
        torch.arange(S)[None, :] > torch.arange(S - T, S)[:, None], -torch.inf
    )
    mean = torch.einsum("hts,sl->htl", torch.softmax(scores + bias, dim=-1), c)
    return torch.einsum("htl,hvl->htv", mean, B)
