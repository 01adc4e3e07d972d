"""Each head learns a small task whose truth is known, and does not with its body frozen at random
numbers.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from reference_impl.models.bert import Bert, BertConfig
from reference_impl.models.bert_tasks import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    sentence_vectors,
)
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.heads import similarity
from reference_impl.objectives.task_losses import (
    in_batch_negatives,
    sequence_classification,
    span_answering,
    token_classification,
)
from reference_impl.training.fine_tuning import (
    FineTuningConfig,
    epoch_batches,
    fine_tune,
    fine_tuning_groups,
)

CONFIG = BertConfig(
    vocab_size=24,
    hidden_size=32,
    num_layers=1,
    num_heads=2,
    intermediate_size=64,
    max_position_embeddings=12,
    hidden_dropout=0.0,
    attention_dropout=0.0,
)
CLS, SEP, LENGTH = 1, 2, 8


class SentenceEncoder(torch.nn.Module):
    """An encoder that is read by the mean of its tokens; it has no head."""

    def __init__(self, config):
        super().__init__()
        self.bert = Bert(config, pooler=False)


def draw(number):
    """Texts of LENGTH words from 4 to 13, with [CLS] before them."""
    ids = torch.randint(4, 14, (number, LENGTH), generator=torch.Generator().manual_seed(number))
    return torch.cat((torch.full((number, 1), CLS), ids), 1)


def sequence(number):  # is word 4 somewhere? half of the texts have none
    ids = draw(number)
    ids[::2] = ids[::2].masked_fill(ids[::2] == 4, 5)
    ids[1::2, 3] = 4
    return {"ids": ids, "labels": (ids == 4).any(1).long()}


def pair(
    number,
):  # is word 4 in the second text? in every other example it is, in the others it is in the first
    ids = draw(number)
    ids = ids.masked_fill(ids == 4, 5)
    ids[:, 4] = SEP
    labels = torch.arange(number) % 2
    ids[torch.arange(number), 2 + 4 * labels] = 4
    segments = (torch.arange(LENGTH + 1) > 4).long().expand(number, -1).contiguous()
    return {"ids": ids, "segments": segments, "labels": labels}


def token(number):  # is the word even?
    ids = draw(number)
    return {"ids": ids, "labels": ids % 2}


def span(number):  # the answer is the run of words from 20 on
    ids = draw(number)
    generator = torch.Generator().manual_seed(0)
    first = torch.randint(1, 5, (number,), generator=generator)
    last = first + torch.randint(0, 4, (number,), generator=generator)
    places = torch.arange(LENGTH + 1)
    inside = (places >= first[:, None]) & (places <= last[:, None])
    return {"ids": torch.where(inside, ids + 10, ids).clamp(max=23), "starts": first, "ends": last}


def partners(
    number,
):  # the partner says the same in other words, each ten further on, from right to left
    ids = draw(number)
    other = torch.cat((ids[:, :1], ids[:, 1:].flip(1) + 10), 1)
    return {"ids": ids, "other_ids": other, "other_mask": torch.ones_like(other, dtype=torch.bool)}


def with_mask(batch):
    return batch | {"mask": torch.ones_like(batch["ids"], dtype=torch.bool)}


def label_accuracy(model, data):
    inputs = {name: data[name] for name in ("segments", "mask") if name in data}
    return (model(data["ids"], **inputs).argmax(-1) == data["labels"]).double().mean().item()


def span_accuracy(model, data):
    first, last = (logits.argmax(-1) for logits in model(data["ids"], mask=data["mask"]))
    return ((first == data["starts"]) & (last == data["ends"])).double().mean().item()


def both_vectors(model, data):
    return [
        sentence_vectors(model.bert, data[f"{part}ids"], data[f"{part}mask"])
        for part in ("", "other_")
    ]


def partner_loss(model, batch):
    return in_batch_negatives(*both_vectors(model, batch))


def retrieval(model, data):
    one, other = both_vectors(model, data)
    return (similarity(one, other).argmax(1) == torch.arange(len(one))).double().mean().item()


TASKS = {  # model, data, loss, measure, what to reach
    "sequence": (
        lambda: BertForSequenceClassification(CONFIG),
        sequence,
        sequence_classification,
        label_accuracy,
        0.9,
    ),
    "pair": (
        lambda: BertForSequenceClassification(CONFIG),
        pair,
        sequence_classification,
        label_accuracy,
        0.9,
    ),
    "token": (
        lambda: BertForTokenClassification(CONFIG, 2),
        token,
        token_classification,
        label_accuracy,
        0.95,
    ),
    "span": (lambda: BertForQuestionAnswering(CONFIG), span, span_answering, span_accuracy, 0.9),
    "similarity": (lambda: SentenceEncoder(CONFIG), partners, partner_loss, retrieval, 0.7),
}


def learn(name, **changes):
    """The measure on texts that were not trained on."""
    make, data, loss, measure, _ = TASKS[name]
    torch.manual_seed(0)
    model = make()
    columns = with_mask(data(512))
    examples = [{key: values[place] for key, values in columns.items()} for place in range(512)]

    def collate(some):
        return {key: torch.stack([example[key] for example in some]) for key in some[0]}

    settings = {"learning_rate": 5e-3, "epochs": 8, "batch_size": 32, **changes}
    fine_tune(model, loss, examples, collate, FineTuningConfig(**settings), progress=False)
    with torch.no_grad():
        return measure(model.eval(), with_mask(data(100)))


@pytest.mark.parametrize("name", TASKS)
def test_each_head_learns_its_task(name):
    assert learn(name) > TASKS[name][-1]


@pytest.mark.parametrize("name", ["sequence", "pair", "span"])
def test_a_head_alone_on_a_body_frozen_at_random_numbers_does_not_learn_it(name):
    assert learn(name, freeze_body=True) < TASKS[name][-1] - 0.15


def test_what_has_no_head_can_not_be_trained_with_its_body_frozen():
    with pytest.raises(
        ValueError, match="SentenceEncoder has no parameter to train: all are frozen"
    ):
        learn("similarity", freeze_body=True)


def test_layers_learn_at_rates_that_fall_from_the_head_down_to_the_embeddings():
    model = BertForSequenceClassification(replace(CONFIG, num_layers=2))
    groups = fine_tuning_groups(model, FineTuningConfig(head_scale=10.0, layer_decay=0.5))
    scale_of = {id(parameter): group["scale"] for group in groups for parameter in group["params"]}
    scales = {name: scale_of[id(parameter)] for name, parameter in model.named_parameters()}
    expected = SimpleNamespace(classifier=10.0, pooler=1.0, block1=1.0, block0=0.5, embeddings=0.25)
    for name, scale in scales.items():
        part = name.removeprefix("bert.").replace("blocks.", "block").split(".")[0]
        assert scale == getattr(expected, part), name
    assert {group["weight_decay"] for group in groups} == {0.0, 0.01}


def test_every_embedding_learns_at_the_lowest_rate_whatever_it_is_called():
    model = GPT(
        GPTConfig(
            vocab_size=11, hidden_size=4, num_layers=2, num_heads=1, max_position_embeddings=5
        )
    )
    groups = fine_tuning_groups(model, FineTuningConfig(layer_decay=0.5, body=""))
    scale_of = {id(parameter): group["scale"] for group in groups for parameter in group["params"]}
    assert scale_of[id(model.position.weight)] == scale_of[id(model.embedding.weight)] == 0.25
    assert scale_of[id(model.norm.weight)] == 1.0


def test_an_epoch_meets_every_example_once_and_the_next_in_another_order():
    places = epoch_batches(10, 4, seed=3)
    epochs = [
        [place for number in range(3 * epoch, 3 * epoch + 3) for place in places(number)]
        for epoch in (0, 1)
    ]
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 2
    assert epochs[0] != epochs[1]
    assert places(4) == places(4)


def test_no_examples_are_refused():
    with pytest.raises(ValueError, match="no examples"):
        fine_tune(torch.nn.Linear(1, 1), sequence_classification, [], list, FineTuningConfig())


@pytest.mark.parametrize(
    "name, value",
    [
        ("learning_rate", -1.0),
        ("epochs", 0),
        ("batch_size", 0),
        ("batch_size", 1.5),
        ("warmup_share", 1.5),
        ("weight_decay", -0.1),
        ("head_scale", -1.0),
        ("layer_decay", 0.0),
        ("seed", -1),
    ],
)
def test_settings_of_a_fine_tuning_that_make_no_sense_are_refused(name, value, as_students_run_it):
    with pytest.raises(ValueError, match=f"{name} is {value}: give"):
        FineTuningConfig(**{name: value})
