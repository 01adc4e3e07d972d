"""Mixtral and Qwen3-MoE from folders that transformers wrote, and with a cache."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file

from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.weights.pretrained import config_from, hugging_face_state
from reference_impl.weights.shards import WeightsError

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 320,
}
TINY = [
    ("Mixtral", {"num_local_experts": 3}),
    ("Mixtral", {"num_local_experts": 12, "num_experts_per_tok": 3, "sliding_window": 4}),
    ("Qwen3Moe", {"num_experts": 4, "head_dim": 4, "moe_intermediate_size": 4}),
    (
        "Qwen3Moe",
        {"num_experts": 4, "moe_intermediate_size": 12, "norm_topk_prob": True, "head_dim": 2},
    ),
]


@pytest.fixture(params=TINY, ids=lambda one: one[0])
def written(request, tmp_path):
    family, settings = request.param
    config = getattr(transformers, f"{family}Config")(
        **SMALL | {"num_experts_per_tok": 2} | settings
    )
    torch.manual_seed(0)
    theirs = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.3)
    theirs.save_pretrained(tmp_path)
    return theirs, tmp_path


def test_a_folder_that_transformers_wrote_gives_its_logits(written, ragged):
    theirs, folder = written
    ours = Llama.from_pretrained(folder)
    ids, _ = ragged(61, [11, 11])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    file, state = load_file(folder / "model.safetensors"), hugging_face_state(ours)
    assert file.keys() == state.keys()
    assert all(torch.equal(state[name], file[name]) for name in file)


def test_a_cache_changes_nothing(written, decoding, ragged):
    ours = Llama.from_pretrained(written[1], dtype=torch.float64)
    ids, _ = ragged(61, [7, 7])
    decoding.check_cache(ours, ids, [4, 5])


def test_layers_without_experts_are_refused(written):
    theirs, folder = written
    if theirs.config.model_type != "qwen3_moe":
        return
    published = json.loads((folder / "config.json").read_text())
    with pytest.raises(WeightsError, match="every layer is a mixture"):
        config_from(LlamaConfig, published | {"mlp_only_layers": [0]})
