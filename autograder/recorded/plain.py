"""Values as plain data: a JSON tree whose numbers in tensors and arrays stand in one flat array for each dtype.

What passes is what checks compare with and hand over: numbers, texts, containers of them, tensors, arrays, dtypes, fractions,
plain objects of a chapter's own classes, and a chapter's own functions by name. Everything else raises NotPlain. A tensor that
asks for a gradient comes back as one that does, without what it was made of. Nothing that is read back is carried out but the making of such an object.
"""

import dataclasses
import importlib
import inspect
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

from autograder.checks.fakes import Fake, make

CHAPTERS = "autograder.chapters."
AS_BITS = {torch.bfloat16: torch.int16}
MOST_BYTES = 1 << 20  # of one tensor
CONTAINERS = {"l": list, "t": tuple, "s": set, "z": frozenset}


class NotPlain(Exception):
    """A value that cannot be kept as plain data; the message says what it is."""


class Arrays:
    """The numbers of many tensors, one after the other, by dtype; the same numbers are kept once."""

    def __init__(self, flat: dict[str, np.ndarray] | None = None):
        self.flat: dict[str, np.ndarray] = flat or {}
        self._pieces: dict[str, list[np.ndarray]] = {}
        self._ends: dict[str, int] = {}
        self._known: dict[tuple[str, bytes], int] = {}

    def put(self, array: np.ndarray) -> list:
        """Keep an array; its dtype, where it begins, and its shape."""
        name, bits = array.dtype.name, array.tobytes()
        if (name, bits) not in self._known:
            self._known[name, bits] = self._ends.get(name, 0)
            self._pieces.setdefault(name, []).append(array.reshape(-1))
            self._ends[name] = self._known[name, bits] + array.size
        return [name, self._known[name, bits], list(array.shape)]

    def get(self, name: str, first: int, shape: list[int]) -> np.ndarray:
        """A copy of a kept array."""
        size = int(np.prod(shape, dtype=np.int64))
        return (
            self.flat[name][first : first + size].reshape(shape).copy()
            if size
            else np.empty(shape, name)
        )

    def joined(self) -> dict[str, np.ndarray]:
        """All numbers that were kept, by dtype."""
        return {name: np.concatenate(pieces) for name, pieces in sorted(self._pieces.items())}

    @classmethod
    def read(cls, folder: Path) -> "Arrays":
        """The numbers from a folder, one file for each dtype."""
        return cls(
            {path.stem: np.load(path, allow_pickle=False) for path in sorted(folder.glob("*.npy"))}
        )


def encoded(value: object, arrays: Arrays) -> object:
    """The value as JSON; numbers of tensors go to `arrays`. Raises NotPlain."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is torch.Tensor:
        if value.is_sparse or value.device.type != "cpu" or value.nbytes > MOST_BYTES:
            raise NotPlain("a large tensor")
        bits = (
            value.detach().contiguous().view(AS_BITS[value.dtype])
            if value.dtype in AS_BITS
            else value.detach()
        )
        return [
            "G" if value.requires_grad else "T",
            _name(value.dtype),
            *arrays.put(np.ascontiguousarray(bits.numpy()).reshape(value.shape)),
        ]
    if kind is np.ndarray and value.dtype.kind in "biuf" and value.nbytes <= MOST_BYTES:
        return ["A", *arrays.put(np.ascontiguousarray(value).reshape(value.shape))]
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return ["n", value.dtype.name, value.item()]
    for tag, container in CONTAINERS.items():
        if kind is container:
            items = [encoded(one, arrays) for one in value]
            return [tag, *(sorted(items, key=repr) if tag in "sz" else items)]
    if kind in (dict, Counter):
        return [
            "d" if kind is dict else "c",
            [[encoded(key, arrays), encoded(one, arrays)] for key, one in value.items()],
        ]
    if kind is bytes:
        return ["b", value.hex()]
    if kind is torch.dtype:
        return ["y", _name(value)]
    if kind is torch.Size:
        return ["S", *value]
    if kind is Fraction:
        return ["q", str(value)]
    if kind in (slice, range):
        return [
            kind.__name__,
            *(encoded(one, arrays) for one in (value.start, value.stop, value.step)),
        ]
    if isinstance(value, Fake):
        return ["k", kind.__name__, encoded(value.data(), arrays)]
    if inspect.isfunction(value) and _named(value) is value:
        return ["f", f"{value.__module__}:{value.__qualname__}"]
    if _named(kind) is kind and (fields := fields_of(value)) is not None:
        return [
            "o",
            f"{kind.__module__}:{kind.__qualname__}",
            [[name, encoded(one, arrays)] for name, one in fields.items()],
        ]
    raise NotPlain(f"a value of type {kind.__name__}")


def decoded(tree: object, arrays: Arrays) -> object:
    """A fresh value."""
    if type(tree) is not list:
        return tree
    tag, *rest = tree
    if tag in "TG":
        tensor, dtype = torch.from_numpy(arrays.get(*rest[1:])), getattr(torch, rest[0])
        return (tensor.view(dtype) if dtype in AS_BITS else tensor).requires_grad_(tag == "G")
    if tag == "A":
        return arrays.get(*rest)
    if tag == "n":
        return np.dtype(rest[0]).type(rest[1])
    if tag in CONTAINERS and list not in set(map(type, rest)):
        return CONTAINERS[tag](rest)
    if tag in CONTAINERS:
        return CONTAINERS[tag](decoded(one, arrays) for one in rest)
    if tag in "dc":
        found = {decoded(key, arrays): decoded(one, arrays) for key, one in rest[0]}
        return found if tag == "d" else Counter(found)
    if tag == "k":
        return make(rest[0], decoded(rest[1], arrays))
    if tag == "o":
        return _made(_at(rest[0]), {name: decoded(one, arrays) for name, one in rest[1]})
    plain = {
        "b": lambda text: bytes.fromhex(text),
        "y": lambda name: getattr(torch, name),
        "S": lambda *sizes: torch.Size(sizes),
        "q": Fraction,
        "f": _at,
        "slice": slice,
        "range": range,
    }
    return plain[tag](*rest)


def fields_of(value: object) -> dict[str, object] | None:
    """What a plain object of a chapter's own class holds, by name; None for any other."""
    kind = type(value)
    if not kind.__module__.startswith(CHAPTERS) or isinstance(
        value, (BaseException, torch.nn.Module)
    ):
        return None
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value._asdict()
    if (
        dataclasses.is_dataclass(value)
        or all(base.__module__.startswith(CHAPTERS) for base in kind.__mro__[:-1])
        and hasattr(value, "__dict__")
    ):
        return dict(vars(value))
    return None


def _made(kind: type, fields: dict[str, object]) -> object:
    if issubclass(kind, tuple):
        return kind(**fields)
    made = object.__new__(kind)
    for name, one in fields.items():
        object.__setattr__(made, name, one)
    return made


def _named(one: object) -> object:
    """What a chapter's module has under the name of this function or class."""
    module = getattr(one, "__module__", None) or ""
    return (
        getattr(importlib.import_module(module), one.__qualname__, None)
        if module.startswith(CHAPTERS) and "." not in one.__qualname__
        else None
    )


def _at(place: str) -> object:
    module, _, name = place.partition(":")
    if not module.startswith(CHAPTERS):
        raise NotPlain(f"{place} is of no chapter")
    return getattr(importlib.import_module(module), name)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
