"""Kernels with a data race, each with the arguments and elements at which two instances meet.

Written before the detector. An element counts in numbers from the argument's first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from reference_impl.kernels.backend import tl, triton


@dataclass(frozen=True)
class Race:
    """A launch, and where it races: `arguments` of the kernel, `elements` of these."""

    launch: Callable[[], object]
    arguments: frozenset[str]
    elements: frozenset[int]


RACY: dict[str, Race] = {}


def racy(arguments: str, elements: Iterable[int]) -> Callable:
    """Register a launch that races at one of these elements of one of these arguments."""

    def register(launch: Callable[[], object]) -> Callable[[], object]:
        RACY[launch.__name__] = Race(launch, frozenset(arguments.split()), frozenset(elements))
        return launch

    return register


@triton.jit
def accumulate_kernel(x, out):
    tl.store(out, tl.load(out) + tl.load(x + tl.program_id(0)))


@racy("out", [0])
def lost_update():
    accumulate_kernel[(4,)](torch.ones(4), torch.zeros(1))


@triton.jit
def flag_kernel(flag):
    tl.store(flag, 1)


@racy("flag", [0])
def same_value_from_all():
    flag_kernel[(5,)](torch.zeros(1, dtype=torch.int32))


@triton.jit
def last_one_wins_kernel(out):
    tl.store(out + 2, tl.program_id(0))


@racy("out", [2])
def last_one_wins():
    last_one_wins_kernel[(3,)](torch.zeros(4, dtype=torch.int32))


@triton.jit
def copy_kernel(x, out, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * step + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@racy("out", [7, 14, 21])
def blocks_overlap_by_one():
    copy_kernel[(4,)](torch.ones(28), torch.zeros(28), 28, 7, BLOCK=8)


@racy("out", range(8))
def program_id_forgotten():
    copy_kernel[(3,)](torch.ones(24), torch.zeros(24), 24, 0, BLOCK=8)


@triton.jit
def chain_kernel(x, out):
    i = tl.program_id(0)
    before = tl.load(out + i - 1, mask=i > 0, other=0.0)
    tl.store(out + i, before + tl.load(x + i))


@racy("out", range(5))
def running_sum_of_the_neighbour():
    chain_kernel[(6,)](torch.ones(6), torch.zeros(6))


@triton.jit
def shift_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at + 1, mask=at + 1 < n, other=0.0), mask=at < n)


@racy("x", [4, 8])
def shift_in_place():
    shift_kernel[(3,)](torch.arange(12.0), 12, BLOCK=4)


@triton.jit
def blur_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at <= n), other=0.0)
    right = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    middle = tl.load(x + at, mask=at < n)
    tl.store(x + at, (left + middle + right) / 3, mask=at < n)


@racy("x", [3, 4, 7, 8])
def stencil_in_place():
    blur_kernel[(3,)](torch.arange(10.0), 10, BLOCK=4)


@triton.jit
def unused_halo_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0)
    own = tl.arange(0, 2 * BLOCK) < BLOCK
    tl.store(x + at, 2 * values, mask=own & (at < n))


@racy("x", range(4, 12))
def halo_read_and_not_used():
    unused_halo_kernel[(3,)](torch.arange(12.0), 12, BLOCK=4)


@triton.jit
def reverse_kernel(x, n):
    i = tl.program_id(0)
    tl.store(x + i, tl.load(x + n - 1 - i))


@racy("x", [0, 1, 2, 4, 5, 6])
def reversal_in_place():
    reverse_kernel[(7,)](torch.arange(7.0), 7)


@triton.jit
def transpose_kernel(x, N, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tile = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.store(x + columns[:, None] * N + rows[None, :], tl.trans(tile))


@racy("x", [r * 4 + c for r in range(4) for c in range(4) if r // 2 != c // 2])
def transpose_in_place():
    transpose_kernel[(2, 2)](torch.arange(16.0).view(4, 4), 4, TILE=2)


@triton.jit
def histogram_kernel(x, counts):
    bin = tl.load(x + tl.program_id(0))
    tl.store(counts + bin, tl.load(counts + bin) + 1)


@racy("counts", [1])
def histogram_without_atomics():
    histogram_kernel[(5,)](torch.tensor([0, 1, 3, 1, 2]), torch.zeros(4, dtype=torch.int32))


@triton.jit
def scatter_kernel(x, places, out):
    i = tl.program_id(0)
    tl.store(out + tl.load(places + i), tl.load(x + i))


@racy("out", [6])
def scatter_to_one_place_twice():
    scatter_kernel[(4,)](torch.ones(4), torch.tensor([6, 0, 3, 6]), torch.zeros(8))


@triton.jit
def peek_kernel(counter, seen):
    i = tl.program_id(0)
    tl.atomic_add(counter, 1)
    tl.store(seen + i, tl.load(counter))


@racy("counter", [0])
def plain_load_of_an_atomic_counter():
    peek_kernel[(3,)](torch.zeros(1, dtype=torch.int32), torch.zeros(3, dtype=torch.int32))


@triton.jit
def clear_then_add_kernel(x, total):
    i = tl.program_id(0)
    if i == 0:
        tl.store(total, 0.0)
    tl.atomic_add(total, tl.load(x + i))


@racy("total", [0])
def first_instance_clears_the_total():
    clear_then_add_kernel[(4,)](torch.ones(4), torch.zeros(1))


@triton.jit
def reduce_in_one_launch_kernel(x, parts, out, N: tl.constexpr):
    i = tl.program_id(0)
    tl.store(parts + i, 2 * tl.load(x + i))
    if i == N - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, N)), 0))


@racy("parts", [0, 1, 2])
def last_instance_sums_the_parts():
    reduce_in_one_launch_kernel[(4,)](torch.ones(4), torch.zeros(4), torch.zeros(1), N=4)


@triton.jit
def head_forgotten_kernel(x, out, rows, D: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    width = tl.arange(0, D)
    values = tl.load(x + (head * rows + row) * D + width)
    tl.store(out + row * D + width, values)


@racy("out", range(12))
def heads_share_one_output():
    head_forgotten_kernel[(3, 2)](torch.ones(2, 3, 4), torch.zeros(2, 3, 4), 3, D=4)


@triton.jit
def third_axis_kernel(out, rows, columns):
    at = tl.program_id(0) * columns + tl.program_id(1)
    tl.store(out + at, tl.program_id(2))


@racy("out", range(6))
def third_axis_of_the_grid_forgotten():
    third_axis_kernel[(2, 3, 2)](torch.zeros(2, 3, dtype=torch.int32), 2, 3)


@triton.jit
def split_k_kernel(a, b, out, K, SIDE: tl.constexpr, PART: tl.constexpr):
    side, part = tl.arange(0, SIDE), tl.program_id(0) * PART + tl.arange(0, PART)
    a_tile = tl.load(a + side[:, None] * K + part[None, :])
    b_tile = tl.load(b + part[:, None] * SIDE + side[None, :])
    at = out + side[:, None] * SIDE + side[None, :]
    tl.store(at, tl.load(at) + tl.dot(a_tile, b_tile, input_precision="ieee"))


@racy("out", range(256))
def split_k_without_atomics():
    a, b = torch.ones(16, 64), torch.ones(64, 16)
    split_k_kernel[(4,)](a, b, torch.zeros(16, 16), 64, SIDE=16, PART=16)


@triton.jit
def rows_kernel(x, out, C, x_row, out_row, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * x_row + at, mask=at < C)
    tl.store(out + row * out_row + at, values, mask=at < C)


@racy("out", [4, 8, 12])
def row_stride_too_small():
    rows_kernel[(4,)](torch.ones(4, 5), torch.zeros(4, 5), 5, 5, 4, BLOCK=8)


@racy("out", [3, 6, 9])
def mask_one_too_wide():
    rows_kernel[(4,)](torch.ones(4, 4), torch.zeros(13), 4, 4, 3, BLOCK=4)


@triton.jit
def two_views_kernel(left, right, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(left + at, 1.0, mask=at < n)
    else:
        tl.store(right + at, 2.0, mask=at < n)


@racy("left right", [4, 5, 0, 1])
def two_views_that_overlap():
    memory = torch.zeros(10)
    two_views_kernel[(2,)](memory[:6], memory[4:], 6, BLOCK=8)


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@racy("x out", [3, 7, 4, 8])
def output_is_the_input_shifted():
    memory = torch.arange(13.0)
    double_kernel[(3,)](memory[1:], memory[:12], 12, BLOCK=4)


@triton.jit
def halves_kernel(words, halves, out):
    i = tl.program_id(0)
    if i == 0:
        tl.store(words + 1, 7)
    else:
        tl.store(out + i, tl.load(halves + 3))


@racy("words halves", [1, 3])
def half_of_a_word_that_another_writes():
    words = torch.zeros(2, dtype=torch.int32)
    out = torch.zeros(2, dtype=torch.int16)
    halves_kernel[(2,)](words, words.view(torch.int16), out)


@triton.jit
def clamped_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), n - 1)
    tl.store(out + at, tl.load(x + at))


@racy("out", [9])
def clamped_in_place_of_masked():
    clamped_kernel[(4,)](torch.ones(10), torch.zeros(10), 10, BLOCK=4)


@triton.jit
def maximum_kernel(x, top):
    i = tl.program_id(0)
    value = tl.load(x + i)
    if i % 2 == 0:
        tl.atomic_max(top, value)
    else:
        tl.store(top, value)


@racy("top", [0])
def atomic_maximum_and_plain_store():
    maximum_kernel[(2,)](torch.tensor([3, 5]), torch.zeros(1, dtype=torch.int64))


@triton.jit
def descriptor_kernel(out, n, step, BLOCK: tl.constexpr):
    described = tl.make_tensor_descriptor(out, shape=[n], strides=[1], block_shape=[BLOCK])
    described.store([tl.program_id(0) * step], tl.zeros([BLOCK], tl.float32) + 1)


@racy("out", range(4, 12))
def descriptors_overlap():
    descriptor_kernel[(3,)](torch.zeros(16), 16, 4, BLOCK=8)


@triton.jit
def scratch_kernel(x, scratch, out, C, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * C + at, mask=at < C, other=float("-inf"))
    tl.store(scratch, tl.max(values, 0))
    weights = tl.exp(values - tl.load(scratch))
    tl.store(out + row * C + at, weights / tl.sum(weights, 0), mask=at < C)


@racy("scratch", [0])
def one_scratch_number_for_all_rows():
    scratch_kernel[(3,)](torch.ones(3, 5), torch.zeros(1), torch.zeros(3, 5), 5, BLOCK=8)


@triton.jit
def carried_kernel(x, totals, out, BLOCK: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + i * BLOCK + at)
    tl.store(totals + i, tl.sum(values, 0))
    carry = tl.load(totals + i - 1, mask=i > 0, other=0.0)
    tl.store(out + i * BLOCK + at, tl.cumsum(values, 0) + carry)


@racy("totals", [0, 1, 2])
def total_of_the_block_before():
    carried_kernel[(4,)](torch.ones(16), torch.zeros(4), torch.zeros(16), BLOCK=4)


@triton.jit
def pairs_kernel(out):
    i = tl.program_id(0)
    tl.store(out + i // 2, i)


@racy("out", [0, 1, 2])
def two_instances_an_element():
    pairs_kernel[(6,)](torch.zeros(3, dtype=torch.int32))


@triton.jit
def weight_gradient_kernel(x, grad, grad_weight, D: tl.constexpr):
    row, width = tl.program_id(0), tl.arange(0, D)
    product = tl.load(x + row * D + width) * tl.load(grad + row * D + width)
    tl.store(grad_weight + width, tl.load(grad_weight + width) + product)


@racy("grad_weight", range(8))
def weight_gradient_of_all_rows():
    weight_gradient_kernel[(5,)](torch.ones(5, 8), torch.ones(5, 8), torch.zeros(8), D=8)


@triton.jit
def swap_kernel(x):
    i = tl.program_id(0)
    left, right = tl.load(x + i), tl.load(x + i + 1)
    tl.store(x + i, tl.minimum(left, right))
    tl.store(x + i + 1, tl.maximum(left, right))


@racy("x", [1, 2])
def sorting_steps_that_share_an_element():
    swap_kernel[(3,)](torch.tensor([4.0, 3.0, 2.0, 1.0]))


@triton.jit
def walk_kernel(x, n, BLOCK: tl.constexpr):
    for first in range(tl.program_id(0) * BLOCK, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@racy("x", range(4, 16))
def walk_with_the_wrong_step():
    walk_kernel[(3,)](torch.zeros(16), 16, BLOCK=4)


@triton.jit
def publish_kernel(value, ready, out):
    i = tl.program_id(0)
    if i == 0:
        tl.store(value, 42)
        tl.store(ready, 1)
    else:
        tl.store(out + i, tl.load(value, mask=tl.load(ready) == 1, other=0))


@racy("ready value", [0])
def message_passed_by_a_plain_flag():
    value, ready, out = (torch.zeros(size, dtype=torch.int32) for size in (1, 1, 3))
    publish_kernel[(3,)](value, ready, out)


@triton.jit
def lock_kernel(x, lock, total):
    if tl.atomic_cas(lock, 0, 1) == 0:
        tl.atomic_add(total, tl.load(x + tl.program_id(0)))
        tl.store(lock, 0)


@racy("lock", [0])
def lock_released_by_a_plain_store():
    lock_kernel[(3,)](torch.ones(3), torch.zeros(1, dtype=torch.int32), torch.zeros(1))


@triton.jit
def exchange_kernel(x, last, out):
    i = tl.program_id(0)
    if i == 3:
        tl.store(out, tl.load(last))
    else:
        tl.atomic_xchg(last, tl.load(x + i))


@racy("last", [0])
def plain_load_of_an_exchanged_number():
    x, last, out = (torch.zeros(size, dtype=torch.int32) for size in (4, 1, 1))
    exchange_kernel[(4,)](x, last, out)


@triton.jit
def turned_kernel(x, out, R, C):
    r, c = tl.program_id(0), tl.program_id(1)
    tl.store(out + r * R + c, tl.load(x + r * C + c))


@racy("out", [2])
def rows_counted_in_place_of_columns():
    turned_kernel[(2, 3)](torch.ones(2, 3), torch.zeros(6), 2, 3)


@triton.jit
def scalar_and_tile_kernel(x, out, BLOCK: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, BLOCK)
    if i == 1:
        tl.store(out + 3, 0.0)
    tl.store(out + at, tl.load(x + at), mask=(at < 5) & (i == 0))


@racy("out", [3])
def one_number_inside_the_tile_of_another():
    scalar_and_tile_kernel[(2,)](torch.ones(8), torch.zeros(8), BLOCK=8)


@triton.jit
def strided_kernel(out, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) + step * tl.arange(0, BLOCK)
    tl.store(out + at, 1.0)


@racy("out", [3, 6, 9])
def interleaved_with_too_small_a_step():
    strided_kernel[(4,)](torch.zeros(16), 3, BLOCK=4)
