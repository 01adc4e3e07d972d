"""What torch does to numbers beside the kernels of a call: a kernel's exercise is not answered by
torch.

Looking at a tensor's shape, making views, and making new memory, empty or filled with one number,
is no work. Copies are counted; an exercise that asks for moving numbers in a kernel looks at the
count. Anything else with floating-point numbers in it (sums, products, gathering by index) is
computing, and refused in words. Whole numbers, such as lengths, may be looked at freely. What goes
through numpy is not seen here.
"""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

MOVES = {"clone", "copy_", "copy", "_to_copy"}
MAKES = {
    "zero_",
    "fill_",
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "new_empty",
    "new_empty_strided",
    "new_zeros",
    "new_ones",
    "new_full",
    "detach",
    "alias",
}


class Beside(TorchDispatchMode):
    """Watches inside a `with` block, but for what happens within `launch()`.

    copied: bytes of floating-point numbers that torch copied. computed: the first operator that
    computed with such numbers, or "".
    """

    def __init__(self):
        super().__init__()
        self.copied, self.computed, self._launched = 0, "", False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks; see `counters.Counter`."""
        return False

    @contextmanager
    def launch(self):
        """A kernel runs: what its interpreter does is no work of torch's."""
        before, self._launched = self._launched, True
        try:
            yield
        finally:
            self._launched = before

    def __torch_dispatch__(
        self, function: Callable, types: Any, arguments: tuple = (), keywords: dict | None = None
    ) -> Any:
        """Run the operator and look at it."""
        result = function(*arguments, **(keywords or {}))
        if self._launched:
            return result
        name = function._schema.name.removeprefix("aten::")
        given = [
            one
            for one in [*arguments, *(keywords or {}).values()]
            if isinstance(one, Tensor) and one.is_floating_point()
        ]
        if given and name in MOVES:
            self.copied += (
                result.numel() * result.element_size() if isinstance(result, Tensor) else 0
            )
        elif given and name not in MAKES and not _views(result, given, name):
            self.computed = self.computed or name
        return result


def _views(result: object, given: list[Tensor], name: str) -> bool:
    """Whether an operator only looked at memory anew; one whose name ends in _ writes into it."""
    found = result if isinstance(result, (list, tuple)) else [result]
    places = {one.untyped_storage().data_ptr() for one in given}
    return not name.endswith("_") and all(
        isinstance(one, Tensor) and one.untyped_storage().data_ptr() in places for one in found
    )
