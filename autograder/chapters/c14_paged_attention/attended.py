"""The right answers of this chapter's kernels, in float64 and without a table of blocks: keys are
gathered token by token.
"""

import torch
from torch import Tensor


def rows_of(cache: Tensor, table: Tensor, first: int, stop: int) -> Tensor:
    """Keys or values (S, K, D) of a sequence's tokens from first to stop."""
    size = cache.shape[1]
    return torch.stack(
        [cache[int(table[token // size]), token % size] for token in range(first, stop)]
    ).double()


def shared_out(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, tables: Tensor, lengths: Tensor, number: int
) -> tuple[Tensor, Tensor]:
    """Each share's attention (B, H, N, D) and log-sum-exp (B, H, N), float32."""
    B, H, D = q.shape
    group = H // k_cache.shape[2]
    parts, lse = (
        torch.zeros(B, H, number, D, dtype=torch.float64),
        torch.full((B, H, number), -torch.inf, dtype=torch.float64),
    )
    for i, length in enumerate(lengths.tolist()):
        each = -(-length // number)
        for share in range(number):
            first, stop = share * each, min(share * each + each, length)
            if first < stop:
                k, v = (
                    rows_of(cache, tables[i], first, stop).repeat_interleave(group, 1)
                    for cache in (k_cache, v_cache)
                )
                scores = torch.einsum("hd,shd->hs", q[i].double(), k) / D**0.5
                lse[i, :, share], parts[i, :, share] = (
                    scores.logsumexp(1),
                    torch.einsum("hs,shd->hd", scores.softmax(1), v),
                )
    return parts.float(), lse.float()


def put_together(parts: Tensor, lse: Tensor) -> Tensor:
    """The attention over all shares, (B, H, D); zeros where no share has a token."""
    weights = lse.double().softmax(2).nan_to_num(0.0)
    return (weights[..., None] * parts.double()).sum(2).float()
