"""A LLaMA in a GGUF file: its configuration and its parameters, under the names that
Hugging Face gives them.

llama.cpp has other names for both, and one trap. Its rotary turns adjacent pairs of
numbers, as Meta's own code does (Su et al. 2021, section 3.2.2); Hugging Face's and
ours turns the first half of a head's numbers against the second. So the converter
stored the rows of query and key in another order: what is row j of the first half and
row j of the second here are rows 2j and 2j + 1 of that head in the file. Read without
undoing it, a model still gives fluent-looking logits, and nonsense.

Not here: the tokenizer (`tokenizers.gguf_tokenizer`, from the same table), other
architectures, rescaled rotary frequencies.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from reference_impl.layers.rotary import to_halves
from reference_impl.weights.gguf_files import GGUFFile, read_gguf
from reference_impl.weights.pretrained import build, config_from, load_hugging_face
from reference_impl.weights.shards import WeightsError

Model = TypeVar("Model", bound=nn.Module)

KEYS = {
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_theta": "rope.freq_base",
}
"""What config.json calls them, and what the table does, after "llama."."""
FREQUENCIES = "rope_freqs.weight"
MAY_BE_MISSING = {"num_key_value_heads", "head_dim", "rope_theta"}

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.*.attn_norm": "model.layers.*.input_layernorm",
    "blk.*.ffn_norm": "model.layers.*.post_attention_layernorm",
    "blk.*.attn_q": "model.layers.*.self_attn.q_proj",
    "blk.*.attn_k": "model.layers.*.self_attn.k_proj",
    "blk.*.attn_v": "model.layers.*.self_attn.v_proj",
    "blk.*.attn_output": "model.layers.*.self_attn.o_proj",
    "blk.*.ffn_gate": "model.layers.*.mlp.gate_proj",
    "blk.*.ffn_up": "model.layers.*.mlp.up_proj",
    "blk.*.ffn_down": "model.layers.*.mlp.down_proj",
}


def published_config(file: GGUFFile) -> dict[str, Any]:
    """The file's settings as a config.json would have them.

    WeightsError names what is missing or not LLaMA's.
    """
    table: Mapping[str, Any] = file.metadata
    if (kind := table.get("general.architecture")) != "llama":
        raise WeightsError(
            f"{file.path} is of the architecture {kind!r}, and only 'llama' is read"
        )
    if (scaling := table.get("llama.rope.scaling.type", "none")) != "none":
        raise WeightsError(
            f"{file.path} scales rotary positions by {scaling!r}, and only 'none' is"
            " read"
        )
    for name in ("token_embd.weight", "output_norm.weight"):
        if name not in file.places:
            raise WeightsError(
                f"{file.path} has no tensor {name!r}: is it a language model?"
            )
    found = {
        ours: table[f"llama.{key}"]
        for ours, key in KEYS.items()
        if f"llama.{key}" in table
    }
    if missing := sorted(KEYS.keys() - found.keys() - MAY_BE_MISSING):
        raise WeightsError(f"{file.path} has no llama.{KEYS[missing[0]]}")
    # The embedding says how many tokens there are; the table need not. Without an
    # output matrix, it is the embedding.
    return {
        **found,
        "model_type": "llama",
        "vocab_size": file.places["token_embd.weight"].shape[0],
        "tie_word_embeddings": "output.weight" not in file.places,
    }


def unpermute(weight: Float[Tensor, "R C"], num_heads: int) -> Float[Tensor, "R C"]:
    """Rows of a query or key matrix from llama.cpp's order to Hugging Face's.

    With one head of four rows, the file's rows 0 1 2 3 are two pairs and become 0 2 1
    3: firsts, then seconds.
    """
    rows = len(weight)
    if rows % (2 * num_heads):
        raise WeightsError(
            f"a query or key matrix of {rows} rows can't be {num_heads} heads of pairs"
        )
    return to_halves(weight, num_heads)


def _translated(name: str) -> str | None:
    """Hugging Face's name of a tensor, or None for the factors of frequencies, which
    are all 1 where they are read.
    """
    if name == FREQUENCIES:
        return None
    stem = name.removesuffix(".weight")
    number = re.search(r"(?<=^blk\.)\d+(?=\.)", stem)
    general = stem.replace(number.group(), "*", 1) if number else stem
    if not name.endswith(".weight") or general not in NAMES:
        raise WeightsError(f"{name!r} is no tensor of a LLaMA")
    return NAMES[general].replace("*", number.group() if number else "") + ".weight"


def _hugging_face_weights(
    file: GGUFFile, config: Mapping[str, Any]
) -> dict[str, Tensor]:
    heads = {
        "q_proj": config["num_attention_heads"],
        "k_proj": config.get("num_key_value_heads", config["num_attention_heads"]),
    }
    weights = {}
    for name in file.places:
        if (theirs := _translated(name)) is None:
            continue
        tensor, part = file.tensor(name), theirs.split(".")[-2]
        weights[theirs] = unpermute(tensor, heads[part]) if part in heads else tensor
    return weights


def from_gguf(
    model_class: type[Model], path: Path | str, dtype: torch.dtype = torch.float32
) -> Model:
    """Build the model (`Llama`) that a GGUF file describes, with its weights as
    `dtype`, in evaluation mode.

    Shapes are compared with the file's before a number of it is read.
    """
    file = read_gguf(path)
    published = published_config(file)
    if FREQUENCIES in file.places and bool((file.tensor(FREQUENCIES) != 1).any()):
        raise WeightsError(
            f"{file.path} rescales rotary positions by {FREQUENCIES}, as LLaMA 3.1"
            " does: only unscaled ones are read from GGUF; give the model's"
            " safetensors"
        )
    shapes = {
        theirs: torch.empty(place.shape, device="meta")
        for name, place in file.places.items()
        if (theirs := _translated(name)) is not None
    }
    model = build(
        model_class,
        config_from(model_class.config_class, published),
        shapes,
        dtype=dtype,
    )
    load_hugging_face(model, _hugging_face_weights(file, published))
    return model.eval()
