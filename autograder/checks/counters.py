"""What a student's call made of tensors: counted beside their code, so it only teaches.

Points that hang on such a count need a wall as well: a size or a cap on memory at which the forbidden way cannot fit
(`Student.capped`), or calls of a function of ours, which are counted on the checker's side (`callables.Watched`).
"""
from contextlib import ExitStack

from torch.utils.flop_counter import FlopCounterMode

from reference_impl.measure.tensors import TensorCounter


class Counter:
    """Counts inside a `with` block; `found()` gives numbers by name.

    largest: numbers in the largest tensor made. allocated: bytes of new memory. peak: most bytes alive at once.
    copied: bytes that copies wrote. flops: operations of matrix products.
    """

    def __enter__(self) -> "Counter":
        self._tensors, self._flops, self._stack = TensorCounter(), FlopCounterMode(display=False), ExitStack()
        self._stack.enter_context(self._flops)
        self._stack.enter_context(self._tensors)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(*error)

    def found(self) -> dict[str, int]:
        """What was counted."""
        tensors = self._tensors
        return {"largest": tensors.largest, "allocated": tensors.allocated, "peak": tensors.peak,
                "copied": tensors.copied, "flops": self._flops.get_total_flops()}
