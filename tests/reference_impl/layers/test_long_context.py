"""YaRN, sinks and alternating windows against transformers' gpt-oss, DeepSeek and Gemma 3."""

import math
from types import SimpleNamespace

import pytest
import torch
import transformers
from torch.testing import assert_close
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

from reference_impl.layers.attention import plain_attention
from reference_impl.layers.long_context import (
    layer_windows,
    sink_attention,
    with_temperature,
    yarn,
)
from reference_impl.layers.masks import causal_mask
from reference_impl.layers.rotary import rotary_tables, rotate


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize(
    "size, base, factor, trained, rotations",
    [
        (64, 150_000.0, 32.0, 4096, (1.0, 32.0)),  # gpt-oss
        (128, 1_000_000.0, 4.0, 32_768, (1.0, 32.0)),  # Qwen
        (64, 10_000.0, 40.0, 4096, (1.0, 32.0)),  # DeepSeek-V3
        (16, 500.0, 8.0, 60, (0.5, 4.0)),
    ],
)
def test_frequencies_and_temperature_are_transformers(
    size, base, factor, trained, rotations, truncate
):
    config = transformers.LlamaConfig(
        head_dim=size,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": base,
            "factor": factor,
            "original_max_position_embeddings": trained,
            "beta_slow": rotations[0],
            "beta_fast": rotations[1],
            "truncate": truncate,
        },
    )
    theirs, temperature = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    ours = yarn(size, base, factor, trained, rotations, truncate)
    frequencies = base ** (-torch.arange(0, size, 2).double() / size)
    assert_close((frequencies / ours.interpolation).float(), theirs, rtol=1e-5, atol=1e-9)
    assert ours.temperature == pytest.approx(temperature)


def test_the_temperature_multiplies_scores_by_its_square():
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 5, 8), torch.randn(1, 1, 5, 8)
    tables = rotary_tables(torch.arange(5), 8)
    hot = with_temperature(tables, 1.5)
    assert_close(
        rotate(q, hot) @ rotate(k, hot).mT, 2.25 * rotate(q, tables) @ rotate(k, tables).mT
    )


def test_attention_with_sinks_is_gpt_osss():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 7, 4), torch.randn(2, 2, 7, 4)
    sink, seen = torch.randn(6), causal_mask(5, 7)
    module = SimpleNamespace(num_key_value_groups=3, sinks=sink, training=False)
    bias = torch.zeros(5, 7).masked_fill(~seen, -torch.inf)[None, None]
    expected, _ = eager_attention_forward(module, q, k, v, bias, scaling=4**-0.5)
    assert_close(sink_attention(q, k, v, sink, seen).transpose(1, 2), expected)


def test_a_sink_of_minus_infinity_is_none_and_a_large_one_takes_all():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 5, 4) for _ in range(3))
    none = torch.full((2,), -math.inf)
    assert_close(sink_attention(q, k, v, none), plain_attention(q, k, v))
    assert sink_attention(q, k, v, torch.full((2,), 50.0)).abs().max() < 1e-12


@pytest.mark.parametrize(
    "config, window, every",
    [
        (transformers.GptOssConfig(), 128, 2),
        (transformers.Gemma3TextConfig(num_hidden_layers=62, sliding_window=1024), 1024, 6),
    ],
)
def test_layers_alternate_as_in_the_library(config, window, every):
    ours = layer_windows(config.num_hidden_layers, window, every)
    assert config.sliding_window == window
    assert [
        "full_attention" if one is None else "sliding_attention" for one in ours
    ] == config.layer_types
