"""Numbers in blocks of few bits, as GGUF files hold them, and back to float32.

ggml (Gerganov and others; the layouts are in its `ggml-common.h`, `block_q4_0` and its
neighbours) cuts each row into blocks of 32 numbers. A block keeps one scale as float16
and a small integer for each number; bits are those of one number:

    Q8_0   scale, 32 signed bytes         x = scale * q             34 bytes, 8.5 bits
    Q4_0   scale, 16 bytes of two q each  x = scale * (q - 8)       18 bytes, 4.5 bits
    Q4_1   scale, minimum, 16 bytes       x = scale * q + minimum   20 bytes, 5 bits

In the 4-bit ones, byte i holds number i in its low half and number i + 16 in its high
half. A block of Q4_1 with scale 0.5, minimum -1 and first byte 0x73: number 0 is 0.5 *
3 - 1 = 0.5, number 16 is 0.5 * 7 - 1 = 2.5.

The "K" types put 256 numbers into a block and store the small blocks' scales as small
integers, too:

    Q4_K   2 scales, 8 times (6-bit scale s, 6-bit minimum m), 256 q of 4 bits
                               x = scale * s * q - minimum * m   144 bytes, 4.5 bits
    Q6_K   256 q of 6 bits, 16 times an 8-bit scale s, scale
                               x = scale * s * (q - 32)          210 bytes, 6.5625 bits

So a row must be a multiple of 256 long; where it is not, a writer has to take another
type.

Not here: quantising (`gguf_quantizing`), the other "K" types, and "IQ".
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Decoded = Float[np.ndarray, "N S"]


def _halves(packed: np.ndarray) -> Decoded:
    """The 32 numbers from 0 to 15 in 16 bytes: all low halves, then all high halves."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(
        np.float32
    )  # (N, 32)


def _wide(halves: np.ndarray) -> Decoded:
    """One float32 a block: the scale is widened first, so that products are rounded
    once, as ggml does it.
    """
    return halves.astype(np.float32)[:, None]  # (N, 1)


def _q4_0(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["scale"]) * (_halves(blocks["q"]) - 8)


def _q4_1(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["scale"]) * _halves(blocks["q"]) + _wide(blocks["minimum"])


def _q8_0(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["scale"]) * blocks["q"]


def _six_bits(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eight scales and eight minima from twelve bytes: the first four of each are the
    low 6 bits of bytes 0 to 3 and 4 to 7, the last four have their low half in bytes 8
    to 11 and their upper two bits above those of the first.
    """
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    return (
        np.concatenate([first & 63, (third & 15) | (first >> 6 << 4)], axis=1),
        np.concatenate([second & 63, (third >> 4) | (second >> 6 << 4)], axis=1),
    )  # (N, 8) each


def _q4_k(blocks: np.ndarray) -> Decoded:
    scales, minima = _six_bits(blocks["s"])
    packed = blocks["q"].reshape(
        -1, 4, 1, 32
    )  # 32 bytes hold two small blocks: low halves, then high halves
    q = (
        np.concatenate([packed & 15, packed >> 4], axis=2)
        .reshape(-1, 8, 32)
        .astype(np.float32)
    )
    scale, minimum = (
        _wide(blocks["scale"]) * scales,
        _wide(blocks["minimum"]) * minima,
    )  # (N, 8)
    return (scale[..., None] * q - minimum[..., None]).reshape(-1, 256)


def _q6_k(blocks: np.ndarray) -> Decoded:
    low, high = (
        blocks["low"].reshape(-1, 2, 1, 64),
        blocks["high"].reshape(-1, 2, 1, 32),
    )
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(
        -1, 2, 4, 32
    )  # each half of 128 numbers in four rows
    high = np.concatenate([high >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
    q = (low | high << 4).reshape(-1, 16, 16).astype(np.float32) - 32
    return ((_wide(blocks["scale"]) * blocks["s"])[..., None] * q).reshape(-1, 256)


def _plain(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["x"])


@dataclass(frozen=True)
class BlockType:
    """A way to store numbers: how many are in a block, the block's layout, and from N
    blocks to their numbers.
    """

    name: str
    numbers: int
    layout: np.dtype
    decode: Callable[[np.ndarray], Decoded]


BLOCK_TYPES = {
    0: BlockType("F32", 1, np.dtype([("x", "<f4")]), _plain),
    1: BlockType("F16", 1, np.dtype([("x", "<f2")]), _plain),
    2: BlockType("Q4_0", 32, np.dtype([("scale", "<f2"), ("q", "u1", 16)]), _q4_0),
    3: BlockType(
        "Q4_1",
        32,
        np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("q", "u1", 16)]),
        _q4_1,
    ),
    8: BlockType("Q8_0", 32, np.dtype([("scale", "<f2"), ("q", "i1", 32)]), _q8_0),
    12: BlockType(
        "Q4_K",
        256,
        np.dtype(
            [("scale", "<f2"), ("minimum", "<f2"), ("s", "u1", 12), ("q", "u1", 128)]
        ),
        _q4_k,
    ),
    14: BlockType(
        "Q6_K",
        256,
        np.dtype(
            [("low", "u1", 128), ("high", "u1", 64), ("s", "i1", 16), ("scale", "<f2")]
        ),
        _q6_k,
    ),
}
"""By the number that the file gives for the type of a tensor."""


def dequantize(blocks: np.ndarray, block_type: BlockType) -> Float[np.ndarray, "S"]:
    """All numbers of an array of blocks, in order, as float32."""
    return block_type.decode(blocks).reshape(-1)
