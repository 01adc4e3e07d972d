"""Bytes moved between memory and the processor: by formula, and counted in the twins.

Dao et al. 2022, section 3.2 and theorem 2. Standard attention writes N x N scores down
and reads them back, twice: with N queries and keys of d numbers, 4 N d + 4 N^2
accesses. Flash attention reads K and V once for each tile of queries: with tiles as
tall as the fast memory of M numbers allows, of order N^2 d^2 / M. It does no fewer
operations.

A twin loads and stores tiles by `load` and `store`, which count while `counting` is on.
So what the formulas claim is what the code did. Not here: time, for which bytes are an
explanation (see `bench`).
"""

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from jaxtyping import Shaped
from torch import Tensor


@dataclass
class Traffic:
    """Bytes that tiles brought in and carried out, and how many tiles there were."""

    read: int = 0
    written: int = 0
    tiles: int = 0


_counter: ContextVar[Traffic | None] = ContextVar("traffic", default=None)


@contextlib.contextmanager
def counting() -> Iterator[Traffic]:
    """Count what twins load and store inside this block."""
    traffic = Traffic()
    token = _counter.set(traffic)
    try:
        yield traffic
    finally:
        _counter.reset(token)


def load(x: Shaped[Tensor, "R ..."], start: int, stop: int) -> Shaped[Tensor, "r ..."]:
    """Rows [start, stop) of x, cut at its end."""
    tile = x[start:stop]
    traffic = _counter.get()
    if traffic is not None:
        traffic.read += tile.numel() * tile.element_size()
        traffic.tiles += 1
    return tile


def store(
    x: Shaped[Tensor, "R ..."], start: int, stop: int, tile: Shaped[Tensor, "r ..."]
) -> None:
    """Put a tile into rows [start, stop) of x, cut at its end; converted to
    x's dtype.
    """
    target = x[start:stop]
    target.copy_(tile)
    traffic = _counter.get()
    if traffic is not None:
        traffic.written += target.numel() * target.element_size()


def standard_attention_bytes(
    num_tokens: int, num_heads: int, head_dim: int, element_size: int
) -> int:
    """Algorithm 0 of the paper: read Q, K; write S; read S; write P; read P, V; write
    O.
    """
    return num_heads * (4 * num_tokens * head_dim + 4 * num_tokens**2) * element_size


def flash_attention_bytes(
    num_tokens: int,
    num_heads: int,
    head_dim: int,
    element_size: int,
    rows: int,
    columns: int | None = None,
    num_kv_heads: int | None = None,
) -> int:
    """Forward, queries outside and keys inside, as in Dao 2023: Q and O once, K and V
    once for each tile of `rows`.

    A number in float32 for each query and head is written too, the log-sum-exp that the
    backward pass needs. With `columns`, attention is causal, and a tile of queries
    reads the tiles of keys up to its last query only. A twin reads a group's keys once
    for all its heads; pass `num_kv_heads` to count so.
    """
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    keys_read = 0
    for first in range(0, num_tokens, rows):
        last = min(first + rows, num_tokens)
        keys_read += (
            num_tokens
            if columns is None
            else min(math.ceil(last / columns) * columns, num_tokens)
        )
    moved = (
        2 * num_tokens * num_heads * head_dim + 2 * keys_read * num_kv_heads * head_dim
    )
    return moved * element_size + 4 * num_tokens * num_heads


def paged_decode_bytes(
    context_lens: list[int],
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    element_size: int,
) -> int:
    """One step for these contexts: every key and value once, queries in and results
    out. Nothing else is large.
    """
    return (
        (2 * sum(context_lens) * num_kv_heads + 2 * len(context_lens) * num_heads)
        * head_dim
        * element_size
    )
