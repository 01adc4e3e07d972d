"""A trace of one launch: what each program instance loads, stores and multiplies.

The figure `glass-gpu` replays it. A trace is plain JSON of at most about `MOST` bytes:

    {"kernel": "add_kernel", "grid": [3], "instances": [[0], [1], [2]],
     "tensors": [{"name": "x", "shape": [10], "dtype": "float32"}, ...],
     "events": [{"instance": 0, "op": "load", "tensor": 0, "ranges": [[0, 4]], "bytes": 16,
                 "masked": 0, "outside": []},
                {"instance": 0, "op": "dot", "flops": 8192}, ...],
     "races": [{"tensor": 2, "element": 4, "instances": [0, 1], "event": 3,
                "does": ["stores it", "loads it"]}],
     "totals": {"read": 80, "written": 40, "flops": 0}, "left_out": 0}

Ranges are [first element, number of elements], counted row by row over the tensor's shape; those
`outside` count from its first element in memory. Events past the limit are left out and counted.
"""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.checks.kernels.interpreter import Harness, run
from autograder.checks.kernels.races import ATOMIC, DOES, LOAD, STORE, Race

MOST = 60_000  # bytes of JSON, about
A_RANGE, AN_EVENT, AN_INSTANCE = 9, 100, 10
MOST_RACES = 200
OPERATIONS = {LOAD: "load", STORE: "store", ATOMIC: "atomic"}


def traced(function: Callable, *args: object, **kwargs: object) -> dict:
    """The trace of the first launch that `function` starts.

    What leaves the tensors is marked and not carried out; a data race is marked.
    """
    tracer = Tracer()
    run(tracer, function, args, kwargs, nullcontext())
    return tracer.trace


class Tracer(Harness):
    """A harness that notes what it would refuse, and runs the instances in order."""

    def __init__(self) -> None:
        super().__init__([], seed=0)
        self.trace: dict[str, Any] = {}
        self._recording, self._size = False, 0

    def _begin(self, original: Callable, args: Any, named: Any) -> Any:
        given = super()._begin(original, args, named)
        self._recording = not self.trace
        self._elements = [_elements(tensor) for _, tensor in self._tensors]
        self._names = [
            (name, addresses) for (name, _), (addresses, _) in zip(self._tensors, self._elements)
        ]
        if self._recording:
            self.trace = {
                "kernel": original.args[0].fn.__name__,
                "grid": [],
                "instances": [],
                "tensors": [_described(name, tensor) for name, tensor in self._tensors],
                "events": [],
                "races": [],
                "totals": {"read": 0, "written": 0, "flops": 0},
                "left_out": 0,
            }
        return given

    def _set_grid(self, original: Callable, *size: int) -> None:
        super()._set_grid(original, *size)
        self._order = {place: place for place in self._order}
        if self._recording:
            axes = max([1, *(axis + 1 for axis, many in enumerate(size) if many > 1)])
            self.trace["grid"] = list(size[:axes])

    def _set_place(self, original: Callable, *place: int) -> None:
        super()._set_place(original, *place)
        if self._recording and self._size <= MOST:
            self._size += AN_INSTANCE
            self.trace["instances"].append(list(place[: len(self.trace["grid"])]))

    def _load(
        self, original: Callable, pointers: Any, mask: Any, *others: Any, **named: Any
    ) -> Any:
        mask = self._noted(LOAD, pointers, mask)
        return super()._load(original, pointers, mask, *others, **named)

    def _store(
        self, original: Callable, pointers: Any, value: Any, mask: Any, *others: Any, **named: Any
    ) -> Any:
        mask = self._noted(STORE, pointers, mask)
        return super()._store(original, pointers, value, mask, *others, **named)

    def _atomic_rmw(
        self, original: Callable, kind: Any, pointers: Any, value: Any, mask: Any, *others: Any
    ) -> Any:
        mask = self._noted(ATOMIC, pointers, mask)
        return super()._atomic_rmw(original, kind, pointers, value, mask, *others)

    def _dot(self, original: Callable, a: Any, b: Any, *others: Any) -> Any:
        flops = 2 * a.data.size * b.data.shape[-1]
        self._add({"op": "dot", "flops": flops}, 0, flops=flops)
        return super()._dot(original, a, b, *others)

    def _noted(self, kind: int, pointers: Any, mask: Any) -> Any:
        """Note an access; its mask, without the lanes that leave the tensors."""
        on = mask if isinstance(mask, np.ndarray) else mask.data
        on = np.broadcast_to(np.asarray(on).astype(bool), np.shape(pointers.data))
        addresses = np.asarray(pointers.data).astype(np.int64)
        within = [np.isin(addresses, allowed) & on for _, allowed in self._names]
        number = self._nearest_tensor(within, addresses[on])
        tensor, inside = self._tensors[number][1], within[number]
        known, logical = self._elements[number]
        own = logical[np.searchsorted(known, addresses[inside])]
        astray = (addresses[on & ~inside] - tensor.data_ptr()) // tensor.element_size()
        moved = int(inside.sum()) * tensor.element_size()
        event = {
            "op": OPERATIONS[kind],
            "tensor": number,
            "ranges": _ranges(own),
            "bytes": moved,
            "masked": int((~on).sum()),
            "outside": _ranges(astray),
        }
        self._add(
            event,
            len(event["ranges"]) + len(event["outside"]),
            read=moved * (kind != STORE),
            written=moved * (kind != LOAD),
        )
        return SimpleNamespace(data=inside)

    def _nearest_tensor(self, within: list[np.ndarray], addresses: np.ndarray) -> int:
        """The tensor that holds most of these addresses, or else begins nearest to the first."""
        counts = [int(one.sum()) for one in within]
        if any(counts) or not len(addresses):
            return int(np.argmax(counts))
        return int(np.argmin([abs(int(addresses[0]) - one.data_ptr()) for _, one in self._tensors]))

    def _add(self, event: dict, many: int, **counts: int) -> None:
        if not self._recording:
            return
        for name, count in counts.items():
            self.trace["totals"][name] += count
        self._size += AN_EVENT + A_RANGE * many
        if self._size > MOST:
            self.trace["left_out"] += 1
        else:
            at = len(self.trace["instances"]) - 1
            self.trace["events"].append({"instance": at, **event})

    def _found(self, races: list[Race]) -> None:
        """Mark data races instead of refusing them."""
        for race in races if self._recording else ():
            if len(self.trace["races"]) < MOST_RACES:
                self.trace["races"].append(self._marked(race))

    def _marked(self, race: Race) -> dict:
        """A race by the number of its tensor, element, instances and event."""
        places = [
            np.flatnonzero((known <= race.address) & (race.address < known + one.element_size()))
            for (known, _), (_, one) in zip(self._elements, self._tensors)
        ]
        number = next(number for number, place in enumerate(places) if len(place))
        return {
            "tensor": number,
            "element": int(self._elements[number][1][places[number][0]]),
            "instances": [one - 1 for one in race.instances],
            "does": [f"{DOES[kind]} it" for kind in race.kinds],
            "event": len(self.trace["events"]) - 1,
        }


def _elements(tensor: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The sorted addresses of a tensor's elements, and the number of each, row by row."""
    places = torch.zeros(tensor.shape, dtype=torch.int64)
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        shape = [-1 if d == dim else 1 for d in range(tensor.dim())]
        places += (torch.arange(size) * stride).reshape(shape)
    addresses = tensor.data_ptr() + places.flatten().numpy() * tensor.element_size()
    order = np.argsort(addresses, kind="stable")
    return addresses[order], order


def _described(name: str, tensor: Tensor) -> dict:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"name": name.strip("`"), "shape": list(tensor.shape), "dtype": dtype}


def _ranges(numbers: np.ndarray) -> list[list[int]]:
    """Runs of consecutive numbers, as [first, how many]."""
    numbers = np.unique(numbers)
    if not len(numbers):
        return []
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    return [[int(run[0]), len(run)] for run in np.split(numbers, breaks)]
