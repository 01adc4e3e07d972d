"""Bytes by formula against bytes that the twins moved, and what the paper says of both."""

import pytest
import torch

from reference_impl.kernels.backend import Tiles
from reference_impl.kernels.flash_attention import flash_forward_twin
from reference_impl.kernels.flash_attention_backward import flash_backward_twin
from reference_impl.kernels.traffic import (
    counting,
    flash_attention_bytes,
    load,
    paged_decode_bytes,
    standard_attention_bytes,
)


def moved(length, tiles, *, causal=False, window=None, heads=2, kv_heads=1, head_dim=8):
    q, k = torch.zeros(length, heads, head_dim), torch.zeros(length, kv_heads, head_dim)
    with counting() as traffic:
        flash_forward_twin(q, k, k, causal=causal, window=window, scale=1.0, tiles=tiles)
    return traffic


@pytest.mark.parametrize(
    "length, rows, columns", [(64, 16, 16), (61, 16, 8), (61, 8, 32), (7, 64, 64)]
)
@pytest.mark.parametrize("causal", [False, True])
def test_the_twin_moves_the_bytes_of_the_formula(length, rows, columns, causal):
    traffic = moved(length, Tiles(rows, columns), causal=causal)
    expected = flash_attention_bytes(
        length, 2, 8, 4, rows, columns if causal else None, num_kv_heads=1
    )
    # A tile that the diagonal cuts at its first key only is loaded whole in the formula as in the
    # twin.
    assert traffic.read + traffic.written == expected


def test_a_number_by_hand():
    # 4 queries and keys of 2 numbers of 4 bytes, tiles of 2: Q 32 and O 32 bytes, K and V 32 each,
    # twice, lse 16.
    assert flash_attention_bytes(4, 1, 2, 4, rows=2) == 32 + 32 + 2 * 64 + 16
    # Q, K, V, O 32 each; four times 16 scores of 4 bytes.
    assert standard_attention_bytes(4, 1, 2, 4) == 4 * 32 + 4 * 64
    assert (
        paged_decode_bytes([3, 5], num_heads=4, num_kv_heads=1, head_dim=2, element_size=2)
        == (2 * 8 + 16) * 4
    )


def test_twice_the_rows_read_half_the_keys_and_a_window_makes_reading_linear():
    keys = {rows: moved(256, Tiles(rows, 16)).read - 256 * 2 * 8 * 4 for rows in (16, 32, 64)}
    assert keys[16] == 2 * keys[32] == 4 * keys[64]
    full, windowed = (
        [moved(n, Tiles(16, 16), causal=True, window=w).tiles for n in (256, 512)]
        for w in (None, 32)
    )
    assert full[1] > 3.5 * full[0] and windowed[1] < 2.1 * windowed[0]


def test_flash_attention_moves_less_than_standard_and_by_the_ratio_of_tiles_to_scores():
    standard, flash = (
        f(4096, 1, 64, 2, *rest)
        for f, rest in ((standard_attention_bytes, ()), (flash_attention_bytes, (128,)))
    )
    # The N^2 terms: 4 numbers a score against 2 d / rows, which is 1 here.
    assert 3.5 < standard / flash < 4.0


def test_the_backward_pass_recomputes_tiles_it_does_not_store():
    q, out, lse = torch.zeros(64, 1, 8), torch.zeros(64, 1, 8), torch.zeros(64, 1)
    with counting() as traffic:
        flash_backward_twin(
            out, q, q, q, out, lse, causal=False, window=None, scale=1.0, tiles=Tiles(16, 16)
        )
    assert traffic.written == 3 * 64 * 8 * 4  # dQ, dK and dV once: no sum is carried through memory


def test_nothing_is_counted_outside():
    with counting() as traffic:
        load(torch.zeros(4, 2), 1, 9)
    load(torch.zeros(4, 2), 0, 4)
    assert (traffic.read, traffic.written, traffic.tiles) == (24, 0, 1)
