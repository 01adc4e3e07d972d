"""What a student's call made of tensors: counted beside their code, so it only teaches.

Points that hang on such a count need a wall as well: a size or a cap on memory at which the
forbidden way cannot fit (`Student.capped`), or calls of a function of ours, which are counted on
the checker's side (`callables.Watched`).
"""

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from reference_impl.measure.tensors import TensorCounter


class Counter(TorchDispatchMode):
    """Counts inside a `with` block; `found()` gives numbers by name.

    largest: numbers in the largest tensor made. allocated: bytes of new memory. peak: most bytes
    alive at once. copied: bytes that copies wrote. flops: operations of matrix products, by torch's
    own table; its FlopCounterMode would import the compiler, which costs seconds in a fresh
    process.
    """

    def __init__(self):
        super().__init__()
        self._tensors, self._flops = TensorCounter(), 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks.

        Skipping imports its compiler at the first counted call: seconds of a student's five.
        """
        return False

    def __enter__(self) -> "Counter":
        self._tensors.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._tensors.__exit__(*error)

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple = (), keywords: dict | None = None
    ) -> Any:
        """Run the operator, and look its cost up."""
        result = function(*arguments, **(keywords or {}))
        count = flop_registry.get(function._overloadpacket)
        if count is not None:
            self._flops += int(count(*arguments, **(keywords or {}), out_val=result))
        return result

    def found(self) -> dict[str, int]:
        """What was counted."""
        tensors = self._tensors
        return {
            "largest": tensors.largest,
            "allocated": tensors.allocated,
            "peak": tensors.peak,
            "copied": tensors.copied,
            "flops": self._flops,
        }
