"""Tables of pages, and the configurations of open models that chapter 12 compares."""

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    DeepseekV3Config,
    Gemma3TextConfig,
    GptOssConfig,
    Llama4TextConfig,
    MistralConfig,
    MixtralConfig,
    Qwen3Config,
    Qwen3MoeConfig,
)

from course.book.pages.configurations import MODELS
from course.book.pages.tables import table


def test_columns_of_numbers_are_aligned_to_the_right():
    shown = table("model | size | loss", [("a", 1024, "1.5"), ("b", 7, "–")]).data.split("\n")
    assert shown[1:3] == ["| --- | ---: | ---: |", "| a | 1,024 | 1.5 |"]


def test_a_column_with_a_word_is_aligned_to_the_left():
    assert table("a | b", [("5 × window", 1)]).data.split("\n")[1] == "| --- | ---: |"


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 columns"):
        table("a | b", [(1,)])


@pytest.mark.parametrize(
    "name, config",
    [
        ("Mistral 7B v0.1", MistralConfig()),
        ("Llama 4 Scout", Llama4TextConfig()),
        ("gpt-oss-120b", GptOssConfig()),
        ("DeepSeek-V3", DeepseekV3Config()),
    ],
)
def test_configurations_are_the_defaults_that_transformers_took_from_the_releases(name, config):
    ours = MODELS[name]
    assert (ours.hidden_size, ours.layers, ours.heads, ours.kv_heads, ours.vocabulary) == (
        config.hidden_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.vocab_size,
    )
    assert ours.tied == config.tie_word_embeddings
    if ours.latent:
        assert ours.layer_bytes == 2 * (config.kv_lora_rank + config.qk_rope_head_dim)
        assert ours.head_dim == config.v_head_dim
    else:
        assert ours.head_dim == config.head_dim
    if name in ("Llama 4 Scout", "gpt-oss-120b"):
        window = getattr(config, "sliding_window", None) or config.attention_chunk_size
        assert ours.window == window
        assert ours.global_layers == config.layer_types.count("full_attention")


SMALLER = {"intermediate_size": 12_288, "max_position_embeddings": 40_960, "vocab_size": 151_936}


@pytest.mark.parametrize(
    "name, config",
    [
        ("Mistral 7B v0.1", MistralConfig()),
        ("Mixtral 8x7B", MixtralConfig()),
        ("DeepSeek-V3", DeepseekV3Config()),
        ("Llama 4 Scout", Llama4TextConfig()),
        ("gpt-oss-120b", GptOssConfig()),
        (
            "Gemma 3 27B",
            Gemma3TextConfig(
                vocab_size=262_208,
                hidden_size=5376,
                intermediate_size=21_504,
                num_hidden_layers=62,
                num_attention_heads=32,
                num_key_value_heads=16,
                head_dim=128,
            ),
        ),
        (
            "Qwen3 8B",
            Qwen3Config(
                **SMALLER,
                hidden_size=4096,
                num_hidden_layers=36,
                num_attention_heads=32,
                num_key_value_heads=8,
            ),
        ),
        ("Qwen3 30B-A3B", Qwen3MoeConfig(num_hidden_layers=48, head_dim=128)),
    ],
)
def test_parameters_are_those_of_the_librarys_model_to_a_thousandth(name, config):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert MODELS[name].parameters == pytest.approx(total, rel=1e-3)


@pytest.mark.parametrize(
    "name, total, active",
    [("Mixtral 8x7B", 47, 13), ("DeepSeek-V3", 671, 37.6), ("Qwen3 30B-A3B", 30.5, 3.3)],
)
def test_active_parameters_are_those_that_the_reports_give(name, total, active):
    """In billions; gpt-oss's report leaves the embedding out of 5.13."""
    assert MODELS[name].parameters / 1e9 == pytest.approx(total, rel=0.01)
    assert MODELS[name].active_parameters / 1e9 == pytest.approx(active, rel=0.02)
    oss = MODELS["gpt-oss-120b"]
    assert oss.active_parameters - oss.vocabulary * oss.hidden_size == pytest.approx(
        5.13e9, rel=0.002
    )


def test_a_hybrid_cache_keeps_one_window_in_local_layers():
    gemma = MODELS["Gemma 3 27B"]
    assert gemma.global_layers == 10
    assert gemma.cache_bytes(1024) == 1024 * gemma.bytes_per_token
    assert gemma.cache_bytes(2048) == 1024 * gemma.bytes_per_token + 1024 * 10 * gemma.layer_bytes
    assert MODELS["DeepSeek-V3"].bytes_per_token == 61 * 576 * 2
    assert MODELS["Mistral 7B v0.1"].cache_bytes(10_000) == 4096 * 32 * 2 * 8 * 128 * 2
