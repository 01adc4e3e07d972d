"""The files of Longformer and BigBird: RoBERTa's and BERT's, and what their attention
needs.
"""

from typing import Any

from reference_impl.weights.families import bert, bert_relatives
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import TIED, Published, same
from reference_impl.weights.shards import WeightsError


def read_longformer(config: dict[str, Any]) -> dict[str, Any]:
    """Files give a window for each layer."""
    window = config.get("attention_window")
    if isinstance(window, list):
        if len(set(window)) != 1 or len(window) != config["num_hidden_layers"]:
            raise WeightsError(
                f"config.json has attention windows {window}: one size for every layer"
                " can be read"
            )
        return {**config, "attention_window": window[0]}
    return config


LONGFORMER = Published(
    "longformer",
    {**bert.SETTINGS, **same("attention_window")},
    {
        **bert_relatives.ROBERTA.only,
        "attention_mode": ("longformer", "that is the one that is built"),
        "ignore_attention_mask": (False, "padding is hidden"),
    },
    bert.HEAD_ONLY | {"onnx_export"},
    {
        "vocab_size": 30_522,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "num_hidden_layers": 12,
    },
    read_longformer,
)
LONGFORMER_NAMES = Names(
    {
        **bert.LAYERS,
        "blocks.*.attention.query_global": (
            "encoder.layer.*.attention.self.query_global"
        ),
        "blocks.*.attention.key_global": "encoder.layer.*.attention.self.key_global",
        "blocks.*.attention.value_global": (
            "encoder.layer.*.attention.self.value_global"
        ),
    },
    computed=bert.COMPUTED,
)
LONGFORMER_FILES = Files(
    LONGFORMER_NAMES,
    inside="longformer",
    leave=("pooler.", "lm_head.", "classifier.", "qa_outputs."),
)
LONGFORMER_MASKED_LM = Files(
    LONGFORMER_NAMES.inside("longformer", "longformer").with_more(
        bert_relatives.ROBERTA_HEAD, bert_relatives.ROBERTA_TWICE
    ),
    leave=("longformer.pooler.",),
    only=TIED,
)


def read_bigbird(config: dict[str, Any]) -> dict[str, Any]:
    """The library draws random blocks in training only."""
    return {**config, "draws_in_evaluation": False}


BIGBIRD = Published(
    "big_bird",
    {
        **bert.SETTINGS,
        **same(
            "attention_type", "block_size", "num_random_blocks", "draws_in_evaluation"
        ),
    },
    {
        **bert.ABSOLUTE,
        "use_bias": (True, "queries, keys and values have biases"),
        "rescale_embeddings": (False, "embeddings are taken as they are"),
    },
    bert.HEAD_ONLY,
    read=read_bigbird,
)
BIGBIRD_NAMES = Names(bert.LAYERS, computed=bert.COMPUTED)
BIGBIRD_FILES = Files(
    BIGBIRD_NAMES,
    inside="bert",
    leave=("pooler.", "cls.", "classifier.", "qa_classifier.", "qa_outputs."),
)
BIGBIRD_MASKED_LM = Files(
    BIGBIRD_NAMES.inside("bigbird", "bert").with_more(bert.MASKED_LM, bert.TWICE),
    leave=("bert.pooler.", "cls.seq_relationship."),
    only=TIED,
)
