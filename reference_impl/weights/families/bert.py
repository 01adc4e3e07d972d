"""BERT's files: `config.json` and names of tensors (`transformers`, BertModel and its
heads).
"""

from reference_impl.weights.families import tables
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import ENCODER, TIED, Published, same

SETTINGS = same(
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "classifier_dropout",
) | {
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
ABSOLUTE = {
    **ENCODER,
    "position_embedding_type": ("absolute", "relative positions are not built"),
}
HEAD_ONLY = frozenset(
    {"tie_word_embeddings"}
)  # it speaks of the output layer: models that have one look at it

CONFIG = Published(
    "bert",
    SETTINGS,
    ABSOLUTE,
    HEAD_ONLY
    | {
        "directionality",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
    },
)

COMPUTED = {
    "embeddings.position_ids": tables.counted,
    "embeddings.token_type_ids": tables.zeros,
}
LAYERS = {
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "blocks.*.attention.query": "encoder.layer.*.attention.self.query",
    "blocks.*.attention.key": "encoder.layer.*.attention.self.key",
    "blocks.*.attention.value": "encoder.layer.*.attention.self.value",
    "blocks.*.attention.output": "encoder.layer.*.attention.output.dense",
    "blocks.*.attention_norm": "encoder.layer.*.attention.output.LayerNorm",
    "blocks.*.feed_forward.up": "encoder.layer.*.intermediate.dense",
    "blocks.*.feed_forward.down": "encoder.layer.*.output.dense",
    "blocks.*.feed_forward_norm": "encoder.layer.*.output.LayerNorm",
}
NAMES = Names({**LAYERS, "pooler.dense": "pooler.dense"}, computed=COMPUTED)

ENCODER_FILES = Files(
    NAMES, inside="bert", leave=("cls.", "classifier.", "qa_outputs.")
)
WITHOUT_POOLER = Files(
    NAMES, inside="bert", leave=("pooler.", "cls.", "classifier.", "qa_outputs.")
)

MASKED_LM = {
    "masked_lm.dense": "cls.predictions.transform.dense",
    "masked_lm.norm": "cls.predictions.transform.LayerNorm",
    "masked_lm.decoder": "cls.predictions.decoder",
}
TWICE = {"cls.predictions.bias": "cls.predictions.decoder.bias"}
INSIDE = NAMES.inside("bert", "bert")
PRE_TRAINING = Files(
    INSIDE.with_more({**MASKED_LM, "next_sentence": "cls.seq_relationship"}, TWICE),
    only=TIED,
)
MASKED_LM_FILES = Files(
    INSIDE.with_more(MASKED_LM, TWICE),
    leave=("bert.pooler.", "cls.seq_relationship."),
    only=TIED,
)
CLASSIFIER = Files(INSIDE.with_more({"classifier.linear": "classifier"}))
SPAN = Files(INSIDE.with_more({"span.linear": "qa_outputs"}))
