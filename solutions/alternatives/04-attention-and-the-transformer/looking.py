"""Differently written correct solutions of chapter 4, what a query sees."""

import math

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("04.attention", "einsum")
def _(q, k, v, mask):
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    if mask is not None:
        weights = weights * mask
    return torch.einsum("bhts,bhsd->bhtd", weights, v)


@alternative("04.attention", "one-query-at-a-time")
def _(q, k, v, mask):
    out = torch.zeros_like(q)
    for text in range(q.shape[0]):
        for head in range(q.shape[1]):
            for query in range(q.shape[2]):
                keys, values = k[text, head], v[text, head]
                if mask is not None:
                    seen = mask[text, 0, query]
                    keys, values = keys[seen], values[seen]
                if len(keys):
                    scores = keys @ q[text, head, query] / math.sqrt(q.shape[3])
                    out[text, head, query] = torch.softmax(scores, 0) @ values
    return out


@alternative("04.attention", "scaled-queries-and-nan-to-num")
def _(q, k, v, mask):
    q = q / math.sqrt(q.size(-1))
    scores = torch.matmul(q, k.transpose(2, 3))
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -math.inf).to(scores.dtype)
    return torch.nan_to_num(scores.softmax(dim=3), nan=0.0).matmul(v)


@alternative("04.attention", "keys-first")
def _(q, k, v, mask):
    scores = (k @ q.mT) / k.new_tensor(k.shape[3]).sqrt()  # (B, H, S, T)
    seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.mT.expand_as(scores)
    powers = torch.where(
        seen, torch.exp(scores - torch.where(seen, scores, -1e30).amax(2, keepdim=True)), 0.0
    )
    shares = powers / powers.sum(2, keepdim=True).clamp(
        min=0.5
    )  # the largest power is 1, or nothing is seen
    return (shares.unsqueeze(-1) * v.unsqueeze(3)).sum(2)


@alternative("04.attention", "numpy")
def _(q, k, v, mask):
    queries, keys, values = q.numpy(), k.numpy(), v.numpy()
    scores = queries @ keys.swapaxes(2, 3) / queries.dtype.type(np.sqrt(queries.shape[3]))
    if mask is not None:
        scores = np.where(mask.numpy(), scores, -np.inf)
    top = scores.max(3, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = powers.sum(3, keepdims=True)
    return torch.from_numpy(
        (powers / np.where(total == 0, 1, total) @ values).astype(queries.dtype)
    )


@alternative("04.masks", "loops")
def _(lengths, num_queries, num_keys):
    mask = torch.zeros(len(lengths), 1, num_queries, num_keys, dtype=torch.bool)
    for text, length in enumerate(lengths.tolist()):
        for query in range(num_queries):
            mask[text, 0, query, : min(length, num_keys - num_queries + query + 1)] = True
    return mask


@alternative("04.masks", "triangle")
def _(lengths, num_queries, num_keys):
    causal = torch.ones(num_queries, num_keys, dtype=torch.bool).tril(
        diagonal=num_keys - num_queries
    )
    padding = torch.stack([torch.arange(num_keys).lt(int(length)) for length in lengths])
    return torch.logical_and(causal, padding[:, None, None])


@alternative("04.masks", "lower-rows")
def _(lengths, num_queries, num_keys):
    square = ~torch.triu(torch.ones(num_keys, num_keys), diagonal=1).bool()
    rows = square[num_keys - num_queries :].repeat(lengths.shape[0], 1, 1, 1)
    return rows.masked_fill(
        (torch.arange(num_keys)[None] >= lengths[:, None]).view(-1, 1, 1, num_keys), False
    )
