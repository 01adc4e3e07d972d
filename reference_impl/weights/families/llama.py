"""The files of LLaMA and of the families next to it: Mistral, Qwen2, Qwen3.

Each model_type reads other keys.
"""

from collections.abc import Callable
from typing import Any

from reference_impl.weights.families import tables
from reference_impl.weights.families.rotary import take
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import DECODER, Published, same
from reference_impl.weights.shards import WeightsError

BANDS = ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


def reader(**fixed: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What is nested in a config.json of this kind into flat settings; `fixed` are what
    sets the kind apart.
    """

    def read(config: dict[str, Any]) -> dict[str, Any]:
        kind, rope = take(config, ("default", "linear", "llama3"))
        if (layers := config.pop("layer_types", None)) and set(layers) != {
            "full_attention"
        }:
            raise WeightsError(
                f"config.json has layers of the kinds {sorted(set(layers))}: a window"
                " is read for all layers or for none"
            )
        if "use_sliding_window" in config:  # Qwen's carry a window that is switched off
            config.pop("sliding_window", None)
        theta = (
            {"rope_parameters.rope_theta": rope["rope_theta"]}
            if "rope_theta" in rope
            else {}
        )
        return {
            **config,
            **fixed,
            **theta,
            "rope_parameters.factor": rope.get("factor", 1.0),
            "rope_parameters.bands": (
                tuple(rope[name] for name in BANDS) if kind == "llama3" else None
            ),
        }

    return read


_SETTINGS = same(
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "head_dim",
    "max_position_embeddings",
    "rms_norm_eps",
    "tie_word_embeddings",
) | {
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "rope_theta": "rope_parameters.rope_theta",
    "rope_interpolation": "rope_parameters.factor",
    "rope_bands": "rope_parameters.bands",
}
_ONLY = {
    **DECODER,
    "attention_bias": (False, "the output of attention has no bias"),
    "mlp_bias": (False, "there are no biases"),
    "hidden_act": ("silu", "the feed-forward is SwiGLU"),
    "attention_dropout": (0, "nothing is dropped in training"),
    "rope_interleaved": (False, "halves of a head are turned against each other"),
}
_QWEN_ONLY = {
    **_ONLY,
    "use_sliding_window": (False, "a window is for all layers or for none"),
}
_FREE = frozenset({"is_decoder", "pretraining_tp", "is_llama_config"})
_QWEN_FREE = _FREE | {"max_window_layers"}
_QWEN_SIZES = {
    "vocab_size": 151_936,
    "intermediate_size": 22_016,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32_768,
    "use_sliding_window": False,
}

LLAMA = Published("llama", _SETTINGS, _ONLY, _FREE, read=reader())
MISTRAL = Published(
    "mistral",
    {**_SETTINGS, **same("sliding_window")},
    _ONLY,
    _FREE,
    {
        "intermediate_size": 14_336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131_072,
        "sliding_window": 4096,
    },
    reader(),
)
QWEN2 = Published(
    "qwen2",
    {**_SETTINGS, **same("qkv_bias")},
    _QWEN_ONLY,
    _QWEN_FREE,
    _QWEN_SIZES,
    reader(qkv_bias=True),
)
QWEN3 = Published(
    "qwen3",
    {**_SETTINGS, **same("qk_norm")},
    _QWEN_ONLY,
    _QWEN_FREE,
    {**_QWEN_SIZES, "head_dim": 128},
    reader(qk_norm=True),
)
FORMATS = LLAMA, MISTRAL, QWEN2, QWEN3

FILES = Files(
    Names(
        {
            "embedding": "model.embed_tokens",
            "blocks.*.attention_norm": "model.layers.*.input_layernorm",
            "blocks.*.attention.query": "model.layers.*.self_attn.q_proj",
            "blocks.*.attention.key": "model.layers.*.self_attn.k_proj",
            "blocks.*.attention.value": "model.layers.*.self_attn.v_proj",
            "blocks.*.attention.output": "model.layers.*.self_attn.o_proj",
            "blocks.*.attention.query_norm": "model.layers.*.self_attn.q_norm",
            "blocks.*.attention.key_norm": "model.layers.*.self_attn.k_norm",
            "blocks.*.feed_forward_norm": "model.layers.*.post_attention_layernorm",
            "blocks.*.feed_forward.gate": "model.layers.*.mlp.gate_proj",
            "blocks.*.feed_forward.up": "model.layers.*.mlp.up_proj",
            "blocks.*.feed_forward.down": "model.layers.*.mlp.down_proj",
            "norm": "model.norm",
            "output": "lm_head",
        },
        computed={
            "model.layers.*.self_attn.rotary_emb.inv_freq": tables.frequencies,
            "model.rotary_emb.inv_freq": tables.frequencies,
        },
    )
)
