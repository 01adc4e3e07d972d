"""Long context: YaRN, attention sinks and alternating windows.

Peng et al. 2024 (YaRN), sections 3.2 and 3.4, as the released program and
`transformers` compute it: between slow and fast pairs the mix is linear in the pair's
index, where the paper has it linear in the rotations (`rotary.slow_interpolation`).
OpenAI 2025 (gpt-oss), section 2: a learned sink per head, windows in every other layer.
Gemma Team 2025, section 2: five local layers to a global one.

Not here: caches of such layers (see `generation.cache`), StreamingLLM's kept tokens.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from reference_impl.layers.rotary import Tables


class Yarn(NamedTuple):
    """A divisor for each pair's frequency, and a factor for the rotary tables."""

    interpolation: Float[Tensor, "P"]
    temperature: float


def yarn(
    head_dim: int,
    base: float,
    factor: float,
    trained_length: int,
    rotations: tuple[float, float] = (1.0, 32.0),
    truncate: bool = True,
) -> Yarn:
    """`rotations` in training below which a pair is slowed by `factor`, and above which
    it is left; `truncate` rounds the two pairs outwards.
    """

    def pair_with(turns: float) -> float:
        """The index, between two pairs, of a frequency with so many rotations."""
        length = trained_length / (2 * math.pi * turns)
        return head_dim * math.log(length) / (2 * math.log(base))

    slow, fast = (pair_with(turns) for turns in rotations)
    if truncate:
        slow, fast = math.ceil(slow), math.floor(fast)
    slow, fast = min(slow, head_dim - 1), max(fast, 0)
    pairs = torch.arange(head_dim // 2).double()
    slowed = ((pairs - fast) / max(slow - fast, 0.001)).clamp(0, 1)
    interpolation = 1 / (slowed / factor + (1 - slowed))
    return Yarn(interpolation, 0.1 * math.log(factor) + 1 if factor > 1 else 1.0)


def with_temperature(tables: Tables, temperature: float) -> Tables:
    """Queries and keys grow by the factor, and so scores by its square."""
    return Tables(tables.cos * temperature, tables.sin * temperature)


def sink_attention(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B K S D"],
    v: Float[Tensor, "B K S D"],
    sink: Float[Tensor, "H"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B H T D"]:
    """Grouped-query attention whose softmax has one more score, without a value."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (B, H, T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    sink = sink[:, None, None].expand(*scores.shape[:3], 1)
    return torch.cat((scores, sink), dim=-1).softmax(-1)[..., :-1] @ v


def layer_windows(num_layers: int, window: int, global_every: int) -> list[int | None]:
    """The window of each layer; every `global_every`-th one is global."""
    return [
        None if layer % global_every == 0 else window
        for layer in range(1, num_layers + 1)
    ]
