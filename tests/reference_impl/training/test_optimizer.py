"""Which parameters decay: by transformers' rule and by a list; clipping beside torch's."""

import pytest
import torch
from torch import nn
from transformers import Trainer

from reference_impl.models.bert import BertConfig
from reference_impl.models.bert_tasks import BertForSequenceClassification
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.models.xlnet import XLNet, XLNetConfig
from reference_impl.training.optimizer import (
    decay_groups,
    make_optimizer,
    scale_and_clip,
    set_learning_rate,
)

BERT = BertConfig(
    vocab_size=11,
    hidden_size=8,
    num_layers=1,
    num_heads=2,
    intermediate_size=16,
    max_position_embeddings=8,
)


def names_in(model, groups, decay):
    chosen = {
        id(parameter)
        for group in groups
        if group["weight_decay"] == decay
        for parameter in group["params"]
    }
    return {name for name, parameter in model.named_parameters() if id(parameter) in chosen}


def small_models(tiny):
    llama = LlamaConfig(
        vocab_size=11,
        hidden_size=8,
        num_layers=1,
        num_heads=2,
        num_kv_heads=1,
        intermediate_size=12,
    )
    xlnet = XLNetConfig(
        vocab_size=11, hidden_size=8, num_layers=1, num_heads=2, intermediate_size=12
    )
    return (
        tiny.make_model(),
        BertForSequenceClassification(BERT),
        Llama(llama),
        XLNet(xlnet),
    )  # its biases are matrices


def test_what_decays_is_what_the_trainer_of_transformers_lets_decay(tiny):
    for model in small_models(tiny):
        expected = Trainer.get_decay_parameter_names(None, model)
        own = {
            name for name, _ in model.named_parameters()
        }  # a tied weight once, under its first name
        assert names_in(model, decay_groups(model, 0.1), 0.1) == own & set(expected)


def test_the_parameters_of_bert_that_do_not_decay_are_biases_norms_and_if_asked_embeddings():
    model = BertForSequenceClassification(BERT)
    block = {
        f"bert.blocks.0.{name}"
        for name in (
            "attention.query.bias",
            "attention.key.bias",
            "attention.value.bias",
            "attention.output.bias",
            "attention_norm.weight",
            "attention_norm.bias",
            "feed_forward.up.bias",
            "feed_forward.down.bias",
            "feed_forward_norm.weight",
            "feed_forward_norm.bias",
        )
    }
    spared = block | {
        "bert.embeddings.norm.weight",
        "bert.embeddings.norm.bias",
        "bert.pooler.dense.bias",
        "classifier.linear.bias",
    }
    tables = {f"bert.embeddings.{name}.weight" for name in ("word", "position", "segment")}
    assert names_in(model, decay_groups(model, 0.1), 0.0) == spared
    assert names_in(model, decay_groups(model, 0.1, decay_embeddings=False), 0.0) == spared | tables


def test_every_trained_parameter_is_in_one_group_once_and_frozen_and_tied_ones_are_not_twice(tiny):
    model = tiny.make_model()
    model.blocks[0].requires_grad_(False)
    grouped = [id(parameter) for group in decay_groups(model, 0.1) for parameter in group["params"]]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {
        id(parameter) for parameter in model.parameters() if parameter.requires_grad
    }


def test_a_model_of_frozen_parameters_is_refused():
    with pytest.raises(ValueError, match="Linear has no parameter to train"):
        make_optimizer(nn.Linear(2, 2).requires_grad_(False), 0.1, (0.9, 0.999))


def test_a_step_is_that_of_torchs_adamw_with_the_groups_written_out():
    torch.manual_seed(0)
    ours, theirs = nn.Linear(3, 2).double(), nn.Linear(3, 2).double()
    theirs.load_state_dict(ours.state_dict())
    optimizer = make_optimizer(ours, 0.5, (0.8, 0.9))
    other = torch.optim.AdamW(
        [
            {"params": [theirs.weight], "weight_decay": 0.5},
            {"params": [theirs.bias], "weight_decay": 0.0},
        ],
        lr=0.1,
        betas=(0.8, 0.9),
    )
    for _ in range(3):
        set_learning_rate(optimizer, 0.1)
        for model, chosen in ((ours, optimizer), (theirs, other)):
            chosen.zero_grad()
            model(torch.arange(6.0, dtype=torch.float64).view(2, 3)).square().sum().backward()
            chosen.step()
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=1e-12, atol=1e-12)


def test_a_group_learns_at_the_rate_times_its_scale():
    weights = [nn.Parameter(torch.zeros(2, 2)) for _ in range(2)]
    optimizer = torch.optim.AdamW([{"params": weights[:1], "scale": 0.25}, {"params": weights[1:]}])
    set_learning_rate(optimizer, 0.4)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.4]


@pytest.mark.parametrize("max_norm", [0.5, 1e6, None])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_clipping_is_torchs_clip_grad_norm_of_the_scaled_gradients(max_norm, scale):
    generator = torch.Generator().manual_seed(0)
    ours = [nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in ((3, 4), (5,), (2,))]
    theirs = [nn.Parameter(parameter.detach().clone()) for parameter in ours]
    for one, other in list(zip(ours, theirs))[:2]:  # the third has no gradient
        one.grad = torch.randn(one.shape, generator=generator, dtype=torch.float64)
        other.grad = one.grad * scale
    expected = nn.utils.clip_grad_norm_(theirs, float("inf") if max_norm is None else max_norm)
    assert scale_and_clip(ours, scale, max_norm) == pytest.approx(expected.item(), rel=1e-12)
    for one, other in list(zip(ours, theirs))[:2]:
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-12, atol=1e-12)
    assert ours[2].grad is None
