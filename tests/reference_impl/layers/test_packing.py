"""Sequences end to end: cut and put back, attended one by one, packed into rows."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.layers.attention import MultiHeadAttention, plain_attention
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.masks import causal_mask, join, window_mask
from reference_impl.layers.packing import Packing, pack_rows, packed_attention, pad, unpad

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def bounds(*numbers):
    return torch.tensor(numbers, dtype=torch.int32)


def test_three_rows_worked_by_hand():
    ids = torch.tensor([[0, 7, 8, 9], [0, 0, 0, 0], [5, 6, 0, 0]])
    mask = torch.tensor([[0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]).bool()
    tokens, packing = unpad(ids, mask)
    assert tokens.tolist() == [7, 8, 9, 5, 6]
    assert packing.cu_seqlens.tolist() == [0, 3, 3, 5] and packing.cu_seqlens.dtype == torch.int32
    assert packing.max_seqlen == 3
    assert packing.positions.tolist() == [0, 1, 2, 0, 1]
    assert torch.equal(pad(tokens, mask), ids)
    assert pad(tokens, mask, value=-100)[1].tolist() == [-100] * 4


def test_vectors_come_back_and_so_do_their_gradients(randn):
    x, mask = randn(3, 4, 2), torch.rand(3, 4, generator=torch.Generator().manual_seed(1)) < 0.6
    back = pad(unpad(x, mask).tokens, mask)
    assert torch.equal(back, x * mask[..., None])
    back.pow(2).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach() * mask[..., None])


@pytest.mark.parametrize("window", [None, (0, 0), (2, 1), (1, 8), (9, 9)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_result_and_gradients_are_those_of_one_mask_over_all_tokens(
    randn, window, causal, num_kv_heads
):
    lengths = [5, 0, 1, 7, 0]
    owner = torch.arange(5).repeat_interleave(torch.tensor(lengths))
    q, k, v = randn(1, 4, 13, 6), randn(1, num_kv_heads, 13, 6), randn(1, num_kv_heads, 13, 6)
    mask = join(
        owner[:, None] == owner,
        causal_mask(13) if causal else None,
        None if window is None else window_mask(13, before=window[0], after=window[1]),
    )
    theirs = plain_attention(q, k, v, mask, scale=0.3)
    expected = torch.autograd.grad(theirs.sin().sum(), (q, k, v))
    ours = packed_attention(
        q, k, v, bounds(0, 5, 5, 6, 13, 13), window=window, causal=causal, scale=0.3
    )
    torch.testing.assert_close(ours, theirs, **CLOSE)
    for gradient, wanted in zip(
        torch.autograd.grad(ours.sin().sum(), (q, k, v)), expected, strict=True
    ):
        torch.testing.assert_close(gradient, wanted, **CLOSE)


def test_no_tokens_at_all_give_none(randn):
    q = randn(1, 2, 0, 4)
    assert packed_attention(q, q, q, bounds(0, 0, 0)).shape == (1, 2, 0, 4)
    assert Packing.of(bounds(0)).max_seqlen == 0


def test_nan_in_one_sequence_stays_there(randn):
    q = randn(1, 2, 6, 4).detach()
    q[:, :, 2:4] = torch.nan
    mixed = packed_attention(q, q, q, bounds(0, 2, 4, 6))
    assert mixed.isnan().all(-1).all(1)[0].tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize(
    "cu_seqlens, words",
    [
        (bounds(1, 6), r"starts with \[1\]"),
        (bounds(0, 5), "ends with 5 but there are 6"),
        (bounds(0, 7), "ends with 7 but there are 6"),
        (bounds(0, 4, 3, 6), "goes down from 4 to 3"),
        (bounds(), r"starts with \[\]"),
        (bounds(0, 6).long(), "torch.int64"),
    ],
)
def test_wrong_bounds_are_refused(as_students_run_it, randn, cu_seqlens, words):
    q = randn(1, 2, 6, 4)
    with pytest.raises(ModelInputError, match=words):
        packed_attention(q, q, q, cu_seqlens)


def test_a_bias_or_another_mask_is_refused(as_students_run_it):
    packing = Packing.of(bounds(0, 6))
    with pytest.raises(ModelInputError, match="a packing with a mask or a bias"):
        MultiHeadAttention(8, 2)(torch.zeros(1, 6, 8), bias=torch.zeros(6, 6), packing=packing)
    with pytest.raises(ModelInputError, match="5 tokens but a mask with room for 6"):
        pad(torch.zeros(5), torch.ones(2, 3).bool())
    with pytest.raises(ModelInputError, match="the mask has shape"):
        unpad(torch.zeros(2, 3), torch.ones(2, 4).bool())


def test_rows_are_filled_first_fit_longest_first():
    rows = pack_rows([3, 7, 2, 5, 1], budget=8)
    assert [row.sequences for row in rows] == [[1, 4], [3, 0], [2]]
    assert [row.cu_seqlens.tolist() for row in rows] == [[0, 7, 8], [0, 5, 8], [0, 2]]
    assert rows[0].cu_seqlens.dtype == torch.int32
    assert pack_rows([], budget=8) == []
    with pytest.raises(ModelInputError, match="9 tokens but rows of 8"):
        pack_rows([9], budget=8)


@given(lengths=st.lists(st.integers(0, 20), max_size=40), budget=st.integers(20, 50))
@settings(max_examples=60, deadline=None)
def test_every_sequence_lies_in_one_row_within_budget_and_no_two_rows_could_be_one(lengths, budget):
    rows = pack_rows(lengths, budget)
    assert sorted(i for row in rows for i in row.sequences) == list(range(len(lengths)))
    used = [int(row.cu_seqlens[-1]) for row in rows]
    assert all(
        row.cu_seqlens.diff().tolist() == [lengths[i] for i in row.sequences] for row in rows
    )
    assert all(total <= budget for total in used)
    assert all(a + b > budget for n, a in enumerate(used) for b in used[n + 1 :])
