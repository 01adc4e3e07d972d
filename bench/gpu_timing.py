"""How the rows of `bench/gpu.py` are timed: by CUDA events, ours and the rival in turn.

Not here: what is timed (see `gpu`, `gpu_training` and `gpu_engine`).
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

PEAK_FLOPS = 989e12
REPETITIONS, FILL_SECONDS = 7, 0.02


def randn(*shape: int, grad: bool = False) -> Tensor:
    """Normal numbers in bfloat16 on the GPU."""
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).requires_grad_(grad)


def seconds_of(call: Callable[[], Any], calls: int) -> float:
    """Seconds for one of `calls` calls, queued together, by the GPU's own clock."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        call()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / 1000 / calls


def in_turn(*sides: Callable[[], Any]) -> list[list[float]]:
    """Seconds of one call for each side, the sides taking turns, after each was warmed up."""
    calls = []
    for side in sides:
        side()  # compiles
        torch.cuda.synchronize()
        calls.append(max(1, int(FILL_SECONDS / max(seconds_of(side, 3), 1e-6))))
    rounds = [[seconds_of(side, count) for side, count in zip(sides, calls, strict=True)] for _ in range(REPETITIONS)]
    return [list(side) for side in zip(*rounds, strict=True)]


def rate(work: float, seconds: list[float]) -> list[float]:
    """Work per second of each repetition."""
    return [work / s for s in seconds]


def error(ours: Tensor, exact: Tensor) -> float:
    """The largest difference over the largest number of the exact result."""
    return float((ours.double() - exact).abs().max() / exact.abs().max().clamp(min=1e-30))


def copy_rate() -> list[float]:
    """Bytes a second, read and written, of a copy of 1 GB."""
    source, target = (torch.empty(2 ** 29, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    return rate(2 * 2 ** 30, in_turn(lambda: target.copy_(source))[0])
