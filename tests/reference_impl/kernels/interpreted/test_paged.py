"""Writing the cache and attention through block tables, against dense attention in float64."""

import pytest
import torch

from reference_impl.kernels.backend import Tiles
from reference_impl.kernels.cache_write import store_kv
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.paged_prefill import paged_prefill
from reference_impl.layers.long_context import sink_attention
from reference_impl.layers.masks import window_mask

HEAD_DIM = 32


@pytest.fixture
def filled(kernel):
    """A cache of NaN with these contexts in it, block by block in a shuffled order: cache, tables,
    dense rows.
    """

    def fill(contexts, block_size, kv_heads, dtype, head_dim=HEAD_DIM):
        counts = [-(-n // block_size) for n in contexts]
        order = torch.randperm(sum(counts) + 2, generator=torch.Generator().manual_seed(1)).tolist()
        tables = torch.full((len(contexts), max([*counts, 1]) + 1), -1, dtype=torch.int32)
        caches = [
            torch.full((len(order), block_size, kv_heads, head_dim), torch.nan, dtype=dtype)
            for _ in range(2)
        ]
        dense = [
            [kernel.rand(n, kv_heads, head_dim, dtype=dtype) for n in contexts] for _ in range(2)
        ]
        for i, count in enumerate(counts):
            for j in range(count):
                tables[i, j] = order.pop()
                for cache, rows in zip(caches, dense, strict=True):
                    part = rows[i][j * block_size : (j + 1) * block_size]
                    cache[tables[i, j], : len(part)] = part.cpu()
        caches = [kernel.guard(cache.to(kernel.device)) for cache in caches]
        return (
            *caches,
            tables.to(kernel.device),
            torch.tensor(contexts, dtype=torch.int32).to(kernel.device),
            *dense,
        )

    return fill


def heads_first(*tensors):
    return [x.double().transpose(0, 1)[None] for x in tensors]


@pytest.mark.parametrize("kv_heads, head_dim, block_size", [(1, 32, 1), (3, 20, 4), (2, 64, 16)])
def test_rows_are_written_into_their_slots_and_nowhere_else(
    kernel, dtype, kv_heads, head_dim, block_size
):
    projection = kernel.rand(7, 2 * kv_heads + 1, head_dim, dtype=dtype)
    k, v = projection[:, :kv_heads], projection[:, kv_heads:-1]
    caches = [
        torch.empty((9, block_size, kv_heads, head_dim), dtype=dtype, device=kernel.device).fill_(
            number
        )
        for number in (5.0, 6.0)
    ]
    slots = torch.tensor(
        [3, -1, 8 * block_size, 0, 5, -1, 9 * block_size - 1 if block_size > 1 else 6]
    )
    store_kv(k, v, *caches, slots.to(kernel.device), backend="triton")
    for cache, rows, number in zip(caches, (k, v), (5.0, 6.0), strict=True):
        expected = torch.full(
            (9 * block_size, kv_heads, head_dim), number, dtype=dtype, device=kernel.device
        )
        for token, slot in enumerate(slots.tolist()):
            if slot >= 0:
                expected[slot] = rows[token]
        assert torch.equal(cache.flatten(0, 1), expected)


@pytest.mark.parametrize("block_size, num_splits", [(16, 1), (5, 3), (128, 2), (1, 4)])
def test_decoding_is_dense_attention_whatever_the_blocks_and_splits(
    kernel, naive, filled, dtype, block_size, num_splits
):
    contexts = [40, 1, 0, 129]
    k_cache, v_cache, tables, lengths, keys, values = filled(contexts, block_size, 2, dtype)
    q = kernel.rand(4, 6, HEAD_DIM, dtype=dtype)
    out = paged_attention(
        q, k_cache, v_cache, tables, lengths, 0.3, backend="triton", num_splits=num_splits
    )
    for i, context in enumerate(contexts):
        expected = naive(*heads_first(q[i : i + 1], keys[i], values[i]), scale=0.3)[0, :, 0]
        kernel.assert_close(out[i], expected if context else torch.zeros_like(expected))


@pytest.mark.parametrize("window", [1, 33, 500])
def test_decoding_in_a_window_sees_the_last_keys_only(kernel, naive, filled, window):
    contexts = [70, 20]
    k_cache, v_cache, tables, lengths, keys, values = filled(contexts, 8, 1, torch.float32)
    q = kernel.rand(2, 2, HEAD_DIM, dtype=torch.float32)
    out = paged_attention(
        q, k_cache, v_cache, tables, lengths, 0.2, window, backend="triton", num_splits=2
    )
    for i in range(2):
        last = slice(max(contexts[i] - window, 0), None)
        expected = naive(*heads_first(q[i : i + 1], keys[i][last], values[i][last]), scale=0.2)
        kernel.assert_close(out[i], expected[0, :, 0])


@pytest.mark.parametrize("window", [None, 12])
@pytest.mark.parametrize("block_size, tiles", [(16, None), (5, Tiles(16, 64))])
def test_chunks_of_a_prompt_see_the_cache_before_them(
    kernel, naive, filled, dtype, block_size, tiles, window
):
    contexts, chunks = [50, 7, 33], [20, 7, 0]
    k_cache, v_cache, tables, lengths, keys, values = filled(contexts, block_size, 2, dtype)
    q = kernel.rand(sum(chunks), 4, HEAD_DIM, dtype=dtype)
    starts = torch.tensor([0, 20, 27, 27], dtype=torch.int32, device=kernel.device)
    out = paged_prefill(
        q, k_cache, v_cache, tables, starts, lengths, 0.25, window, backend="triton", tiles=tiles
    )
    for i in range(2):
        rows = slice(*starts[i : i + 2].tolist())
        expected = naive(
            *heads_first(q[rows], keys[i], values[i]), causal=True, window=window, scale=0.25
        )
        kernel.assert_close(out[rows], expected[0].transpose(0, 1), factor=2)


@pytest.mark.parametrize("window", [None, 12])
@pytest.mark.parametrize("num_splits", [1, 3])
def test_a_sink_takes_its_share_once(kernel, filled, dtype, window, num_splits):
    """In decoding it is in one of the shares of the context, and none is without a sink."""
    contexts = [50, 7]  # of which a prefill brings the last 20 and 7
    k_cache, v_cache, tables, lengths, keys, values = filled(contexts, 8, 2, dtype)
    q = kernel.rand(27, 6, HEAD_DIM, dtype=dtype)
    sink = kernel.rand(6, dtype=dtype) * 3
    paged, before = (k_cache, v_cache, tables), (window or 99) - 1

    def expected(rows, i):
        mask = window_mask(len(rows), contexts[i], before=before, device=rows.device)
        # the operator's own scale is undone, and 0.25 put in its place
        q, k, v = heads_first(rows, keys[i], values[i])
        q = q * HEAD_DIM**0.5 * 0.25
        return sink_attention(q, k, v, sink.double(), mask)[0].transpose(0, 1)

    out = paged_attention(
        q[:2], *paged, lengths, 0.25, window, sink, backend="triton", num_splits=num_splits
    )
    for i in range(2):
        kernel.assert_close(out[i : i + 1], expected(q[i : i + 1], i))
    starts = torch.tensor([0, 20, 27], dtype=torch.int32, device=kernel.device)
    out = paged_prefill(q, *paged, starts, lengths, 0.25, window, sink, backend="triton")
    for i in range(2):
        rows = slice(*starts[i : i + 2].tolist())
        kernel.assert_close(out[rows], expected(q[rows], i), factor=2)


def test_every_head_size_decodes(kernel, naive, filled):
    for head_dim in (64, 128):
        k_cache, v_cache, tables, lengths, keys, values = filled(
            [35], 16, 1, torch.float32, head_dim
        )
        q = kernel.rand(1, 20, head_dim, dtype=torch.float32)  # a group larger than the 16 rows
        out = paged_attention(q, k_cache, v_cache, tables, lengths, 0.1, backend="triton")
        kernel.assert_close(out[0], naive(*heads_first(q, keys[0], values[0]), scale=0.1)[0, :, 0])


@pytest.mark.parametrize("watched", [None])  # the harness looks at tensors of 2^22 numbers at most
def test_a_block_past_two_thousand_million_numbers_is_written_and_read(kernel):
    num_blocks = 2**31 // (16 * HEAD_DIM) + 3
    storage = torch.UntypedStorage(
        num_blocks * 16 * HEAD_DIM * 2, device=kernel.device
    )  # only touched pages exist
    cache = torch.tensor([], dtype=torch.float16, device=kernel.device).set_(
        storage, 0, (num_blocks, 16, 1, HEAD_DIM)
    )
    rows = kernel.rand(1, 1, HEAD_DIM, dtype=torch.float16)
    store_kv(
        rows,
        rows,
        cache,
        cache,
        torch.tensor([16 * (num_blocks - 1)], device=kernel.device),
        backend="triton",
    )
    assert torch.equal(cache[-1, 0], rows[0])
    table, context = (
        torch.tensor(x, dtype=torch.int32, device=kernel.device) for x in ([[num_blocks - 1]], [1])
    )
    out = paged_attention(rows, cache, cache, table, context, 1.0, backend="triton")
    assert torch.equal(out, rows)  # the only key's value
    assert torch.equal(
        paged_prefill(
            rows,
            cache,
            cache,
            table,
            torch.tensor([0, 1], device=kernel.device),
            context,
            1.0,
            backend="triton",
        ),
        rows,
    )
