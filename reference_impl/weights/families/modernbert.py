"""ModernBERT's files.

Newer ones list each layer's kind and keep the rotary bases by kind.
"""

from typing import Any

from reference_impl.weights.families.rotary import parse
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import ENCODER, TIED, Published, same
from reference_impl.weights.shards import WeightsError

THETA = {"full_attention": "global_rope_theta", "sliding_attention": "local_rope_theta"}


def _period(kinds: list[str], num_layers: int) -> int:
    """Every how many layers one sees the whole text."""
    places = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
    every = places[1] if len(places) > 1 else len(kinds)
    if (
        places != list(range(0, len(kinds), every))
        or len(kinds) != num_layers
        or not set(kinds) <= set(THETA)
    ):
        raise WeightsError(
            f"config.json has whole-text layers at {places} of {num_layers}: every n-th"
            " from 0 can be read"
        )
    return every


def read(config: dict[str, Any]) -> dict[str, Any]:
    """What is told in two places must be told alike."""
    if kinds := config.pop("layer_types", None):
        every = _period(kinds, config["num_hidden_layers"])
        told = config.setdefault("global_attn_every_n_layers", every)
        if told != every and every < len(kinds):
            raise WeightsError(
                f"config.json sets global_attn_every_n_layers to {told!r}, and by its"
                f" layer_types it is {every}"
            )
        config["global_attn_every_n_layers"] = every
    if parse(config.pop("rope_scaling", None) or {}, ("default",)).parameters:
        raise WeightsError(
            "config.json has rope_scaling with a base of its own: bases are read of"
            " each kind of layer"
        )
    rope = config.pop("rope_parameters", None) or {}
    if unknown := sorted(rope.keys() - THETA.keys()):
        raise WeightsError(
            f"config.json has rotary positions for {unknown[0]!r}, and there are layers"
            f" of {' and '.join(THETA)}"
        )
    for kind, parameters in rope.items():
        for value in parse(parameters or {}, ("default",)).parameters.values():
            if config.setdefault(THETA[kind], value) != value:
                raise WeightsError(
                    f"config.json sets {THETA[kind]} to {config[THETA[kind]]!r}, and in"
                    f" rope_parameters it is {value!r}"
                )
    return config


_BIAS, _DROPOUT = (False, "no biases"), (0, "nothing is dropped in training")
CONFIG = Published(
    "modernbert",
    same(
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "norm_eps",
        "local_attention",
        *THETA.values(),
    )
    | {
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "global_every": "global_attn_every_n_layers",
    },
    {
        **ENCODER,
        "hidden_activation": ("gelu", "the feed-forward is GeGLU"),
        "attention_bias": _BIAS,
        "mlp_bias": _BIAS,
        "norm_bias": _BIAS,
        "attention_dropout": _DROPOUT,
        "embedding_dropout": _DROPOUT,
        "mlp_dropout": _DROPOUT,
    },
    frozenset(
        {
            "tie_word_embeddings",
            "classifier_bias",
            "classifier_activation",
            "classifier_dropout",
            "classifier_pooling",
            "decoder_bias",
            "deterministic_flash_attn",
            "initializer_cutoff_factor",
            "layer_norm_eps",
            "position_embedding_type",
            "reference_compile",
            "repad_logits_with_grad",
            "sparse_prediction",
            "sparse_pred_ignore_index",
        }
    ),
    {"num_hidden_layers": 22},
    read,
)
NAMES = Names(
    {
        "embedding": "embeddings.tok_embeddings",
        "embedding_norm": "embeddings.norm",
        "blocks.*.attention_norm": "layers.*.attn_norm",
        "blocks.*.attention.qkv": "layers.*.attn.Wqkv",
        "blocks.*.attention.output": "layers.*.attn.Wo",
        "blocks.*.feed_forward_norm": "layers.*.mlp_norm",
        "blocks.*.feed_forward.gate_up": "layers.*.mlp.Wi",
        "blocks.*.feed_forward.down": "layers.*.mlp.Wo",
        "norm": "final_norm",
    }
)
FILES = Files(NAMES, inside="model", leave=("head.", "decoder.", "classifier."))
MASKED_LM = Files(
    NAMES.inside("encoder", "model").with_more(
        {"dense": "head.dense", "norm": "head.norm", "decoder": "decoder"}
    ),
    only={
        **TIED,
        "classifier_bias": _BIAS,
        "classifier_activation": ("gelu", "the head has GELU"),
        "decoder_bias": (True, "the decoder has the one bias"),
    },
)
