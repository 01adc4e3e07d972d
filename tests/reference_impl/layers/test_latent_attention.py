"""Multi-head latent attention against transformers' DeepSeek-V3, both forms, with a cache."""

import pytest
import torch
from torch.testing import assert_close
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
)

from reference_impl.layers.latent_attention import LatentAttention, LatentCache, LatentConfig
from reference_impl.layers.rotary import rotary_tables
from reference_impl.measure.cache_bytes import latent_bytes_per_token

SIZES = LatentConfig(
    hidden_size=12, num_heads=3, query_rank=5, rank=7, rotary_dim=4, plain_dim=6, value_dim=8
)
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def pair(query_rank):
    theirs_config = DeepseekV3Config(
        hidden_size=12,
        num_attention_heads=3,
        num_key_value_heads=3,
        q_lora_rank=query_rank,
        kv_lora_rank=7,
        qk_rope_head_dim=4,
        qk_nope_head_dim=6,
        v_head_dim=8,
        rope_interleave=True,
    )
    theirs_config._attn_implementation = "eager"
    theirs = DeepseekV3Attention(theirs_config, layer_idx=0).eval()
    ours = LatentAttention(LatentConfig(**{**vars(SIZES), "query_rank": query_rank}))
    torch.manual_seed(0)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    names = {
        "down": "kv_a_proj_with_mqa",
        "norm": "kv_a_layernorm",
        "up": "kv_b_proj",
        "output": "o_proj",
    }
    queries = {"query": "q_proj"}
    if query_rank:
        queries = {"query.0": "q_a_proj", "query.1": "q_a_layernorm", "query.2": "q_b_proj"}
    state = theirs.state_dict()
    ours.load_state_dict(
        {f"{mine}.weight": state[f"{its}.weight"] for mine, its in (names | queries).items()}
    )
    return ours, theirs, DeepseekV3RotaryEmbedding(theirs_config)


@pytest.mark.parametrize("absorb", [False, True])
@pytest.mark.parametrize("query_rank", [5, None])
def test_outputs_and_gradients_are_transformers(query_rank, absorb):
    ours, theirs, embedding = pair(query_rank)
    x, length = torch.randn(2, 9, 12), 9
    positions = torch.arange(length)[None]
    hidden = torch.full((length, length), -torch.inf).triu(1)[None, None]
    expected, _ = theirs(x, embedding(x, positions), hidden)
    out = ours(x, rotary_tables(torch.arange(length), 4), absorb=absorb)
    assert_close(out, expected, **CLOSE)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(ours.up.weight.grad, theirs.kv_b_proj.weight.grad, rtol=1e-4, atol=1e-4)
    assert_close(ours.down.weight.grad, theirs.kv_a_proj_with_mqa.weight.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("absorb", [False, True])
def test_a_cache_of_latents_changes_nothing(absorb):
    torch.manual_seed(1)
    layer, x = LatentAttention(SIZES), torch.randn(2, 8, 12)
    whole = layer(x, rotary_tables(torch.arange(8), 4))
    cache, parts = LatentCache(), []
    for start, end in ((0, 5), (5, 6), (6, 8)):
        tables = rotary_tables(torch.arange(start, end), 4)
        parts.append(layer(x[:, start:end], tables, cache, absorb))
    assert_close(torch.cat(parts, dim=1), whole, **CLOSE)
    assert cache.length == 8
    kept = cache.latent[0].numel() + cache.rotated[0].numel()
    assert kept * 4 == 8 * latent_bytes_per_token(1, 7, 4, torch.float32)


def test_a_token_of_deepseek_v3_takes_what_its_report_says():
    assert latent_bytes_per_token(61, 512, 64, torch.bfloat16) == 61 * 576 * 2 == 70_272
