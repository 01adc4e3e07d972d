"""Memory that a student's code changes in place: with any strides, and with guards around it that
must stay as they are.

    # transposed in memory, two numbers between columns
    out = Buffer(torch.zeros(3, 5), order=(1, 0), gap=2)
    after = student.call("scale_into", x, out).args[1]
    expect(after.values).equals(...)
    after.expect_intact(cause="Rows beyond the table were written too.")

The guards are NaN for floats (UNWRITTEN, by which `expect` knows them), so that what reads them by
mistake shows, and -77 for whole numbers. They are compared bit by bit in this process: what stands
there was decided here, and nothing on the other side can vouch for it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.numeric_hints import UNWRITTEN

WHOLE_GUARD = -77


class Buffer:
    """A tensor inside guarded memory.

    `values` is a plain copy; `storage`, `size`, `stride` and `offset` are the layout.

    values: what stands there at first. guard: numbers before and after. order: the dimensions from
    the slowest in memory to the fastest; default, as they come. gap: guarded numbers after each row
    of the fastest dimension. spread: steps in memory from one number of that row to the next. fill:
    the guards' value.
    """

    def __init__(
        self,
        values: Tensor,
        *,
        guard: int = 16,
        order: Sequence[int] | None = None,
        gap: int = 0,
        spread: int = 1,
        fill: float | None = None,
    ):
        if sorted(order or range(values.dim())) != list(range(values.dim())):
            raise ValueError(f"order {order} does not name each of {values.dim()} dimensions once")
        if fill is None:
            fill = (
                UNWRITTEN
                if values.is_floating_point()
                else (
                    WHOLE_GUARD % 256
                    if values.dtype == torch.uint8
                    else (WHOLE_GUARD if values.dtype != torch.bool else True)
                )
            )
        self.size, stride, step = tuple(values.shape), [0] * values.dim(), spread
        for place, dim in enumerate(reversed(order or range(values.dim()))):
            stride[dim] = step
            step = step * values.shape[dim] + (gap if place == 0 else 0)
        self.stride, self.offset = tuple(stride), guard
        self._before = torch.full((2 * guard + step,), fill, dtype=values.dtype)
        self.storage = self._before
        self._view(self._before).copy_(values)

    def with_memory(self, memory: Tensor) -> "Buffer":
        """The same layout over other memory: the buffer after a call."""
        after = object.__new__(Buffer)
        after.__dict__.update(self.__dict__, storage=memory)
        return after

    @property
    def values(self) -> Tensor:
        """What stands in the buffer, guards left out, as a contiguous copy."""
        return self._view(self.storage).clone(memory_format=torch.contiguous_format)

    @property
    def strays(self) -> int:
        """How many guards are not as they were."""
        return int(self._changed().sum())

    def expect_intact(self, *, cause: str) -> None:
        """The guards are as they were.

        Raises CheckFailed with `cause`, and where the first stray stands.
        """
        places = self._changed().nonzero().flatten()
        if len(places):
            first, end = int(places[0]) - self.offset, len(self.storage) - 2 * self.offset
            where = (
                f"{-first} before the beginning"
                if first < 0
                else f"{first - end + 1} behind the end"
                if first >= end
                else "between two rows"
            )
            raise CheckFailed(
                cause,
                f"{len(places)} numbers outside the buffer were written; the first is {where}",
            )

    def crossed(self) -> Tensor:
        """All that there is to compare with another buffer after the same call."""
        return self.storage

    def _changed(self) -> Tensor:
        guards = torch.ones(len(self.storage), dtype=torch.bool)
        self._view(guards).fill_(False)
        before, after = (
            one.contiguous().view(torch.uint8).reshape(len(one), -1)
            for one in (self._before, self.storage)
        )
        return (before != after).any(dim=1) & guards

    def _view(self, memory: Tensor) -> Tensor:
        return memory.as_strided(self.size, self.stride, self.offset)
