"""The files of Gemma 3's text models."""

from typing import Any

from reference_impl.weights.families.layer_types import global_every
from reference_impl.weights.families.rotary import parse
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import DECODER, Published, same


def read(config: dict[str, Any]) -> dict[str, Any]:
    """What is nested in a config.json, or said in an older way, into flat settings."""
    config = dict(config)
    nested = config.pop("rope_parameters", None) or {}
    scaling = config.pop("rope_scaling", None) or {}
    wide = {
        "rope_theta": config.pop("rope_theta", 1_000_000.0),
        **scaling,
        **(nested.get("full_attention") or {}),
    }
    local = {
        "rope_theta": config.pop("rope_local_base_freq", 10_000.0),
        **(nested.get("sliding_attention") or {}),
    }
    _, wide = parse(wide, ("default", "linear"))
    _, local = parse(local, ("default",))
    every = config.pop("sliding_window_pattern", 6)
    if (kinds := config.pop("layer_types", None)) is not None:
        every = global_every(kinds)
    return {
        **config,
        "global_every": every,
        "global_theta": wide["rope_theta"],
        "global_interpolation": wide.get("factor", 1.0),
        "local_theta": local["rope_theta"],
    }


GEMMA3 = Published(
    "gemma3_text",
    {
        **same(
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "head_dim",
            "max_position_embeddings",
            "rms_norm_eps",
            "tie_word_embeddings",
            "global_every",
            "global_theta",
            "global_interpolation",
            "local_theta",
        ),
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "num_kv_heads": "num_key_value_heads",
        "window": "sliding_window",
        "score_width": "query_pre_attn_scalar",
    },
    {
        **DECODER,
        "attention_bias": (False, "there are no biases"),
        "hidden_activation": ("gelu_pytorch_tanh", "the feed-forward is GeGLU"),
        "attention_dropout": (0, "nothing is dropped in training"),
        "final_logit_softcapping": (None, "logits are not capped"),
        "attn_logit_softcapping": (None, "scores are not capped"),
        "use_bidirectional_attention": (False, "it is a decoder"),
    },
    frozenset({"_sliding_window_pattern", "cache_implementation"}),
    {
        "vocab_size": 262_208,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "sliding_window": 4096,
    },
    read,
)
FORMATS = (GEMMA3,)

_THEIRS = "model.layers.*"
FILES = Files(
    Names(
        {
            "embedding": "model.embed_tokens",
            "blocks.*.attention_norm": f"{_THEIRS}.input_layernorm",
            "blocks.*.attention.query": f"{_THEIRS}.self_attn.q_proj",
            "blocks.*.attention.key": f"{_THEIRS}.self_attn.k_proj",
            "blocks.*.attention.value": f"{_THEIRS}.self_attn.v_proj",
            "blocks.*.attention.output": f"{_THEIRS}.self_attn.o_proj",
            "blocks.*.attention.query_norm": f"{_THEIRS}.self_attn.q_norm",
            "blocks.*.attention.key_norm": f"{_THEIRS}.self_attn.k_norm",
            "blocks.*.attention_post_norm": f"{_THEIRS}.post_attention_layernorm",
            "blocks.*.feed_forward_norm": f"{_THEIRS}.pre_feedforward_layernorm",
            "blocks.*.feed_forward.gate": f"{_THEIRS}.mlp.gate_proj",
            "blocks.*.feed_forward.up": f"{_THEIRS}.mlp.up_proj",
            "blocks.*.feed_forward.down": f"{_THEIRS}.mlp.down_proj",
            "blocks.*.feed_forward_post_norm": f"{_THEIRS}.post_feedforward_layernorm",
            "norm": "model.norm",
            "output": "lm_head",
        }
    )
)
