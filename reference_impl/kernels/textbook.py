"""Flash attention and its gradient in their plainest form: one head, no mask.

Dao et al. 2022 and Dao 2023, algorithms 1 and 2, in the loop order of the second paper
for the forward pass. The book shows these functions; `flash_attention` and
`flash_attention_backward` hold the complete ones, with masks, heads in groups and
sequences of varying lengths.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.kernels.traffic import load, store


def flash_forward(
    q: Float[Tensor, "T D"],
    k: Float[Tensor, "S D"],
    v: Float[Tensor, "S D"],
    rows: int = 64,
    columns: int = 64,
) -> tuple[Float[Tensor, "T D"], Float[Tensor, "T 1"]]:
    """Attention of one head and the log-sum-exp of each query, tile by tile."""
    out, lse = torch.empty_like(q), q.new_empty(len(q), 1)
    for i in range(0, len(q), rows):
        q_tile = load(q, i, i + rows) * q.shape[1] ** -0.5
        maximum = q.new_full((len(q_tile), 1), -torch.inf)
        total, accumulator = torch.zeros_like(maximum), torch.zeros_like(q_tile)
        for j in range(0, len(k), columns):
            scores = q_tile @ load(k, j, j + columns).T  # stays in SRAM
            new_maximum = torch.maximum(maximum, scores.amax(1, keepdim=True))
            rescale = (maximum - new_maximum).exp()
            weights = (scores - new_maximum).exp()
            total = total * rescale + weights.sum(1, keepdim=True)
            accumulator = accumulator * rescale + weights @ load(v, j, j + columns)
            maximum = new_maximum
        store(out, i, i + rows, accumulator / total)
        store(lse, i, i + rows, maximum + total.log())
    return out, lse


def flash_backward(
    grad: Float[Tensor, "T D"],
    q: Float[Tensor, "T D"],
    k: Float[Tensor, "S D"],
    v: Float[Tensor, "S D"],
    out: Float[Tensor, "T D"],
    lse: Float[Tensor, "T 1"],
    tile: int = 64,
) -> tuple[Float[Tensor, "T D"], Float[Tensor, "S D"], Float[Tensor, "S D"]]:
    """dQ, dK and dV of one head; each tile of scores is computed again."""
    scale = q.shape[1] ** -0.5
    delta = (grad * out).sum(1, keepdim=True)
    grad_q, grad_k, grad_v = (torch.zeros_like(x) for x in (q, k, v))
    for j in range(0, len(k), tile):
        keys = slice(j, j + tile)
        for i in range(0, len(q), tile):
            queries = slice(i, i + tile)
            weights = (q[queries] @ k[keys].T * scale - lse[queries]).exp()
            grad_weights = grad[queries] @ v[keys].T
            grad_scores = weights * (grad_weights - delta[queries]) * scale
            grad_v[keys] += weights.T @ grad[queries]
            grad_k[keys] += grad_scores.T @ q[queries]
            grad_q[queries] += grad_scores @ k[keys]
    return grad_q, grad_k, grad_v
