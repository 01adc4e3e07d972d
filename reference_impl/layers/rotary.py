"""Rotary positions: turn each pair of numbers of a query or key by an angle that grows
with its position.

Su et al. 2021 (RoFormer), section 3.2.2 and equation 34. A dot product of two vectors
turned by m and n depends on the vectors and on m - n alone. Chen et al. 2023, section
3.2: position interpolation, for texts longer than in training. Grattafiori et al. 2024
(LLaMA 3), and the released program: interpolation of the slow angles only, which is
"NTK-by-parts" of Peng et al. 2024 (YaRN), section 3.2.

Which two numbers make a pair is a matter of layout, and the weights must fit it:
"halves" pairs number i with i + D/2 (GPT-NeoX, LLaMA as `transformers` has it,
ModernBERT); "pairs" pairs 2i with 2i + 1 (the paper, GPT-J, LLaMA as its authors
released it).

Not here: NTK-aware bases, YaRN's temperature (a factor for cosines and sines).
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from reference_impl.layers.checks import ModelInputError

Layout = Literal["halves", "pairs"]


class Tables(NamedTuple):
    """Cosine and sine of each position's P = D/2 angles; made once for all layers and
    heads.
    """

    cos: Float[Tensor, "*B T P"]
    sin: Float[Tensor, "*B T P"]


def rotary_tables(
    positions: Int[Tensor, "*B T"],
    head_dim: int,
    base: float = 10_000.0,
    interpolation: float | Float[Tensor, "P"] = 1.0,
    dtype: torch.dtype = torch.float32,
) -> Tables:
    """Angles position / interpolation * base^(-2i / D) for i = 0 .. D/2 - 1.

    An interpolation of 4 squeezes 4 times as many positions into the trained range; one
    for each angle is `slow_interpolation`. Angles are float32 at least, whatever the
    dtype: bfloat16 can't tell position 257 from 256.
    """
    if head_dim % 2:
        raise ModelInputError(f"head_dim {head_dim} is odd: RoPE rotates pairs")
    wide = torch.promote_types(dtype, torch.float32)
    steps = (
        torch.arange(0, head_dim, 2, device=positions.device).to(wide) / head_dim
    )  # (D/2,)
    if isinstance(interpolation, Tensor):
        interpolation = interpolation.to(steps)
    angles = positions[..., None].to(wide) * (
        base**-steps / interpolation
    )  # (..., T, D/2)
    return Tables(angles.cos().to(dtype), angles.sin().to(dtype))


def slow_interpolation(
    head_dim: int,
    base: float,
    factor: float,
    slowest: float,
    fastest: float,
    trained_length: int,
    device: torch.device | None = None,
) -> Float[Tensor, "P"]:
    """NTK-by-parts: what to divide each frequency by, from its rotations in training.

    By `factor` for pairs with `slowest` rotations or fewer in `trained_length`; by 1
    for those with `fastest` or more, which distinguish neighbours; in between, the two
    frequencies are mixed linearly. LLaMA 3.1 has 1 and 4, YaRN 1 and 32.
    """
    steps = torch.arange(0, head_dim, 2, device=device).double() / head_dim  # (D/2,)
    rotations = trained_length * base**-steps / (2 * math.pi)
    kept = ((rotations - slowest) / (fastest - slowest)).clamp(0, 1)
    return 1 / ((1 - kept) / factor + kept)


def rotate(
    x: Float[Tensor, "B H T D"], tables: Tables, layout: Layout = "halves"
) -> Float[Tensor, "B H T D"]:
    """Rotate each pair (a, b) of x to (a cos - b sin, a sin + b cos)."""
    if x.shape[-1] != 2 * tables.cos.shape[-1]:
        raise ModelInputError(
            f"heads of {x.shape[-1]} numbers but tables for {2 * tables.cos.shape[-1]}"
        )
    cos, sin = (
        table[:, None] if table.ndim == 3 else table for table in tables
    )  # (B, 1, T, D/2) or (T, D/2)
    if layout == "halves":
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def to_halves(weight: Float[Tensor, "W *C"], num_heads: int) -> Float[Tensor, "W *C"]:
    """Reorder the rows of a query or key projection that was trained with "pairs" so
    that it serves "halves".

    Both layouts then give the same dot products. This is what converting released LLaMA
    weights does.
    """
    heads = weight.unflatten(0, (num_heads, -1, 2))  # (H, D/2, 2, ...)
    return heads.transpose(1, 2).flatten(0, 2)
