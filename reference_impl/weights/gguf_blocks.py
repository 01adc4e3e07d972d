"""Numbers in blocks of few bits, as GGUF files hold them, and back to float32.

ggml (Gerganov and others; the layouts are in its `ggml-common.h`, `block_q4_0` and its neighbours) cuts each row into
blocks of 32 numbers. A block keeps one scale as float16 and a small integer for each number:

    Q8_0   scale, 32 signed bytes            x = scale * q              34 bytes, 8.5 bits a number
    Q4_0   scale, 16 bytes of two q each     x = scale * (q - 8)        18 bytes, 4.5 bits
    Q4_1   scale, minimum, 16 bytes          x = scale * q + minimum    20 bytes, 5 bits

In the 4-bit ones, byte i holds number i in its low half and number i + 16 in its high half. A block of Q4_1 with scale
0.5, minimum -1 and first byte 0x73: number 0 is 0.5 * 3 - 1 = 0.5, number 16 is 0.5 * 7 - 1 = 2.5.

Not here: quantising, and the "K" and "IQ" types, which put blocks into larger blocks.
"""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Decoded = Float[np.ndarray, "N S"]


def _halves(packed: np.ndarray) -> Decoded:
    """The 32 numbers from 0 to 15 in 16 bytes: all low halves, then all high halves."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)  # (N, 32)


def _wide(halves: np.ndarray) -> Decoded:
    """One float32 a block: the scale is widened first, so that products are rounded once, as ggml does it."""
    return halves.astype(np.float32)[:, None]  # (N, 1)


def _q4_0(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["scale"]) * (_halves(blocks["q"]) - 8)


def _q4_1(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["scale"]) * _halves(blocks["q"]) + _wide(blocks["minimum"])


def _q8_0(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["scale"]) * blocks["q"]


def _plain(blocks: np.ndarray) -> Decoded:
    return _wide(blocks["x"])


@dataclass(frozen=True)
class BlockType:
    """A way to store numbers: how many are in a block, the block's layout, and from N blocks to their numbers."""

    name: str
    numbers: int
    layout: np.dtype
    decode: Callable[[np.ndarray], Decoded]


BLOCK_TYPES = {
    0: BlockType("F32", 1, np.dtype([("x", "<f4")]), _plain),
    1: BlockType("F16", 1, np.dtype([("x", "<f2")]), _plain),
    2: BlockType("Q4_0", 32, np.dtype([("scale", "<f2"), ("q", "u1", 16)]), _q4_0),
    3: BlockType("Q4_1", 32, np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("q", "u1", 16)]), _q4_1),
    8: BlockType("Q8_0", 32, np.dtype([("scale", "<f2"), ("q", "i1", 32)]), _q8_0),
}
"""By the number that the file gives for the type of a tensor."""


def dequantize(blocks: np.ndarray, block_type: BlockType) -> Float[np.ndarray, "S"]:
    """All numbers of an array of blocks, in order, as float32."""
    return block_type.decode(blocks).reshape(-1)
