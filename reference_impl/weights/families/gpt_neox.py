"""The files of GPT-NeoX and Pythia."""

from typing import Any

from reference_impl.weights.families import tables
from reference_impl.weights.families.rotary import take
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import DECODER, Published, same
from reference_impl.weights.shards import WeightsError


def read(config: dict[str, Any]) -> dict[str, Any]:
    """Rotary settings have moved, and had names of their own.

    `transformers` passes over a rope_theta beside them.
    """
    stray = config.pop("rope_theta", None)
    rotary = take(
        config,
        ("default",),
        rope_theta="rotary_emb_base",
        partial_rotary_factor="rotary_pct",
    )
    if stray not in (None, rotary.parameters.get("rope_theta", 10_000)):
        raise WeightsError(
            f"config.json sets rope_theta to {stray!r} outside of its rope_parameters,"
            " where GPT-NeoX has rotary_emb_base: move it into rope_parameters, or"
            " leave it out"
        )
    return {
        **config,
        **{f"rope_parameters.{key}": value for key, value in rotary.parameters.items()},
    }


_UNDROPPED = "nothing is dropped in training"
CONFIG = Published(
    "gpt_neox",
    same(
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "hidden_act",
        "max_position_embeddings",
        "layer_norm_eps",
    )
    | {
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "parallel": "use_parallel_residual",
        "rope_theta": "rope_parameters.rope_theta",
        "rotary_share": "rope_parameters.partial_rotary_factor",
    },
    {
        **DECODER,
        "attention_bias": (True, "linear layers have biases"),
        "tie_word_embeddings": (False, "the output layer is a matrix of its own"),
        "attention_dropout": (0, _UNDROPPED),
        "hidden_dropout": (0, _UNDROPPED),
        "attention_probs_dropout_prob": (0, _UNDROPPED),
        "hidden_dropout_prob": (0, _UNDROPPED),
    },
    frozenset({"is_decoder", "classifier_dropout"}),
    read=read,
)
FILES = Files(
    Names(
        {
            "embedding": "gpt_neox.embed_in",
            "blocks.*.attention_norm": "gpt_neox.layers.*.input_layernorm",
            "blocks.*.attention.qkv": "gpt_neox.layers.*.attention.query_key_value",
            "blocks.*.attention.output": "gpt_neox.layers.*.attention.dense",
            "blocks.*.feed_forward_norm": "gpt_neox.layers.*.post_attention_layernorm",
            "blocks.*.feed_forward.up": "gpt_neox.layers.*.mlp.dense_h_to_4h",
            "blocks.*.feed_forward.down": "gpt_neox.layers.*.mlp.dense_4h_to_h",
            "norm": "gpt_neox.final_layer_norm",
            "output": "lm_head",
        },
        files={"embed_out.weight": "lm_head.weight"},
        computed={
            "gpt_neox.layers.*.attention.bias": tables.causal,
            "gpt_neox.layers.*.attention.masked_bias": tables.hiding,
            "gpt_neox.layers.*.attention.rotary_emb.inv_freq": tables.frequencies,
            "gpt_neox.rotary_emb.inv_freq": tables.frequencies,
        },
    )
)
