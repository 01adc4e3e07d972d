"""XLNet's files.

How long a memory is kept is the caller's here, so the settings of it change no number.
"""

from typing import Any

from reference_impl.weights.families.bert import HEAD_ONLY
from reference_impl.weights.families.bert_relatives import SUMMARY
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import ENCODER, TIED, Published, same
from reference_impl.weights.shards import WeightsError


def read(config: dict[str, Any]) -> dict[str, Any]:
    """A head is as wide as there is room; files say it once more."""
    head_dim = config.pop("d_head", None)
    if head_dim is not None and head_dim * config["n_head"] != config["d_model"]:
        raise WeightsError(
            f"config.json sets d_head to {head_dim!r}, and {config['n_head']} heads of"
            f" it are not d_model, {config['d_model']}"
        )
    return config


CONFIG = Published(
    "xlnet",
    same("vocab_size", "layer_norm_eps", "dropout")
    | {
        "hidden_size": "d_model",
        "num_layers": "n_layer",
        "num_heads": "n_head",
        "intermediate_size": "d_inner",
        "hidden_act": "ff_activation",
    },
    {
        **ENCODER,
        "attn_type": ("bi", "what a place sees is given by `visible`"),
        "bi_data": (False, "a batch reads in one direction"),
        "clamp_len": (-1, "distances are not held"),
        "untie_r": (True, "each layer has its own u, v and s"),
    },
    HEAD_ONLY
    | SUMMARY
    | {
        "mem_len",
        "reuse_len",
        "use_mems_eval",
        "use_mems_train",
        "same_length",
        "start_n_top",
        "end_n_top",
    },
    {"d_model": 1024, "n_layer": 24, "n_head": 16, "d_inner": 4096},
    read,
)
NAMES = Names(
    {
        "embedding": "word_embedding",
        "unread": "mask_emb",
        "blocks.*.attention.query": "layer.*.rel_attn.q",
        "blocks.*.attention.key": "layer.*.rel_attn.k",
        "blocks.*.attention.value": "layer.*.rel_attn.v",
        "blocks.*.attention.distance": "layer.*.rel_attn.r",
        "blocks.*.attention.output": "layer.*.rel_attn.o",
        "blocks.*.attention.content_bias": "layer.*.rel_attn.r_w_bias",
        "blocks.*.attention.distance_bias": "layer.*.rel_attn.r_r_bias",
        "blocks.*.attention.segment_bias": "layer.*.rel_attn.r_s_bias",
        "blocks.*.attention.segments": "layer.*.rel_attn.seg_embed",
        "blocks.*.attention_norm": "layer.*.rel_attn.layer_norm",
        "blocks.*.feed_forward.up": "layer.*.ff.layer_1",
        "blocks.*.feed_forward.down": "layer.*.ff.layer_2",
        "blocks.*.feed_forward_norm": "layer.*.ff.layer_norm",
    }
)
FILES = Files(
    NAMES,
    inside="transformer",
    leave=(
        "lm_loss.",
        "sequence_summary.",
        "logits_proj.",
        "classifier.",
        "qa_outputs.",
        "start_logits.",
        "end_logits.",
        "answer_class.",
    ),
)
LM = Files(
    NAMES.inside("xlnet", "transformer").with_more({"output": "lm_loss"}), only=TIED
)
