"""Small floats against torch's types and transformers' MXFP4; GPTQ and AWQ by their output."""

import pytest
import torch
from torch.testing import assert_close
from transformers.integrations.mxfp4 import FP4_VALUES, convert_moe_packed_tensors

from reference_impl.weights.int4_groups import awq, gptq, round_to_nearest
from reference_impl.weights.small_floats import (
    E2M1,
    E4M3,
    E5M2,
    mxfp4,
    nvfp4,
    round_to,
    unpack_mxfp4,
    values,
)

EXACT = {"rtol": 0, "atol": 0}


@pytest.mark.parametrize("kind, theirs", [(E4M3, torch.float8_e4m3fn), (E5M2, torch.float8_e5m2)])
def test_eight_bits_round_as_torch_does(kind, theirs):
    torch.manual_seed(0)
    x = torch.randn(20_000) * torch.exp2(torch.randint(-20, 8, (20_000,)).float())
    x = torch.cat((x.clamp(-kind.largest, kind.largest), torch.tensor([0.0, kind.largest])))
    assert_close(round_to(kind, x), x.to(theirs).float(), **EXACT)
    middles = (torch.tensor(values(kind))[1:] + torch.tensor(values(kind))[:-1]) / 2
    assert_close(round_to(kind, middles), middles.to(theirs).float(), **EXACT)
    codes = torch.arange(128, dtype=torch.uint8).view(theirs).float()
    assert_close(torch.tensor(values(kind)), codes[codes.isfinite()], **EXACT)


def test_four_bits_have_the_published_values():
    assert values(E2M1) == FP4_VALUES[:8] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    x = torch.tensor([0.25, 0.26, 0.75, 2.5, 3.5, 5.0, 5.1, 7.0, -0.8])
    assert round_to(E2M1, x).tolist() == [0, 0.5, 1, 2, 4, 4, 6, 6, -1]


def test_mxfp4_is_what_transformers_unpacks():
    torch.manual_seed(0)
    x = torch.randn(1, 4, 64) * torch.exp2(torch.randint(-9, 9, (1, 4, 1)).float())
    ours = mxfp4(x)
    blocks = ours.view(1, 4, 2, 32)
    exponent = x.view(1, 4, 2, 32).abs().amax(-1).log2().floor() - 2
    codes = (blocks / exponent.exp2()[..., None])[..., None] == torch.tensor(FP4_VALUES)
    assert codes.any(-1).all()  # every number is a four-bit value times its block's power of two
    codes = codes.int().argmax(-1)
    packed = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
    unpacked = convert_moe_packed_tensors(
        packed, (exponent + 127).to(torch.uint8), dtype=torch.float32
    )
    assert_close(unpacked.mT, ours, **EXACT)


def test_packed_mxfp4_is_unpacked_to_the_bit():
    """Every byte with every scale; 255 is no number, and 252 and more leave bfloat16."""
    blocks = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(1, 252, 16, 16)
    scales = torch.arange(252, dtype=torch.uint8).view(1, 252, 1).expand(1, 252, 16)
    ours = unpack_mxfp4(blocks, scales)
    assert_close(ours.mT, convert_moe_packed_tensors(blocks, scales), **EXACT)
    by_hand = unpack_mxfp4(torch.tensor([[0x1F]], dtype=torch.uint8), torch.tensor([128]).byte())
    assert by_hand.tolist() == [-12, 1]  # the lower half first


def test_nvfp4_stores_scales_in_e4m3_and_is_closer_than_mxfp4():
    torch.manual_seed(0)
    x = torch.randn(64, 128)
    ours = nvfp4(x)
    whole = x.abs().max() / (448 * 6)
    scale = (x.view(64, 8, 16).abs().amax(-1) / 6 / whole).to(torch.float8_e4m3fn).float() * whole
    levels = torch.tensor(FP4_VALUES) * scale[..., None]
    nearest = (x.view(64, 8, 16, 1) - levels[:, :, None]).abs().min(-1).values
    assert_close((ours - x).abs().view(64, 8, 16), nearest, rtol=1e-5, atol=1e-6)
    assert (ours - x).norm() < 0.9 * (mxfp4(x) - x).norm()
    assert nvfp4(torch.cat((torch.zeros(16), torch.ones(16)))).tolist() == [0.0] * 16 + [1.0] * 16


def test_groups_round_by_half_a_step_at_most():
    torch.manual_seed(0)
    weight = torch.randn(6, 64)
    rounded = round_to_nearest(weight, size=16)
    groups = weight.view(6, 4, 16)
    step = (groups.amax(-1).clamp(min=0) - groups.amin(-1).clamp(max=0)) / 15
    assert ((rounded - weight).abs().view(6, 4, 16) <= step[..., None] * 1.001).all()
    assert all(len(row.unique()) <= 16 for row in rounded.view(24, 16))
    assert_close(round_to_nearest(rounded, size=16), rounded)


def test_gptq_by_hand_moves_the_error_to_the_correlated_weight():
    """One scale for both weights: steps of 1. 0.4 becomes 0; the other makes up for it."""
    weight = torch.tensor([[0.4, 0.4, 15.0]])
    inputs = torch.tensor([[1.0, 1, 0], [0, 0, 1]])  # the first two always come together
    rounded = gptq(weight, inputs, size=3, damping=1e-6)
    assert_close(rounded, torch.tensor([[0.0, 1.0, 15.0]]))
    assert round_to_nearest(weight, size=3).tolist() == [[0.0, 0.0, 15.0]]


@pytest.mark.parametrize("method, least", [(gptq, 0.9), (awq, 0.9)])
def test_outputs_change_less_than_with_the_nearest(method, least):
    torch.manual_seed(0)
    inputs = torch.randn(200, 64) @ torch.randn(64, 64) * 0.3
    inputs[:, :3] *= 20  # channels that matter
    weight = torch.randn(32, 64)

    def change(rounded):
        return float((inputs @ (rounded - weight).T).norm())

    nearest = change(round_to_nearest(weight, size=32))
    rounded = method(weight, inputs, size=32)
    assert change(rounded) < least * nearest
    if method is gptq:
        assert all(len(row.unique()) <= 16 for row in rounded.view(64, 32))
