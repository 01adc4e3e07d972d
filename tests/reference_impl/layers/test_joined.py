"""Projections that lie together: the same numbers by fewer products, and one by one where that
would be wrong.
"""

import copy

import pytest
import torch
from safetensors.torch import load_file
from torch.utils._python_dispatch import TorchDispatchMode

from reference_impl.generation.layout import join_projections
from reference_impl.layers.lora import add_lora
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.weights.safetensors_files import write_weights

IDS = torch.tensor([[1, 5, 2, 30, 7]])


class Products(TorchDispatchMode):
    """Counts matrix products."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)
        return function(*args, **(kwargs or {}))


def run(model):
    """Logits, and how many products they took."""
    with torch.no_grad(), Products() as products:
        logits = model(IDS)
    return logits, products.count


@pytest.fixture(params=[False, True], ids=["llama", "qwen"])
def model(request):
    """Two layers of seven products, and the output layer's."""
    torch.manual_seed(0)
    model = Llama(
        LlamaConfig(31, 16, 24, 2, 4, 2, qkv_bias=request.param, qk_norm=request.param)
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return model


def test_four_products_a_layer_give_the_numbers_of_seven(model):
    expected, before = run(model)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    join_projections(model)
    logits, after = run(model)
    assert (before, after) == (2 * 7 + 1, 2 * 4 + 1)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(dict(model.state_dict()), state, rtol=0, atol=0)


def test_weights_written_into_a_joined_model_are_used(model):
    join_projections(model)
    other = {name: torch.randn_like(tensor) * 0.3 for name, tensor in model.state_dict().items()}
    model.load_state_dict(other)
    fresh = Llama(model.config).eval()
    fresh.load_state_dict(other)
    torch.testing.assert_close(run(model)[0], run(fresh)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "moved",
    [
        copy.deepcopy,
        lambda model: model.double(),
        lambda model: add_lora(model, ["key", "up"], 1, 4) and model,
    ],
    ids=["copied", "another dtype", "with an adapter"],
)
def test_layers_that_no_longer_lie_together_are_multiplied_one_by_one(model, moved):
    join_projections(model)
    expected = run(model)[0]
    model = moved(model)
    for name, parameter in model.named_parameters():
        if name.endswith(".b"):
            torch.nn.init.normal_(parameter)
    logits, products = run(model)
    assert products >= 2 * 7 + 1
    if products == 2 * 7 + 1:
        torch.testing.assert_close(logits.float(), expected, rtol=1e-5, atol=1e-5)
    else:  # an adapter that is not zero must show
        assert (logits - expected).abs().max() > 0.01


def test_gradients_reach_the_layers_own_parameters(model):
    plain = copy.deepcopy(model)
    join_projections(model)
    for one in (model, plain):
        one(IDS).square().mean().backward()
    for (name, mine), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-5, atol=1e-6, msg=name)


def test_a_joined_model_is_written_to_a_file_as_any_other(model, tmp_path):
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    join_projections(model)
    write_weights(tmp_path, model.state_dict())
    torch.testing.assert_close(load_file(tmp_path / "model.safetensors"), state, rtol=0, atol=0)
