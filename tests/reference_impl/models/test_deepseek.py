"""DeepSeek-V3 from folders that transformers wrote, with a cache and padding."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.layers.int8 import quantize
from reference_impl.measure.cache_bytes import latent_bytes_per_token
from reference_impl.models.deepseek import Deepseek, DeepseekConfig
from reference_impl.weights.pretrained import config_from, hugging_face_state
from reference_impl.weights.shards import WeightsError

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "intermediate_size": 8,
    "moe_intermediate_size": 4,
    "q_lora_rank": 5,
    "kv_lora_rank": 7,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 8,
    "n_routed_experts": 12,
    "num_experts_per_tok": 3,
    "n_group": 4,
    "topk_group": 2,
    "first_k_dense_replace": 1,
    "max_position_embeddings": 320,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "beta_fast": 32,
    "beta_slow": 1,
    "original_max_position_embeddings": 40,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
TINY = [
    {},
    {"q_lora_rank": None, "n_shared_experts": 2},
    {"n_group": 1, "topk_group": 1, "norm_topk_prob": False, "tie_word_embeddings": True},
    {"rope_parameters": YARN},
]


@pytest.fixture(params=TINY, ids=["groups", "whole queries", "no groups", "yarn"])
def written(request, tmp_path):
    config = transformers.DeepseekV3Config(**SMALL | request.param)
    torch.manual_seed(0)
    theirs = transformers.DeepseekV3ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.3)
        for name, buffer in theirs.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.normal_(std=0.3)
    theirs.save_pretrained(tmp_path)
    return theirs, tmp_path


def test_a_folder_that_transformers_wrote_gives_its_logits(written, ragged):
    theirs, folder = written
    ours = Deepseek.from_pretrained(folder)
    ids, _ = ragged(61, [60, 60])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    file, state = load_file(folder / "model.safetensors"), hugging_face_state(ours)
    tied = {"lm_head.weight"} if theirs.config.tie_word_embeddings else set()
    assert file.keys() | tied == state.keys()
    assert all(torch.equal(state[name], file[name]) for name in file)


def test_a_cache_changes_nothing(written, decoding, ragged):
    ours = Deepseek.from_pretrained(written[1], dtype=torch.float64)
    ids, _ = ragged(61, [7, 7])
    decoding.check_cache(ours, ids, [4, 5])


def test_padding_on_the_left_changes_nothing(written, ragged):
    ours = Deepseek.from_pretrained(written[1], dtype=torch.float64)
    ids, _ = ragged(61, [7])
    padded = torch.cat((torch.zeros(1, 3, dtype=ids.dtype), ids), dim=1)
    mask = torch.arange(10)[None] >= 3
    positions = (torch.arange(10) - 3).clamp(min=0)[None]
    torch.testing.assert_close(ours(padded, mask, positions)[:, 3:], ours(ids))


def test_what_cannot_be_read_is_refused_by_name(written):
    published = json.loads((written[1] / "config.json").read_text())
    for change, words in (
        ({"scoring_func": "softmax"}, "scored by a sigmoid"),
        ({"rope_interleave": False}, "rope_interleave"),
        ({"n_group": 5}, "12 experts in 5 groups"),
        ({"rope_parameters": YARN | {"mscale": 0.5}}, "mscale_all_dim"),
    ):
        with pytest.raises(WeightsError, match=words):
            config_from(DeepseekConfig, published | change)


def test_the_engine_says_what_the_whole_model_says_and_keeps_latents_only(written):
    ours = Deepseek.from_pretrained(written[1], dtype=torch.float64)
    limits = SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=5, max_model_len=32)
    engine = Engine(ours, EngineConfig(num_blocks=12, block_size=4, scheduler=limits))
    prompts = [[5, 9, 2, 44, 7, 8, 1], [5, 9, 2, 44, 3], [30]]
    said = engine.generate(prompts, SamplingParams(temperature=0, max_tokens=6))
    for prompt, [completion] in zip(prompts, said, strict=True):
        ids = list(prompt)
        for _ in range(6):
            ids.append(int(ours(torch.tensor([ids]))[0, -1].argmax()))
        assert completion.ids == ids[len(prompt) :]
    token = latent_bytes_per_token(3, 7, 4, torch.float64)
    assert engine.runner.cache.bytes_per_block == 4 * token


def test_eight_bits_leave_the_matrix_alone_that_attention_reads(written):
    ours = Deepseek.from_pretrained(written[1])
    ids = torch.arange(9)[None]
    before, up = ours(ids), ours.blocks[0].attention.up.weight
    quantize(ours)
    assert ours.blocks[0].attention.up.weight is up
    assert (ours(ids) - before).norm() < 0.3 * before.norm()
