"""Numbers that stand for places in memory: what a launcher sees in the place of the numbers that a
check gives.

Each place has a number of its own, in memory of float32 and float64. A copy of a place is known by
it, wherever it went, and nothing else can be known from it: a launcher that computes an answer
computes it of these.
"""

import torch
from torch import Tensor

MARKED = (torch.float32, torch.float64)
_FIRST = 0x38000000 + 4097  # the bits of a float32 near 0.00003


def marks(first: int, count: int, dtype: torch.dtype) -> Tensor:
    """The numbers of `count` places from `first` on."""
    return (
        torch.arange(_FIRST + first, _FIRST + first + count, dtype=torch.int32)
        .view(torch.float32)
        .to(dtype)
    )


def offsets_of(numbers: Tensor, end: int) -> Tensor:
    """Which place each number stands for; -1 for one that stands for none before `end`."""
    single = numbers.float()
    found = single.contiguous().view(torch.int32).to(torch.int64) - _FIRST
    right = (single.to(numbers.dtype) == numbers) & (found >= 0) & (found < end)
    return torch.where(right, found, -1)


def whole(tensor: Tensor) -> Tensor:
    """All the memory behind a tensor, flat."""
    return tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)


def marked_arguments(arguments: tuple) -> tuple:
    """The same arguments for a launcher that is only recorded: with marks in all memory of
    floats.
    """
    from autograder.checks.inputs.buffers import Buffer

    first, found = 0, []
    for one in arguments:
        memory = one.storage if isinstance(one, Buffer) else one
        if isinstance(memory, Tensor) and memory.dtype in MARKED:
            new = marks(first, memory.numel(), memory.dtype)
            first += memory.numel()
            one = one.with_memory(new) if isinstance(one, Buffer) else new.reshape(memory.shape)
        found.append(one)
    return tuple(found)
