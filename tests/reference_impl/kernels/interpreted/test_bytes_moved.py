"""The bytes that kernels load and store, counted in the interpreter, against the formulas of
`traffic`.
"""

from types import SimpleNamespace

import pytest
import torch

from reference_impl.kernels.backend import Tiles, interpreting
from reference_impl.kernels.flash_attention import flash_attention
from reference_impl.kernels.paged_decode import paged_attention
from reference_impl.kernels.rmsnorm import rms_norm
from reference_impl.kernels.swiglu import swiglu
from reference_impl.kernels.traffic import flash_attention_bytes, paged_decode_bytes
from reference_impl.kernels.vector_add import vector_add

pytestmark = pytest.mark.skipif(
    not interpreting(), reason="loads are counted where they are interpreted"
)


@pytest.fixture
def moved(monkeypatch):
    """Bytes of floating-point numbers that kernels read and wrote: bounds, tables and lengths are
    not in formulas.
    """
    from triton.runtime.interpreter import InterpreterBuilder

    count = SimpleNamespace(read=0, written=0)
    load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

    def counted_load(self, pointers, mask, *others):
        loaded = load(self, pointers, mask, *others)
        count.read += int(mask.data.sum()) * loaded.data.itemsize * (loaded.data.dtype.kind == "f")
        return loaded

    def counted_store(self, pointers, value, mask, *others):
        count.written += int(mask.data.sum()) * value.data.itemsize * (value.data.dtype.kind == "f")
        return store(self, pointers, value, mask, *others)

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", counted_load)
    monkeypatch.setattr(InterpreterBuilder, "create_masked_store", counted_store)
    return count


def test_simple_kernels_touch_each_number_once(moved):
    x, y = torch.ones(7, 33, requires_grad=True), torch.ones(7, 33, requires_grad=True)
    size = x.numel() * 4
    vector_add(x.detach().flatten(), y.detach().flatten(), backend="triton", block=64)
    assert (moved.read, moved.written) == (2 * size, size)
    out = swiglu(x, y, backend="triton")
    assert (moved.read, moved.written) == (4 * size, 2 * size)
    out.backward(torch.ones(7, 33))
    assert (moved.read, moved.written) == (7 * size, 4 * size)
    rms_norm(x, torch.ones(33), backend="triton")
    assert (moved.read, moved.written) == (
        9 * size,
        5 * size + 7 * 4,
    )  # the weight once a row; a factor a row


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows, columns", [(32, 16), (16, 32)])
def test_flash_attention_moves_the_bytes_of_the_formula(moved, causal, rows, columns):
    q = torch.ones(1, 2, 70, 32)
    flash_attention(q, q, q, causal=causal, backend="triton", tiles=Tiles(rows, columns))
    assert moved.read + moved.written == flash_attention_bytes(
        70, 2, 32, 4, rows, columns if causal else None
    )


def test_a_window_reads_as_many_keys_for_each_tile_of_queries_however_long_the_text(moved):
    for length in (64, 128):
        before = moved.read
        q = torch.ones(1, 1, length, 32)
        flash_attention(q, q, q, causal=True, window=16, backend="triton", tiles=Tiles(16, 16))
        tiles_of_keys = (
            2 * (length // 16) - 1
        )  # its own and the one before; the first has none before
        assert moved.read - before == (length + 2 * 16 * tiles_of_keys) * 32 * 4


def test_decoding_reads_the_cache_once_for_all_heads_of_a_group(moved):
    contexts, heads, kv_heads, splits = [40, 3], 6, 2, 2
    cache = torch.ones(4, 16, kv_heads, 32)
    tables = torch.tensor([[2, 0, 1], [3, -1, -1]], dtype=torch.int32)
    paged_attention(
        torch.ones(2, heads, 32),
        cache,
        cache,
        tables,
        torch.tensor(contexts),
        1.0,
        backend="triton",
        num_splits=splits,
    )
    queries = (splits - 1) * 2 * heads * 32 * 4  # each split reads them
    handed_over = (
        2 * 2 * heads * splits * (32 + 1) * 4
    )  # written by the splits, read to be combined
    assert (
        moved.read + moved.written
        == paged_decode_bytes(contexts, heads, kv_heads, 32, 4) + queries + handed_over
    )
