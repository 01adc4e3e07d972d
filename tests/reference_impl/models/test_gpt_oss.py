"""gpt-oss from folders that transformers reads, whole and in MXFP4, cached and in the engine."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.measure.cache_bytes import bytes_per_token
from reference_impl.models.gpt_oss import GptOss, GptOssConfig
from reference_impl.weights.pretrained import config_from, hugging_face_state
from reference_impl.weights.shards import WeightsError

SMALL = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 32,
    "num_local_experts": 5,
    "num_experts_per_tok": 2,
    "max_position_embeddings": 320,
    "sliding_window": 4,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 8.0,
    "beta_fast": 4.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 24,
}
TINY = [
    {"rope_parameters": YARN},
    {"swiglu_limit": 0.5, "swiglu_alpha": 1.0, "tie_word_embeddings": True},
    {"rope_parameters": YARN | {"truncate": True}, "layer_types": ["sliding_attention"] * 3},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
]
REAL = {
    "architectures": ["GptOssForCausalLM"],
    "attention_bias": True,
    "attention_dropout": 0.0,
    "eos_token_id": 200002,
    "experts_per_token": 4,
    "head_dim": 64,
    "hidden_act": "silu",
    "hidden_size": 2880,
    "initial_context_length": 4096,
    "initializer_range": 0.02,
    "intermediate_size": 2880,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
    "max_position_embeddings": 131072,
    "model_type": "gpt_oss",
    "num_attention_heads": 64,
    "num_experts_per_tok": 4,
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "num_local_experts": 128,
    "output_router_logits": False,
    "pad_token_id": 199999,
    "quantization_config": {
        "modules_to_not_convert": [
            "model.layers.*.self_attn",
            "model.layers.*.mlp.router",
            "model.embed_tokens",
            "lm_head",
        ],
        "quant_method": "mxfp4",
    },
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "rope_type": "yarn",
        "truncate": False,
    },
    "rope_theta": 150000,
    "router_aux_loss_coef": 0.9,
    "sliding_window": 128,
    "swiglu_limit": 7.0,
    "tie_word_embeddings": False,
    "transformers_version": "4.55.0.dev0",
    "use_cache": True,
    "vocab_size": 201088,
}
"""The config.json of openai/gpt-oss-120b."""


def library(settings):
    """The library's model with random numbers everywhere, large enough to reach the clamps."""
    torch.manual_seed(0)
    theirs = transformers.GptOssForCausalLM(transformers.GptOssConfig(**SMALL | settings)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(std=0.4)
    return theirs


@pytest.fixture(params=TINY, ids=["yarn", "clamped and tied", "windows only", "no yarn"])
def written(request, tmp_path):
    theirs = library(request.param)
    theirs.save_pretrained(tmp_path)
    theirs.set_experts_implementation("eager")  # the other ones have no float64
    return theirs.double(), tmp_path


def pack(folder):
    """Replace the experts of a folder by random codes and scales, as gpt-oss's files have them."""
    weights, generator = load_file(folder / "model.safetensors"), torch.Generator().manual_seed(1)
    for name in [name for name in weights if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, inputs, outputs = weights.pop(name).shape
        shape = (experts, outputs, inputs // 32)
        weights[f"{name}_blocks"] = torch.randint(
            256, (*shape, 16), dtype=torch.uint8, generator=generator
        )
        weights[f"{name}_scales"] = torch.randint(
            122, 126, shape, dtype=torch.uint8, generator=generator
        )
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    path = folder / "config.json"
    path.write_text(
        json.dumps(
            json.loads(path.read_text()) | {"quantization_config": REAL["quantization_config"]}
        )
    )


def test_a_folder_that_transformers_wrote_gives_its_logits(written, ragged):
    """Twice as long as what YARN calls the trained length, and many windows long."""
    theirs, folder = written
    ours = GptOss.from_pretrained(folder, dtype=torch.float64)
    ids, _ = ragged(61, [50, 50])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)
    file, state = load_file(folder / "model.safetensors"), hugging_face_state(ours)
    tied = {"lm_head.weight"} if theirs.config.tie_word_embeddings else set()
    assert file.keys() | tied == state.keys()
    assert all(torch.equal(state[name], file[name].double()) for name in file)


def test_gradients_of_sinks_and_experts_are_transformers(written, ragged):
    theirs, folder = written
    ours = GptOss.from_pretrained(folder, dtype=torch.float64)
    ids, _ = ragged(61, [9, 9])
    ours(ids).square().mean().backward()
    theirs(ids).logits.square().mean().backward()
    for ours_name, theirs_name in (
        ("blocks.1.attention.sinks", "layers.1.self_attn.sinks"),
        ("blocks.2.feed_forward.gate_up", "layers.2.mlp.experts.gate_up_proj"),
    ):
        gradient = ours.get_parameter(ours_name).grad
        wanted = theirs.model.get_parameter(theirs_name).grad
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)
        assert gradient.abs().max() > 1e-3


def test_experts_in_mxfp4_give_what_transformers_unpacks(tmp_path, ragged):
    library({"rope_parameters": YARN, "hidden_size": 64}).save_pretrained(tmp_path)
    pack(tmp_path)
    theirs = transformers.GptOssForCausalLM.from_pretrained(
        tmp_path, quantization_config=transformers.Mxfp4Config(dequantize=True), dtype=torch.float32
    ).eval()
    ours = GptOss.from_pretrained(tmp_path)
    ids, _ = ragged(61, [30, 30])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    assert torch.equal(
        ours.blocks[2].feed_forward.down, theirs.model.layers[2].mlp.experts.down_proj
    )


def test_a_cache_changes_nothing(written, decoding, ragged):
    ours = GptOss.from_pretrained(written[1], dtype=torch.float64)
    ids, _ = ragged(61, [7, 7])
    decoding.check_cache(ours, ids, [4, 5])


def test_decoding_goes_on_as_transformers_does(written):
    theirs, folder = written
    ours = GptOss.from_pretrained(folder, dtype=torch.float64)
    ids = torch.tensor([[5, 9, 2, 44, 7, 8]])
    said = theirs.generate(ids, max_new_tokens=30, do_sample=False)[0].tolist()
    params = SamplingParams(temperature=0, max_tokens=30, ignore_eos=True)
    assert generate(ours, ids.tolist(), params)[0].ids == said[6:]


def test_padding_on_the_left_is_seen_by_nobody(written, decoding, ragged):
    theirs, folder = written
    ours = GptOss.from_pretrained(folder, dtype=torch.float64)
    ids, _ = ragged(61, [7])
    decoding.check_left_padding(ours, ids, 3)
    padded = torch.cat((torch.zeros(1, 3, dtype=ids.dtype), ids), dim=1)
    mask = torch.arange(10)[None] >= 3
    expected = theirs(padded, attention_mask=mask.long()).logits[:, 3:]
    torch.testing.assert_close(ours(ids), expected, rtol=1e-5, atol=1e-5)


def test_the_engine_says_what_the_whole_model_says(written):
    ours = GptOss.from_pretrained(written[1], dtype=torch.float64)
    limits = SchedulerConfig(max_num_seqs=3, max_num_batched_tokens=5, max_model_len=48)
    engine = Engine(ours, EngineConfig(num_blocks=24, block_size=4, scheduler=limits))
    prompts = [[5, 9, 2, 44, 7, 8, 1, 17, 33, 20] * 3, [5, 9, 2, 44, 3], [30]]
    said = engine.generate(prompts, SamplingParams(temperature=0, max_tokens=6))
    for prompt, [completion] in zip(prompts, said, strict=True):
        ids = list(prompt)
        for _ in range(6):
            ids.append(int(ours(torch.tensor([ids]))[0, -1].argmax()))
        assert completion.ids == ids[len(prompt) :]
    assert engine.runner.cache.bytes_per_block == 4 * bytes_per_token(3, 2, 8, torch.float64)


@pytest.mark.parametrize(
    "layers, experts, billions, gibibytes", [(36, 128, 116.83, 60.8), (24, 32, 20.91, 12.8)]
)
def test_parameters_and_files_are_as_large_as_the_model_card_says(
    layers, experts, billions, gibibytes
):
    """OpenAI 2025, table 1; 4.25 bits for the experts' matrices, 16 for the rest."""
    with torch.device("meta"):
        model = GptOss(GptOssConfig(num_layers=layers, num_experts=experts))
    count = sum(parameter.numel() for parameter in model.parameters())
    packed = sum(
        parameter.numel()
        for name, parameter in model.named_parameters()
        if name.endswith((".gate_up", ".down"))
    )
    assert round(count / 1e9, 2) == billions
    assert round((packed * 4.25 + (count - packed) * 16) / 8 / 2**30, 1) == gibibytes


def test_the_released_configuration_is_read_key_by_key():
    """What it leaves out is the library's, and its two names for one setting agree."""
    assert config_from(GptOssConfig, REAL) == GptOssConfig()
    assert config_from(GptOssConfig, {"model_type": "gpt_oss"}) == GptOssConfig()
    smaller = REAL | {
        "num_hidden_layers": 24,
        "num_local_experts": 32,
        "layer_types": REAL["layer_types"][:24],
    }
    assert config_from(GptOssConfig, smaller) == GptOssConfig(num_layers=24, num_experts=32)


def test_what_cannot_be_read_is_refused_by_name():
    for change, words in (
        ({"attention_bias": False}, "have biases"),
        ({"experts_per_token": 8}, "experts_per_token to 8"),
        ({"initial_context_length": 8192}, "initial_context_length"),
        ({"quantization_config": {"quant_method": "fp8"}}, "'fp8'"),
        ({"rope_scaling": REAL["rope_scaling"] | {"attention_factor": 1.2}}, "attention_factor"),
        ({"layer_types": ["full_attention", *REAL["layer_types"][1:]]}, "every n-th layer"),
        ({"num_local_experts": 3}, "4 experts per token of 3"),
    ):
        with pytest.raises(WeightsError, match=words):
            config_from(GptOssConfig, REAL | change)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"gate_up_proj_scales": None}, "gate_up_proj_blocks"),
        ({"down_proj_scales": torch.zeros(5, 32, 2, dtype=torch.uint8)}, "a scale for each block"),
        ({"down_proj_scales": torch.zeros(5, 32, 1)}, "a scale for each block"),
    ],
)
def test_blocks_without_fitting_scales_are_refused(tmp_path, change, words):
    library({}).save_pretrained(tmp_path)
    pack(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    for name, tensor in change.items():
        weights[f"model.layers.0.mlp.experts.{name}"] = tensor
    weights = {name: tensor for name, tensor in weights.items() if tensor is not None}
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(WeightsError, match=words):
        GptOss.from_pretrained(tmp_path)
