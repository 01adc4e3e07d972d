"""The kernels that the book shows, against torch in float64, and their order of tiles."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from reference_impl.kernels import textbook_triton as textbook
from reference_impl.kernels.backend import Tiles


@pytest.mark.parametrize("length, block", [(1, 16), (64, 64), (100, 64)])
def test_add_of_any_length(kernel, dtype, length, block):
    x, y = (kernel.rand(length, dtype=dtype) for _ in range(2))
    kernel.assert_close(textbook.add(x, y, block), x.double() + y.double())


@pytest.mark.parametrize("rows, columns", [(3, 1), (5, 77), (2, 128)])
def test_softmax_of_rows_that_are_no_power_of_two(kernel, rows, columns):
    x = kernel.rand(rows, columns, dtype=torch.float32) * 5 - 100  # padding by 0 would win
    kernel.assert_close(textbook.softmax(x), x.double().softmax(1))


@pytest.mark.parametrize("rows, columns, depth", [(1, 1, 1), (33, 17, 50), (16, 70, 16)])
def test_matmul_of_ragged_matrices(kernel, dtype, rows, columns, depth):
    a, b = kernel.rand(rows, depth, dtype=dtype), kernel.rand(depth, columns, dtype=dtype)
    found = textbook.matmul(a, b, Tiles(16, 32), depth=16)
    kernel.assert_close(found, a.double() @ b.double(), factor=4)


@pytest.mark.parametrize("queries, keys", [(1, 1), (33, 17), (16, 48)])
def test_flash_attention_of_ragged_lengths_and_large_scores(kernel, dtype, queries, keys):
    q, k, v = (kernel.rand(2, n, 32, dtype=dtype) for n in (queries, keys, keys))
    exact = scaled_dot_product_attention(*(x.double() for x in (q, k, v)))
    kernel.assert_close(textbook.flash(q, k, v, Tiles(16, 16)), exact, factor=4)


@pytest.mark.parametrize("down, across, group", [(9, 9, 3), (5, 3, 2), (4, 7, 8), (1, 1, 4)])
def test_every_tile_has_one_program_instance(down, across, group):
    tiles = [textbook.grouped_tile(n, down, across, group) for n in range(down * across)]
    assert sorted(tiles) == [(r, c) for r in range(down) for c in range(across)]
