"""Norms and feed-forward layers: formulas against torch's operators, modules against the
formulas.
"""

import pytest
import torch
from torch.nn import functional as F

from reference_impl.layers.checks import ModelInputError, check_ids, check_mask
from reference_impl.layers.feed_forward import (
    ACTIVATIONS,
    FeedForward,
    GatedFeedForward,
    activation,
    gelu,
    gelu_tanh,
    leaky_relu,
    silu,
)
from reference_impl.layers.norms import LayerNorm, RMSNorm, layer_norm, rms_norm

CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("shape, eps", [((1, 3), 1e-5), ((2, 5, 7), 0.1), ((4, 64), 1e-12)])
def test_layer_norm_is_torchs(randn, shape, eps):
    x, weight, bias = randn(*shape), randn(shape[-1]), randn(shape[-1])
    for shift in (bias, None):
        expected = F.layer_norm(x, shape[-1:], weight, shift, eps)
        torch.testing.assert_close(layer_norm(x, weight, shift, eps), expected, **CLOSE)


@pytest.mark.parametrize("shape, eps", [((1, 3), 1e-6), ((2, 5, 7), 0.1), ((4, 64), 1e-12)])
def test_rms_norm_is_torchs(randn, shape, eps):
    x, weight = randn(*shape), randn(shape[-1])
    torch.testing.assert_close(
        rms_norm(x, weight, eps), F.rms_norm(x, shape[-1:], weight, eps), **CLOSE
    )


def test_the_modules_are_their_formulas(randn):
    x = randn(2, 3, 8)
    for module, formula in (
        (LayerNorm(8, 0.1).double(), layer_norm),
        (LayerNorm(8, 0.1, bias=False).double(), layer_norm),
        (RMSNorm(8, 0.1).double(), rms_norm),
    ):
        torch.nn.init.normal_(module.weight)
        bias = [module.bias] if isinstance(module, LayerNorm) else []
        torch.testing.assert_close(module(x), formula(x, module.weight, *bias, eps=0.1), **CLOSE)


def test_epsilon_is_added_under_the_root():
    x = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    ones = torch.ones(2, dtype=torch.float64)
    torch.testing.assert_close(rms_norm(x, ones, eps=12.5), x / 5.0)  # the mean of squares is 12.5
    torch.testing.assert_close(
        layer_norm(x, ones, eps=2.0), torch.tensor([[-1 / 3, 1 / 3]], dtype=torch.float64)
    )


def test_activations_are_torchs(randn):
    x = randn(1000) * 3
    torch.testing.assert_close(gelu(x), F.gelu(x), **CLOSE)
    torch.testing.assert_close(gelu_tanh(x), F.gelu(x, approximate="tanh"), **CLOSE)
    torch.testing.assert_close(silu(x), F.silu(x), **CLOSE)
    torch.testing.assert_close(leaky_relu(x), activation("leaky_relu")(x), **CLOSE)
    torch.testing.assert_close(leaky_relu(x, 0.2), F.leaky_relu(x, 0.2), **CLOSE)
    torch.testing.assert_close(gelu_tanh(x), activation("gelu_new")(x), **CLOSE)
    assert 1e-4 < (gelu(x) - gelu_tanh(x)).abs().max() < 5e-4
    assert ACTIVATIONS["relu"](torch.tensor([-1.0, 2.0])).tolist() == [0, 2]


def test_an_unknown_activation_is_refused():
    with pytest.raises(ModelInputError, match="'mish' is none of relu, gelu"):
        activation("mish")


def test_a_gate_multiplies_what_goes_up(randn):
    layer, x = GatedFeedForward(4, 6, "silu", bias=True).double(), randn(2, 3, 4)
    gate, up = (
        F.linear(x, layer.gate.weight, layer.gate.bias),
        F.linear(x, layer.up.weight, layer.up.bias),
    )
    expected = F.linear(F.silu(gate) * up, layer.down.weight, layer.down.bias)
    torch.testing.assert_close(layer(x), expected, **CLOSE)


def test_a_feed_forward_treats_each_token_alone(randn):
    layer, x = FeedForward(4, 6, "relu").double(), randn(2, 3, 4)
    torch.testing.assert_close(layer(x)[:, 1:2], layer(x[:, 1:2]), **CLOSE)
    torch.testing.assert_close(
        layer(x),
        F.linear(
            F.linear(x, layer.up.weight, layer.up.bias).clamp(min=0),
            layer.down.weight,
            layer.down.bias,
        ),
        **CLOSE,
    )


@pytest.mark.parametrize(
    "ids, says",
    [
        (torch.tensor([1, 2]), r"shape \(2,\)"),
        (torch.ones(1, 2), "float32"),
        (torch.tensor([[1, 9]]), "id 9 but a vocabulary of 9"),
        (torch.tensor([[-1, 8]]), "id -1"),
        (torch.zeros(1, 6, dtype=torch.long), "6 tokens but 5 positions"),
    ],
)
def test_ids_that_a_model_cannot_take_are_refused(ids, says):
    with pytest.raises(ModelInputError, match=says):
        check_ids(ids, vocab_size=9, max_positions=5)


@pytest.mark.parametrize(
    "mask, says",
    [
        (torch.ones(2, 3), "float32: give torch.bool"),
        (torch.ones(2, 3).long(), "int64"),
        (torch.ones(3).bool(), r"\(3,\) but the ids \(2, 3\)"),
    ],
)
def test_masks_of_another_kind_or_shape_are_refused(mask, says):
    with pytest.raises(ModelInputError, match=says):
        check_mask(mask, (2, 3))


def test_ids_and_masks_in_order_pass():
    check_mask(None, (2, 3))
    check_mask(torch.ones(2, 3).bool(), (2, 3))
    assert check_ids(torch.zeros(2, 1, dtype=torch.long), 9) is None
