"""From numbers to the blocks of `gguf_blocks`: what whoever writes a quantised file has
to choose.

Each block gets a scale so that its numbers fit into the small integers. Q8_0, Q4_0 and
Q4_1 are made as the `gguf` package of ggml makes them (its C code is
`quantize_row_q4_0_ref` and neighbours in `ggml-quants.c`), bit for bit: the extreme
number of a block decides. In Q4_0 it becomes q = 0, which is -8 times the scale, so the
other sign reaches 7 only. Four numbers -8, 4, 2, 1: the scale is 1 and nothing is lost;
with 8 in the place of -8 the scale is -1.

The K types are made in the plainest way: the range of each small block, its scale
rounded to the 6 or 8 bits that there are, then the numbers rounded with the scale that
was stored. But: ggml searches for scales that lose less, and may be told which numbers
matter (an "importance matrix"), so its files lose less than ours.

Not here: a choice of type for each matrix, as in llama.cpp's recipes ("Q4_K_M").
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reference_impl.weights.gguf_blocks import BLOCK_TYPES, BlockType, dequantize
from reference_impl.weights.shards import WeightsError

BY_NAME = {one.name: one for one in BLOCK_TYPES.values()}


def _inverse(scale: np.ndarray) -> np.ndarray:
    """1 / scale, and 0 where the scale is 0: then all numbers are."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(scale == 0, np.float32(0), np.float32(1) / scale)


def _away(x: np.ndarray) -> np.ndarray:
    """Rounded, halves away from zero, as C does it."""
    return np.trunc(x + np.copysign(0.5, x))


def _packed(q: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 15 in half as many bytes: the first half of them low, the
    second high.
    """
    low, high = np.split(q.astype(np.uint8), 2, axis=-1)
    return low | high << 4


def _extreme(x: np.ndarray) -> np.ndarray:
    """The number farthest from zero along the last axis, with its sign."""
    return np.take_along_axis(x, np.abs(x).argmax(-1, keepdims=True), axis=-1)


def _q8_0(x: np.ndarray, blocks: np.ndarray) -> None:
    scale = np.abs(x).max(1, keepdims=True) / np.float32(127)
    blocks["scale"], blocks["q"] = scale[:, 0], _away(x * _inverse(scale))


def _q4_0(x: np.ndarray, blocks: np.ndarray) -> None:
    scale = _extreme(x) / np.float32(-8)
    q = np.trunc(x * _inverse(scale) + np.float32(8.5)).clip(0, 15)
    blocks["scale"], blocks["q"] = scale[:, 0], _packed(q)


def _q4_1(x: np.ndarray, blocks: np.ndarray) -> None:
    lowest, highest = x.min(1, keepdims=True), x.max(1, keepdims=True)
    scale = (highest - lowest) / np.float32(15)
    q = np.trunc((x - lowest) * _inverse(scale) + np.float32(0.5)).clip(0, 15)
    blocks["scale"], blocks["minimum"], blocks["q"] = (
        scale[:, 0],
        lowest[:, 0],
        _packed(q),
    )


def _stored(scale: np.ndarray) -> np.ndarray:
    """One number a block as a reader will see it, float16 widened again; (N, 1)."""
    return scale.astype(np.float16).astype(np.float32)


def _q4_k(x: np.ndarray, blocks: np.ndarray) -> None:
    small = x.reshape(-1, 8, 32)
    lowest = np.minimum(small.min(-1), 0)  # what is subtracted cannot be negative
    scales, minima = (small.max(-1) - lowest).clip(0) / 15, -lowest  # (N, 8)
    scale, minimum = (
        _stored(some.max(1, keepdims=True) / 63) for some in (scales, minima)
    )
    s, m = (
        _away(some * _inverse(one)).clip(0, 63).astype(np.uint8)
        for some, one in ((scales, scale), (minima, minimum))
    )
    q = _away(
        (small + (minimum * m)[..., None]) * _inverse((scale * s)[..., None])
    ).clip(0, 15)
    blocks["scale"], blocks["minimum"] = scale[:, 0], minimum[:, 0]
    blocks["s"] = np.concatenate(
        [
            s[:, :4] | s[:, 4:] >> 4 << 6,
            m[:, :4] | m[:, 4:] >> 4 << 6,
            (s[:, 4:] & 15) | m[:, 4:] << 4,
        ],
        axis=1,
    )
    blocks["q"] = _packed(q.reshape(-1, 4, 64)).reshape(-1, 128)


def _q6_k(x: np.ndarray, blocks: np.ndarray) -> None:
    small = x.reshape(-1, 16, 16)
    scales = _extreme(small)[..., 0] / np.float32(-32)  # (N, 16)
    scale = _stored(_extreme(scales) / np.float32(-128))
    s = _away(scales * _inverse(scale)).clip(-128, 127).astype(np.int8)
    q = (
        (_away(small * _inverse((scale * s)[..., None])).clip(-32, 31) + 32)
        .astype(np.uint8)
        .reshape(-1, 2, 4, 32)
    )
    blocks["scale"], blocks["s"] = scale[:, 0], s
    blocks["low"] = (q[:, :, :2] & 15 | q[:, :, 2:] << 4).reshape(-1, 128)
    blocks["high"] = sum((q[:, :, row] >> 4) << 2 * row for row in range(4)).reshape(
        -1, 64
    )


_MAKERS: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {
    "Q8_0": _q8_0,
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q4_K": _q4_k,
    "Q6_K": _q6_k,
}
TYPES = tuple(_MAKERS)
"""Names that `quantize` knows."""


def bits_a_number(name: str) -> float:
    """What a number costs in a file, its share of the scales included."""
    kind = BY_NAME[name]
    return 8 * kind.layout.itemsize / kind.numbers


def quantize(x: Float[np.ndarray, "..."], name: str) -> tuple[np.ndarray, BlockType]:
    """The blocks of an array's rows, in order, and their type.

    WeightsError if a row is no whole number of blocks.
    """
    kind = BY_NAME[name]
    if x.shape[-1] % kind.numbers:
        raise WeightsError(
            f"rows of {x.shape[-1]} numbers: {name} has blocks of {kind.numbers}"
        )
    rows = np.ascontiguousarray(x, dtype=np.float32).reshape(-1, kind.numbers)
    blocks = np.zeros(len(rows), kind.layout)
    _MAKERS[name](rows, blocks)
    return blocks, kind


def through(weight: Float[Tensor, "..."], name: str) -> Float[Tensor, "..."]:
    """A tensor as it comes back from a file of this type: rounded, float32."""
    return torch.from_numpy(
        dequantize(*quantize(weight.detach().float().numpy(), name)).copy()
    ).view(weight.shape)
