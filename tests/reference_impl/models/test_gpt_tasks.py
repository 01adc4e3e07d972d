"""GPT-1's tasks against transformers, and by hand where it has no such model."""

import math

import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy

from reference_impl.layers.checks import ModelInputError  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402
from reference_impl.models.gpt_tasks import (  # noqa: E402
    GPTForMultipleChoice,
    GPTForSequenceClassification,
    GPTForSimilarity,
    Markers,
    TaskOutput,
    with_markers,
)
from reference_impl.objectives.task_losses import label_and_language  # noqa: E402
from reference_impl.weights.pretrained import config_from  # noqa: E402

TINY = [
    ({"vocab_size": 61, "n_embd": 12, "n_layer": 1, "n_head": 3, "n_positions": 9}, [9, 4, 1, 6]),
    (
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
EACH = pytest.mark.parametrize("settings, lengths", TINY)


@pytest.fixture
def wide(in_double):
    with in_double():  # the library's loss is taken in float32
        yield


def pair(parity, ours_class, task, settings, **more):
    theirs = getattr(transformers, f"OpenAIGPT{task}")(
        transformers.OpenAIGPTConfig(**settings, **more)
    )
    labels = [more["num_labels"]] if "num_labels" in more else []
    return parity.make_same(
        ours_class(config_from(GPTConfig, theirs.config.to_dict()), *labels), theirs
    )


@EACH
def test_classification_is_transformers(wide, parity, ragged, settings, lengths):
    ours, theirs = pair(
        parity,
        GPTForSequenceClassification,
        "ForSequenceClassification",
        settings,
        num_labels=3,
        pad_token_id=0,
    )
    ids, mask = ragged(settings["vocab_size"], lengths)
    ids, labels = ids.where(mask, 0), torch.arange(len(lengths)) % 3
    output = theirs(ids, attention_mask=mask.long(), labels=labels)
    logits = ours(ids, mask).labels
    parity.assert_close(logits, output.logits)
    parity.assert_same_gradients(ours, theirs, cross_entropy(logits, labels), output.loss)
    parity.assert_same_state(ours, theirs)


@EACH
def test_multiple_choice_with_the_auxiliary_loss_is_transformers(
    wide, parity, ragged, settings, lengths
):
    ours, theirs = pair(parity, GPTForMultipleChoice, "DoubleHeadsModel", settings)
    ids, mask = (
        tensor.unflatten(0, (-1, 2)) for tensor in ragged(settings["vocab_size"], lengths)
    )  # (B, 2, T)
    right = torch.arange(len(ids)) % 2
    output = theirs(
        ids, mc_token_ids=mask.sum(-1) - 1, labels=ids.where(mask, -100), mc_labels=right
    )
    given = ours(ids, mask)
    parity.assert_close(given.labels, output.mc_logits)
    parity.assert_close(given.tokens, output.logits)
    batch = {"ids": ids, "mask": mask, "labels": right}
    parity.assert_same_gradients(
        ours, theirs, label_and_language(ours, batch).mean, output.mc_loss + 0.5 * output.loss
    )
    parity.assert_same_state(ours, theirs)


@EACH
def test_similarity_adds_the_last_vectors_of_both_orders(parity, ragged, settings, lengths):
    ours, theirs = pair(
        parity, GPTForSimilarity, "ForSequenceClassification", settings, num_labels=2
    )
    ids, mask = (tensor.unflatten(0, (-1, 2)) for tensor in ragged(settings["vocab_size"], lengths))
    logits, tokens = ours(ids, mask)
    for pair_ids, pair_mask, given, said in zip(ids, mask, logits, tokens, strict=True):
        one, other = (
            theirs.transformer(row[None, :length]).last_hidden_state[0]
            for row, length in zip(pair_ids, pair_mask.sum(-1), strict=True)
        )
        parity.assert_close(given, theirs.score.weight @ (one[-1] + other[-1]))
        parity.assert_close(said[0, : len(one)], one @ theirs.transformer.tokens_embed.weight.T)
    parity.assert_close(ours(ids.flip(1), mask.flip(1)).labels, logits)


def test_inputs_are_figure_1s():
    markers = Markers(start=90, delimiter=91, end=92)
    assert markers.text([1, 2]) == [90, 1, 2, 92]
    assert markers.pair([1, 2], [3]) == [90, 1, 2, 91, 3, 92]
    assert markers.both_orders([1, 2], [3]) == [[90, 1, 2, 91, 3, 92], [90, 3, 91, 1, 2, 92]]
    assert markers.choices([1, 2], [[3], [4, 5]]) == [
        [90, 1, 2, 91, 3, 92],
        [90, 1, 2, 91, 4, 5, 92],
    ]


def test_the_loss_is_the_tasks_and_half_the_language_models():
    # Two labels at 1/4 and 3/4; after token 0 come 1 at probability 1/8 and padding, which counts
    # for nothing.
    output = TaskOutput(
        torch.tensor([[1.0, 3.0]]).log(), torch.tensor([[[7.0, 1.0], [1.0, 9.0], [5.0, 5.0]]]).log()
    )
    ids, mask = torch.tensor([[0, 1, 1]]), torch.tensor([[True, True, False]])
    batch = {"ids": ids, "mask": mask, "labels": torch.tensor([0])}
    task, language = math.log(4), math.log(8)
    for weight, expected in ((0.5, task + 0.5 * language), (0.0, task), (2.0, task + 2 * language)):
        loss = label_and_language(lambda *_: output, batch, weight).mean
        torch.testing.assert_close(loss.item(), expected, rtol=1e-6, atol=0)
    torch.testing.assert_close(
        label_and_language(lambda *_: output, batch).mean.item(), task + 0.5 * language
    )


def test_markers_are_three_new_rows_and_change_nothing_else(ragged):
    gpt = GPT(
        GPTConfig(vocab_size=31, hidden_size=8, num_layers=2, num_heads=2, norm_first=False)
    ).eval()
    larger, markers = with_markers(gpt)
    ids, _ = ragged(31, [7, 7])
    assert (
        markers == (31, 32, 33)
        and larger.output.weight is larger.embedding.weight
        and not larger.training
    )
    torch.testing.assert_close(larger(ids)[..., :31], gpt(ids))
    assert 0.005 < larger.embedding.weight[31:].std() < 0.05


def test_a_folder_that_transformers_wrote_is_read(ragged, tmp_path):
    theirs = transformers.OpenAIGPTDoubleHeadsModel(
        transformers.OpenAIGPTConfig(**TINY[0][0])
    ).eval()
    theirs.save_pretrained(tmp_path)
    ids, mask = (tensor[None] for tensor in ragged(61, [9, 4]))
    torch.testing.assert_close(
        GPTForMultipleChoice.from_pretrained(tmp_path)(ids, mask).labels,
        theirs(ids, mc_token_ids=mask.sum(-1) - 1).mc_logits,
    )


@pytest.mark.usefixtures("as_students_run_it")
@pytest.mark.parametrize("row", [[False, True, True], [True, False, True], [False, False, False]])
def test_padding_that_does_not_stand_after_the_text_is_refused(row):
    model = GPTForSequenceClassification(
        GPTConfig(vocab_size=11, hidden_size=4, num_layers=1, num_heads=1, norm_first=False)
    )
    with pytest.raises(ModelInputError, match="give texts first and padding after"):
        model(torch.tensor([[1, 2, 3]]), torch.tensor([row]))
