"""Cascade attention returns what paged attention returns, and reads the shared prefix once."""

import pytest
import torch

from reference_impl.kernels.cascade import (
    attention_state,
    cascade_attention,
    merge_states,
    rows_read,
)
from reference_impl.kernels.paged_decode import paged_attention_twin


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 2), (6, 1)])
@pytest.mark.parametrize("shared", [1, 3])
def test_it_is_paged_attention(heads, kv_heads, shared):
    torch.manual_seed(heads + shared)
    size, num, dim = 4, 5, 8
    k_cache, v_cache = torch.randn(2, 40, size, kv_heads, dim, dtype=torch.float64)
    q = torch.randn(num, heads, dim, dtype=torch.float64)
    order = torch.randperm(40)
    own = order[shared : shared + 2 * num].view(num, 2)
    tables = torch.cat([order[:shared].expand(num, -1), own], 1)
    lengths = shared * size + torch.tensor([1, 3, 4, 5, 8])
    out = cascade_attention(q, k_cache, v_cache, tables, lengths, shared, dim**-0.5)
    expected = paged_attention_twin(q, k_cache, v_cache, tables, lengths, dim**-0.5)
    torch.testing.assert_close(out, expected)


def test_states_merge_in_any_order_and_scores_may_be_large():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 1, 4), 300 * torch.randn(9, 1, 4), torch.randn(9, 1, 4)
    whole = attention_state(q, k, v, 1.0)
    cuts = [attention_state(q, k[a:b], v[a:b], 1.0) for a, b in ((0, 2), (2, 7), (7, 9))]
    left = merge_states(*merge_states(*cuts[0], *cuts[1]), *cuts[2])
    right = merge_states(*cuts[0], *merge_states(*cuts[1], *cuts[2]))
    for merged in (left, right):
        torch.testing.assert_close(merged, whole)


def test_the_prefix_is_read_once():
    assert rows_read(10, 900, 100) == (10_000, 1_900)
