"""Kernels without a data race, whatever the order in which their instances run.

Written before the detector.
"""

from collections.abc import Callable

import torch

from reference_impl.kernels.backend import tl, triton

CLEAN: dict[str, Callable[[], object]] = {}


def clean(launch: Callable[[], object]) -> Callable[[], object]:
    """Register a launch without a race."""
    CLEAN[launch.__name__] = launch
    return launch


def integers(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int32)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@clean
def whole_blocks():
    add_kernel[(3,)](torch.ones(12), torch.ones(12), torch.zeros(12), 12, BLOCK=4)


@clean
def ragged_blocks():
    add_kernel[(3,)](torch.ones(10), torch.ones(10), torch.zeros(10), 10, BLOCK=4)


@clean
def instances_beyond_the_end():
    add_kernel[(5,)](torch.ones(10), torch.ones(10), torch.zeros(10), 10, BLOCK=4)


@clean
def one_tensor_given_twice():
    x = torch.ones(12)
    add_kernel[(3,)](x, x, torch.zeros(12), 12, BLOCK=4)


@clean
def output_is_an_input():
    x = torch.ones(12)
    add_kernel[(3,)](x, torch.ones(12), x, 12, BLOCK=4)


@clean
def numbers_of_one_byte_side_by_side():
    x, y, out = (torch.ones(12, dtype=torch.int8) for _ in range(3))
    add_kernel[(12,)](x, y, out, 12, BLOCK=1)


@clean
def numbers_of_two_bytes_side_by_side():
    x, y, out = (torch.ones(12, dtype=torch.float16) for _ in range(3))
    add_kernel[(6,)](x, y, out, 12, BLOCK=2)


@triton.jit
def scale_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@clean
def own_block_in_place():
    scale_kernel[(4,)](torch.ones(14), 14, BLOCK=4)


@clean
def one_launch_after_another():
    x = torch.ones(14)
    for block in (4, 8, 2):
        scale_kernel[(triton.cdiv(14, block),)](x, 14, BLOCK=block)


@triton.jit
def softmax_kernel(x, C, row_stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * row_stride + at, mask=at < C, other=float("-inf"))
    weights = tl.exp(values - tl.max(values, 0))
    tl.store(x + row * row_stride + at, weights / tl.sum(weights, 0), mask=at < C)


@clean
def own_row_in_place():
    softmax_kernel[(4,)](torch.ones(4, 5), 5, 5, BLOCK=8)


@clean
def own_row_in_place_with_gaps():
    softmax_kernel[(4,)](torch.ones(4, 9)[:, :5], 5, 9, BLOCK=8)


@triton.jit
def weighted_kernel(x, weight, out, D: tl.constexpr):
    at = tl.program_id(0) * D + tl.arange(0, D)
    tl.store(out + at, tl.load(x + at) * tl.load(weight + tl.arange(0, D)))


@clean
def all_read_the_weights():
    weighted_kernel[(6,)](torch.ones(6, 8), torch.ones(8), torch.zeros(6, 8), D=8)


@triton.jit
def blur_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at <= n), other=0.0)
    right = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(out + at, left + right, mask=at < n)


@clean
def halo_of_what_nobody_writes():
    blur_kernel[(3,)](torch.ones(12), torch.zeros(12), 12, BLOCK=4)


@clean
def from_one_half_of_a_tensor_to_the_other():
    both = torch.ones(2, 12)
    blur_kernel[(3,)](both[0], both[1], 12, BLOCK=4)


@triton.jit
def count_kernel(counter):
    tl.atomic_add(counter, 1)


@clean
def all_add_to_one_counter():
    count_kernel[(7,)](integers(1))


@triton.jit
def histogram_kernel(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(counts + bins, 1, mask=at < n)


@clean
def histogram_with_atomics():
    histogram_kernel[(3,)](torch.tensor([0, 1, 1, 3, 1, 0, 2, 2, 1]), integers(4), 9, BLOCK=4)


@triton.jit
def top_kernel(x, top, BLOCK: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_max(top, tl.max(values, 0))


@clean
def atomic_maximum_of_floats():
    top_kernel[(4,)](torch.randn(16), torch.full((1,), -9.0), BLOCK=4)


@triton.jit
def claim_kernel(owner, out):
    i = tl.program_id(0)
    before = tl.atomic_cas(owner, -1, i)
    tl.store(out + i, before)


@clean
def one_instance_claims():
    claim_kernel[(4,)](integers(1) - 1, integers(4))


@triton.jit
def compact_kernel(x, counter, out):
    value = tl.load(x + tl.program_id(0))
    if value > 0:
        tl.store(out + tl.atomic_add(counter, 1), value)


@clean
def places_drawn_from_an_atomic_counter():
    compact_kernel[(6,)](torch.tensor([1.0, -1, 2, 3, -4, 5]), integers(1), torch.zeros(6))


@triton.jit
def exchange_kernel(last, out):
    i = tl.program_id(0)
    tl.store(out + i, tl.atomic_xchg(last, i))


@clean
def all_exchange_one_number():
    exchange_kernel[(5,)](integers(1), integers(5))


@triton.jit
def split_k_kernel(a, b, out, K, SIDE: tl.constexpr, PART: tl.constexpr):
    side, part = tl.arange(0, SIDE), tl.program_id(0) * PART + tl.arange(0, PART)
    a_tile = tl.load(a + side[:, None] * K + part[None, :])
    b_tile = tl.load(b + part[:, None] * SIDE + side[None, :])
    product = tl.dot(a_tile, b_tile, input_precision="ieee")
    tl.atomic_add(out + side[:, None] * SIDE + side[None, :], product)


@clean
def split_k_with_atomics():
    a, b = torch.ones(16, 64), torch.ones(64, 16)
    split_k_kernel[(4,)](a, b, torch.zeros(16, 16), 64, SIDE=16, PART=16)


@triton.jit
def masked_lanes_kernel(x, out, BLOCK: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at == i)


@clean
def all_address_the_tile_and_one_lane_is_on():
    masked_lanes_kernel[(8,)](torch.ones(8), torch.zeros(8), BLOCK=8)


@triton.jit
def only_first_kernel(x, out):
    tl.store(out, tl.load(x), mask=tl.program_id(0) == 0)


@clean
def one_instance_stores_for_all():
    only_first_kernel[(6,)](torch.ones(1), torch.zeros(1))


@triton.jit
def interleaved_kernel(out, step, BLOCK: tl.constexpr):
    tl.store(out + tl.program_id(0) + step * tl.arange(0, BLOCK), 1.0)


@clean
def interleaved_by_the_number_of_instances():
    interleaved_kernel[(4,)](torch.zeros(16), 4, BLOCK=4)


@triton.jit
def transpose_kernel(x, out, R, C, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = (rows[:, None] < R) & (columns[None, :] < C)
    tile = tl.load(x + rows[:, None] * C + columns[None, :], mask=inside)
    tl.store(out + columns[None, :] * R + rows[:, None], tile, mask=inside)


@clean
def transpose_into_another():
    transpose_kernel[(2, 3)](torch.ones(3, 5), torch.zeros(5, 3), 3, 5, TILE=2)


@triton.jit
def transpose_pairs_kernel(x, N):
    i, j = tl.program_id(0), tl.program_id(1)
    if i < j:
        upper, lower = tl.load(x + i * N + j), tl.load(x + j * N + i)
        tl.store(x + i * N + j, lower)
        tl.store(x + j * N + i, upper)


@clean
def transpose_in_place_by_pairs():
    transpose_pairs_kernel[(4, 4)](torch.ones(4, 4), 4)


@triton.jit
def swap_ends_kernel(x, n):
    i = tl.program_id(0)
    left, right = tl.load(x + i), tl.load(x + n - 1 - i)
    tl.store(x + i, right)
    tl.store(x + n - 1 - i, left)


@clean
def reversal_in_place_by_pairs():
    swap_ends_kernel[(3,)](torch.arange(6.0), 6)


@triton.jit
def even_odd_kernel(even, odd, out, n):
    i = tl.program_id(0)
    if i % 2 == 0:
        tl.store(even + 2 * i, 1.0)
    else:
        tl.store(out + i, tl.load(odd + 2 * i))


@clean
def two_views_that_interleave():
    memory = torch.zeros(16)
    even_odd_kernel[(6,)](memory, memory[1:], torch.zeros(6), 6)


@triton.jit
def halves_kernel(words, halves, out):
    i = tl.program_id(0)
    if i == 0:
        tl.store(words + 1, 7)
    else:
        tl.store(out + i, tl.load(halves + 1))


@clean
def halves_of_another_word():
    words, out = integers(2), torch.zeros(2, dtype=torch.int16)
    halves_kernel[(2,)](words, words.view(torch.int16), out)


@triton.jit
def parts_kernel(x, parts):
    tl.store(parts + tl.program_id(0), 2 * tl.load(x + tl.program_id(0)))


@triton.jit
def total_kernel(parts, out, N: tl.constexpr):
    tl.store(out, tl.sum(tl.load(parts + tl.arange(0, N)), 0))


@clean
def parts_in_one_launch_and_total_in_the_next():
    parts, out = torch.zeros(4), torch.zeros(1)
    parts_kernel[(4,)](torch.ones(4), parts)
    total_kernel[(1,)](parts, out, N=4)


@triton.jit
def accumulate_kernel(x, out, n):
    for i in range(0, n):
        tl.store(out, tl.load(out) + tl.load(x + i))


@clean
def one_instance_adds_all():
    accumulate_kernel[(1,)](torch.ones(5), torch.zeros(1), 5)


@triton.jit
def read_back_kernel(x, out):
    i = tl.program_id(0)
    tl.store(out + i, tl.load(x + i))
    tl.store(out + i, tl.load(out + i) + 1)


@clean
def own_number_read_back():
    read_back_kernel[(5,)](torch.ones(5), torch.zeros(5))


@triton.jit
def scatter_kernel(x, places, out):
    i = tl.program_id(0)
    place = tl.load(places + i)
    tl.store(out + place, tl.load(x + i), mask=place >= 0)


@clean
def scatter_by_a_permutation():
    scatter_kernel[(5,)](torch.ones(5), torch.tensor([3, -1, 0, -1, 4]), torch.zeros(5))


@triton.jit
def heads_kernel(x, out, head, row, D: tl.constexpr):
    at = tl.program_id(2) * head + tl.program_id(0) * row
    at += tl.program_id(1) * D + tl.arange(0, D)
    tl.store(out + at, tl.load(x + at))


@clean
def three_axes_each_with_its_stride():
    heads_kernel[(3, 2, 4)](torch.ones(4, 3, 8), torch.zeros(4, 3, 8), 24, 8, D=4)


@triton.jit
def descriptor_kernel(out, n, BLOCK: tl.constexpr):
    described = tl.make_tensor_descriptor(out, shape=[n], strides=[1], block_shape=[BLOCK])
    described.store([tl.program_id(0) * BLOCK], tl.zeros([BLOCK], tl.float32) + 1)


@clean
def descriptors_side_by_side():
    descriptor_kernel[(3,)](torch.zeros(18), 18, BLOCK=8)


@triton.jit
def walk_kernel(x, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for first in range(tl.program_id(0) * BLOCK, n, step):
        at = first + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@clean
def walk_in_steps_of_the_whole_grid():
    walk_kernel[(3,)](torch.zeros(30), 30, BLOCK=4)


@triton.jit
def log_kernel(x, total, out):
    i = tl.program_id(0)
    value = tl.load(x + i)
    tl.atomic_add(total, value)
    tl.store(out + i, value)


@clean
def atomics_here_and_own_stores_there():
    log_kernel[(5,)](torch.ones(5), torch.zeros(1), torch.zeros(5))


@triton.jit
def matmul_kernel(a, b, out, M, N, K, SIDE: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    columns = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    total = tl.zeros([SIDE, SIDE], tl.float32)
    for first in range(0, K, SIDE):
        inner = first + tl.arange(0, SIDE)
        a_tile = tl.load(
            a + rows[:, None] * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        b_tile = tl.load(
            b + inner[:, None] * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(a_tile, b_tile, total, input_precision="ieee")
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, mask=inside)


@clean
def tiles_of_a_product():
    matmul_kernel[(2, 2)](
        torch.ones(20, 33), torch.ones(33, 18), torch.zeros(20, 18), 20, 18, 33, SIDE=16
    )
