"""Quantising: the plain types bit for bit as the `gguf` package does it, the K types by its reader
and by what may be lost.
"""

import gguf
import numpy as np
import pytest
import torch

from reference_impl.weights.gguf_blocks import dequantize
from reference_impl.weights.gguf_quantizing import BY_NAME, TYPES, bits_a_number, quantize, through
from reference_impl.weights.shards import WeightsError

KINDS = {name: gguf.GGMLQuantizationType[name] for name in TYPES}


def numbers(seed: int = 0) -> np.ndarray:
    """Rows of very different sizes, of one sign, of ties, of halves, of zeros, and of one number
    that is far away.
    """
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((12, 512)) * np.exp(3 * draw.standard_normal((12, 1)))
    x[1], x[2], x[3], x[4], x[5] = (
        np.abs(x[1]),
        -np.abs(x[2]),
        0,
        np.tile([-8, 8, 0.5, -0.5], 128),
        0.25,
    )
    x[6, 100], x[7, ::32] = 1e4, 0
    return x.astype(np.float32)


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q4_1"])
def test_the_plain_types_are_made_bit_for_bit_as_the_gguf_package_makes_them(name):
    for seed in range(5):
        x = numbers(seed)
        blocks, _ = quantize(x, name)
        assert blocks.tobytes() == gguf.quants.quantize(x, KINDS[name]).tobytes()


@pytest.mark.parametrize("name", TYPES)
def test_the_gguf_package_reads_from_our_blocks_what_we_read(name):
    x = numbers()
    blocks, kind = quantize(x, name)
    raw = np.frombuffer(blocks.tobytes(), np.uint8).reshape(len(x), -1)
    assert np.array_equal(
        dequantize(blocks, kind).reshape(x.shape), gguf.quants.dequantize(raw, KINDS[name])
    )


@pytest.mark.parametrize("name", ["Q4_K", "Q6_K"])
def test_any_block_of_a_k_type_is_read_as_the_gguf_package_reads_it(name):
    kind, draw = BY_NAME[name], np.random.default_rng(3)
    blocks = np.frombuffer(
        draw.integers(0, 256, 50 * kind.layout.itemsize, np.uint8).tobytes(), kind.layout
    ).copy()
    for field in {"scale", "minimum"} & set(kind.layout.names):
        blocks[field] = draw.standard_normal(50)
    raw = np.frombuffer(blocks.tobytes(), np.uint8).reshape(50, -1)
    assert np.array_equal(
        dequantize(blocks, kind), gguf.quants.dequantize(raw, KINDS[name]).reshape(-1)
    )


@pytest.mark.parametrize(
    "name, worst",
    [
        ("Q8_0", 0.57 / 127),
        ("Q6_K", 1.1 / 32),
        ("Q4_1", 0.51 / 15),
        ("Q4_K", 2.1 / 15),
        ("Q4_0", 1.01 / 8),
    ],
)
def test_no_number_is_farther_off_than_its_step_allows(name, worst):
    """In shares of the range of 32 numbers: half a step, and what float16 does to 127 of them; a
    whole one where one sign reaches 7 only; the K types' scales are rounded, too.
    """
    x = np.random.default_rng(1).standard_normal((64, 512)).astype(np.float32)
    off = np.abs(through(torch.from_numpy(x), name).numpy() - x).reshape(-1, 32)
    small = x.reshape(-1, 32)
    size = (
        np.maximum(small.max(1), 0) - np.minimum(small.min(1), 0)
        if name in ("Q4_1", "Q4_K")
        else np.abs(small).max(1)
    )
    assert float((off.max(1) / size).max()) < worst
    assert float((off.max(1) / size).max()) > worst / 8


def test_errors_fall_with_the_bits_and_the_k_type_pays_less_for_its_minima():
    x = torch.randn(64, 512, generator=torch.Generator().manual_seed(0))
    off = {name: float((through(x, name) - x).square().mean().sqrt()) for name in TYPES}
    assert off["Q8_0"] < off["Q6_K"] < off["Q4_1"] < off["Q4_K"] < off["Q4_0"]
    assert {name: bits_a_number(name) for name in TYPES} == {
        "Q8_0": 8.5,
        "Q4_0": 4.5,
        "Q4_1": 5,
        "Q4_K": 4.5,
        "Q6_K": 6.5625,
    }


@pytest.mark.parametrize("name", TYPES)
def test_zeros_stay_zeros_and_again_is_the_same(name):
    assert torch.equal(through(torch.zeros(2, 256), name), torch.zeros(2, 256))
    once = through(torch.from_numpy(numbers()), name)
    assert torch.isfinite(once).all()


def test_a_row_that_is_no_whole_number_of_blocks_is_refused():
    with pytest.raises(WeightsError, match="rows of 384 numbers: Q4_K has blocks of 256"):
        quantize(np.zeros((2, 384), np.float32), "Q4_K")


def test_by_hand():
    """-8, 4, 2, 1: the scale is 1 and nothing is lost; 8 in the place of -8 makes it -1."""
    x = np.zeros((1, 32), np.float32)
    x[0, :4] = [-8, 4, 2, 1]
    blocks, _ = quantize(x, "Q4_0")
    assert blocks["scale"][0] == 1 and blocks["q"][0].tolist() == [
        0x80,
        0x8C,
        0x8A,
        0x89,
        *[0x88] * 12,
    ]
    x[0, 0] = 8
    assert quantize(x, "Q4_0")[0]["scale"][0] == -1
