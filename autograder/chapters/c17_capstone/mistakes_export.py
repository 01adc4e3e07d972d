"""Plausible wrong solutions of chapter 17, part 4."""

from autograder.checks.mistakes.registry import mistake

EXPORT = "17.export_config"
SAME = "vocab_size hidden_size intermediate_size max_position_embeddings rope_theta rms_norm_eps"


def _export(
    sizes,
    changed=None,
    without=(),
    narrow=lambda sizes: sizes["num_kv_heads"] * sizes["hidden_size"] // sizes["num_heads"],
    tied=lambda sizes: sizes["tie_word_embeddings"],
    first=0,
    name=lambda name: name,
    shape=lambda shape: shape,
):
    """The answer with one part replaced."""
    V, C, F, rows = (
        sizes["vocab_size"],
        sizes["hidden_size"],
        sizes["intermediate_size"],
        narrow(sizes),
    )
    config = {key: sizes[key] for key in (*SAME.split(), "tie_word_embeddings")}
    config |= {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": None,
        "torch_dtype": "float32",
        "num_hidden_layers": sizes["num_layers"],
        "num_attention_heads": sizes["num_heads"],
        "num_key_value_heads": sizes["num_kv_heads"],
        "eos_token_id": sizes["end_id"],
    }
    config |= changed(sizes) if changed else {}
    found = {"model.embed_tokens.weight": (V, C), "model.norm.weight": (C,)}
    if not tied(sizes):
        found["lm_head.weight"] = (V, C)
    for layer in range(first, first + sizes["num_layers"]):
        for part, one in {
            "input_layernorm": (C,),
            "post_attention_layernorm": (C,),
            "self_attn.q_proj": (C, C),
            "self_attn.k_proj": (rows, C),
            "self_attn.v_proj": (rows, C),
            "self_attn.o_proj": (C, C),
            "mlp.gate_proj": (F, C),
            "mlp.up_proj": (F, C),
            "mlp.down_proj": (C, F),
        }.items():
            found[f"model.layers.{layer}.{part}.weight"] = one
    return {
        "config": {key: value for key, value in config.items() if key not in without},
        "tensors": {name(one): shape(size) for one, size in found.items()},
    }


def _transposed(sizes, part):
    """The answer with the shapes of all tensors turned round whose name has this part."""
    found = _export(sizes)
    for name, shape in found["tensors"].items():
        if part in name:
            found["tensors"][name] = shape[::-1]
    return found


@mistake(
    EXPORT,
    "no-kv-heads",
    caught_by="renamed keys",
    loses=2.5,
    misconception=(
        "You leave `num_key_value_heads` out. transformers then gives every query head keys of its"
        " own."
    ),
)
def _(sizes):
    return _export(sizes, without=("num_key_value_heads",))


@mistake(
    EXPORT,
    "kv-heads-are-heads",
    caught_by="renamed keys",
    loses=1.5,
    misconception="You give `num_key_value_heads` the number of query heads.",
)
def _(sizes):
    return _export(sizes, lambda sizes: {"num_key_value_heads": sizes["num_heads"]})


@mistake(
    EXPORT,
    "the-courses-names",
    caught_by="renamed keys",
    loses=2.5,
    misconception=(
        "You keep the course's names. transformers ignores a key that it does not know, and takes a"
        " default."
    ),
)
def _(sizes):
    found = _export(sizes)
    found["config"] = dict(sizes) | {
        key: found["config"][key]
        for key in found["config"]
        if not key.startswith("num_") and key not in sizes and key != "eos_token_id"
    }
    return found


@mistake(
    EXPORT,
    "rope-theta-fixed",
    caught_by="renamed keys",
    loses=1.5,
    misconception="You write 10000.0 for `rope_theta` always. It is a size of the model.",
)
def _(sizes):
    return _export(sizes, lambda sizes: {"rope_theta": 10000.0})


@mistake(
    EXPORT,
    "eps-fixed",
    caught_by="renamed keys",
    loses=1.5,
    misconception="You write 1e-6 for `rms_norm_eps` always. It is a size of the model.",
)
def _(sizes):
    return _export(sizes, lambda sizes: {"rms_norm_eps": 1e-6})


@mistake(
    EXPORT,
    "always-tied",
    caught_by="renamed keys",
    loses=1.5,
    misconception="You write True for `tie_word_embeddings` always. The model says whether it is.",
)
def _(sizes):
    return _export(sizes, lambda sizes: {"tie_word_embeddings": True})


@mistake(
    EXPORT,
    "no-end-token",
    caught_by="renamed keys",
    loses=2.5,
    misconception="You leave `eos_token_id` out. A server then never knows when to stop.",
)
def _(sizes):
    return _export(sizes, without=("eos_token_id",))


@mistake(
    EXPORT,
    "activation-named-swiglu",
    caught_by="fixed keys",
    loses=1,
    misconception='You name the activation "swiglu". The key names the function inside it, "silu".',
)
def _(sizes):
    return _export(sizes, lambda sizes: {"hidden_act": "swiglu"})


@mistake(
    EXPORT,
    "architecture-as-text",
    caught_by="fixed keys",
    loses=1,
    misconception="You give `architectures` as a text. It is a list of one text.",
)
def _(sizes):
    return _export(sizes, lambda sizes: {"architectures": "LlamaForCausalLM"})


@mistake(
    EXPORT,
    "no-bos-token",
    caught_by="fixed keys",
    loses=1,
    misconception=(
        "You leave `bos_token_id` out. transformers then takes 1, a token that means something else"
        " here."
    ),
)
def _(sizes):
    return _export(sizes, without=("bos_token_id",))


@mistake(
    EXPORT,
    "output-of-a-tied-model",
    caught_by="tensor names",
    loses=2,
    misconception=(
        "You export `lm_head.weight` of a tied model. It is the embedding, which is in the file"
        " already."
    ),
)
def _(sizes):
    return _export(sizes, tied=lambda sizes: False)


@mistake(
    EXPORT,
    "no-output-of-an-untied-model",
    caught_by="tensor names",
    loses=3.5,
    misconception=(
        "You never export `lm_head.weight`. An untied model has an output layer of its own."
    ),
)
def _(sizes):
    return _export(sizes, tied=lambda sizes: True)


@mistake(
    EXPORT,
    "layers-from-one",
    caught_by="tensor names",
    loses=3.5,
    misconception="You number the layers from 1. They begin at 0.",
)
def _(sizes):
    return _export(sizes, first=1)


@mistake(
    EXPORT,
    "no-model-prefix",
    caught_by="tensor names",
    loses=3.5,
    misconception='You leave out the prefix "model.". Only `lm_head.weight` has none.',
)
def _(sizes):
    return _export(sizes, name=lambda name: name.removeprefix("model."))


@mistake(
    EXPORT,
    "no-weight-suffix",
    caught_by="tensor names",
    loses=3.5,
    misconception='You leave out the suffix ".weight".',
)
def _(sizes):
    return _export(sizes, name=lambda name: name.removesuffix(".weight"))


@mistake(
    EXPORT,
    "prefix-on-the-output",
    caught_by="tensor names",
    loses=3.5,
    misconception='You write "model." before `lm_head.weight`. It is outside the model proper.',
)
def _(sizes):
    return _export(sizes, name=lambda name: name.replace("lm_head", "model.lm_head"))


@mistake(
    EXPORT,
    "full-keys",
    caught_by="tensor shapes",
    loses=1.5,
    misconception="You give keys and values all query heads. They have `num_kv_heads` heads.",
)
def _(sizes):
    return _export(sizes, narrow=lambda sizes: sizes["hidden_size"])


@mistake(
    EXPORT,
    "one-row-per-kv-head",
    caught_by="tensor shapes",
    loses=1.5,
    misconception="You give keys and values one row per KV head. A head has several dimensions.",
)
def _(sizes):
    return _export(sizes, narrow=lambda sizes: sizes["num_kv_heads"])


@mistake(
    EXPORT,
    "transposed",
    caught_by="tensor shapes",
    loses=1.5,
    misconception=(
        "You give shapes as (inputs, outputs). A linear layer's weight is (outputs, inputs)."
    ),
)
def _(sizes):
    return _transposed(sizes, "proj")


@mistake(
    EXPORT,
    "norms-with-two-axes",
    caught_by="tensor shapes",
    loses=1.5,
    misconception="You give norms two axes. Their weight has the one axis `hidden_size`.",
)
def _(sizes):
    return _export(sizes, shape=lambda shape: shape if len(shape) == 2 else (1, *shape))


@mistake(
    EXPORT,
    "down-like-up",
    caught_by="tensor shapes",
    loses=1.5,
    misconception="You give `down_proj` the shape of `up_proj`. It leads back to the hidden size.",
)
def _(sizes):
    return _transposed(sizes, "down_proj")
