"""Soft targets by hand, the triple loss from torch's own losses, layers from transformers' hidden
states and scores.
"""

import dataclasses
import math

import pytest
import torch
import transformers
from torch.nn.functional import cosine_embedding_loss, cross_entropy, kl_div, mse_loss

from reference_impl.models.bert import Bert, BertForMaskedLM
from reference_impl.models.distilbert import DistilBertForMaskedLM
from reference_impl.objectives.batches import ObjectiveError
from reference_impl.objectives.distillation import (
    StudentAndTeacher,
    direction_terms,
    distil_bert,
    soft_terms,
)
from reference_impl.objectives.layer_distillation import TinyBert, layer_map, tiny_bert
from reference_impl.objectives.masked_lm import Masking

MASKING = Masking(mask_id=3, vocab_size=41, special_ids=range(4))
ROWS = [[1, *range(5, 30), 2], [1, *range(8, 20), 2]]


def test_soft_targets_are_the_divergence_by_hand_times_the_temperature_squared():
    # at temperature 2 the teacher's odds 9 : 1 become 3 : 1, the student's 1 : 1 stay
    found = soft_terms(torch.zeros(1, 2), torch.tensor([[math.log(9.0), 0.0]]), 2.0)
    assert math.isclose(
        found.mean.item(), 4 * (0.75 * math.log(1.5) + 0.25 * math.log(0.5)), rel_tol=1e-6
    )


def test_at_high_temperature_the_gradient_is_that_of_matching_logits():
    """Hinton et al., equation 4: (student - teacher) / V for logits of mean zero."""
    student = torch.randn(1, 5, dtype=torch.float64)
    student = (student - student.mean()).requires_grad_()
    teacher = torch.randn(1, 5, dtype=torch.float64)
    teacher = teacher - teacher.mean()
    soft_terms(student, teacher, 1e4).total.backward()
    torch.testing.assert_close(student.grad, (student.detach() - teacher) / 5, rtol=1e-3, atol=1e-4)


@pytest.fixture
def distilled(same, tiny_bert):
    teacher = transformers.BertForMaskedLM(transformers.BertConfig(**tiny_bert))
    student = transformers.DistilBertForMaskedLM(
        transformers.DistilBertConfig(
            vocab_size=41, dim=12, n_layers=1, n_heads=3, hidden_dim=17, max_position_embeddings=40
        )
    )
    pair = StudentAndTeacher(same(DistilBertForMaskedLM, student), same(BertForMaskedLM, teacher))
    return pair, student, teacher


def test_the_triple_loss_is_that_of_torchs_losses_on_transformers_outputs(distilled, generator):
    pair, student, teacher = distilled
    batch = MASKING(ROWS, generator)
    given = {
        "input_ids": batch["ids"],
        "attention_mask": batch["mask"].long(),
        "output_hidden_states": True,
    }
    ours, theirs, mask = student(**given), teacher(**given), batch["mask"]
    soft = kl_div(
        (ours.logits[mask] / 2).log_softmax(-1),
        (theirs.logits[mask] / 2).softmax(-1),
        reduction="batchmean",
    )
    masked = cross_entropy(ours.logits.flatten(0, 1), batch["labels"].flatten())
    direction = cosine_embedding_loss(
        ours.hidden_states[-1][mask], theirs.hidden_states[-1][mask], torch.ones(41)
    )
    found = distil_bert(pair, batch)
    torch.testing.assert_close(
        found.mean, 5 * 4 * soft + 2 * masked + direction, rtol=1e-10, atol=0
    )
    assert found.count == 41


def test_the_teacher_neither_learns_nor_drops_out(distilled, generator):
    pair = distilled[0].train()
    assert pair.student.training
    assert not pair.teacher.training
    distil_bert(pair, MASKING(ROWS, generator)).mean.backward()
    assert all(parameter.grad is None for parameter in pair.teacher.parameters())
    assert all(parameter.grad is not None for parameter in pair.student.parameters())


@pytest.fixture
def tiny(same, tiny_bert):
    narrow = {**tiny_bert, "hidden_size": 6, "num_hidden_layers": 2, "intermediate_size": 5}
    student = transformers.BertModel(transformers.BertConfig(**narrow))
    teacher = transformers.BertModel(
        transformers.BertConfig(**{**tiny_bert, "num_hidden_layers": 4})
    )
    return TinyBert(same(Bert, student), same(Bert, teacher)).double(), student, teacher


def scores_of(theirs, layer, hidden, heads):
    """transformers' scores before the softmax, from its own weights."""
    attention = theirs.encoder.layer[layer].attention.self
    q, k = (
        linear(hidden).unflatten(-1, (heads, -1)).transpose(1, 2)
        for linear in (attention.query, attention.key)
    )
    return q @ k.mT / math.sqrt(q.shape[-1])


def test_layers_are_matched_with_every_second_of_the_teacher_on_real_tokens(tiny):
    model, student, teacher = tiny
    ids = torch.arange(8, 24).view(2, 8)
    given = {"input_ids": ids, "output_hidden_states": True}
    ours, theirs = student(**given).hidden_states, teacher(**given).hidden_states
    expected = sum(mse_loss(model.widen(ours[m]), theirs[2 * m]) for m in range(3))
    for m in (1, 2):
        expected += mse_loss(
            scores_of(student, m - 1, ours[m - 1], 3),
            scores_of(teacher, 2 * m - 1, theirs[2 * m - 1], 3),
        )
    found = tiny_bert(model, {"ids": ids, "mask": torch.ones_like(ids).bool()})
    torch.testing.assert_close(found.mean, expected, rtol=1e-10, atol=0)


def test_padding_changes_nothing_in_the_layers_loss_and_the_hooks_are_gone_afterwards(tiny):
    model = tiny[0]
    ids = torch.arange(8, 14)[None]
    mask = torch.ones_like(ids).bool()
    padded = {
        "ids": torch.nn.functional.pad(ids, (0, 3)),
        "mask": torch.nn.functional.pad(mask, (0, 3)),
    }
    torch.testing.assert_close(
        tiny_bert(model, padded).mean, tiny_bert(model, {"ids": ids, "mask": mask}).mean
    )
    assert not any(
        block._forward_hooks or block._forward_pre_hooks for block in model.teacher.blocks
    )


def test_the_layers_loss_teaches_the_student_and_the_matrix(tiny):
    model = tiny[0]
    ids = torch.arange(8, 14)[None]
    tiny_bert(model, {"ids": ids, "mask": torch.ones_like(ids).bool()}).mean.backward()
    assert model.widen.weight.grad.abs().max() > 1e-3
    assert model.student.blocks[0].attention.query.weight.grad.abs().max() > 1e-4
    assert model.teacher.blocks[0].attention.query.weight.grad is None


def test_layer_maps_are_even():
    assert layer_map(4, 12) == [0, 3, 6, 9, 12]
    with pytest.raises(
        ObjectiveError, match="12 layers of a teacher are not a multiple of the student's 5"
    ):
        layer_map(5, 12)


@pytest.mark.usefixtures("as_students_run_it")
@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: soft_terms(torch.zeros(2, 3), torch.zeros(2, 3), 0.0), "temperature is 0.0"),
        (
            lambda: soft_terms(torch.zeros(2, 3), torch.zeros(2, 1), 1.0),
            r"shape \(2, 3\), the teacher's \(2, 1\)",
        ),
        (
            lambda: direction_terms(torch.zeros(2, 3), torch.zeros(2, 1)),
            r"shape \(2, 3\), the teacher's \(2, 1\)",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_and_not_broadcast(make, says):
    with pytest.raises(ObjectiveError, match=says):
        make()


@pytest.mark.usefixtures("as_students_run_it")
def test_a_student_with_other_heads_is_refused(tiny):
    model = tiny[0]
    config = dataclasses.replace(model.student.config, num_heads=2)
    other = TinyBert(Bert(config).double(), model.teacher).double()
    ids = torch.arange(8, 14)[None]
    with pytest.raises(ObjectiveError, match="the student has 2 heads and the teacher 3"):
        tiny_bert(other, {"ids": ids, "mask": torch.ones_like(ids).bool()})
