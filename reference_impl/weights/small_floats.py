"""Floats of eight and four bits, and blocks of them with a shared scale.

Micikevicius et al. 2022, table 1 (FP8: E4M3, E5M2); Rouhani et al. 2023 and the OCP
specification of microscaling formats, version 1.0, section 6.3 (MXFP4); NVIDIA's NVFP4:
blocks of 16 with an E4M3 scale, and one float32 scale per tensor.

Every function returns the dequantized numbers, in float32; `unpack_mxfp4` in bfloat16.

Not here: packing two four-bit codes into a byte (files are only read), kernels.
"""

from typing import NamedTuple

import torch
from jaxtyping import BFloat16, Float, UInt8
from torch import Tensor


class SmallFloat(NamedTuple):
    """A float format by its bits besides the sign, and its largest number."""

    exponent_bits: int
    mantissa_bits: int
    largest: float


E4M3 = SmallFloat(4, 3, 448.0)
E5M2 = SmallFloat(5, 2, 57_344.0)
E2M1 = SmallFloat(2, 1, 6.0)


def values(kind: SmallFloat) -> list[float]:
    """All numbers of a format that are 0 or above."""
    bias = 2 ** (kind.exponent_bits - 1) - 1
    ones = range(2**kind.mantissa_bits)
    found = [one * 2.0 ** (1 - bias - kind.mantissa_bits) for one in ones]  # subnormal
    for exponent in range(1 - bias, 2**kind.exponent_bits - bias):
        found += [2.0**exponent * (1 + one / len(ones)) for one in ones]
    return [value for value in found if value <= kind.largest]


def round_to(kind: SmallFloat, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The nearest number of a format, ties to even; what is too large is cut off."""
    x = x.float()
    lowest = 2 - 2 ** (kind.exponent_bits - 1)  # the smallest normal exponent
    exponent = (torch.frexp(x).exponent - 1).clamp(min=lowest)
    step = torch.exp2((exponent - kind.mantissa_bits).float())
    return ((x / step).round() * step).clamp(-kind.largest, kind.largest)


def mxfp4(x: Float[Tensor, "... C"], size: int = 32) -> Float[Tensor, "... C"]:
    """Blocks of E2M1 with a power of two: the largest number's exponent, less 2."""
    blocks = x.float().unflatten(-1, (-1, size))
    largest = blocks.abs().amax(-1, keepdim=True)
    scale = torch.exp2((torch.frexp(largest).exponent - 3).float())  # 4 is 2^2
    return (scale * round_to(E2M1, blocks / scale)).flatten(-2)


def unpack_mxfp4(
    blocks: UInt8[Tensor, "*R G B"], scales: UInt8[Tensor, "*R G"]
) -> BFloat16[Tensor, "*R C"]:
    """The numbers of packed MXFP4, C = 2 G B, exact in bfloat16.

    A byte holds two codes, the lower half first; a code's highest bit is the sign. A
    scale is the exponent of a power of two, with a bias of 127 (OCP specification,
    sections 5.3.3 and 5.4.1).
    """
    magnitudes = torch.tensor(values(E2M1), device=blocks.device)
    levels = torch.cat((magnitudes, -magnitudes)).bfloat16()  # (16,)
    codes = torch.stack((blocks & 15, blocks >> 4), dim=-1).flatten(-2)  # (*R, G, 2 B)
    powers = torch.exp2(scales.float() - 127).bfloat16()
    return (levels[codes.int()] * powers[..., None]).flatten(-2)


def nvfp4(x: Float[Tensor, "... C"], size: int = 16) -> Float[Tensor, "... C"]:
    """Blocks of E2M1 with an E4M3 scale each, and one scale for all of them."""
    whole = x.float().abs().max() / (E4M3.largest * E2M1.largest)
    blocks = x.float().unflatten(-1, (-1, size))
    largest = blocks.abs().amax(-1, keepdim=True)
    scale = whole * round_to(E4M3, largest / E2M1.largest / whole)
    scale = scale.where(scale > 0, 1.0)
    return (scale * round_to(E2M1, blocks / scale)).flatten(-2)
