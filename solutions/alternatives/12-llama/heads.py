"""Differently written correct solutions of chapter 12, part 2."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("12.grouped_attention", "einsum-over-groups")
def _(q, k, v):
    groups = q.unflatten(1, (k.shape[1], -1))  # (B, K, G, T, D)
    scores = torch.einsum("bkgtd,bksd->bkgts", groups, k) / math.sqrt(q.shape[3])
    T, S = scores.shape[3:]
    hidden = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
    return torch.einsum(
        "bkgts,bksd->bkgtd", scores.masked_fill(hidden, float("-inf")).softmax(4), v
    ).flatten(1, 2)


@alternative("12.grouped_attention", "head-by-head")
def _(q, k, v):
    (_, H, T, D), (K, S) = q.shape, k.shape[1:3]
    bias = torch.zeros(T, S).masked_fill(
        torch.arange(S)[None, :] - torch.arange(T)[:, None] > S - T, -torch.inf
    )
    heads = []
    for head in range(H):
        mine = head // (H // K)
        heads.append(torch.softmax(q[:, head] @ k[:, mine].mT * D**-0.5 + bias, -1) @ v[:, mine])
    return torch.stack(heads, dim=1)


@alternative("12.grouped_attention", "query-by-query-in-double")
def _(q, k, v):
    (B, H, T, D), (K, S) = q.shape, k.shape[1:3]
    rows, out = (
        q.reshape(B, K, H // K, T, D).numpy().astype(np.float64),
        np.empty((B, K, H // K, T, D), dtype=np.float32),
    )
    keys, values = k.numpy(), v.numpy()
    for t in range(T):
        seen = S - T + t + 1
        scores = (
            rows[:, :, :, t] @ keys[:, :, :seen].transpose(0, 1, 3, 2) / D**0.5
        )  # (B, K, G, seen)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        out[:, :, :, t] = powers / powers.sum(-1, keepdims=True) @ values[:, :, :seen]
    return torch.from_numpy(out.reshape(B, H, T, D))


@alternative("12.predict_cache", "step-by-step")
def _(layers, H, K, D, bits, length, gib):
    numbers = K * D
    bits_of_token = layers * (numbers + numbers) * bits
    text = length * bits_of_token // 8
    return dict(texts=(gib * 1024**3) // text, text=text, token=bits_of_token // 8)


@alternative("12.predict_cache", "divmod")
def _(layers, H, K, D, bits, length, gib):
    token, _ = divmod(bits * D * K * layers, 4)
    texts, _ = divmod(gib << 30, token * length)
    return {"texts": texts, "token": token, "text": token * length}


@alternative("12.to_halves", "head-by-head")
def _(w, H):
    if H < 1 or len(w) == 0 or len(w) % H or len(w) // H % 2:
        raise ValueError("these are no heads of pairs")
    return torch.cat([torch.cat((rows[0::2], rows[1::2])) for rows in w.chunk(H)])


@alternative("12.to_halves", "reshape-as-published-converters-do")
def _(w, H):
    if w.shape[0] % (2 * H) != 0:
        raise ValueError(w.shape)
    return (
        w.reshape(H, w.shape[0] // H // 2, 2, *w.shape[1:]).transpose(1, 2).reshape(w.shape).clone()
    )


@alternative("12.to_halves", "written-into-place")
def _(w, H):
    size, odd = divmod(len(w), H)
    if odd or size % 2:
        raise ValueError("odd")
    out = torch.empty_like(w)
    for head in range(H):
        for row in range(size):
            out[head * size + row % 2 * (size // 2) + row // 2] = w[head * size + row]
    return out
