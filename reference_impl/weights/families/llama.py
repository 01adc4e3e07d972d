"""The files of LLaMA and of the families next to it: Mistral, Mixtral, Qwen2, Qwen3.

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


def reader(
    theta: float = 10_000.0, **fixed: bool
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What is nested in a config.json of this kind into flat settings; `fixed` are what
    sets the kind apart, `theta` what the library takes if a file gives none.
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
        return {
            **config,
            **fixed,
            "rope_parameters.rope_theta": rope.get("rope_theta", theta),
            "rope_parameters.factor": rope.get("factor", 1.0),
            "rope_parameters.bands": (
                tuple(rope[name] for name in BANDS) if kind == "llama3" else None
            ),
        }

    return read


def read_qwen3_moe(config: dict[str, Any]) -> dict[str, Any]:
    """Files that transformers 5 writes call `num_experts` `num_local_experts`."""
    if "num_local_experts" in config:
        config = {**config, "num_experts": config["num_local_experts"]}
        del config["num_local_experts"]
    return reader(qk_norm=True)(config)


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
_TRAINING = frozenset(
    {"output_router_logits", "router_aux_loss_coef", "router_jitter_noise"}
)
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
MIXTRAL = Published(
    "mixtral",
    {
        **_SETTINGS,
        **same("sliding_window"),
        "num_experts": "num_local_experts",
        "experts_per_token": "num_experts_per_tok",
    },
    _ONLY,
    _FREE | _TRAINING,
    {
        "intermediate_size": 14_336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-5,
        "num_experts_per_tok": 2,
        "num_local_experts": 8,
    },
    reader(theta=1e6),
)
QWEN3_MOE = Published(
    "qwen3_moe",
    {
        **_SETTINGS,
        **same("qk_norm", "num_experts"),
        "experts_per_token": "num_experts_per_tok",
        "expert_size": "moe_intermediate_size",
        "normalize_experts": "norm_topk_prob",
    },
    _QWEN_ONLY
    | {
        "decoder_sparse_step": (1, "every layer is a mixture of experts"),
        "mlp_only_layers": ([], "every layer is a mixture of experts"),
    },
    _QWEN_FREE | _TRAINING,
    {
        "vocab_size": 151_936,
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "num_hidden_layers": 24,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32_768,
        "use_sliding_window": False,
        "moe_intermediate_size": 768,
        "num_experts_per_tok": 8,
        "num_experts": 128,
        "norm_topk_prob": False,
    },
    read_qwen3_moe,
)
FORMATS = LLAMA, MISTRAL, QWEN2, QWEN3, MIXTRAL, QWEN3_MOE

_BLOCK = {
    "embedding": "model.embed_tokens",
    "blocks.*.attention_norm": "model.layers.*.input_layernorm",
    "blocks.*.attention.query": "model.layers.*.self_attn.q_proj",
    "blocks.*.attention.key": "model.layers.*.self_attn.k_proj",
    "blocks.*.attention.value": "model.layers.*.self_attn.v_proj",
    "blocks.*.attention.output": "model.layers.*.self_attn.o_proj",
    "blocks.*.attention.query_norm": "model.layers.*.self_attn.q_norm",
    "blocks.*.attention.key_norm": "model.layers.*.self_attn.k_norm",
    "blocks.*.feed_forward_norm": "model.layers.*.post_attention_layernorm",
    "norm": "model.norm",
    "output": "lm_head",
}
_PARTS = {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
_MIXTRAL_PARTS = {"gate": "w1", "up": "w3", "down": "w2"}


def _names(config: Any) -> Names:
    """Mixtral's experts are called otherwise than those of a Qwen3."""
    ours, theirs, parts = "blocks.*.feed_forward", "model.layers.*.mlp", _PARTS
    table = dict(_BLOCK)
    if config.num_experts:
        if not config.qk_norm:
            theirs, parts = "model.layers.*.block_sparse_moe", _MIXTRAL_PARTS
        table[f"{ours}.router.proj"] = f"{theirs}.gate"
        ours, theirs = f"{ours}.experts.*", f"{theirs}.experts.*"
    table |= {f"{ours}.{one}": f"{theirs}.{other}" for one, other in parts.items()}
    return Names(
        table,
        computed={
            "model.layers.*.self_attn.rotary_emb.inv_freq": tables.frequencies,
            "model.rotary_emb.inv_freq": tables.frequencies,
        },
    )


FILES = Files(_names)
