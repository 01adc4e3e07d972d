"""How the rows of `bench/gpu.py` are made: each attempt by itself, ours before its rivals, ours and
a rival in turn.

Times are taken by CUDA events around enough calls to fill 20 ms. In a rehearsal there is no GPU:
sizes are tiny, the clock is the processor's, and what is recorded says nothing but that the path
works.

Not here: what is timed (see `gpu_checks`, `gpu_kernels`, `gpu_training` and `gpu_engine`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bench.gpu_record import Record, attempt_name
from bench.record import compare

PEAK_FLOPS = 989e12
REPETITIONS, FILL_SECONDS = 7, 0.02


class Poisoned(SystemExit):
    """After an illegal access nothing of this process runs on the GPU any more: the rest needs
    another one.
    """


class Job(NamedTuple):
    """One thing to check or to measure, and how many seconds it may take on a Hopper by plan."""

    name: str
    run: Callable[["Bench"], None]
    seconds: int


class Bench:
    """What jobs are given: where to compute, in what size, and where to put what they find."""

    def __init__(self, record: Record, part: str, rehearsal: bool, seconds: float):
        self.record, self.part, self.rehearsal = record, part, rehearsal
        self.device = "cpu" if rehearsal else "cuda"
        self.dtype = torch.float32 if rehearsal else torch.bfloat16
        self.repetitions = 2 if rehearsal else REPETITIONS
        self.deadline = time.monotonic() + seconds

    def size(self, real: int, tiny: int) -> int:
        """One number for a GPU, another for a rehearsal."""
        return tiny if self.rehearsal else real

    def randn(self, *shape: int, grad: bool = False) -> Tensor:
        """Normal numbers, in bfloat16 on a GPU."""
        return torch.randn(*shape, device=self.device, dtype=self.dtype).requires_grad_(grad)

    def before(self, name: str) -> None:
        """Called at the start of each attempt, inside what catches its failure."""
        if time.monotonic() > self.deadline:
            raise TimeoutError("not begun: the time of this part was over")

    def attempt(self, name: str, call: Callable[[], Any]) -> Any:
        """What the call gives; None if it fails, which is recorded."""
        try:
            self.before(name)
            result = call()
            self.synchronize()
            self.record.succeeded(self.part, name)
            return result
        except (
            Exception
        ) as problem:  # of a kernel, a rival, a library: whatever it is, the others are measured
            self.record.error(self.part, name, problem)
        try:
            self.synchronize()
        except Exception:
            raise Poisoned(3) from None
        return None

    def synchronize(self) -> None:
        """Wait for the GPU, if there is one: failures of kernels come to light here."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def check(self, name: str, call: Callable[[], float]) -> None:
        """Record how far a result is off."""
        if (found := self.attempt(name, call)) is not None:
            self.record.check(self.part, name, float(found))

    def race(
        self,
        name: str,
        unit: str,
        work: float,
        ours: Callable[[], Any],
        rivals: Mapping[str, "Rival"],
        fixed: Mapping[str, tuple[float, float | None, float | None]] | None = None,
    ) -> None:
        """Ours alone first, against `fixed` numbers (with must and aim), then in turn with each
        rival.

        What is compared is `work` over the seconds of a call.
        """
        alone = self.attempt(name, lambda: rate(work, self.in_turn(ours)[0]))
        if alone is None:
            return
        self.row(alone_row(name, unit, alone))
        for rival, (number, must, aim) in (fixed or {}).items():
            self.row(compare(name, rival, unit, alone, [number] * len(alone), must, aim))
        for rival, side in rivals.items():

            def both(rival: str = rival, side: Rival = side) -> dict[str, Any]:
                mine, theirs = (rate(work, seconds) for seconds in self.in_turn(ours, side.make()))
                return compare(name, rival, unit, mine, theirs, side.must, side.aim)

            if (row := self.attempt(attempt_name(name, rival), both)) is not None:
                self.row(row)

    def row(self, row: dict[str, Any]) -> None:
        """Record a row."""
        self.record.row(self.part, row)

    def seconds_of(self, call: Callable[[], Any], calls: int) -> float:
        """Seconds for one of `calls` calls, queued together, by the GPU's own clock."""
        if self.rehearsal:
            begun = time.perf_counter()
            call()
            return time.perf_counter() - begun
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1000 / calls

    def in_turn(self, *sides: Callable[[], Any]) -> list[list[float]]:
        """Seconds of one call for each side, the sides taking turns, after each was warmed up."""
        calls = []
        for side in sides:
            side()  # compiles
            self.synchronize()
            calls.append(max(1, int(FILL_SECONDS / max(self.seconds_of(side, 3), 1e-6))))
        rounds = [
            [self.seconds_of(side, count) for side, count in zip(sides, calls, strict=True)]
            for _ in range(self.repetitions)
        ]
        return [list(side) for side in zip(*rounds, strict=True)]

    def copy_rate(self) -> list[float]:
        """Bytes a second, read and written, of a copy of 1 GB."""
        return rate(2 * 2 * self.size(2**29, 2**9), self.in_turn(self.copy())[0])

    def copy(self) -> Callable[[], Any]:
        """A copy of 1 GB."""
        source, target = (
            torch.zeros(self.size(2**29, 2**9), dtype=torch.bfloat16, device=self.device)
            for _ in range(2)
        )
        return lambda: target.copy_(source)


class Rival(NamedTuple):
    """How to make what is run against ours, and what ratio is due."""

    make: Callable[[], Callable[[], Any]]
    must: float | None = None
    aim: float | None = None


def alone_row(name: str, unit: str, ours: Sequence[float]) -> dict[str, Any]:
    """What ours reached, without a rival."""
    row = compare(name, "", unit, ours, ours)
    return row | {"rival": None, "theirs": None, "median": None, "min": None}


def rate(work: float, seconds: Sequence[float]) -> list[float]:
    """Work per second of each repetition."""
    return [work / max(s, 1e-12) for s in seconds]


def error(ours: Tensor, exact: Tensor) -> float:
    """The largest difference over the largest number of the exact result."""
    return float((ours.double() - exact).abs().max() / exact.abs().max().clamp(min=1e-30))
