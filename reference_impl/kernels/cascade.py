"""Attention of many sequences to a prefix that they share, read once for all of them.

FlashInfer 2024 (cascade inference), Ye et al. 2025, section 3.1: the output over a set
of keys, together with the log-sum-exp of its scores, is a state; the states of two
sets merge into the state of their union. So the shared prefix is one attention with the
queries of all sequences as rows, the rest is paged attention, and a merge joins them.

Not here: several levels of sharing, a kernel for a GPU.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.kernels.paged_decode import gather_kv


def attention_state(
    q: Float[Tensor, "R K D"],
    k: Float[Tensor, "S K D"],
    v: Float[Tensor, "S K D"],
    scale: float,
) -> tuple[Float[Tensor, "R K D"], Float[Tensor, "R K"]]:
    """Output and log-sum-exp of R rows of queries, each row with one query for each of
    the K heads of keys.
    """
    scores = torch.einsum("rkd,skd->rks", q, k) * scale
    return torch.einsum("rks,skd->rkd", scores.softmax(-1), v), scores.logsumexp(-1)


def merge_states(
    out_a: Float[Tensor, "*R D"],
    lse_a: Float[Tensor, "*R"],
    out_b: Float[Tensor, "*R D"],
    lse_b: Float[Tensor, "*R"],
) -> tuple[Float[Tensor, "*R D"], Float[Tensor, "*R"]]:
    """The state over the union of two disjoint sets of keys."""
    weight = torch.sigmoid(lse_a - lse_b)[..., None]
    return weight * out_a + (1 - weight) * out_b, torch.logaddexp(lse_a, lse_b)


def cascade_attention(
    q: Float[Tensor, "B H D"],
    k_cache: Float[Tensor, "b s K D"],
    v_cache: Float[Tensor, "b s K D"],
    block_tables: Int[Tensor, "B W"],
    context_lens: Int[Tensor, "B"],
    num_shared_blocks: int,
    scale: float,
) -> Float[Tensor, "B H D"]:
    """As `paged_attention`, for sequences whose first blocks are the same and which
    have at least one token after them.
    """
    num_kv_heads = k_cache.shape[2]
    shared = num_shared_blocks * k_cache.shape[1]
    # the queries of a group, of all sequences, are rows of one product
    rows = q.unflatten(1, (num_kv_heads, -1)).transpose(1, 2).flatten(0, 1)
    k, v = (
        gather_kv(cache, block_tables[0], 0, shared) for cache in (k_cache, v_cache)
    )
    prefix, prefix_lse = attention_state(rows, k, v, scale)
    suffix, suffix_lse = torch.empty_like(prefix), torch.empty_like(prefix_lse)
    group = len(rows) // len(q)
    for i, context in enumerate(context_lens.tolist()):
        mine = slice(i * group, (i + 1) * group)
        k, v = (
            gather_kv(cache, block_tables[i], shared, context)
            for cache in (k_cache, v_cache)
        )
        suffix[mine], suffix_lse[mine] = attention_state(rows[mine], k, v, scale)
    merged, _ = merge_states(prefix, prefix_lse, suffix, suffix_lse)
    return merged.unflatten(0, (len(q), group)).transpose(1, 2).flatten(1, 2)


def rows_read(num_sequences: int, prefix: int, suffix: int) -> tuple[int, int]:
    """Rows of the cache that a step reads per KV head, without and with cascade."""
    return num_sequences * (prefix + suffix), prefix + num_sequences * suffix
