"""The files of GPT-1 and GPT-2, and of their tasks.

Linear layers are published transposed.
"""

from typing import Any

from reference_impl.weights.families import tables
from reference_impl.weights.families.bert_relatives import SUMMARY
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import DECODER, TIED, Published, same
from reference_impl.weights.shards import WeightsError

_SETTINGS = same("vocab_size", "norm_first") | {
    "hidden_size": "n_embd",
    "num_layers": "n_layer",
    "num_heads": "n_head",
    "max_position_embeddings": "n_positions",
    "hidden_act": "activation_function",
    "layer_norm_eps": "layer_norm_epsilon",
    "dropout": "resid_pdrop",
    "embedding_dropout": "embd_pdrop",
    "attention_dropout": "attn_pdrop",
}
_FREE = SUMMARY | {
    "is_decoder",
    "n_ctx",
    "n_special",
    "predict_special_tokens",
    "reorder_and_upcast_attn",
}
_DROPOUTS = {"embd_pdrop": 0.1, "attn_pdrop": 0.1}
GPT1_ACTIVATIONS = {"gelu": "gelu_new", "relu": "relu", "silu": "silu", "swish": "silu"}


def read_gpt1(config: dict[str, Any]) -> dict[str, Any]:
    """GPT-1's files call the activation `afn`, and its "gelu" is the tanh form."""
    act = config.pop("afn", "gelu")
    if act not in GPT1_ACTIVATIONS:
        raise WeightsError(
            f"config.json sets afn to {act!r}: a GPT-1 has one of"
            f" {', '.join(GPT1_ACTIVATIONS)}"
        )
    return {**config, "activation_function": GPT1_ACTIVATIONS[act], "norm_first": False}


def read_gpt2(config: dict[str, Any]) -> dict[str, Any]:
    """The norm stands before each sublayer."""
    return {**config, "norm_first": True}


GPT1 = Published(
    "openai-gpt",
    _SETTINGS,
    {**DECODER, **TIED},
    _FREE,
    {"vocab_size": 40_478, "n_positions": 512, **_DROPOUTS},
    read_gpt1,
)
GPT2 = Published(
    "gpt2",
    {**_SETTINGS, "intermediate_size": "n_inner"},
    {
        **DECODER,
        **TIED,
        "scale_attn_weights": (True, "scores are scaled"),
        "scale_attn_by_inverse_layer_idx": (False, "that is Mistral's GPT-2"),
    },
    _FREE,
    _DROPOUTS,
    read_gpt2,
)
FORMATS = GPT2, GPT1

_BLOCK = {
    "blocks.*.attention_norm": "h.*.ln_1",
    "blocks.*.attention.qkv": "h.*.attn.c_attn",
    "blocks.*.attention.output": "h.*.attn.c_proj",
    "blocks.*.feed_forward_norm": "h.*.ln_2",
    "blocks.*.feed_forward.up": "h.*.mlp.c_fc",
    "blocks.*.feed_forward.down": "h.*.mlp.c_proj",
}
_TRANSPOSED = frozenset(name for name in _BLOCK if not name.endswith("norm"))
_COMPUTED = {
    "h.*.attn.bias": tables.causal,
    "h.*.attn.masked_bias": tables.hiding,
    "position_ids": tables.counted,
}
_BODIES = {
    False: (
        Names(
            {"embedding": "tokens_embed", "position": "positions_embed", **_BLOCK},
            _TRANSPOSED,
            computed=_COMPUTED,
        ).inside("", "transformer")
    ),
    True: (
        Names(
            {"embedding": "wte", "position": "wpe", "norm": "ln_f", **_BLOCK},
            _TRANSPOSED,
            computed=_COMPUTED,
        ).inside("", "transformer")
    ),
}
"""By whether the norm comes first."""


def names(config: object) -> Names:
    """GPT-1's and GPT-2's names differ in three."""
    return _BODIES[config.norm_first].with_more({"output": "lm_head"})


def classifier_names(config: object) -> Names:
    """Without a language model's head there, its weight is found as the embedding."""
    body = _BODIES[config.norm_first]
    return body.inside("gpt", "").with_more(
        {"classifier": "score", "gpt.output": body.table["embedding"]}
    )


def choice_names(config: object) -> Names:
    """Both heads are there."""
    return (
        names(config)
        .inside("gpt", "")
        .with_more({"classifier": "multiple_choice_head.summary"})
    )


FILES = Files(names, outer="transformer")
CLASSIFIER = Files(classifier_names)
CHOICE = Files(
    choice_names,
    only={
        "summary_type": ("cls_index", "the last token's vector is read"),
        "summary_use_proj": (True, "there is a linear layer"),
        "summary_activation": (None, "the head is linear"),
        "summary_proj_to_labels": (True, "the head gives one number"),
    },
)
