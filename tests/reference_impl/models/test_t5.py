"""T5 against transformers, from tiny random configurations with the same weights."""

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.t5 import modeling_t5  # noqa: E402

from reference_impl.generation.cache import GrowingCache  # noqa: E402
from reference_impl.models.t5 import T5, DecoderCache, T5Config  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

VERSION_1_1 = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
TINY = [
    (
        {"vocab_size": 61, "d_model": 12, "d_kv": 5, "d_ff": 7, "num_layers": 1, "num_heads": 3},
        [9, 4, 1],
        6,
    ),
    (
        {
            "vocab_size": 41,
            "d_model": 10,
            "d_kv": 4,
            "d_ff": 33,
            "num_layers": 3,
            "num_decoder_layers": 2,
            "num_heads": 1,
            "layer_norm_epsilon": 0.1,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 20,
        },
        [5, 5],
        3,
    ),
    (
        {"vocab_size": 37, "d_model": 16, "d_kv": 2, "d_ff": 64, "num_layers": 2, "num_heads": 8},
        [300, 213],
        150,
    ),
    (
        {
            "vocab_size": 61,
            "d_model": 12,
            "d_kv": 5,
            "d_ff": 7,
            "num_layers": 1,
            "num_heads": 3,
            **VERSION_1_1,
        },
        [9, 4, 1],
        6,
    ),
    (
        {
            "vocab_size": 41,
            "d_model": 10,
            "d_kv": 4,
            "d_ff": 33,
            "num_layers": 1,
            "num_decoder_layers": 3,
            "num_heads": 1,
            **VERSION_1_1,
        },
        [5, 5],
        3,
    ),
    (
        {
            "vocab_size": 37,
            "d_model": 16,
            "d_kv": 2,
            "d_ff": 64,
            "num_layers": 2,
            "num_heads": 8,
            **VERSION_1_1,
        },
        [300, 213],
        150,
    ),
]
EACH = pytest.mark.parametrize("settings, lengths, num_targets", TINY)


@pytest.fixture
def wide(in_double):
    # Not the tensors' own .float(): the buckets of distances are computed in float32 on both sides.
    with in_double(modeling_t5, tensors=False):
        yield


def a_library_model(settings):
    """The library ties the output layer to the embedding whatever the configuration; released 1.1
    files untie it.
    """
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**settings, decoder_start_token_id=0)
    )
    if settings.get("tie_word_embeddings") is False:
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    return model.eval()


@EACH
def test_logits_loss_and_gradients_are_transformers(
    wide, parity, ragged, settings, lengths, num_targets
):
    theirs = a_library_model(settings)
    ours, theirs = parity.make_same(T5(config_from(T5Config, theirs.config.to_dict())), theirs)
    source, mask = ragged(settings["vocab_size"], lengths)
    labels, _ = ragged(settings["vocab_size"], [num_targets] * len(lengths))
    labels[0, -1] = -100
    target = torch.cat((torch.zeros_like(labels[:, :1]), labels[:, :-1]), dim=1)
    output = theirs(source, attention_mask=mask.long(), labels=labels)
    logits = ours(source, target, mask)
    parity.assert_close(logits, output.logits)
    parity.assert_close(ours.encode(source, mask)[mask], output.encoder_last_hidden_state[mask])
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), labels.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**TINY[0][0], decoder_start_token_id=0)
    ).eval()
    theirs.save_pretrained(tmp_path)
    source, mask = ragged(61, [9, 4])
    target = torch.tensor([[0, 5, 6], [0, 7, 8]])
    expected = theirs(source, attention_mask=mask.long(), decoder_input_ids=target).logits
    torch.testing.assert_close(
        T5.from_pretrained(tmp_path)(source, target, mask), expected, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("version_1_1", [False, True])
@pytest.mark.parametrize("parts", [[1, 1, 1, 1, 1, 1], [4, 2], [1, 5]])
def test_a_cache_changes_no_logit_and_the_memory_is_projected_once(ragged, version_1_1, parts):
    torch.manual_seed(0)
    model = (
        T5(
            T5Config(
                vocab_size=31,
                hidden_size=8,
                head_dim=3,
                intermediate_size=8,
                num_layers=2,
                num_heads=2,
                num_buckets=4,
                max_distance=6,
                version_1_1=version_1_1,
            )
        )
        .double()
        .eval()
    )
    source, mask = ragged(31, [7, 3])
    target, _ = ragged(31, [6, 6])
    memory, projected = model.encode(source, mask), []
    cache = [DecoderCache(GrowingCache()) for _ in model.decoder.blocks]
    model.decoder.blocks[0].cross_attention.key.register_forward_hook(
        lambda *call: projected.append(call[1][0].shape)
    )
    found = torch.cat(
        [model.decode(part, memory, mask, cache) for part in target.split(parts, dim=1)], dim=1
    )
    assert projected == [memory.shape]
    torch.testing.assert_close(found, model.decode(target, memory, mask), rtol=1e-10, atol=1e-10)


def test_a_target_token_sees_no_later_one():
    torch.manual_seed(0)
    model = T5(
        T5Config(
            vocab_size=31, hidden_size=8, head_dim=3, intermediate_size=8, num_layers=2, num_heads=2
        )
    ).eval()
    source = torch.tensor([[1, 2, 3, 4]])
    one, other = (model(source, torch.tensor([[0, 6, last]])) for last in (7, 8))
    assert torch.equal(one[:, :2], other[:, :2]) and not torch.equal(one[:, 2], other[:, 2])


@pytest.mark.parametrize(
    "settings",
    [
        {"feed_forward_proj": "gated-gelu"},
        {"feed_forward_proj": "gated-silu"},
        {"tie_word_embeddings": False},
        {"scale_decoder_outputs": False},
    ],
)
def test_what_is_neither_version_is_refused(settings):
    with pytest.raises(WeightsError, match="T5 is 'relu' with those that are"):
        config_from(T5Config, {"model_type": "t5"} | settings)


def saved(model, folder):
    """Our model from the library's files."""
    model.save_pretrained(folder)
    return T5.from_pretrained(folder)


def test_a_version_1_1_that_was_saved_with_one_matrix_is_loaded_with_one(tmp_path):
    settings = {"vocab_size": 31, "d_model": 8, "d_kv": 3, "d_ff": 8, "num_layers": 1}
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**settings, **VERSION_1_1, num_heads=2)
    )
    tied = saved(theirs, tmp_path / "tied")
    assert tied.output.weight is tied.embedding.weight
    theirs.lm_head.weight = torch.nn.Parameter(torch.randn_like(theirs.lm_head.weight))
    untied = saved(theirs, tmp_path / "untied")
    assert untied.output.weight is not untied.embedding.weight
    assert torch.equal(untied.output.weight, theirs.lm_head.weight)


def test_published_files_of_version_1_1_are_read():
    old = {"model_type": "t5", "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    new = transformers.T5Config(**VERSION_1_1).to_dict()
    assert config_from(T5Config, old).version_1_1 and config_from(T5Config, new).version_1_1
    assert not config_from(T5Config, {"model_type": "t5"}).version_1_1
