"""Which keys a tile of queries sees, and which tiles of keys need a mask: the
arithmetic that all attention shares.

Queries are the last of the keys: of T queries and S keys, query t has position t + S -
T. Causal, a query sees keys up to its own position; with a window of W, only the last W
of these, itself included (Mistral's, Jiang et al. 2023).

A tile of queries walks over tiles of keys in three stretches: tiles that the window's
edge cuts, tiles that all its queries see whole, tiles that the diagonal or the end of
the keys cuts. Only the first and last build a mask; without a window the first is
empty. A window so moves the start of the walk, and cost grows by W, not by S.

The other way round, a tile of keys walks over tiles of queries, which the backward pass
does.
"""

import math
from typing import no_type_check

import torch
from jaxtyping import Bool
from torch import Tensor

from reference_impl.kernels.backend import tl, triton

LOG2_E = math.log2(
    math.e
)  # kernels take powers of two, for which a GPU has an instruction
LOWEST = -1e30  # where a running maximum starts


def visible(
    rows: range,
    columns: range,
    num_queries: int,
    num_keys: int,
    causal: bool,
    window: int | None,
    device: torch.device | None = None,
) -> Bool[Tensor, "r c"]:
    """True where the query of a row may see the key of a column, for one tile or for
    all.
    """
    query = torch.arange(rows.start, rows.stop, device=device)[:, None] + (
        num_keys - num_queries
    )
    key = torch.arange(columns.start, columns.stop, device=device)
    mask = (key < num_keys).expand(len(rows), len(columns))
    if causal:
        mask = mask & (key <= query)
    if window is not None:
        mask = mask & (key > query - window)
    return mask


def key_tiles(
    rows: range,
    columns: int,
    num_queries: int,
    num_keys: int,
    causal: bool,
    window: int | None,
) -> list[range]:
    """The tiles of keys, `columns` wide, of which this tile of queries sees
    anything.
    """
    first, last = (
        rows.start + num_keys - num_queries,
        rows.stop - 1 + num_keys - num_queries,
    )
    stop = min(num_keys, last + 1) if causal else num_keys
    start = 0 if window is None else max(first - window + 1, 0) // columns * columns
    return [
        range(key, min(key + columns, num_keys)) for key in range(start, stop, columns)
    ]


def query_tiles(
    columns: range,
    rows: int,
    num_queries: int,
    num_keys: int,
    causal: bool,
    window: int | None,
) -> list[range]:
    """The tiles of queries, `rows` tall, that see anything of this tile of keys."""
    shift = num_keys - num_queries
    start = max(columns.start - shift, 0) // rows * rows if causal else 0
    stop = (
        num_queries
        if window is None
        else min(num_queries, columns.stop - 1 + window - shift)
    )
    return [
        range(query, min(query + rows, num_queries))
        for query in range(start, stop, rows)
    ]


@triton.jit
@no_type_check
def bounds(cu_seqlens, sequence):
    """Where a sequence begins among the tokens of all, and how many it has."""
    start = tl.load(cu_seqlens + sequence).to(tl.int64)
    return start, (tl.load(cu_seqlens + sequence + 1) - start).to(tl.int32)


@triton.jit
@no_type_check
def key_ranges(
    first,
    num_keys,
    window,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
):
    """Bounds of the three stretches for queries at positions first to first + ROWS: the
    middle needs no mask.

    Gives start, middle, end of middle, stop; the middle may be empty or upside down,
    which its loop takes as empty.
    """
    start = 0
    middle = 0
    middle_end = num_keys // COLUMNS * COLUMNS
    stop = num_keys
    if CAUSAL:  # the first query sees least to the right, the last one most
        middle_end = tl.minimum(
            middle_end, tl.maximum(first + 1, 0) // COLUMNS * COLUMNS
        )
        stop = tl.minimum(stop, tl.maximum(first + ROWS, 0))
    if WINDOWED:  # the first query sees most to the left, the last one least
        start = tl.maximum(first - window + 1, 0) // COLUMNS * COLUMNS
        middle = tl.cdiv(tl.maximum(first + ROWS - window, 0), COLUMNS) * COLUMNS
    return start, middle, middle_end, stop


@triton.jit
@no_type_check
def query_ranges(
    first_key,
    num_queries,
    shift,
    window,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOWED: tl.constexpr,
):
    """Bounds of the three stretches of queries for keys first_key to first_key +
    COLUMNS; see `key_ranges`.
    """
    start = 0
    middle = 0
    middle_end = num_queries // ROWS * ROWS
    stop = num_queries
    if CAUSAL:
        start = tl.maximum(first_key - shift, 0) // ROWS * ROWS
        middle = tl.cdiv(tl.maximum(first_key + COLUMNS - 1 - shift, 0), ROWS) * ROWS
    if WINDOWED:
        middle_end = tl.minimum(
            middle_end, tl.maximum(first_key + window - shift, 0) // ROWS * ROWS
        )
        stop = tl.minimum(stop, tl.maximum(first_key + COLUMNS - 1 + window - shift, 0))
    return start, middle, middle_end, stop


@triton.jit
@no_type_check
def tile_mask(
    query, key, num_keys, window, CAUSAL: tl.constexpr, WINDOWED: tl.constexpr
):
    """True where a query at this position sees this key; `query` and `key` broadcast
    against each other.
    """
    mask = (key < num_keys) & (query == query)
    if CAUSAL:
        mask = mask & (key <= query)
    if WINDOWED:
        mask = mask & (key > query - window)
    return mask


@triton.jit
@no_type_check
def attend(q, k, v, maximum, total, accumulator, scale, mask, MASKED: tl.constexpr):
    """One step of the online softmax: what these keys (D, columns) add to the queries
    (rows, D).

    `maximum` is the largest score so far in units of log 2, `total` the sum of
    2^(score - maximum), `accumulator` the values weighted by that. The maximum starts
    at a finite number: a tile with no visible key would otherwise be 2^(-inf - -inf),
    a NaN.
    """
    scores = tl.dot(q, k, input_precision="ieee")
    if MASKED:
        scores = tl.where(mask, scores, float("-inf"))
    new_maximum = tl.maximum(maximum, tl.max(scores, 1) * scale)
    weights = tl.exp2(
        scores * scale - new_maximum[:, None]
    )  # one multiply-add inside the power of two
    rescale = tl.exp2(maximum - new_maximum)
    total = total * rescale + tl.sum(weights, 1)
    accumulator = tl.dot(
        weights.to(v.dtype), v, accumulator * rescale[:, None], input_precision="ieee"
    )
    return new_maximum, total, accumulator
