"""Differently written correct solutions of chapter 3, additive attention."""

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("03.additive_attention", "position-by-position")
def _(query, memory, w_query, w_memory, v, mask):
    asked, scores = query @ w_query.T, []
    for place in range(memory.shape[1]):
        scores.append(torch.tanh(asked + memory[:, place] @ w_memory.T) @ v)
    scores = torch.stack(scores, dim=1) + torch.where(mask, 0.0, -torch.inf)
    powers = torch.exp(scores - scores.amax(1, keepdim=True))
    weights = powers / powers.sum(1, keepdim=True)
    return torch.bmm(weights[:, None], memory)[:, 0], weights


@alternative("03.additive_attention", "one-matrix")
def _(query, memory, w_query, w_memory, v, mask):
    both = torch.cat([query[:, None].expand(-1, memory.shape[1], -1), memory], dim=2)
    hidden = torch.nn.functional.linear(both, torch.cat([w_query, w_memory], dim=1)).tanh()
    scores = torch.nn.functional.linear(hidden, v[None]).squeeze(2)
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=1)
    return (memory * weights[..., None]).sum(1), weights


@alternative("03.additive_attention", "tokens-only")
def _(query, memory, w_query, w_memory, v, mask):
    context, weights = torch.zeros(memory.shape[0], memory.shape[2]), torch.zeros(mask.shape)
    for row, here in enumerate(mask):
        tokens = memory[row][here]
        scores = np.tanh((w_query @ query[row] + tokens @ w_memory.T).numpy()) @ v.numpy()
        weights[row, here] = torch.from_numpy(scores).softmax(0)
        context[row] = weights[row, here] @ tokens
    return context, weights
