"""The files of T5 and T5 1.1, which are two models under one model_type."""

from typing import Any

from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import Published, same
from reference_impl.weights.shards import WeightsError

VERSIONS = {("relu", True): ("relu", False), ("gated-gelu", False): ("gelu_new", True)}
"""From the feed-forward and whether outputs are scaled to how newer files tell the
feed-forward once more."""


def read(config: dict[str, Any]) -> dict[str, Any]:
    """What is told by several settings is one version."""
    feed_forward, tied = (
        config.pop("feed_forward_proj", "relu"),
        config.pop("tie_word_embeddings", True),
    )
    scaled = config.pop(
        "scale_decoder_outputs", tied
    )  # newer files say it by this, older ones by the other
    if (feed_forward, scaled) not in VERSIONS:
        raise WeightsError(
            f"config.json has the feed-forward {feed_forward!r} and outputs that are"
            f" {'' if scaled else 'not '}scaled: T5 is 'relu' with those that are, 1.1"
            " is 'gated-gelu' with those that are not"
        )
    act, gated = VERSIONS[feed_forward, scaled]
    for key, value in (("dense_act_fn", act), ("is_gated_act", gated)):
        if config.pop(key, value) != value:
            raise WeightsError(
                f"config.json sets {key} beside feed_forward_proj {feed_forward!r}, to"
                " which it does not belong"
            )
    return {**config, "version_1_1": not scaled}


CONFIG = Published(
    "t5",
    same("vocab_size", "num_layers", "num_decoder_layers", "num_heads", "version_1_1")
    | {
        "hidden_size": "d_model",
        "head_dim": "d_kv",
        "intermediate_size": "d_ff",
        "num_buckets": "relative_attention_num_buckets",
        "max_distance": "relative_attention_max_distance",
        "layer_norm_eps": "layer_norm_epsilon",
        "dropout": "dropout_rate",
    },
    {
        "is_encoder_decoder": (True, "there is an encoder and a decoder"),
        "is_decoder": (False, "there is an encoder and a decoder"),
        "pruned_heads": ({}, "all heads are there"),
    },
    frozenset({"n_positions", "initializer_factor", "classifier_dropout"}),
    read=read,
)


def _stack(stack: str, last: int) -> dict[str, str]:
    """A stack's names; `last` is the number of the feed-forward among a
    block's layers.
    """
    return {
        f"{stack}.{ours}": f"{stack}.{theirs}"
        for ours, theirs in {
            "positions.table": "block.0.layer.0.SelfAttention.relative_attention_bias",
            "blocks.*.attention_norm": "block.*.layer.0.layer_norm",
            "blocks.*.attention.query": "block.*.layer.0.SelfAttention.q",
            "blocks.*.attention.key": "block.*.layer.0.SelfAttention.k",
            "blocks.*.attention.value": "block.*.layer.0.SelfAttention.v",
            "blocks.*.attention.output": "block.*.layer.0.SelfAttention.o",
            "blocks.*.feed_forward_norm": f"block.*.layer.{last}.layer_norm",
            "blocks.*.feed_forward.down": f"block.*.layer.{last}.DenseReluDense.wo",
            "norm": "final_layer_norm",
        }.items()
    }


def _both(ours: str, theirs: str) -> dict[str, str]:
    """A part of the feed-forward in either stack."""
    return {
        f"{stack}.blocks.*.feed_forward.{ours}": (
            f"{stack}.block.*.layer.{last}.DenseReluDense.{theirs}"
        )
        for stack, last in (("encoder", 1), ("decoder", 2))
    }


_COMMON = {
    "embedding": "shared",
    **_stack("encoder", last=1),
    **_stack("decoder", last=2),
    "decoder.blocks.*.cross_norm": "decoder.block.*.layer.1.layer_norm",
    "decoder.blocks.*.cross_attention.query": (
        "decoder.block.*.layer.1.EncDecAttention.q"
    ),
    "decoder.blocks.*.cross_attention.key": "decoder.block.*.layer.1.EncDecAttention.k",
    "decoder.blocks.*.cross_attention.value": (
        "decoder.block.*.layer.1.EncDecAttention.v"
    ),
    "decoder.blocks.*.cross_attention.output": (
        "decoder.block.*.layer.1.EncDecAttention.o"
    ),
}
_TWICE = {
    "encoder.embed_tokens.weight": "shared.weight",
    "decoder.embed_tokens.weight": "shared.weight",
}
NAMES = Names(
    {**_COMMON, **_both("up", "wi")},
    twice={**_TWICE, "lm_head.weight": "shared.weight"},
)
# The library ties the two matrices of 1.1 unless a file brings both, and then writes
# one.
NAMES_1_1 = Names(
    {**_COMMON, **_both("gate", "wi_0"), **_both("up", "wi_1"), "output": "lm_head"},
    twice=_TWICE,
    otherwise={"lm_head.weight": "shared.weight"},
)
FILES = Files(
    lambda config: NAMES_1_1 if config.version_1_1 else NAMES,
    leave=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.",),
)  # the first files', unused
