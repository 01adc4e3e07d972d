"""GPT-1 and GPT-2 against transformers, from tiny random configurations with the same weights."""

import dataclasses

import pytest
import torch
import transformers

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

TINY = [
    (
        "GPT2",
        {"vocab_size": 61, "n_embd": 12, "n_layer": 1, "n_head": 3, "n_positions": 9},
        [9, 4, 1],
    ),
    (
        "GPT2",
        {
            "vocab_size": 101,
            "n_embd": 20,
            "n_layer": 3,
            "n_head": 1,
            "n_positions": 64,
            "n_inner": 33,
            "layer_norm_epsilon": 0.1,
        },
        [5, 5],
    ),
    (
        "GPT2",
        {
            "vocab_size": 37,
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 8,
            "n_positions": 300,
            "activation_function": "relu",
        },
        [300, 213],
    ),
    (
        "OpenAIGPT",
        {"vocab_size": 61, "n_embd": 12, "n_layer": 1, "n_head": 3, "n_positions": 9},
        [9, 4, 1],
    ),
    (
        "OpenAIGPT",
        {
            "vocab_size": 101,
            "n_embd": 20,
            "n_layer": 3,
            "n_head": 1,
            "n_positions": 64,
            "layer_norm_epsilon": 0.1,
        },
        [5, 5],
    ),
    (
        "OpenAIGPT",
        {
            "vocab_size": 37,
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 8,
            "n_positions": 300,
            "afn": "relu",
        },
        [300, 213],
    ),
]
EACH = pytest.mark.parametrize("family, settings, lengths", TINY)


@pytest.fixture
def wide(in_double):
    with in_double():  # the library's loss is taken in float32
        yield


def pair(parity, family, settings):
    theirs = getattr(transformers, f"{family}LMHeadModel")(
        getattr(transformers, f"{family}Config")(**settings)
    )
    return parity.make_same(GPT(config_from(GPTConfig, theirs.config.to_dict())), theirs)


@EACH
def test_logits_loss_and_gradients_are_transformers(
    wide, parity, ragged, family, settings, lengths
):
    ours, theirs = pair(parity, family, settings)
    ids, mask = ragged(settings["vocab_size"], lengths)
    parity.check_causal_lm(ours, theirs, ids, mask)


@EACH
def test_a_cache_and_padding_on_the_left_change_nothing(
    parity, decoding, ragged, family, settings, lengths
):
    ours, _ = pair(parity, family, settings)
    ids, _ = ragged(settings["vocab_size"], [5, 5])
    decoding.check_cache(ours, ids, [3, 4])
    decoding.check_left_padding(ours, ids, 2)


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("family", ["GPT2", "OpenAIGPT"])
def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path, family, bare):
    settings = {"vocab_size": 31, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 11}
    theirs = getattr(transformers, f"{family}LMHeadModel")(
        getattr(transformers, f"{family}Config")(**settings)
    ).eval()
    (theirs.transformer if bare else theirs).save_pretrained(
        tmp_path
    )  # GPT-2 was published without its output layer
    ids, _ = ragged(31, [11, 11])
    torch.testing.assert_close(GPT.from_pretrained(tmp_path)(ids), theirs(ids).logits)


def test_tied_embeddings_are_one_parameter():
    model = GPT(GPTConfig(vocab_size=11, hidden_size=4, num_layers=1, num_heads=1))
    assert model.output.weight is model.embedding.weight
    assert sum(p.numel() for p in model.parameters() if p.shape == (11, 4)) == 44


def test_residual_layers_start_smaller_by_the_root_of_their_number():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=11, hidden_size=96, num_layers=8, num_heads=2))
    assert (
        abs(
            model.blocks[3].feed_forward.down.weight.std()
            / model.blocks[3].feed_forward.up.weight.std()
            - 0.25
        )
        < 0.01
    )


def test_settings_that_are_not_built_are_refused():
    published = {"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": True}
    with pytest.raises(
        WeightsError, match="scale_attn_by_inverse_layer_idx to True: only False can be read"
    ):
        config_from(GPTConfig, published)


@pytest.mark.usefixtures("as_students_run_it")
def test_a_text_longer_than_the_positions_is_refused_also_with_a_cache(decoding):
    model = (
        GPT(
            GPTConfig(
                vocab_size=11, hidden_size=4, num_layers=1, num_heads=1, max_position_embeddings=5
            )
        )
        .double()
        .eval()
    )
    with pytest.raises(ModelInputError, match="6 tokens but 5 positions"):
        model(torch.zeros(1, 6, dtype=torch.long))
    with pytest.raises(ModelInputError, match="7 tokens but 5 positions"):
        decoding.check_cache(model, torch.zeros(1, 7, dtype=torch.long), [4])
    with pytest.raises(ModelInputError, match="position 5 but 5 positions"):
        model(torch.zeros(1, 2, dtype=torch.long), positions=torch.tensor([[4, 5]]))
    with pytest.raises(ModelInputError, match="hidden_size 4 is not a multiple of num_heads 3"):
        GPT(dataclasses.replace(model.config, num_heads=3))
