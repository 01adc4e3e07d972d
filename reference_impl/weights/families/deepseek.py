"""The files of DeepSeek-V3."""

from typing import Any

from reference_impl.weights.families.rotary import take
from reference_impl.weights.names import Files, Names
from reference_impl.weights.published import DECODER, Published, same
from reference_impl.weights.shards import WeightsError


def read(config: dict[str, Any]) -> dict[str, Any]:
    """What is nested in a config.json into flat settings."""
    kind, rope = take(
        config,
        ("default", "yarn"),
        mscale="mscale",
        mscale_all_dim="mscale_all_dim",
    )
    scale, other = rope.get("mscale"), rope.get("mscale_all_dim")
    if scale != other or (kind == "yarn" and scale is None):
        raise WeightsError(
            f"config.json sets mscale to {scale!r} and mscale_all_dim to {other!r}:"
            " they can be read where they are equal"
        )
    stretched = kind == "yarn"
    return {
        **config,
        "rope_parameters.rope_theta": rope.get("rope_theta", 10_000.0),
        "rope_parameters.mscale_all_dim": rope.get("mscale_all_dim", 1.0),
        "rope_parameters.yarn": (
            *(float(rope[name]) for name in ("factor", "beta_slow", "beta_fast")),
            rope["original_max_position_embeddings"],
        )
        if stretched
        else None,
    }


DEEPSEEK_V3 = Published(
    "deepseek_v3",
    {
        **same(
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "max_position_embeddings",
            "rms_norm_eps",
            "tie_word_embeddings",
        ),
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "query_rank": "q_lora_rank",
        "rank": "kv_lora_rank",
        "rotary_dim": "qk_rope_head_dim",
        "plain_dim": "qk_nope_head_dim",
        "value_dim": "v_head_dim",
        "rope_theta": "rope_parameters.rope_theta",
        "rope_yarn": "rope_parameters.yarn",
        "yarn_temperature": "rope_parameters.mscale_all_dim",
        "num_dense_layers": "first_k_dense_replace",
        "num_experts": "n_routed_experts",
        "experts_per_token": "num_experts_per_tok",
        "expert_size": "moe_intermediate_size",
        "num_shared_experts": "n_shared_experts",
        "num_groups": "n_group",
        "kept_groups": "topk_group",
        "normalize_experts": "norm_topk_prob",
        "expert_scale": "routed_scaling_factor",
    },
    {
        **DECODER,
        "attention_bias": (False, "there are no biases"),
        "hidden_act": ("silu", "the feed-forward is SwiGLU"),
        "attention_dropout": (0, "nothing is dropped in training"),
        "rope_interleave": (True, "neighbours are turned against each other"),
        "moe_layer_freq": (1, "every layer after the dense ones has experts"),
        "scoring_func": ("sigmoid", "experts are scored by a sigmoid"),
        "topk_method": ("noaux_tc", "experts are balanced by a bias"),
    },
    frozenset(
        {
            "num_key_value_heads",  # of expanded keys: as many as heads
            "num_nextn_predict_layers",  # a file with their weights is refused
            "ep_size",
            "aux_loss_alpha",
            "seq_aux",
            "output_router_logits",
            "head_dim",
            "qk_head_dim",
            "pretraining_tp",
        }
    ),
    read=read,
)
FORMATS = (DEEPSEEK_V3,)

_MLP = {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}


def _feed_forward(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}.{one}": f"{theirs}.{other}" for one, other in _MLP.items()}


def _names(config: Any) -> Names:
    ours, theirs = "blocks.*.attention", "model.layers.*.self_attn"
    query = {f"{ours}.query": f"{theirs}.q_proj"}
    if config.query_rank is not None:
        query = {
            f"{ours}.query.0": f"{theirs}.q_a_proj",
            f"{ours}.query.1": f"{theirs}.q_a_layernorm",
            f"{ours}.query.2": f"{theirs}.q_b_proj",
        }
    experts, mlp = "blocks.*.feed_forward", "model.layers.*.mlp"
    return Names(
        {
            "embedding": "model.embed_tokens",
            "blocks.*.attention_norm": "model.layers.*.input_layernorm",
            **query,
            f"{ours}.down": f"{theirs}.kv_a_proj_with_mqa",
            f"{ours}.norm": f"{theirs}.kv_a_layernorm",
            f"{ours}.up": f"{theirs}.kv_b_proj",
            f"{ours}.output": f"{theirs}.o_proj",
            "blocks.*.feed_forward_norm": "model.layers.*.post_attention_layernorm",
            **_feed_forward(experts, mlp),
            **_feed_forward(f"{experts}.experts.*", f"{mlp}.experts.*"),
            **_feed_forward(f"{experts}.shared", f"{mlp}.shared_experts"),
            f"{experts}.router.proj": f"{mlp}.gate",
            f"{experts}.router.bias": f"{mlp}.gate.e_score_correction_bias",
            "norm": "model.norm",
            "output": "lm_head",
        }
    )


FILES = Files(_names)
