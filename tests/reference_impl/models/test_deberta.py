"""DeBERTa against transformers, from tiny random configurations with the same weights."""

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.deberta import modeling_deberta  # noqa: E402

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models.deberta import (  # noqa: E402
    Deberta,
    DebertaConfig,
    DebertaForMaskedLM,
    DebertaForSequenceClassification,
    distance_rows,
)
from reference_impl.weights.pretrained import config_from  # noqa: E402
from reference_impl.weights.safetensors_files import WeightsError  # noqa: E402

RELATIVE = {
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["p2c", "c2p"],
    "legacy": False,
}
TINY = [
    (
        {
            "vocab_size": 61,
            "hidden_size": 12,
            "num_hidden_layers": 1,
            "num_attention_heads": 3,
            "intermediate_size": 7,
            "max_position_embeddings": 11,
        },
        [9, 4, 1],
    ),
    (
        {
            "vocab_size": 101,
            "hidden_size": 20,
            "num_hidden_layers": 3,
            "num_attention_heads": 1,
            "intermediate_size": 33,
            "max_relative_positions": 3,
            "hidden_act": "relu",
            "layer_norm_eps": 0.1,
        },
        [5, 5],
    ),
    (
        {
            "vocab_size": 37,
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 8,
            "intermediate_size": 64,
            "max_position_embeddings": 40,
            "hidden_act": "gelu_new",
        },
        [150, 113],
    ),
]
EACH = pytest.mark.parametrize("settings, lengths", TINY)


@pytest.fixture
def wide(in_double):
    with in_double(modeling_deberta):
        yield


def pair(parity, ours_class, task, settings, **labels):
    theirs = getattr(transformers, f"Deberta{task}")(
        transformers.DebertaConfig(**RELATIVE | settings, **labels)
    )
    return parity.make_same(
        ours_class(config_from(DebertaConfig, theirs.config.to_dict()), *labels.values()), theirs
    )


@EACH
def test_logits_loss_and_gradients_are_transformers(wide, parity, ragged, settings, lengths):
    ours, theirs = pair(parity, DebertaForMaskedLM, "ForMaskedLM", settings)
    ids, mask = ragged(settings["vocab_size"], lengths)
    labels = ids.where(mask & (torch.arange(ids.shape[1]) % 3 == 0), -100)
    output = theirs(ids, attention_mask=mask.long(), labels=labels)
    logits = ours(ids, mask)
    parity.assert_close(logits[mask], output.logits[mask])
    parity.assert_same_gradients(
        ours, theirs, cross_entropy(logits.flatten(0, 1), labels.flatten()), output.loss
    )
    parity.assert_same_state(ours, theirs)


@EACH
def test_the_sentence_head_is_transformers(wide, parity, ragged, settings, lengths):
    ours, theirs = pair(
        parity,
        DebertaForSequenceClassification,
        "ForSequenceClassification",
        settings,
        num_labels=3,
    )
    ids, mask = ragged(settings["vocab_size"], lengths)
    labels = torch.arange(len(lengths)) % 3
    output = theirs(ids, attention_mask=mask.long(), labels=labels)
    parity.assert_close(ours(ids, mask), output.logits)
    parity.assert_same_gradients(ours, theirs, cross_entropy(ours(ids, mask), labels), output.loss)
    parity.assert_same_state(ours, theirs)


def test_distances_are_held_at_the_span_which_the_side_after_never_reaches():
    # He et al. 2021, equation 3, with k = 2: 0 for i - j <= -2, 3 for i - j >= 2, else i - j + 2.
    assert distance_rows(5, 2).tolist() == [
        [2, 1, 0, 0, 0],
        [3, 2, 1, 0, 0],
        [3, 3, 2, 1, 0],
        [3, 3, 3, 2, 1],
        [3, 3, 3, 3, 2],
    ]


def test_without_distance_vectors_a_text_is_a_set(ragged):
    torch.manual_seed(0)
    model = (
        Deberta(
            DebertaConfig(
                vocab_size=31,
                hidden_size=8,
                num_layers=2,
                num_heads=2,
                intermediate_size=8,
                max_distance=3,
            )
        )
        .double()
        .eval()
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    ids, _ = ragged(31, [7])
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    assert (model(ids)[:, order] - model(ids[:, order])).abs().max() > 1e-3
    with torch.no_grad():
        model.distances.weight.zero_()
    torch.testing.assert_close(model(ids)[:, order], model(ids[:, order]))


def test_a_folder_that_transformers_wrote_is_read_whatever_its_head(ragged, tmp_path):
    ids, mask = ragged(61, [9, 4])
    theirs = transformers.DebertaForMaskedLM(
        transformers.DebertaConfig(**RELATIVE | TINY[0][0])
    ).eval()
    theirs.save_pretrained(tmp_path)
    expected = theirs(ids, attention_mask=mask.long()).logits
    torch.testing.assert_close(
        DebertaForMaskedLM.from_pretrained(tmp_path)(ids, mask)[mask], expected[mask]
    )
    expected = theirs.deberta(ids, attention_mask=mask.long()).last_hidden_state
    torch.testing.assert_close(Deberta.from_pretrained(tmp_path)(ids, mask)[mask], expected[mask])


@pytest.mark.parametrize(
    "settings, says",
    [
        (
            {"relative_attention": False},
            "relative_attention to False: only True can be read, since positions are distances",
        ),
        ({"pos_att_type": "c2p"}, r"pos_att_type to 'c2p': only"),
        ({"type_vocab_size": 2}, "there are no segments"),
    ],
)
def test_settings_that_are_not_built_are_refused(settings, says):
    good = RELATIVE | {
        "model_type": "deberta",
        "pos_att_type": "p2c|c2p",
        "max_relative_positions": -1,
        "max_position_embeddings": 77,
    }
    assert config_from(DebertaConfig, good).max_distance == 77
    with pytest.raises(WeightsError, match=says):
        config_from(DebertaConfig, good | settings)


@pytest.mark.usefixtures("as_students_run_it")
def test_what_a_model_cannot_take_is_refused_in_words():
    model = Deberta(
        DebertaConfig(vocab_size=11, hidden_size=4, num_layers=1, num_heads=1, intermediate_size=4)
    )
    with pytest.raises(ModelInputError, match="id 11 but a vocabulary of 11"):
        model(torch.tensor([[3, 11]]))
    with pytest.raises(ModelInputError, match="the mask is torch.int64"):
        model(torch.tensor([[3, 10]]), torch.ones(1, 2).long())
