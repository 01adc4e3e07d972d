"""LLaMA, Mistral, Qwen2 and Qwen3 against transformers, from tiny random configurations with the
same weights.
"""

import pytest
import torch
import transformers
from transformers import modeling_rope_utils  # noqa: E402
from transformers.models.llama import modeling_llama  # noqa: E402
from transformers.models.mistral import modeling_mistral  # noqa: E402
from transformers.models.qwen2 import modeling_qwen2  # noqa: E402
from transformers.models.qwen3 import modeling_qwen3  # noqa: E402

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models.llama import Llama, LlamaConfig  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

SMALL = {
    "vocab_size": 61,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 7,
    "max_position_embeddings": 320,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "rope_theta": 100.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 60,
}
TINY = [
    ("Llama", {}, [9, 4, 1]),
    (
        "Llama",
        {
            "num_attention_heads": 3,
            "num_key_value_heads": 3,
            "rms_norm_eps": 0.1,
            "tie_word_embeddings": True,
        },
        [5, 5],
    ),
    (
        "Llama",
        {
            "num_key_value_heads": 1,
            "head_dim": 4,
            "num_hidden_layers": 3,
            "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0},
        },
        [300, 213],
    ),
    ("Mistral", {"sliding_window": 3}, [9, 4, 1]),
    ("Mistral", {"sliding_window": 1, "head_dim": 6}, [5, 5]),
    (
        "Mistral",
        {"sliding_window": 100, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
        [300, 213],
    ),
    ("Qwen2", {}, [9, 4, 1]),
    (
        "Qwen2",
        {
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "rms_norm_eps": 0.1,
            "tie_word_embeddings": True,
        },
        [5, 5],
    ),
    ("Qwen2", {"num_key_value_heads": 6, "num_hidden_layers": 3}, [300, 213]),
    ("Llama", {"rope_parameters": LLAMA3 | {"original_max_position_embeddings": 40}}, [9, 4, 1]),
    (
        "Llama",
        {
            "head_dim": 6,
            "rope_parameters": LLAMA3 | {"original_max_position_embeddings": 19, "factor": 3.0},
        },
        [5, 5],
    ),
    (
        "Llama",
        {"head_dim": 16, "rope_parameters": LLAMA3 | {"rope_theta": 700.0, "low_freq_factor": 1.5}},
        [300, 213],
    ),
    ("Qwen3", {"head_dim": 2}, [9, 4, 1]),
    ("Qwen3", {"head_dim": 8, "rms_norm_eps": 0.1, "tie_word_embeddings": True}, [5, 5]),
    ("Qwen3", {"head_dim": 4, "num_key_value_heads": 6, "num_hidden_layers": 3}, [300, 213]),
]
EACH = pytest.mark.parametrize("family, settings, lengths", TINY)


@pytest.fixture
def wide(in_double):
    with in_double(
        modeling_llama, modeling_mistral, modeling_qwen2, modeling_qwen3, modeling_rope_utils
    ):
        yield


def their_config(family, settings):
    return getattr(transformers, f"{family}Config")(**SMALL | settings)


def pair(parity, family, settings):
    theirs = getattr(transformers, f"{family}ForCausalLM")(their_config(family, settings))
    return parity.make_same(Llama(config_from(LlamaConfig, theirs.config.to_dict())), theirs)


@EACH
def test_logits_loss_and_gradients_are_transformers(
    wide, parity, ragged, family, settings, lengths
):
    ours, theirs = pair(parity, family, settings)
    ids, mask = ragged(61, lengths)
    parity.check_causal_lm(ours, theirs, ids, mask)


@EACH
def test_a_cache_and_padding_on_the_left_change_nothing(
    parity, decoding, ragged, family, settings, lengths
):
    ours = Llama(config_from(LlamaConfig, their_config(family, settings).to_dict())).double().eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    ids, _ = ragged(61, [7, 7])
    decoding.check_cache(ours, ids, [4, 5])
    decoding.check_left_padding(ours, ids, 2)


def test_a_window_hides_what_is_further_back():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=12,
        num_layers=1,
        num_heads=2,
        intermediate_size=7,
        sliding_window=3,
    )
    model, ids = Llama(config).eval(), torch.arange(1, 9)[None]
    changed = ids.clone()
    changed[0, 4] = 60
    same = (model(ids) == model(changed)).all(-1)[0]
    assert same.tolist() == [True] * 4 + [False] * 3 + [True]


@pytest.mark.parametrize("shard", ["1GB", "2KB"])
@pytest.mark.parametrize(
    "family, settings", [(family, settings) for family, settings, _ in TINY[1::3]]
)
def test_a_folder_that_transformers_wrote_is_read_single_or_sharded(
    ragged, tmp_path, family, settings, shard
):
    theirs = getattr(transformers, f"{family}ForCausalLM")(their_config(family, settings)).eval()
    theirs.save_pretrained(tmp_path, max_shard_size=shard)
    assert (tmp_path / "model.safetensors.index.json").exists() == (shard == "2KB")
    ids, _ = ragged(61, [11, 11])
    torch.testing.assert_close(
        Llama.from_pretrained(tmp_path)(ids), theirs(ids).logits, rtol=1e-4, atol=1e-5
    )


def test_published_files_of_every_age_are_read():
    base = {"model_type": "llama", "vocab_size": 11}
    assert config_from(LlamaConfig, base | {"rope_theta": 500.0}).rope_theta == 500.0
    assert config_from(LlamaConfig, base).rope_theta == 10_000.0
    scaled = config_from(
        LlamaConfig, base | {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2.0}}
    )
    assert (scaled.rope_theta, scaled.rope_interpolation) == (500.0, 2.0)
    llama3 = config_from(LlamaConfig, base | {"rope_scaling": LLAMA3})
    assert (llama3.rope_interpolation, llama3.rope_bands) == (8.0, (1.0, 4.0, 60))
    qwen = config_from(
        LlamaConfig, {"model_type": "qwen3", "sliding_window": 4096, "use_sliding_window": False}
    )
    assert (qwen.sliding_window, qwen.qk_norm) == (None, True)


@pytest.mark.parametrize(
    "settings, says",
    [
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 8.0}},
            "scales rotary positions by 'yarn'",
        ),
        ({"attention_bias": True}, "attention_bias to True: only False can be read"),
        (
            {"model_type": "gemma"},
            "model_type 'gemma', but LlamaConfig reads 'llama' or 'mistral' or 'qwen2' or "
            "'qwen3' or 'mixtral' or 'qwen3_moe'",
        ),
    ],
)
def test_settings_that_are_not_built_are_refused(settings, says):
    with pytest.raises(WeightsError, match=says):
        config_from(LlamaConfig, {"model_type": "llama"} | settings)


@pytest.mark.usefixtures("as_students_run_it")
def test_ids_of_another_vocabulary_and_masks_of_another_length_are_refused():
    model = Llama(
        LlamaConfig(vocab_size=11, hidden_size=4, num_layers=1, num_heads=1, intermediate_size=4)
    )
    with pytest.raises(ModelInputError, match="id 11 but a vocabulary of 11"):
        model(torch.tensor([[3, 11]]))
    with pytest.raises(ModelInputError, match=r"the mask has shape \(1, 3\) but the ids \(1, 2\)"):
        model(torch.tensor([[3, 10]]), mask=torch.ones(1, 3, dtype=torch.bool))
