"""Low-rank updates, beside peft's on the same model."""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.lora import (
    LoRALinear,
    add_lora,
    load_lora,
    lora_state,
    merge,
    save_lora,
    unmerge,
)
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.weights.safetensors_files import read_file


class Small(nn.Module):
    """Two linear layers with a target's name, one without."""

    config = SimpleNamespace(model_type="small", tie_word_embeddings=False)

    def __init__(self):
        super().__init__()
        self.first = nn.ModuleDict({"query": nn.Linear(5, 7), "value": nn.Linear(5, 7, bias=False)})
        self.output = nn.Linear(7, 3)

    def forward(self, x):
        return self.output(self.first["query"](x).tanh() * self.first["value"](x))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Small().double()


def fill(layer_parts):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for part in layer_parts:
            part.copy_(torch.randn(part.shape, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize(
    "rank, alpha, targets", [(2, 16, ["query", "value"]), (3, 1, ["value"]), (1, 4, ["output"])]
)
def test_outputs_and_gradients_are_those_of_peft(model, randn, rank, alpha, targets):
    import peft  # which loads for seconds: only the process that runs this test needs it

    settings = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets)
    theirs = peft.get_peft_model(copy.deepcopy(model), settings)
    names = add_lora(model, targets, rank, alpha)
    fill(lora_state(model).values())
    modules = dict(theirs.base_model.model.named_modules())
    x = randn(4, 5).detach()
    with torch.no_grad():
        for name in names:
            modules[name].lora_A["default"].weight.copy_(model.get_submodule(name).a)
            modules[name].lora_B["default"].weight.copy_(model.get_submodule(name).b)
    torch.testing.assert_close(model(x), theirs(x), rtol=1e-12, atol=1e-12)
    model(x).sin().sum().backward()
    theirs(x).sin().sum().backward()
    for name in names:
        layer = model.get_submodule(name)
        torch.testing.assert_close(layer.a.grad, modules[name].lora_A["default"].weight.grad)
        torch.testing.assert_close(layer.b.grad, modules[name].lora_B["default"].weight.grad)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trained == sum(p.numel() for p in theirs.parameters() if p.requires_grad)


def test_training_starts_where_the_model_stood_and_leaves_all_else_alone(model, randn):
    x, before = randn(4, 5).detach(), copy.deepcopy(model)
    add_lora(model, ["query", "value"], rank=2, alpha=8)
    assert torch.equal(model(x), before(x))
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 2 * 2 * (5 + 7)
    assert {name for name, p in model.named_parameters() if p.requires_grad} == {
        f"first.{layer}.{part}" for layer in ("query", "value") for part in "ab"
    }
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).pow(2).sum().backward()
        optimizer.step()
    assert not torch.allclose(model(x), before(x))
    assert torch.equal(model.first["query"].base.weight, before.first["query"].weight)
    assert torch.equal(model.output.weight, before.output.weight)


def test_a_layer_by_itself_trains_its_update_and_not_its_base():
    layer = LoRALinear(nn.Linear(3, 2), rank=1, alpha=1)
    assert {name for name, parameter in layer.named_parameters() if parameter.requires_grad} == {
        "a",
        "b",
    }


def test_merged_equals_unmerged_and_unmerging_gives_the_weight_back(model, randn):
    x, weight = randn(4, 5).detach(), model.first["query"].weight.detach().clone()
    add_lora(model, ["query"], rank=2, alpha=6)
    fill(lora_state(model).values())
    apart = model(x)
    merge(model)
    layer = model.first["query"]
    torch.testing.assert_close(layer.base.weight, weight + 3 * layer.b @ layer.a)
    torch.testing.assert_close(model(x), apart, rtol=1e-12, atol=1e-12)
    with pytest.raises(ModelInputError, match="merging twice"):
        merge(model)
    unmerge(model)
    torch.testing.assert_close(layer.base.weight, weight, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(model(x), apart)
    with pytest.raises(ModelInputError, match="not merged"):
        unmerge(model)


def test_only_the_adapter_is_saved_and_another_model_takes_it(model, randn, tmp_path):
    other, x = copy.deepcopy(model), randn(4, 5).detach()
    add_lora(model, ["query"], rank=2, alpha=6)
    fill(lora_state(model).values())
    save_lora(model, tmp_path / "adapter.safetensors")
    weights = read_file(tmp_path / "adapter.safetensors")
    assert weights.keys() == {"first.query.a", "first.query.b"}
    add_lora(other, ["query"], rank=2, alpha=6)
    load_lora(other, weights)
    assert torch.equal(other(x), model(x))
    merge(other)
    with pytest.raises(ModelInputError, match="unmerge it"):
        load_lora(other, weights)


def test_a_target_of_several_names_tells_layers_of_one_name_apart():
    model = GPT(
        GPTConfig(
            vocab_size=11, hidden_size=4, num_layers=2, num_heads=1, max_position_embeddings=5
        )
    )
    assert add_lora(model, ["attention.output"], rank=1, alpha=1) == [
        "blocks.0.attention.output",
        "blocks.1.attention.output",
    ]
    assert type(model.output) is torch.nn.Linear


def test_a_weight_that_serves_elsewhere_too_takes_no_update():
    model = GPT(
        GPTConfig(
            vocab_size=11, hidden_size=4, num_layers=1, num_heads=1, max_position_embeddings=5
        )
    )
    with pytest.raises(ModelInputError, match="'output' serves elsewhere too"):
        add_lora(model, ["output"], rank=1, alpha=1)
    assert not lora_state(model) and model.embedding.weight.requires_grad


def test_a_second_adapter_of_the_same_targets_is_refused(model):
    add_lora(model, ["query"], rank=2, alpha=2)
    with pytest.raises(ModelInputError, match="has an adapter already"):
        add_lora(model, ["query"], rank=2, alpha=2)


def test_what_does_not_fit_is_refused(model):
    with pytest.raises(
        ModelInputError, match=r"no linear layer is named \['key'\].*'output', 'query', 'value'"
    ):
        add_lora(model, ["query", "key"], rank=2, alpha=2)
    assert not lora_state(model)
    with pytest.raises(ModelInputError, match="rank 0"):
        LoRALinear(nn.Linear(2, 2), 0, 1)
    add_lora(model, ["query"], rank=2, alpha=2)
    with pytest.raises(ModelInputError, match="one at a time"):
        add_lora(model, ["value"], rank=2, alpha=2)
    with pytest.raises(
        ModelInputError, match=r"first.query.a is \(3, 5\) in the adapter but \(2, 5\)"
    ):
        load_lora(model, {"first.query.a": torch.zeros(3, 5), "first.query.b": torch.zeros(7, 3)})
    with pytest.raises(ModelInputError, match="differ in"):
        load_lora(model, {"first.value.a": torch.zeros(2, 5)})
