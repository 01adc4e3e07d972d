"""The counter sees what is known to be made."""

import subprocess
import sys

import torch

from reference_impl.layers.attention import plain_attention
from reference_impl.measure.tensors import TensorCounter


def test_new_memory_is_counted_and_views_and_in_place_results_are_not():
    x = torch.zeros(10, 10)
    with TensorCounter() as counter:
        y = x + 1  # 400 bytes
        y.view(100)[3:].add_(1)
        x.t()
    assert (counter.allocated, counter.alive, counter.peak, counter.largest) == (400, 400, 400, 100)
    assert y.sum() == 197


def test_peak_is_what_is_alive_at_once_not_the_sum():
    x = torch.zeros(100)
    with TensorCounter() as counter:
        for _ in range(5):
            y = x + 1  # the next is made before this one is let go
        held = [x + 1 for _ in range(2)]
    assert counter.allocated == 7 * 400
    assert counter.peak == 3 * 400
    assert counter.alive == 3 * 400
    del y, held
    assert counter.alive == 0


def test_copies_are_counted_by_what_they_write():
    x, target = torch.zeros(6, 5), torch.zeros(6, 5)
    with TensorCounter() as counter:
        x.clone()
        torch.cat((x, x))
        x.t().contiguous()
        target.copy_(x)
        x.double()
        x * 2
        x.reshape(30)
    assert counter.copied == 120 * (1 + 2 + 1 + 1 + 2)


def test_what_the_backward_pass_keeps_is_in_the_peak():
    x = torch.zeros(1000, requires_grad=True)
    with TensorCounter() as kept:
        y = x.exp().exp().exp()
    with torch.no_grad(), TensorCounter() as not_kept:
        x.exp().exp().exp()
    assert (kept.peak, not_kept.peak) == (3 * 4000, 2 * 4000)
    assert y.shape == (1000,)


def tiled_attention(q, k, v, rows=8):
    return torch.cat(
        [plain_attention(q[:, :, i : i + rows], k, v) for i in range(0, q.shape[2], rows)], dim=2
    )


def test_scores_of_all_pairs_are_seen_in_plain_attention_and_not_in_tiles():
    q, k, v = torch.randn(3, 1, 2, 64, 4, generator=torch.Generator().manual_seed(0))
    with TensorCounter() as plain:
        expected = plain_attention(q, k, v)
    with TensorCounter() as tiled:
        result = tiled_attention(q, k, v)
    torch.testing.assert_close(result, expected)
    assert (1, 2, 64, 64) in plain.shapes and plain.largest == 2 * 64 * 64
    assert not any(shape[-2:] == (64, 64) for shape in tiled.shapes) and tiled.largest == 2 * 8 * 64
    assert tiled.peak < plain.peak / 3


def test_counting_does_not_import_torchs_compiler_which_would_take_seconds_of_a_students_first_call():  # noqa: E501
    code = """
import sys, torch
from autograder.checks.kernels.counters import Counter
with Counter():
    (torch.ones(2, 3, requires_grad=True) @ torch.ones(3, 2)).sum().backward()
assert "torch._dynamo" not in sys.modules, "imported"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
