"""Gemma 3's text model from folders that transformers wrote, with caches and in the engine."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.gemma3 import Gemma3, Gemma3Config
from reference_impl.weights.pretrained import config_from, hugging_face_state
from reference_impl.weights.shards import WeightsError

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 5,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 8,
    "max_position_embeddings": 320,
    "sliding_window": 4,
    "query_pre_attn_scalar": 9,
}
LINEAR = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1_000_000.0}
TINY = [
    {"sliding_window_pattern": 2},
    {"sliding_window_pattern": 3, "rope_scaling": LINEAR, "tie_word_embeddings": False},
    {},
]


@pytest.fixture(params=TINY, ids=["every second", "every third", "local only"])
def written(request, tmp_path):
    config = transformers.Gemma3TextConfig(**SMALL | request.param)
    torch.manual_seed(0)
    theirs = transformers.Gemma3ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.3)
    theirs.save_pretrained(tmp_path)
    return theirs, tmp_path


def test_a_folder_that_transformers_wrote_gives_its_logits(written, ragged):
    theirs, folder = written
    ours = Gemma3.from_pretrained(folder)
    ids, _ = ragged(61, [30, 30])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    file, state = load_file(folder / "model.safetensors"), hugging_face_state(ours)
    tied = {"lm_head.weight"} if theirs.config.tie_word_embeddings else set()
    assert file.keys() | tied == state.keys()


def test_a_cache_changes_nothing(written, decoding, ragged):
    ours = Gemma3.from_pretrained(written[1], dtype=torch.float64)
    ids, _ = ragged(61, [7, 7])
    decoding.check_cache(ours, ids, [4, 5])


def test_the_engine_keeps_each_layer_to_its_window(written):
    ours = Gemma3.from_pretrained(written[1], dtype=torch.float64)
    limits = SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=5, max_model_len=32)
    engine = Engine(ours, EngineConfig(num_blocks=24, block_size=4, scheduler=limits))
    prompts = [[5, 9, 2, 44, 7, 8, 1, 17, 33, 20], [5, 9, 2, 44, 3], [30]]
    said = engine.generate(prompts, SamplingParams(temperature=0, max_tokens=6))
    for prompt, [completion] in zip(prompts, said, strict=True):
        ids = list(prompt)
        for _ in range(6):
            ids.append(int(ours(torch.tensor([ids]))[0, -1].argmax()))
        assert completion.ids == ids[len(prompt) :]


def test_layers_in_another_order_are_refused(written):
    published = json.loads((written[1] / "config.json").read_text())
    kinds = ["full_attention", "sliding_attention", *["full_attention"] * 3]
    with pytest.raises(WeightsError, match="every n-th layer"):
        config_from(Gemma3Config, published | {"layer_types": kinds})
