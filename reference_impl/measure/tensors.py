"""Which tensors a piece of code makes: the largest, all bytes written, and the most
that is alive at once.

torch calls a `TorchDispatchMode` for every operator, in the backward pass too. An
operator's result is new memory if its storage was not among its arguments; a view is
not.

Not here: what an operator needs inside itself and gives back before it returns, memory
of Python and of libraries (for both see the process's own peak, `resource.getrusage`),
kernels that are not torch operators (see `kernels`).
"""

import weakref
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

COPIES = (
    "aten.copy_",
    "aten.clone",
    "aten._to_copy",
    "aten.cat",
    "aten.index_select",
    "aten.index.Tensor",
)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


class TensorCounter(TorchDispatchMode):
    """Counts inside a `with` block.

    `largest` is the most numbers that any one result has, and `shapes` are the shapes
    of all results; `allocated` is the bytes of new memory, freed or not; `copied` is
    the bytes that operators in `COPIES` wrote, which move numbers and compute nothing;
    `peak` is the most bytes of new memory alive at one moment, and `alive` those alive
    now.
    """

    def __init__(self):
        super().__init__()
        self.largest = self.allocated = self.copied = self.peak = self.alive = 0
        self.shapes: set[tuple[int, ...]] = set()
        self._known: set[int] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks.

        Skipping imports its compiler at the first counted operator, which takes
        seconds.
        """
        return False

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        address, size = (
            storage._cdata,
            storage.nbytes(),
        )  # the storage itself: its Python wrapper comes and goes
        if address in self._known:
            return
        self._known.add(address)
        self.allocated += size
        self.alive += size
        self.peak = max(self.peak, self.alive)
        weakref.finalize(storage, self._forget, address, size).atexit = False

    def _forget(self, address: int, size: int) -> None:
        self._known.discard(address)
        self.alive -= size

    def __torch_dispatch__(
        self,
        function: Any,
        types: Any,
        arguments: tuple = (),
        keywords: dict | None = None,
    ) -> Any:
        """Run the operator and look at what it returned."""
        keywords = keywords or {}
        before = {
            tensor.untyped_storage()._cdata
            for tensor in _tensors((arguments, keywords))
        }
        result = function(*arguments, **keywords)
        for tensor in _tensors(result):
            self.largest = max(self.largest, tensor.numel())
            self.shapes.add(tuple(tensor.shape))
            if str(function).startswith(COPIES):
                self.copied += tensor.numel() * tensor.element_size()
            if tensor.untyped_storage()._cdata not in before:
                self._note(tensor)
        return result
