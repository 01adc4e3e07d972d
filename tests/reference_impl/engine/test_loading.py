"""Folders as `transformers` writes them become served models; what is missing is named with the
remedy.
"""

import json
import shutil

import pytest
import torch
import transformers

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.loading import LoadingError, load, load_encoder
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams

SIZES = {
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 32,
    "intermediate_size": 40,
    "vocab_size": 259,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": 2,
}
FAMILIES = {
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=259,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=64,
            bos_token_id=None,
            eos_token_id=2,
        )
    ),
    "mistral": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**SIZES, sliding_window=8)
    ),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, head_dim=8)),
}


@pytest.fixture
def folder(tiny_folder, tmp_path):
    """A copy of the tiny model's folder, to be damaged."""
    return shutil.copytree(tiny_folder, tmp_path / "copy")


def said(loaded, ids, count):
    engine = Engine(
        loaded.model, EngineConfig(20, scheduler=SchedulerConfig(4, 64, 64)), loaded.tokenizer
    )
    return engine.generate([ids], SamplingParams(temperature=0, max_tokens=count))[0][0].ids


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_served_from_its_folder(family, tiny_folder, tmp_path):
    torch.manual_seed(0)
    theirs = FAMILIES[family]().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3)
    theirs.save_pretrained(tmp_path / family)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_folder / name, tmp_path / family)
    loaded = load(tmp_path / family)
    ids = loaded.tokenizer.encode("a small river").ids
    expected = theirs.generate(
        torch.tensor([ids]),
        max_new_tokens=12,
        min_new_tokens=12,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    )[0, len(ids) :].tolist()
    assert said(loaded, ids, 12) == expected
    assert (loaded.name, loaded.eos_ids, loaded.eos_token) == (family, (2,), "<|im_end|>")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_and_cache_take_the_dtype_that_was_asked_for(tiny_folder, dtype):
    loaded = load(tiny_folder, dtype)
    engine = Engine(
        loaded.model, EngineConfig(20, scheduler=SchedulerConfig(4, 64, 64)), loaded.tokenizer
    )
    assert (
        {parameter.dtype for parameter in loaded.model.parameters()}
        == {engine.runner.cache.pool.dtype}
        == {dtype}
    )
    assert (
        len(engine.generate([[5, 6, 7]], SamplingParams(max_tokens=5, ignore_eos=True))[0][0].ids)
        == 5
    )


def test_the_chat_is_rendered_as_transformers_renders_it(tiny, tiny_folder):
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tiny_folder / "tokenizer.json")
    )
    template = json.loads((tiny_folder / "tokenizer_config.json").read_text())["chat_template"]
    messages = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "Three?"},
    ]
    assert tiny.render_chat(messages) == theirs.apply_chat_template(
        messages, chat_template=template, tokenize=False, add_generation_prompt=True
    )


def test_ends_are_taken_from_the_first_file_that_names_them(folder):
    def ends():
        return load(folder).eos_ids

    (folder / "generation_config.json").write_text('{"eos_token_id": [1, 2]}')
    assert ends() == (1, 2)
    (folder / "generation_config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": 0}))
    assert ends() == (0,)
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": None}))
    assert ends() == (2,)
    (folder / "tokenizer_config.json").write_text("{}")
    with pytest.raises(LoadingError, match="which token ends a text"):
        ends()


def test_templates_may_stand_in_a_file_of_their_own_or_have_names(folder):
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "chat_template": [
                    {"name": "tool_use", "template": "T"},
                    {"name": "default", "template": "D"},
                ]
            }
        )
    )
    assert load(folder).chat_template == "D"
    (folder / "chat_template.jinja").write_text("J")
    assert load(folder).chat_template == "J"
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert load(folder).chat_template is None


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("config.json", "no config.json"),
        ("model.safetensors", "safetensors"),
        (
            "tokenizer.json",
            "no tokenizer.json, no vocab.json with merges.txt, and no tokenizer.model",
        ),
    ],
)
def test_a_file_that_is_missing_is_named(folder, missing, says):
    (folder / missing).unlink()
    with pytest.raises(LoadingError, match=says):
        load(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model_type": "mamba"}, "model_type 'mamba'; served are gpt2"),
        ({"eos_token_id": 999}, "the id 999"),
        ({"eos_token_id": "x"}, "the id 'x'"),
        ({"eos_token_id": True}, "the id True"),
        ({"hidden_size": 64}, "shape"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder, change, says):
    (folder / "generation_config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(LoadingError, match=says):
        load(folder)


def test_a_path_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no model")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    for path, says in (
        (tmp_path / "none", "does not exist"),
        (tmp_path / "notes.txt", "neither a .gguf"),
        (tmp_path / "broken.gguf", "damaged"),
        (tmp_path, "no config.json"),
    ):
        with pytest.raises(LoadingError, match=says):
            load(path)


def test_what_was_not_fetched_is_named_with_the_command_that_fetches_it(tmp_path, monkeypatch):
    monkeypatch.setenv("W2S_CACHE", str(tmp_path))
    for load_default, name in ((load, "smollm2"), (load_encoder, "minilm")):
        with pytest.raises(LoadingError, match=f"course download-data {name}"):
            load_default()
