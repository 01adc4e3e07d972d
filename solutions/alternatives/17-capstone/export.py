"""Differently written correct solutions of chapter 17, part 4."""

from autograder.checks.mistakes.registry import alternative

FIXED = (
    ("architectures", ["LlamaForCausalLM"]),
    ("model_type", "llama"),
    ("hidden_act", "silu"),
    ("attention_bias", False),
    ("mlp_bias", False),
    ("bos_token_id", None),
    ("torch_dtype", "float32"),
)


@alternative("17.export_config", "renames-a-copy")
def _(sizes):
    config = dict(sizes)
    config["num_hidden_layers"] = config.pop("num_layers")
    config["num_attention_heads"] = config.pop("num_heads")
    config["num_key_value_heads"] = config.pop("num_kv_heads")
    config["eos_token_id"] = config.pop("end_id")
    for key, value in FIXED:
        config[key] = list(value) if isinstance(value, list) else value
    C, F = sizes["hidden_size"], sizes["intermediate_size"]
    group = sizes["num_heads"] // sizes["num_kv_heads"]
    tensors = {"model.embed_tokens.weight": (sizes["vocab_size"], C)}
    for layer in range(sizes["num_layers"]):
        start = f"model.layers.{layer}"
        for one in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{start}.{one}.weight"] = (C,)
        for one in "qkvo":
            rows = C if one in "qo" else C // group
            tensors[f"{start}.self_attn.{one}_proj.weight"] = (rows, C)
        for one in ("gate", "up"):
            tensors[f"{start}.mlp.{one}_proj.weight"] = (F, C)
        tensors[f"{start}.mlp.down_proj.weight"] = (C, F)
    tensors["model.norm.weight"] = (C,)
    if sizes["tie_word_embeddings"] is False:
        tensors["lm_head.weight"] = (sizes["vocab_size"], C)
    return {"config": config, "tensors": tensors}


@alternative("17.export_config", "from-a-list-of-layers")
def _(sizes):
    V, C, F = (sizes[key] for key in ("vocab_size", "hidden_size", "intermediate_size"))
    narrow = C * sizes["num_kv_heads"] // sizes["num_heads"]
    body = [("input_layernorm", C), ("post_attention_layernorm", C)]
    body += [("self_attn.q_proj", C, C), ("self_attn.o_proj", C, C)]
    body += [("self_attn.k_proj", narrow, C), ("self_attn.v_proj", narrow, C)]
    body += [("mlp.gate_proj", F, C), ("mlp.up_proj", F, C), ("mlp.down_proj", C, F)]
    layers = [
        (f"model.layers.{layer}.{name}", *shape)
        for layer in range(sizes["num_layers"])
        for name, *shape in body
    ]
    ends = [("model.embed_tokens", V, C), ("model.norm", C)]
    ends += [] if sizes["tie_word_embeddings"] else [("lm_head", V, C)]
    names = {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"}
    names |= {"num_kv_heads": "num_key_value_heads", "end_id": "eos_token_id"}
    config = {names.get(key, key): value for key, value in sizes.items()}
    return {
        "config": {**config, **dict(FIXED), "architectures": ["LlamaForCausalLM"]},
        "tensors": {f"{name}.weight": tuple(shape) for name, *shape in ends + layers},
    }
