"""Losses of fine-tuning against the BertFor... classes of transformers; tags by hand."""

import pytest
import torch
import transformers
from sklearn.metrics.pairwise import cosine_similarity
from transformers.models.clip.modeling_clip import contrastive_loss

from reference_impl.models import bert_tasks
from reference_impl.objectives import task_losses
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.task_losses import (
    align_tags,
    in_batch_negatives,
    similarity_terms,
    text_batch,
)
from reference_impl.objectives.terms import IGNORED

ROWS, SEGMENTS = [[1, 5, 6, 2, 7, 8, 2], [1, 9, 2, 10, 2]], [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]


@pytest.fixture
def batch():
    return text_batch(ROWS, SEGMENTS)


@pytest.fixture
def models(same, tiny_bert):
    def make(task, ours_arguments=None, **config):
        theirs = getattr(transformers, f"BertFor{task}")(
            transformers.BertConfig(**tiny_bert, **config)
        )
        return same(getattr(bert_tasks, f"BertFor{task}"), theirs, **ours_arguments or {}), theirs

    return make


def check(objective, ours, theirs, batch, ours_labels, labels, count):
    inputs = {
        "input_ids": batch["ids"],
        "attention_mask": batch["mask"].long(),
        "token_type_ids": batch["segments"],
    }
    expected = theirs(**inputs, **labels).loss
    found = objective(ours, {**batch, **ours_labels})
    torch.testing.assert_close(found.mean, expected, rtol=1e-10, atol=0)
    assert found.count == count


def test_the_loss_of_texts_and_pairs_is_that_of_transformers(models, batch):
    ours, theirs = models("SequenceClassification", {"num_labels": 3}, num_labels=3)
    labels = torch.tensor([2, 0])
    check(
        task_losses.sequence_classification,
        ours,
        theirs,
        batch,
        {"labels": labels},
        {"labels": labels},
        2,
    )


def test_one_output_is_a_regression_as_in_transformers(models, batch):
    ours, theirs = models("SequenceClassification", {"num_labels": 1}, num_labels=1)
    labels = torch.tensor([0.3, -2.0], dtype=torch.float64)
    check(
        task_losses.sequence_classification,
        ours,
        theirs,
        batch,
        {"labels": labels},
        {"labels": labels},
        2,
    )


def test_the_loss_of_tags_is_that_of_transformers(models, batch):
    ours, theirs = models("TokenClassification", {"num_labels": 5}, num_labels=5)
    labels = torch.tensor(
        [[IGNORED, 4, IGNORED, IGNORED, 0, 1, IGNORED], [IGNORED, 3, *[IGNORED] * 5]]
    )
    check(
        task_losses.token_classification,
        ours,
        theirs,
        batch,
        {"labels": labels},
        {"labels": labels},
        4,
    )


def test_the_loss_of_spans_is_that_of_transformers(models, batch):
    ours, theirs = models("QuestionAnswering")
    starts, ends = torch.tensor([4, 0]), torch.tensor([5, 0])
    check(
        task_losses.span_answering,
        ours,
        theirs,
        batch,
        {"starts": starts, "ends": ends},
        {"start_positions": starts, "end_positions": ends},
        2,
    )


def test_the_loss_of_choices_is_that_of_transformers(models, batch):
    ours, theirs = models("MultipleChoice")
    stacked = {name: tensor[None].repeat(3, 1, 1) for name, tensor in batch.items()}
    stacked["ids"] = stacked["ids"] + torch.arange(3)[:, None, None]
    labels = torch.tensor([1, 0, 1])
    check(
        task_losses.multiple_choice,
        ours,
        theirs,
        stacked,
        {"labels": labels},
        {"labels": labels},
        3,
    )


def test_similarity_is_the_squared_error_of_the_cosine():
    one, other = torch.tensor([[1.0, 0.0], [3.0, 4.0]]), torch.tensor([[0.0, 2.0], [6.0, 8.0]])
    found = similarity_terms(one, other, torch.tensor([0.5, 0.8]))
    assert abs(found.mean.item() - (0.25 + 0.04) / 2) < 1e-6


def test_the_other_partners_of_a_batch_are_negatives_as_in_clips_loss_of_one_direction(generator):
    one, other = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64)
    cosines = torch.from_numpy(cosine_similarity(one, other))
    for scale in (1.0, 20.0):
        found = in_batch_negatives(one, other, scale)
        torch.testing.assert_close(
            found.mean, contrastive_loss(scale * cosines), rtol=1e-12, atol=0
        )
        assert found.count == 5
    assert in_batch_negatives(one, other).mean == found.mean


def test_hard_negatives_are_further_texts_that_no_query_wants(generator):
    one, other, hard = torch.randn(3, 4, 3, generator=generator, dtype=torch.float64)
    cosines = torch.from_numpy(cosine_similarity(one, torch.cat([other, hard])))
    expected = -(20 * cosines).log_softmax(1).diagonal().mean()
    found = in_batch_negatives(one, other, hard=hard)
    torch.testing.assert_close(found.mean.item(), float(expected), rtol=1e-12, atol=0)
    assert found.mean > in_batch_negatives(one, other).mean


def test_a_words_first_piece_has_its_tag():
    labels = align_tags([None, 0, 0, 1, 2, 2, 2, None], [7, 0, 3])
    assert labels == [IGNORED, 7, IGNORED, 0, 3, IGNORED, IGNORED, IGNORED]


@pytest.mark.usefixtures("as_students_run_it")
@pytest.mark.parametrize(
    "task, objective, labels, says",
    [
        (
            "SequenceClassification",
            "sequence_classification",
            {"labels": torch.tensor([2, 0])},
            "label 2 but 2 classes",
        ),
        (
            "SequenceClassification",
            "sequence_classification",
            {"labels": torch.tensor([-100, 0])},
            "label -100 but 2",
        ),
        ("SequenceClassification", "sequence_classification", {}, "but no labels"),
        (
            "TokenClassification",
            "token_classification",
            {"labels": torch.zeros(2, 7).long()},
            "padding has a label",
        ),
        (
            "QuestionAnswering",
            "span_answering",
            {"starts": torch.tensor([3, 0]), "ends": torch.tensor([2, 0])},
            "ends be",
        ),
        (
            "QuestionAnswering",
            "span_answering",
            {"starts": torch.tensor([3, 0]), "ends": torch.tensor([7, 0])},
            "7 but 7",
        ),
    ],
)
def test_labels_that_do_not_fit_are_refused(models, batch, task, objective, labels, says):
    with pytest.raises(ObjectiveError, match=says):
        arguments = {"num_labels": 2} if "Classification" in task else {}
        getattr(task_losses, objective)(models(task, arguments)[0], {**batch, **labels})


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: text_batch([[1, 2]], [[0]]), "give a segment for each token"),
        (lambda: align_tags([0, 1], [5]), "word 1 but 1 tags"),
        (
            lambda: similarity_terms(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([4.5])),
            "divide scores of 0 to 5",
        ),
    ],
)
def test_examples_that_do_not_fit_are_refused(make, says):
    with pytest.raises(ObjectiveError, match=says):
        make()


def test_whole_numbers_are_no_labels_of_a_regression(models, batch):
    with pytest.raises(ObjectiveError, match="a regression, but labels are torch.int64"):
        task_losses.sequence_classification(
            models("SequenceClassification", {"num_labels": 1}, num_labels=1)[0],
            {**batch, "labels": torch.tensor([1, 0])},
        )
