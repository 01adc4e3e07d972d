"""Weights of eight bits beside torch's own quantiser and beside the float32 model."""

import copy

import pytest
import torch
from torch import nn

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.int8 import FEW, Int8Linear, quantize, quantize_rows, weight_bytes
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.llama import Llama, LlamaConfig


def test_numbers_are_those_of_torchs_quantiser():
    torch.manual_seed(0)
    weight = torch.randn(7, 33) * torch.logspace(-3, 3, 7)[:, None]
    weight[2] = 0
    whole, scale = quantize_rows(weight)
    theirs = torch.quantize_per_channel(
        weight, scale.double(), torch.zeros(7, dtype=torch.int64), 0, torch.qint8
    )
    assert torch.equal(whole, theirs.int_repr()) and int(whole.abs().amax()) == 127
    torch.testing.assert_close(scale[0] * 127, weight[0].abs().max())
    assert bool(((whole * scale[:, None] - weight).abs() <= scale[:, None] * 0.501).all())


@pytest.mark.parametrize("num_rows", [1, FEW, FEW + 1, 40])
@pytest.mark.parametrize(("outs", "ins"), [(5, 3), (64, 100), (67, 64), (200, 576)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_product_is_within_the_bound_of_its_roundings(outs, ins, num_rows, bias):
    """Half a scale for each weight; for few rows a part in 256 of each factor and of the sum, since
    bfloat16 has eight bits.
    """
    torch.manual_seed(outs)
    layer, x = nn.Linear(ins, outs, bias).requires_grad_(False), torch.randn(num_rows, ins) * 3
    small = Int8Linear(*quantize_rows(layer.weight), layer.bias)
    got, exact = small(x[None])[0].double(), layer.double()(x.double())
    by_weights = 0.501 * x.double().abs().sum(1, keepdim=True) * small.scale.double()
    by_bfloat16 = (
        2**-8 * (2 * x.double().abs() @ layer.weight.abs().T + exact.abs())
        if num_rows <= FEW
        else 1e-5
    )
    assert got.shape == exact.shape and bool(
        ((got - exact).abs() <= by_weights + by_bfloat16).all()
    )
    assert float((got - exact).abs().max()) > 0  # it is not the float32 layer


@pytest.mark.parametrize("tied", [True, False])
def test_a_model_keeps_its_numbers_within_a_percent_or_two_and_a_quarter_of_its_bytes(tied):
    torch.manual_seed(0)
    model = Llama(
        LlamaConfig(
            vocab_size=300,
            hidden_size=64,
            num_layers=2,
            num_heads=4,
            num_kv_heads=2,
            intermediate_size=160,
            max_position_embeddings=64,
            tie_word_embeddings=tied,
        )
    ).eval()
    small, ids = copy.deepcopy(model), torch.randint(300, (1, 6))
    quantize(small)
    with torch.no_grad():
        expected, got = model(ids), small(ids)
    assert 0 < float((got - expected).norm() / expected.norm()) < 0.02
    matrices = sum(p.numel() for p in model.parameters() if p.ndim == 2) - (
        0 if tied else model.embedding.weight.numel()
    )
    rows = sum(m.out_features for m in small.modules() if isinstance(m, Int8Linear))
    others = weight_bytes(model) - 4 * matrices
    assert (
        weight_bytes(small) == matrices + rows * (4 + 2) + others
    )  # a scale and the operator's one for each row
    assert (small.embedding.weight is small.output.weight) == tied


def test_gpts_biases_and_positions_stay():
    torch.manual_seed(0)
    model = GPT(
        GPTConfig(
            vocab_size=97, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=32
        )
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
    small, ids = copy.deepcopy(model), torch.randint(97, (2, 11))
    quantize(small)
    with torch.no_grad():
        expected, got = model(ids), small(ids)
    assert 0 < float((got - expected).norm() / expected.norm()) < 0.02


def test_a_model_that_is_not_on_a_cpu_is_refused():
    with torch.device("meta"):
        model = GPT(
            GPTConfig(
                vocab_size=9, hidden_size=8, num_layers=1, num_heads=2, max_position_embeddings=8
            )
        )
    with pytest.raises(ModelInputError, match="for a CPU"):
        quantize(model)
