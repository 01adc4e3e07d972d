"""Attention against torch's operator and module, values and gradients, in float64."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from reference_impl.layers.attention import (
    MultiHeadAttention,
    attention,
    attention_weights,
    plain_attention,
    textbook_attention,
)
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.masks import causal_mask, join, key_mask, lengths_mask, window_mask
from reference_impl.layers.rotary import rotary_tables

CLOSE = {"rtol": 0, "atol": 1e-12}
BOTH = pytest.mark.parametrize("attend", [plain_attention, attention])


def assert_same(ours, theirs, inputs):
    """Values, and the gradients of a random weighting of them, agree."""
    torch.testing.assert_close(ours, theirs, **CLOSE)
    weights = torch.linspace(-1, 1, ours.numel(), dtype=ours.dtype).view_as(ours)
    for one, other in zip(
        torch.autograd.grad((ours * weights).sum(), inputs),
        torch.autograd.grad((theirs * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(one, other, **CLOSE)


@BOTH
@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1, 1), (2, 3, 5, 5, 7), (3, 2, 4, 9, 3), (1, 4, 70, 70, 8)]
)
def test_attention_is_torchs(randn, attend, shape):
    b, h, t, s, d = shape
    q, k, v = randn(b, h, t, d), randn(b, h, s, d), randn(b, h, s, d)
    assert_same(attend(q, k, v), scaled_dot_product_attention(q, k, v), [q, k, v])


@pytest.mark.parametrize("masked", [False, True])
def test_the_textbook_form_is_the_full_one_where_every_query_has_a_key(randn, masked):
    q, k, v = randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 4)
    mask = causal_mask(5, 6) & key_mask(lengths_mask(torch.tensor([6, 2]))) if masked else None
    assert_same(textbook_attention(q, k, v, mask), plain_attention(q, k, v, mask), [q, k, v])


@BOTH
def test_scale_bias_and_mask_are_taken_as_torch_takes_them(randn, attend):
    q, k, v, bias = randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 4), randn(3, 5, 6)
    mask = torch.rand(2, 1, 5, 6, generator=torch.Generator().manual_seed(1)) < 0.5
    mask[..., 0] = True
    theirs = scaled_dot_product_attention(q, k, v, bias.masked_fill(~mask, -torch.inf), scale=1.0)
    assert_same(attend(q, k, v, mask, bias, 1.0), theirs, [q, k, v, bias])


@BOTH
def test_a_row_that_sees_no_key_is_zero_in_value_and_gradient(randn, attend):
    q, k, v = randn(1, 2, 3, 4), randn(1, 2, 3, 4), randn(1, 2, 3, 4)
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    mixed = attend(q, k, v, mask)
    mixed.sum().backward()
    assert (mixed[:, :, 1] == 0).all() and (mixed[:, :, 0] != 0).all()
    assert (q.grad[:, :, 1] == 0).all()
    assert all(tensor.grad.isfinite().all() for tensor in (q, k, v))


@BOTH
def test_a_row_that_sees_no_key_is_zero_with_a_bias_too(randn, attend):
    q, bias = randn(1, 2, 3, 4), randn(2, 3, 3)
    mixed = attend(q, q, q, torch.zeros(3, 3, dtype=torch.bool), bias)
    mixed.sum().backward()
    assert (mixed == 0).all() and bias.grad.isfinite().all() and q.grad.isfinite().all()


def test_weights_of_a_row_sum_to_one_over_the_keys_it_sees(randn):
    mask = key_mask(lengths_mask(torch.tensor([2, 4])))
    weights = attention_weights(randn(2, 3, 4, 5), randn(2, 3, 4, 5), mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 4, dtype=torch.float64))
    assert (weights[0, :, :, 2:] == 0).all() and (weights[1] > 0).all()


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
@BOTH
def test_a_group_of_heads_shares_its_keys(randn, attend, num_kv_heads):
    q, k, v = randn(2, 6, 5, 4), randn(2, num_kv_heads, 5, 4), randn(2, num_kv_heads, 5, 4)
    assert_same(attend(q, k, v), scaled_dot_product_attention(q, k, v, enable_gqa=True), [q, k, v])


@pytest.mark.parametrize(
    "num_queries, num_keys, masked", [(5, 5, False), (5, 5, True), (3, 7, False), (1, 6, True)]
)
def test_causal_attention_is_attention_with_the_causal_mask(randn, num_queries, num_keys, masked):
    q, k, v = randn(2, 3, num_queries, 4), randn(2, 3, num_keys, 4), randn(2, 3, num_keys, 4)
    mask = (
        key_mask(lengths_mask(torch.tensor([num_keys, num_keys - 2]), num_keys)) if masked else None
    )
    theirs = plain_attention(q, k, v, join(mask, causal_mask(num_queries, num_keys)))
    assert_same(attention(q, k, v, mask, causal=True), theirs, [q, k, v])


def test_a_later_token_does_not_change_an_earlier_result(randn):
    q, changed = randn(1, 2, 6, 4), randn(1, 2, 6, 4)
    changed = torch.cat((q[:, :, :4], changed[:, :, 4:]), dim=2)
    one, other = (attention(x, x, x, causal=True) for x in (q, changed))
    assert torch.equal(one[:, :, :4], other[:, :, :4]) and not torch.equal(
        one[:, :, 4:], other[:, :, 4:]
    )


def test_window_masks_are_what_their_definition_says():
    mask = window_mask(4, 6, before=2, after=1)
    expected = [
        [abs_key - query >= -2 and abs_key - query <= 1 for abs_key in range(6)]
        for query in range(2, 6)
    ]
    assert mask.tolist() == expected
    assert torch.equal(window_mask(5, before=4), causal_mask(5))


@pytest.mark.parametrize(
    "hidden_size, num_heads, lengths", [(6, 3, [4, 1, 3]), (5, 1, [7, 7]), (16, 4, [33, 20])]
)
@pytest.mark.parametrize("to_memory", [False, True])
def test_multi_head_attention_is_torchs_module(randn, hidden_size, num_heads, lengths, to_memory):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(hidden_size, num_heads, batch_first=True, dtype=torch.float64)
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    ours = MultiHeadAttention(hidden_size, num_heads).double()
    projections = zip(
        (ours.query, ours.key, ours.value),
        theirs.in_proj_weight.chunk(3),
        theirs.in_proj_bias.chunk(3),
    )
    for linear, weight, bias in projections:
        linear.load_state_dict({"weight": weight, "bias": bias})
    ours.output.load_state_dict(theirs.out_proj.state_dict())
    tokens = lengths_mask(torch.tensor(lengths))
    memory = randn(*tokens.shape, hidden_size)
    x = randn(len(lengths), 5, hidden_size) if to_memory else memory
    expected, _ = theirs(x, memory, memory, key_padding_mask=~tokens)
    mixed = ours(x, memory if to_memory else None, mask=key_mask(tokens))
    assert_same(mixed, expected, [x, memory] if to_memory else [x])


def test_known_keys_and_values_stand_for_the_memory_or_for_x(randn):
    layer, x, memory = (
        MultiHeadAttention(8, 4, num_kv_heads=2).double(),
        randn(2, 3, 8),
        randn(2, 5, 8),
    )
    torch.testing.assert_close(layer(x, known=layer.keys_values(memory)), layer(x, memory))
    torch.testing.assert_close(
        layer(x, known=layer.keys_values(x), causal=True), layer(x, causal=True)
    )
    with pytest.raises(ModelInputError, match="rotary positions with known keys"):
        layer(
            x,
            known=layer.keys_values(x),
            rotary=rotary_tables(torch.arange(3), 2, dtype=torch.float64),
        )


def test_rotary_positions_turn_queries_and_keys_but_not_values(randn):
    layer = MultiHeadAttention(8, 2).double()
    x = randn(1, 5, 8)
    alone = layer(x[:, 4:], rotary=rotary_tables(torch.tensor([4]), 4, dtype=torch.float64))
    torch.testing.assert_close(
        alone, layer(x[:, 4:]), **CLOSE
    )  # a sequence of one shows the values
    tables = rotary_tables(torch.arange(5), 4, dtype=torch.float64)
    assert not torch.allclose(layer(x, rotary=tables), layer(x))


def test_dropout_acts_in_training_only(randn):
    layer, x = MultiHeadAttention(8, 2, dropout=0.5).double(), randn(1, 5, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_a_mask_of_numbers_is_refused(randn):
    q = randn(1, 1, 2, 2)
    for attend in (plain_attention, attention):
        with pytest.raises(Exception, match="mask"):
            attend(q, q, q, torch.zeros(2, 2))


def test_heads_that_do_not_divide_are_refused(randn):
    with pytest.raises(ModelInputError, match="hidden_size 7 is not a multiple of num_heads 2"):
        MultiHeadAttention(7, 2)
    with pytest.raises(ModelInputError, match="num_heads 4 is not a multiple of num_kv_heads 3"):
        MultiHeadAttention(8, 4, num_kv_heads=3)
    with pytest.raises(ModelInputError, match="4 heads of queries are not a multiple of 3"):
        attention(randn(1, 4, 2, 2), randn(1, 3, 2, 2), randn(1, 3, 2, 2))
