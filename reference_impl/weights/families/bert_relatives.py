"""The files of RoBERTa, ALBERT, ELECTRA, DistilBERT and DeBERTa: what in them is not as
in BERT's.
"""

from typing import Any

from reference_impl.weights.families import bert
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import ENCODER, TIED, Published, same

SUMMARY = frozenset(
    {
        "summary_type",
        "summary_use_proj",
        "summary_activation",
        "summary_first_dropout",
        "summary_last_dropout",
        "summary_proj_to_labels",
    }
)
"""Of heads that are not built for these families."""

# RoBERTa

ROBERTA = Published(
    "roberta",
    bert.SETTINGS,
    {**bert.ABSOLUTE, "pad_token_id": (1, "positions are counted from it")},
    bert.HEAD_ONLY,
    {"type_vocab_size": 2, "layer_norm_eps": 1e-12, "max_position_embeddings": 512},
)
ROBERTA_NAMES = Names(bert.LAYERS, computed=bert.COMPUTED)
ROBERTA_HEAD = {
    "masked_lm.dense": "lm_head.dense",
    "masked_lm.norm": "lm_head.layer_norm",
    "masked_lm.decoder": "lm_head.decoder",
}
ROBERTA_TWICE = {"lm_head.bias": "lm_head.decoder.bias"}
ROBERTA_FILES = Files(
    ROBERTA_NAMES,
    inside="roberta",
    leave=("pooler.", "lm_head.", "classifier.", "qa_outputs."),
)
ROBERTA_MASKED_LM = Files(
    ROBERTA_NAMES.inside("roberta", "roberta").with_more(ROBERTA_HEAD, ROBERTA_TWICE),
    leave=("roberta.pooler.",),
    only=TIED,
)

# ALBERT

ALBERT = Published(
    "albert",
    {
        **bert.SETTINGS,
        **same("embedding_size"),
        "classifier_dropout": "classifier_dropout_prob",
    },
    {
        **bert.ABSOLUTE,
        "num_hidden_groups": (1, "all layers share one block"),
        "inner_group_num": (1, "all layers share one block"),
    },
    bert.HEAD_ONLY
    | {
        "down_scale_factor",
        "gap_size",
        "layers_to_keep",
        "net_structure_type",
        "num_memory_blocks",
    },
    {"hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 16_384},
)
_LAYER = "encoder.albert_layer_groups.0.albert_layers.0"
ALBERT_NAMES = Names(
    {
        **{
            ours: theirs
            for ours, theirs in bert.LAYERS.items()
            if ours.startswith("embeddings.")
        },
        "widen": "encoder.embedding_hidden_mapping_in",
        "block.attention.query": f"{_LAYER}.attention.query",
        "block.attention.key": f"{_LAYER}.attention.key",
        "block.attention.value": f"{_LAYER}.attention.value",
        "block.attention.output": f"{_LAYER}.attention.dense",
        "block.attention_norm": f"{_LAYER}.attention.LayerNorm",
        "block.feed_forward.up": f"{_LAYER}.ffn",
        "block.feed_forward.down": f"{_LAYER}.ffn_output",
        "block.feed_forward_norm": f"{_LAYER}.full_layer_layer_norm",
        "pooler.dense": "pooler",
    },
    computed=bert.COMPUTED,
)
ALBERT_FILES = Files(
    ALBERT_NAMES,
    inside="albert",
    leave=("predictions.", "sop_classifier.", "classifier.", "qa_outputs."),
)
ALBERT_PRE_TRAINING = Files(
    ALBERT_NAMES.inside("albert", "albert").with_more(
        {
            "masked_lm.dense": "predictions.dense",
            "masked_lm.norm": "predictions.LayerNorm",
            "masked_lm.decoder": "predictions.decoder",
            "sentence_order.linear": "sop_classifier.classifier",
        },
        {"predictions.bias": "predictions.decoder.bias"},
    ),
    only=TIED,
)

# ELECTRA

ELECTRA = Published(
    "electra",
    {**bert.SETTINGS, **same("embedding_size")},
    bert.ABSOLUTE,
    bert.HEAD_ONLY | SUMMARY,
)
ELECTRA_NAMES = Names(
    {**bert.LAYERS, "widen": "embeddings_project"}, computed=bert.COMPUTED
)
ELECTRA_FILES = Files(
    ELECTRA_NAMES,
    inside="electra",
    leave=(
        "discriminator_predictions.",
        "generator_predictions.",
        "generator_lm_head.",
        "classifier.",
        "qa_outputs.",
        "sequence_summary.",
    ),
)
_ELECTRA_INSIDE = ELECTRA_NAMES.inside("electra", "electra")
ELECTRA_PRE_TRAINING = Files(
    _ELECTRA_INSIDE.with_more(
        {
            "dense": "discriminator_predictions.dense",
            "replaced": "discriminator_predictions.dense_prediction",
        }
    )
)
ELECTRA_MASKED_LM = Files(
    _ELECTRA_INSIDE.with_more(
        {
            "masked_lm.dense": "generator_predictions.dense",
            "masked_lm.norm": "generator_predictions.LayerNorm",
            "masked_lm.decoder": "generator_lm_head",
        }
    ),
    only=TIED,
)

# DistilBERT

DISTILBERT = Published(
    "distilbert",
    same("vocab_size", "max_position_embeddings", "attention_dropout")
    | {
        "hidden_size": "dim",
        "num_layers": "n_layers",
        "num_heads": "n_heads",
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
        "hidden_dropout": "dropout",
    },
    ENCODER,
    bert.HEAD_ONLY
    | {"sinusoidal_pos_embds", "qa_dropout", "seq_classif_dropout", "tie_weights_"},
)
DISTILBERT_NAMES = Names(
    {
        "embeddings.word": "embeddings.word_embeddings",
        "embeddings.position": "embeddings.position_embeddings",
        "embeddings.norm": "embeddings.LayerNorm",
        "blocks.*.attention.query": "transformer.layer.*.attention.q_lin",
        "blocks.*.attention.key": "transformer.layer.*.attention.k_lin",
        "blocks.*.attention.value": "transformer.layer.*.attention.v_lin",
        "blocks.*.attention.output": "transformer.layer.*.attention.out_lin",
        "blocks.*.attention_norm": "transformer.layer.*.sa_layer_norm",
        "blocks.*.feed_forward.up": "transformer.layer.*.ffn.lin1",
        "blocks.*.feed_forward.down": "transformer.layer.*.ffn.lin2",
        "blocks.*.feed_forward_norm": "transformer.layer.*.output_layer_norm",
    },
    computed=bert.COMPUTED,
)
DISTILBERT_FILES = Files(
    DISTILBERT_NAMES,
    inside="distilbert",
    leave=(
        "vocab_transform.",
        "vocab_layer_norm.",
        "vocab_projector.",
        "pre_classifier.",
        "classifier.",
        "qa_outputs.",
    ),
)
DISTILBERT_MASKED_LM = Files(
    DISTILBERT_NAMES.inside("distilbert", "distilbert").with_more(
        {
            "masked_lm.dense": "vocab_transform",
            "masked_lm.norm": "vocab_layer_norm",
            "masked_lm.decoder": "vocab_projector",
        }
    ),
    only=TIED,
)

# DeBERTa


def read_deberta(config: dict[str, Any]) -> dict[str, Any]:
    """Files name the terms in any order, in a list or as "c2p|p2c";
    max_relative_positions below 1 is unset.
    """
    terms = config.pop("pos_att_type") or ()
    distance = config.pop("max_relative_positions")
    return {
        **config,
        "pos_att_type": (
            sorted(term.strip() for term in terms.lower().split("|"))
            if isinstance(terms, str)
            else sorted(terms)
        ),
        "max_relative_positions": (
            config["max_position_embeddings"] if distance < 1 else distance
        ),
    }


DEBERTA = Published(
    "deberta",
    same(
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "hidden_act",
        "layer_norm_eps",
        "pooler_dropout",
        "pooler_hidden_act",
    )
    | {
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "max_distance": "max_relative_positions",
        "classifier_dropout": "cls_dropout",
    },
    {
        **ENCODER,
        "relative_attention": (True, "positions are distances"),
        "position_biased_input": (False, "embeddings carry no position"),
        "pos_att_type": (["c2p", "p2c"], "scores have all three terms"),
        "type_vocab_size": (0, "there are no segments"),
        "talking_head": (False, "heads do not mix"),
    },
    bert.HEAD_ONLY
    | {"legacy", "max_position_embeddings", "padding_idx", "pooler_hidden_size"},
    {
        "relative_attention": False,
        "position_biased_input": True,
        "pos_att_type": None,
        "max_relative_positions": -1,
        "max_position_embeddings": 512,
    },
    read_deberta,
)
DEBERTA_NAMES = Names(
    {
        "embedding": "embeddings.word_embeddings",
        "embedding_norm": "embeddings.LayerNorm",
        "distances": "encoder.rel_embeddings",
        "blocks.*.attention.qkv": "encoder.layer.*.attention.self.in_proj",
        "blocks.*.attention.query_bias": "encoder.layer.*.attention.self.q_bias",
        "blocks.*.attention.value_bias": "encoder.layer.*.attention.self.v_bias",
        "blocks.*.attention.distance_key": "encoder.layer.*.attention.self.pos_proj",
        "blocks.*.attention.distance_query": (
            "encoder.layer.*.attention.self.pos_q_proj"
        ),
        **{
            ours: theirs
            for ours, theirs in bert.LAYERS.items()
            if ours.startswith("blocks.")
            and not ours.endswith(("query", "key", "value"))
        },
    },
    computed=bert.COMPUTED,
)
DEBERTA_FILES = Files(
    DEBERTA_NAMES,
    inside="deberta",
    leave=("cls.", "lm_predictions.", "pooler.", "classifier.", "qa_outputs."),
)
_DEBERTA_INSIDE = DEBERTA_NAMES.inside("deberta", "deberta")
_HEAD = {"transform.dense": "dense", "transform.LayerNorm": "LayerNorm"}
DEBERTA_MASKED_LM = Files(
    _DEBERTA_INSIDE.with_more(
        {
            "masked_lm.dense": "lm_predictions.lm_head.dense",
            "masked_lm.norm": "lm_predictions.lm_head.LayerNorm",
            "masked_lm.decoder.bias": "lm_predictions.lm_head.bias",
            "masked_lm.decoder.weight": "deberta.embeddings.word_embeddings.weight",
        },
        files={  # the library's own head, which it calls legacy, is computed alike
            **{
                f"cls.predictions.{theirs}.{kind}": (
                    f"lm_predictions.lm_head.{name}.{kind}"
                )
                for theirs, name in _HEAD.items()
                for kind in ("weight", "bias")
            },
            "cls.predictions.bias": "lm_predictions.lm_head.bias",
            "cls.predictions.decoder.bias": "lm_predictions.lm_head.bias",
            "cls.predictions.decoder.weight": (
                "deberta.embeddings.word_embeddings.weight"
            ),
        },
    ),
    only=TIED,
)
DEBERTA_CLASSIFIER = Files(
    _DEBERTA_INSIDE.with_more(
        {"dense": "pooler.dense", "classifier.linear": "classifier"}
    )
)
