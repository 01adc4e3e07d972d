"""Formulas against torch's counter, and the counter against a product worked by hand."""

import pytest
import torch
from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

from reference_impl.layers.attention import attention, plain_attention
from reference_impl.measure.flops import (
    attention_flops,
    block_flops,
    block_parameters,
    count_flops,
    count_parameters,
)
from reference_impl.models.bert import Bert, BertConfig
from reference_impl.models.gpt import Block as GPTBlock
from reference_impl.models.gpt import GPTConfig
from reference_impl.models.llama import Block as LlamaBlock
from reference_impl.models.llama import LlamaConfig


def test_a_product_is_two_operations_for_each_of_its_terms_and_its_backward_pass_two_more_products():  # noqa: E501
    a, b = torch.ones(3, 5, requires_grad=True), torch.ones(5, 7, requires_grad=True)
    assert count_flops(lambda: a @ b) == 2 * 3 * 5 * 7
    assert count_flops(lambda: (a @ b).sum().backward()) == 3 * 2 * 3 * 5 * 7


@pytest.mark.parametrize("attend", [plain_attention, attention])
def test_attention_by_formula_is_what_is_counted(attend):
    q, k = torch.ones(1, 4, 6, 8), torch.ones(1, 4, 9, 8)
    assert (
        count_flops(lambda: attend(q, k, k)) == attention_flops(6, 9, 4, 8) == 2 * 2 * 4 * 6 * 9 * 8
    )


def test_fused_attentions_backward_pass_has_five_products_where_torch_counts_it():
    q, k = torch.ones(2, 4, 6, 8, requires_grad=True), torch.ones(2, 4, 9, 8, requires_grad=True)
    grad_out = (2, 4, 6, 8)
    theirs = sdpa_flop_count(q.shape, k.shape, k.shape) + sdpa_backward_flop_count(
        grad_out, q.shape, k.shape, k.shape
    )
    assert count_flops(lambda: attention(q, k, k).sum().backward()) == theirs


def test_a_gpt_block_by_formula_is_what_is_counted():
    config = GPTConfig(hidden_size=24, num_heads=3, intermediate_size=50, dropout=0.0)
    block, x = GPTBlock(config), torch.ones(1, 10, 24, requires_grad=True)
    assert count_flops(lambda: block(x)) == block_flops(10, 24, 3, 50)
    assert count_parameters(block) == block_parameters(24, 3, 50)
    block.attention.requires_grad_(False)
    assert (
        count_parameters(block, trained_only=True)
        == block_parameters(24, 3, 50) - 4 * 24 * 24 - 4 * 24
    )


def test_gpt2s_and_llamas_published_sizes_follow():
    embeddings = (50_257 + 1024) * 768
    assert 12 * block_parameters(768, 12, 3072) + embeddings + 2 * 768 == 124_439_808
    block = block_parameters(4096, 32, 14_336, num_kv_heads=8, gated=True, biases=False)
    assert 32 * block + 2 * 128_256 * 4096 + 4096 == 8_030_261_248


def test_a_grouped_gated_block_has_as_many_parameters_as_the_formula_says():
    config = LlamaConfig(
        vocab_size=7,
        hidden_size=24,
        num_heads=6,
        num_kv_heads=2,
        intermediate_size=40,
        num_layers=1,
    )
    assert count_parameters(LlamaBlock(config)) == block_parameters(
        24, 6, 40, num_kv_heads=2, gated=True, biases=False
    )


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_a_pass_without_gradients_counts_as_one_with_them(without):
    model = Bert(
        BertConfig(vocab_size=31, hidden_size=8, num_layers=2, num_heads=2, intermediate_size=6)
    ).eval()
    ids = torch.ones(2, 5, dtype=torch.long)
    expected = count_flops(lambda: model(ids))
    with without():
        assert count_flops(lambda: model(ids)) == expected > 0
