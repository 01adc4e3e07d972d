"""Two ways to look for data races: the detector, and running the instances in other orders.

    python bench/races.py [--orders 20]        about three minutes on one core

The labelled kernels are those of tests/autograder/kernels/, written before the detector. Each runs
under the harness with its instances in so many drawn orders. The detector accuses a kernel when it
finds a race in one of them; comparing orders accuses a kernel whose memory differs between two.
"""

import argparse
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from autograder.checks.kernels.interpreter import Harness, run  # noqa: E402
from autograder.checks.kernels.races import Race  # noqa: E402
from tests.autograder.kernels.clean_kernels import CLEAN  # noqa: E402
from tests.autograder.kernels.racy_kernels import RACY  # noqa: E402


class Tolerant(Harness):
    """A harness that notes a race and goes on, and keeps the tensors of its launches."""

    def __init__(self, seed: int):
        super().__init__([], seed)
        self.raced, self._kept = False, []

    def _found(self, races: list[Race]) -> None:
        self.raced = True

    def _begin(self, original: Callable, args: Any, named: Any) -> Any:
        given = super()._begin(original, args, named)
        self._kept += [tensor for _, tensor in self._tensors]
        return given

    def memory(self) -> bytes:
        """What all tensors hold now."""
        return b"".join(tensor.contiguous().numpy().tobytes() for tensor in self._kept)


def judged(launch: Callable, orders: int) -> dict[str, bool]:
    """Which of the two ways accuse this kernel."""
    memories, raced = set(), False
    for seed in range(orders):
        torch.manual_seed(0)
        harness = Tolerant(seed)
        run(harness, launch, (), {}, nullcontext())
        memories.add(harness.memory())
        raced |= harness.raced
    return {"detector": raced, "orders": len(memories) > 1}


def main() -> None:
    """Judge all labelled kernels both ways, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--orders", type=int, default=20)
    orders = parser.parse_args().orders
    kernels = {"racy": {name: case.launch for name, case in RACY.items()}, "clean": CLEAN}
    found = {
        label: {name: judged(launch, orders) for name, launch in launches.items()}
        for label, launches in kernels.items()
    }
    save("races", [], orders=orders, kernels=found)


if __name__ == "__main__":
    main()
