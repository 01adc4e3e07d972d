"""NF4 against the published table, and a layer in it against the dequantized matrix."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from reference_impl.layers.lora import LoRALinear, add_lora
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.weights.nf4 import (
    NF4Linear,
    bits_per_weight,
    double_quantized,
    levels,
    quantize_linear,
)

PUBLISHED = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip
"""QLoRA, appendix E."""


def test_the_levels_are_the_published_ones():
    assert_close(levels(), torch.tensor(PUBLISHED), rtol=0, atol=2e-7)


def test_scales_cost_0_127_bits_a_weight_instead_of_half_a_bit():
    assert bits_per_weight() == pytest.approx(4.127, abs=5e-4)


def test_a_weight_becomes_the_nearest_level_of_its_block(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr("reference_impl.weights.nf4.double_quantized", lambda scales: scales)
    layer = nn.Linear(96, 5)  # 480 weights: seven blocks and a half
    found, scale = NF4Linear(layer).weight.flatten(), layer.weight.detach().flatten()
    for start in range(0, 480, 64):
        part = scale[start : start + 64]
        largest = part.abs().max()
        nearest = torch.tensor(PUBLISHED)[
            (part[:, None] / largest - torch.tensor(PUBLISHED)).abs().argmin(1)
        ]
        assert_close(found[start : start + 64], nearest * largest)


def test_scales_in_eight_bits_are_off_by_a_sixteenth_of_their_distance_from_the_mean():
    torch.manual_seed(0)
    scales = 0.1 + 0.02 * torch.rand(700)
    found = double_quantized(scales)
    distance = (scales - scales.mean()).abs()
    assert ((found - scales).abs() <= distance / 16 + 1e-5).all() and not found.equal(scales)


def test_a_quantized_layer_is_the_base_of_a_lora_and_only_the_update_learns():
    torch.manual_seed(0)
    layer = LoRALinear(NF4Linear(nn.Linear(64, 8)), rank=2, alpha=4)
    x = torch.randn(3, 64, requires_grad=True)
    assert_close(layer(x), x @ layer.base.weight.T + layer.base.bias)
    layer(x).sum().backward()
    assert layer.b.grad.abs().sum() > 0 and x.grad.abs().sum() > 0
    assert layer.base.codes.numel() == 64 * 8 // 2


def test_a_whole_gpt_is_quantized_and_takes_updates():
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=20, hidden_size=32, num_layers=1, num_heads=2)
    model = GPT(config)
    quantize_linear(model, ("feed_forward.up", "feed_forward.down"))
    assert isinstance(model.blocks[0].feed_forward.up, NF4Linear)
    assert not isinstance(model.blocks[0].attention.output, NF4Linear)
    add_lora(model, ("feed_forward.up", "attention.output"), 2, 4)
    learned = [name for name, p in model.named_parameters() if p.requires_grad]
    assert learned and all(name.rpartition(".")[2] in "ab" for name in learned)
