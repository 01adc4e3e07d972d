"""Tables of pages, and the configurations of open models that chapter 12 compares."""

import pytest
from transformers import DeepseekV3Config, GptOssConfig, Llama4TextConfig, MistralConfig

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
        assert ours.latent == config.kv_lora_rank + config.qk_rope_head_dim
        assert ours.head_dim == config.v_head_dim
    else:
        assert ours.head_dim == config.head_dim
    if name in ("Llama 4 Scout", "gpt-oss-120b"):
        window = getattr(config, "sliding_window", None) or config.attention_chunk_size
        assert ours.window == window
        assert ours.global_layers == config.layer_types.count("full_attention")


def test_a_hybrid_cache_keeps_one_window_in_local_layers():
    gemma = MODELS["Gemma 3 27B"]
    assert gemma.global_layers == 10
    assert gemma.cache_bytes(1024) == 1024 * gemma.bytes_per_token
    assert gemma.cache_bytes(2048) == 1024 * gemma.bytes_per_token + 1024 * 10 * gemma.layer_bytes
    assert MODELS["DeepSeek-V3"].bytes_per_token == 61 * 576 * 2
    assert MODELS["Mistral 7B v0.1"].cache_bytes(10_000) == 4096 * 32 * 2 * 8 * 128 * 2
