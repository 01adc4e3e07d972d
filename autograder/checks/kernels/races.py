"""Data races between the program instances of one launch.

Two instances race when they access one element, at least one of them stores, and not
both accesses are atomic. Instances of a launch are not ordered, so no order of running
them matters here: only who accessed what. The interpreter runs them one after another,
and each access is compared with those of all earlier instances.

Not here: order that a kernel makes itself with atomics (a lock, a last instance that
adds up what the others stored). No exercise needs it, and it counts as a race.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

LOAD, STORE, ATOMIC = range(3)
RIVALS = {
    LOAD: (STORE, ATOMIC),
    STORE: (LOAD, STORE, ATOMIC),
    ATOMIC: (LOAD, STORE),
}
MOST = 64  # races of one access that are named
DOES = ("loads", "stores", "atomically changes")


@dataclass(frozen=True)
class Race:
    """Two accesses of one address: the earlier and the later instance, and their kinds."""

    address: int
    instances: tuple[int, int]
    kinds: tuple[int, int]


class Races:
    """For each element of a launch, the first instance that accessed it in each way.

    Instances are numbered from 1; 0 is nobody.
    """

    def __init__(self, tensors: Iterable[Tensor]):
        memories: dict[int, tuple[int, int]] = {}
        for tensor in tensors:
            memory, unit = tensor.untyped_storage(), tensor.element_size()
            _, other = memories.get(memory.data_ptr(), (0, unit))
            memories[memory.data_ptr()] = memory.nbytes(), min(unit, other)
        self._first = {
            (begin, length, unit): np.zeros((3, -(-length // unit)), dtype=np.int32)
            for begin, (length, unit) in memories.items()
        }

    def access(
        self,
        kind: int,
        instance: int,
        addresses: np.ndarray,
        width: int,
    ) -> list[Race]:
        """Note an access of `width` bytes at each address; the races that it makes."""
        found = []
        for (begin, length, unit), first in self._first.items():
            inside = (addresses >= begin) & (addresses < begin + length)
            places = (addresses[inside] - begin) // unit
            places = (places[:, None] + np.arange(width // unit)).ravel()
            for rival in RIVALS[kind]:
                others = first[rival][places]
                raced = np.flatnonzero((others > 0) & (others != instance))
                for at in raced[:MOST]:
                    instances = (int(others[at]), instance)
                    address = begin + int(places[at]) * unit
                    found.append(Race(address, instances, (rival, kind)))
            free = places[first[kind][places] == 0]
            first[kind][free] = instance
        return found


def said(race: Race, grid: tuple[int, ...], tensors: Sequence[tuple[str, Tensor]]) -> str:
    """What a student reads: a first line without the run's own numbers, and one with them."""
    name, element = _element(race.address, tensors)
    ways = sorted(race.kinds)
    if ways == [STORE, STORE]:
        who = "two program instances store the same element"
    else:
        one, other = (DOES[way] for way in ways)
        who = f"one program instance {one} an element, another {other} it"
    pairs = zip(race.instances, race.kinds)
    accesses = " and ".join(f"instance {_named(one, grid)} {DOES[way]} it" for one, way in pairs)
    return f"Data race on {name}: {who}, in no order.\nElement {element}: {accesses}."


def _element(address: int, tensors: Sequence[tuple[str, Tensor]]) -> tuple[str, int]:
    """The argument that begins nearest before the address, in its memory, and its element."""
    offsets = [
        (address - tensor.data_ptr(), name, tensor.element_size())
        for name, tensor in tensors
        if 0 <= address - tensor.untyped_storage().data_ptr() < tensor.untyped_storage().nbytes()
    ]
    offset, name, size = min(offsets, key=lambda one: (one[0] < 0, one[0]))
    return name, offset // size


def _named(instance: int, grid: tuple[int, ...]) -> str:
    """An instance's ids on the axes of its grid: one number where there is one axis."""
    axes = max([1, *(axis + 1 for axis, size in enumerate(grid) if size > 1)])
    ids = [str(one) for one in np.unravel_index(instance - 1, grid)[:axes]]
    return f"({','.join(ids)})" if axes > 1 else ids[0]
