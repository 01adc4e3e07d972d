"""The kernels themselves, in Triton's interpreter or compiled on a GPU, against float64.

Collected only where a kernel can run: with TRITON_INTERPRET=1 set before Python starts
(`test_interpreted` one folder up starts such a process), or with a GPU, where the same tests run
compiled and bfloat16 is added.

Every tensor that a kernel allocates lies between canaries and begins as NaN; inputs lie between
bands of NaN. A load past an input's end then spoils the result, a store past an output's end is
found, an element left out is a NaN.
"""

import itertools
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from autograder.checks.kernels.interpreter import Harness
from reference_impl.kernels.backend import interpreting

COMPILED = torch.cuda.is_available() and not interpreting()
DEVICE = "cuda" if COMPILED else "cpu"
DTYPES = [torch.float32, torch.float16] + [torch.bfloat16] * COMPILED
BAND, CANARY = 512, 777
# What rounding inputs' products and the result costs: the unit roundoff is 2^-24, 2^-11, 2^-8.
TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}

if not (interpreting() or COMPILED):
    collect_ignore_glob = ["test_*.py"]

allocate = torch.empty  # the original, for what is not a kernel's


def banded(shape, strides, dtype, band):
    """A view of this shape and these strides in the middle of a longer buffer that is filled with
    `band`.
    """
    extent = (
        1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if 0 not in shape
        else 0
    )
    buffer = torch.full((extent + 2 * BAND,), band, dtype=dtype, device=DEVICE)
    return torch.as_strided(buffer, shape, strides, BAND), buffer


def contiguous_strides(shape):
    return (
        [*itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1)][::-1]
        if shape
        else []
    )


@pytest.fixture
def watched():
    """Watch interpreted kernels for data races and accesses outside their tensors.

    Set up before `monkeypatch`, so that what a test patches is undone before this.
    """
    with nullcontext() if COMPILED else Harness([], seed=1) as harness:
        yield
    assert COMPILED or harness.complaint == ""


@pytest.fixture(autouse=True)
def canaries(watched, monkeypatch):
    """Watch what kernels allocate by torch.empty; any change outside of it fails the test."""
    buffers = []

    def guarded_empty(*shape, dtype=None, device=None, **others):
        if dtype is None or others:
            return allocate(*shape, dtype=dtype, device=device, **others)
        shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        view, buffer = banded(shape, contiguous_strides(shape), dtype, CANARY)
        if dtype.is_floating_point:
            view.fill_(torch.nan)
        buffers.append(buffer)
        return view

    monkeypatch.setattr(torch, "empty", guarded_empty)
    yield buffers
    for buffer in buffers:
        outside = torch.cat([buffer[:BAND], buffer[-BAND:]])
        assert (outside == CANARY).all(), "a kernel wrote outside of its output"


@pytest.fixture
def kernel():
    """What the tests of all kernels use: `rand`, `guard`, `assert_close` below and the device."""
    generator = torch.Generator().manual_seed(0)

    def guard(x, order=None, gap=0):
        """A copy of x between bands of NaN.

        `order` lays dimensions out as a permutation, `gap` widens the last.
        """
        order = range(x.ndim) if order is None else order
        laid_out = [x.shape[d] for d in order]
        laid_out[-1] += gap
        strides = dict(zip(order, contiguous_strides(laid_out), strict=True))
        view, buffer = banded(
            tuple(x.shape), [strides[d] for d in range(x.ndim)], x.dtype, torch.nan
        )
        view.copy_(x)
        return view

    def rand(*shape, dtype, order=None, gap=0):
        """Normal numbers, rounded to dtype, guarded; `.double()` of the result is what the oracle
        takes.
        """
        return guard(torch.randn(*shape, generator=generator).to(DEVICE, dtype), order, gap)

    def assert_close(ours, expected, factor=1.0):
        tolerance = TOLERANCE[ours.dtype] * factor
        torch.testing.assert_close(ours.double(), expected, rtol=tolerance, atol=tolerance)

    return SimpleNamespace(rand=rand, guard=guard, assert_close=assert_close, device=DEVICE)


@pytest.fixture(params=DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


@pytest.fixture
def naive():
    """Attention by its definition in the precision of its inputs: all scores at once, (B,
    H, T, D).
    """

    def attention(q, k, v, causal=False, window=None, scale=None):
        num_queries, num_keys = q.shape[2], k.shape[2]
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        distance = (
            torch.arange(num_keys)[None, :]
            - torch.arange(num_queries)[:, None]
            - (num_keys - num_queries)
        ).to(q.device)
        seen = torch.ones_like(distance, dtype=torch.bool)
        if causal:
            seen &= distance <= 0
        if window is not None:
            seen &= distance > -window
        scores = (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).masked_fill(
            ~seen, -1e300
        )
        return (scores.softmax(-1) * seen) @ v

    return attention
