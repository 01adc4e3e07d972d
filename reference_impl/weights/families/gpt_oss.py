"""The files of gpt-oss; its experts are published in MXFP4."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from reference_impl.weights.families.layer_types import global_every
from reference_impl.weights.families.rotary import take
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import DECODER, Published, same
from reference_impl.weights.shards import WeightsError
from reference_impl.weights.small_floats import unpack_mxfp4

YARN = {
    "rope_type": "yarn",
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}
"""What the library takes if a file says nothing of its rotary positions."""


def read(config: dict[str, Any]) -> dict[str, Any]:
    """What is nested in a config.json, or said twice, into flat settings."""
    config = dict(config)
    if not config.get("rope_scaling") and not config.get("rope_parameters"):
        config["rope_parameters"] = YARN
    kind, rope = take(
        config,
        ("default", "yarn"),
        original_max_position_embeddings="initial_context_length",
        truncate="truncate",
    )
    per_token = config.pop("experts_per_token", config["num_experts_per_tok"])
    if per_token != config["num_experts_per_tok"]:
        raise WeightsError(
            f"config.json sets experts_per_token to {per_token!r} and"
            f" num_experts_per_tok to {config['num_experts_per_tok']!r}: they are one"
            " setting"
        )
    method = (config.pop("quantization_config", None) or {}).get("quant_method")
    if method not in (None, "mxfp4"):
        raise WeightsError(
            f"config.json says that the weights are quantised by {method!r}: only"
            " 'mxfp4' can be read"
        )
    if (kinds := config.pop("layer_types", None)) is not None:
        config["global_every"] = global_every(kinds)
    return {
        **config,
        "rope_parameters.rope_theta": float(rope.get("rope_theta", 150_000)),
        "rope_parameters.truncate": rope.get("truncate", True),
        "rope_parameters.yarn": (
            *(float(rope[name]) for name in ("factor", "beta_slow", "beta_fast")),
            rope["original_max_position_embeddings"],
        )
        if kind == "yarn"
        else None,
    }


def unpack(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Experts in MXFP4 into bfloat16, which is exact and four times as large.

    `gate_up_proj_blocks` (E, 2 F, C / 32, 16) and `gate_up_proj_scales`
    (E, 2 F, C / 32) become `gate_up_proj` (E, C, 2 F); `down_proj` likewise.
    """
    found = {}
    for name, tensor in weights.items():
        stem = name.removesuffix("_blocks")
        scales = weights.get(f"{stem}_scales")
        if name.endswith("_scales") and f"{name[:-7]}_blocks" in weights:
            continue
        if stem == name or scales is None:
            found[name] = tensor
            continue
        _check_packed(stem, tensor, scales)
        # One expert after the other: the codes take more than the result.
        found[stem] = torch.stack(
            [unpack_mxfp4(*pair).mT for pair in zip(tensor, scales, strict=True)]
        )
    return found


def _check_packed(stem: str, blocks: Tensor, scales: Tensor) -> None:
    if (
        blocks.ndim != 4
        or blocks.shape[:-1] != scales.shape
        or not len(blocks)
        or {blocks.dtype, scales.dtype} != {torch.uint8}
    ):
        raise WeightsError(
            f"{stem}_blocks is {blocks.dtype} of shape {tuple(blocks.shape)} and"
            f" {stem}_scales {scales.dtype} of shape {tuple(scales.shape)}: MXFP4 has"
            " bytes (E, O, G, 16), and a scale for each block"
        )


GPT_OSS = Published(
    "gpt_oss",
    {
        **same(
            "vocab_size",
            "hidden_size",
            "head_dim",
            "max_position_embeddings",
            "rms_norm_eps",
            "global_every",
            "swiglu_alpha",
            "swiglu_limit",
            "tie_word_embeddings",
        ),
        "expert_size": "intermediate_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "num_kv_heads": "num_key_value_heads",
        "window": "sliding_window",
        "rope_theta": "rope_parameters.rope_theta",
        "rope_yarn": "rope_parameters.yarn",
        "truncate_yarn": "rope_parameters.truncate",
        "num_experts": "num_local_experts",
        "experts_per_token": "num_experts_per_tok",
    },
    {
        **DECODER,
        "attention_bias": (True, "queries, keys, values and the output have biases"),
        "hidden_act": ("silu", "the feed-forward is SwiGLU"),
        "attention_dropout": (0, "nothing is dropped in training"),
    },
    frozenset({"output_router_logits", "router_aux_loss_coef"}),
    {"num_experts_per_tok": 4},
    read,
)
FORMATS = (GPT_OSS,)

_THEIRS, _MLP = "model.layers.*.self_attn", "model.layers.*.mlp"
FILES = Files(
    Names(
        {
            "embedding": "model.embed_tokens",
            "blocks.*.attention_norm": "model.layers.*.input_layernorm",
            "blocks.*.attention.query": f"{_THEIRS}.q_proj",
            "blocks.*.attention.key": f"{_THEIRS}.k_proj",
            "blocks.*.attention.value": f"{_THEIRS}.v_proj",
            "blocks.*.attention.output": f"{_THEIRS}.o_proj",
            "blocks.*.attention.sinks": f"{_THEIRS}.sinks",
            "blocks.*.feed_forward_norm": "model.layers.*.post_attention_layernorm",
            "blocks.*.feed_forward.router": f"{_MLP}.router",
            "blocks.*.feed_forward.gate_up": f"{_MLP}.experts.gate_up_proj",
            "blocks.*.feed_forward.gate_up_bias": f"{_MLP}.experts.gate_up_proj_bias",
            "blocks.*.feed_forward.down": f"{_MLP}.experts.down_proj",
            "blocks.*.feed_forward.down_bias": f"{_MLP}.experts.down_proj_bias",
            "norm": "model.norm",
            "output": "lm_head",
        }
    ),
    unpack=unpack,
)
