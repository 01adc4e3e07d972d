"""The right answers of this chapter's attention, in float64, with whole tables of scores: nothing
here is tiled.
"""

import torch
from torch import Tensor


def seen_by(num_queries: int, num_keys: int, causal: bool) -> Tensor:
    """True where a query may see a key, (T, S); the queries are the last of the keys."""
    place = torch.arange(num_queries)[:, None] + num_keys - num_queries
    return (torch.arange(num_keys) <= place) | torch.tensor(not causal)


def attended(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """Attention (H, T, D) and the log-sum-exp of its scores (H, T), both float32; a query that sees
    no key has 0 and -inf.
    """
    q, k, v = (one.double() for one in (q, k, v))
    group = len(q) // len(k)
    scores = q @ k.repeat_interleave(group, 0).mT / q.shape[2] ** 0.5
    scores = scores.masked_fill(~seen_by(q.shape[1], k.shape[1], causal), -torch.inf)
    weights = scores.softmax(2).nan_to_num(0.0)
    return (weights @ v.repeat_interleave(group, 0)).float(), scores.logsumexp(2).float()


def low_and_high(H: int, T: int, S: int, D: int) -> list[tuple[Tensor, Tensor]]:
    """Queries and keys whose scores all lie between -300 and -299, and between 299 and 300."""
    k = 1 - torch.arange(S * D).view(1, S, D) % 7 / (7 * 300.0)
    return [(torch.full((H, T, D), sign * 300 / D**0.5), k.repeat(H, 1, 1)) for sign in (-1, 1)]


def differentiated(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of q, k and v, float32, by autograd in float64."""
    leaves = [one.double().requires_grad_() for one in (q, k, v)]
    group = len(q) // len(k)
    keys, values = (one.repeat_interleave(group, 0) for one in leaves[1:])
    scores = leaves[0] @ keys.mT / q.shape[2] ** 0.5
    seen = seen_by(q.shape[1], k.shape[1], causal)
    weights = torch.where(seen, torch.where(seen, scores, -1e9).softmax(2), 0.0)
    return tuple(
        one.float() for one in torch.autograd.grad((weights @ values * grad.double()).sum(), leaves)
    )
