"""What a launcher starts, recorded in place of being run: which kernels, on which grid, with which
arguments.

The record is a student's own word. It says which kernel of the notebook is to be run and how its
arguments lie in memory; what they hold it cannot say, since the launcher was given marks in place
of numbers (see `marks`). `replay` reads it.
"""

import inspect
import operator
from collections.abc import Callable
from numbers import Integral, Real

import torch
from torch import Tensor

from autograder.checks.kernels.memory_marks import MARKED, marks, whole
from autograder.checks.kernels.no_torch_fallback import Beside
from autograder.checks.student.failed import Failed

PER_CALL = 64  # so many launches of one call are recorded


def record(
    function: Callable, args: tuple, kwargs: dict, look: Callable[[Callable], None] | None = None
) -> dict[str, object]:
    """Call a launcher whose kernels are noted and not run. look: at the launcher, first.

    {"value": what it returned, "launches", "changes": the memory at the end, "copied" and
    "computed": see Beside}
    """
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction, KernelInterface

    if look is not None:
        look(function)
    recorder = Recorder([one for one in args if isinstance(one, Tensor)])
    for kind in (JITFunction, InterpretedFunction):
        kind.__getitem__ = lambda kernel, grid: (
            lambda *positional, **named: recorder.launch(kernel, grid, positional, named)
        )
    try:
        with recorder.beside:
            value = function(*args, **kwargs)
            with recorder.beside.launch():
                changes = recorder.changes()
    finally:
        for kind in (JITFunction, InterpretedFunction):
            kind.__getitem__ = KernelInterface.__getitem__
    return {
        "value": value,
        "launches": recorder.launches,
        "changes": changes,
        "copied": recorder.beside.copied,
        "computed": recorder.beside.computed,
    }


class Recorder:
    """Notes launches, and between them what torch did to the memory of the call."""

    def __init__(self, given: list[Tensor]):
        self.beside, self.launches = Beside(), []
        self._memory: list[
            Tensor
        ] = []  # flat; first that of the arguments, then what the launcher made
        self._kept: list[Tensor] = []  # so that no address comes again
        self._numbers: dict[int, int] = {}
        self._last: list[Tensor | None] = []
        for one in given:
            self._number_of(one)
        self._last = [one.clone() for one in self._memory]
        self._first = sum(one.numel() for one in self._memory if one.dtype in MARKED)

    def launch(self, kernel: object, grid: object, positional: tuple, named: dict) -> None:
        """Note one launch. What it may write to is marked anew."""
        if len(self.launches) == PER_CALL:
            raise RuntimeError(f"one call starts more than {PER_CALL} kernels")
        with self.beside.launch():
            touched = {
                self._number_of(one): None
                for one in (*positional, *named.values())
                if isinstance(one, Tensor)
            }
            code = kernel.fn.__code__
            self.launches.append(
                {
                    "kernel": kernel.fn.__name__,
                    "file": code.co_filename,
                    "line": code.co_firstlineno,
                    "grid": _grid(kernel.fn, grid, positional, named),
                    "changes": self.changes(),
                    "touched": list(touched),
                    "positional": [self._noted(one) for one in positional],
                    "named": {name: self._noted(one) for name, one in named.items()},
                }
            )
            for number in touched:
                memory = self._memory[number]
                if memory.dtype in MARKED:
                    memory.copy_(marks(self._first, memory.numel(), memory.dtype))
                    self._first += memory.numel()
                self._last[number] = memory.clone()

    def changes(self) -> list[tuple[int, Tensor]]:
        """The memory that is not as it was at the launch before, or is new; by number."""
        found = []
        for number, (memory, last) in enumerate(zip(self._memory, self._last)):
            if last is None or not _same_bits(memory, last):
                self._last[number] = memory.clone()
                found.append((number, memory.clone()))
        return found

    def _number_of(self, tensor: Tensor) -> int:
        address = tensor.untyped_storage().data_ptr() or -id(tensor)
        if address not in self._numbers:
            self._numbers[address] = len(self._memory)
            self._kept.append(tensor)
            self._memory.append(whole(tensor.detach()))
            self._last.append(None)
        return self._numbers[address]

    def _noted(self, one: object) -> list:
        """An argument as plain values."""
        if isinstance(one, Tensor):
            dtype = str(one.dtype).removeprefix("torch.")
            return [
                "tensor",
                self._number_of(one),
                dtype,
                list(one.shape),
                list(one.stride()),
                one.storage_offset(),
            ]
        if type(one).__name__ == "constexpr":
            one = one.value
        if type(one).__name__ == "dtype" and not isinstance(one, torch.dtype):
            return ["dtype", one.name]
        if one is None or isinstance(one, (bool, str)):
            return ["plain", one]
        if isinstance(one, (Integral, Real)):
            return ["plain", int(one) if isinstance(one, Integral) else float(one)]
        raise Failed(
            "unreadable", f"A kernel is given a {type(one).__name__}; it takes tensors and numbers."
        )


def _grid(plain: Callable, grid: object, positional: tuple, named: dict) -> list[int]:
    """The sizes of a grid, which may be a function of the kernel's arguments."""
    if callable(grid):
        names = inspect.signature(plain).parameters
        grid = grid(
            inspect.getcallargs(
                plain, *positional, **{name: one for name, one in named.items() if name in names}
            )
        )
    return [operator.index(size) for size in grid]


def _same_bits(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one.view(torch.uint8), other.view(torch.uint8))
