"""What arguments look like: enough to tell the calls of one stage apart, and nothing that another processor changes.

A sketch is a digest of all that is exact (types, shapes, texts, whole numbers) and a few of the other numbers, which are
compared with a tolerance: random numbers and sums may differ in the last bit from processor to processor.
"""

import inspect
import math
import zlib

import numpy as np
import torch

from autograder.checks.callables import Watched
from autograder.checks.fakes import Fake
from autograder.recorded.plain import fields_of

MOST_NUMBERS, DEPTH = 24, 8
EXACT = {bool, int, str, bytes, type(None)}  # repr() says all of them
RELATIVE, ABSOLUTE = 1e-3, 1e-5
MOST = 1 << 23  # numbers of a tensor that is looked at


class Opaque(Exception):
    """An argument of which nothing can be said but its type."""


def sketch(value: object) -> list:
    """[digest, numbers]. Raises Opaque for what is neither plain, nor a function, nor a generator of random numbers."""
    exact, numbers = [], []
    _look(value, exact, numbers, DEPTH)
    return [zlib.crc32("\0".join(exact).encode()), [_short(one) for one in numbers[:MOST_NUMBERS]]]


def alike(left: list, right: list) -> bool:
    """Whether two sketches may be of the same arguments."""
    return (
        left[0] == right[0] and len(left[1]) == len(right[1]) and all(map(_near, left[1], right[1]))
    )


def _near(left: object, right: object) -> bool:
    if type(left) is str or type(right) is str:
        return left == right
    return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _short(number: float) -> float | str:
    return float(f"{number:.5g}") if math.isfinite(number) else str(number)


def _look(value: object, exact: list[str], numbers: list[float], depth: int) -> None:
    kind = type(value)
    if depth == 0:
        raise Opaque("lists in lists in lists")
    if value is None or kind in (bool, int, str, bytes, torch.dtype, torch.Size, slice, range):
        exact.append(f"{kind.__name__} {value!r}")
    elif kind is float or isinstance(value, np.floating):
        exact.append(kind.__name__)
        numbers.append(float(value))
    elif isinstance(value, np.generic):
        exact.append(repr(value))
    elif kind is torch.Tensor and value.numel() > MOST:
        raise Opaque("a tensor of millions")
    elif kind is torch.Tensor:
        _look_at_numbers(
            value.detach().float().numpy()
            if value.dtype == torch.bfloat16
            else value.detach().numpy(),
            f"{value.dtype} {tuple(value.shape)}",
            exact,
            numbers,
        )
    elif kind is np.ndarray:
        _look_at_numbers(value, f"{value.dtype} {value.shape}", exact, numbers)
    elif kind is torch.Generator:
        exact.append("rng")
    elif kind in (list, tuple) and set(map(type, value)) <= EXACT:
        exact.append(f"{kind.__name__} {value!r}")
    elif kind is dict and set(map(type, value)) | set(map(type, value.values())) <= EXACT:
        exact.append(f"dict {value!r}")
    elif isinstance(value, (list, tuple)) and (kind in (list, tuple) or hasattr(value, "_fields")):
        exact.append(f"{kind.__name__} {len(value)}")
        for one in value:
            _look(one, exact, numbers, depth - 1)
    elif isinstance(value, dict):
        exact.append(f"{kind.__name__} {len(value)}")
        for key, one in value.items():
            _look(key, exact, numbers, depth - 1)
            _look(one, exact, numbers, depth - 1)
    elif isinstance(value, (set, frozenset)):
        exact.append(f"{kind.__name__} {sorted(map(repr, value))}")
    elif inspect.isroutine(value) or isinstance(value, type):
        exact.append(getattr(value, "__qualname__", kind.__name__))
    elif (inner := inside(value)) is not None:
        exact.append(kind.__name__)
        _look(inner, exact, numbers, depth - 1)
    elif (fields := fields_of(value)) is not None:
        exact.append(kind.__qualname__)
        for name, one in fields.items():
            exact.append(name)
            _look(one, exact, numbers, depth - 1)
    elif isinstance(value, bytes):
        exact.append(f"{kind.__name__} {value!r}")
    elif type(value).__name__ == "Fraction":
        exact.append(str(value))
    else:
        raise Opaque(f"an object of type {kind.__name__}")


def inside(value: object) -> list | None:
    """What makes one of the frame's models or watched functions what it is, whatever was asked of it; None for anything else."""
    return (
        value.data()
        if isinstance(value, Fake)
        else [value.function]
        if isinstance(value, Watched)
        else None
    )


def _look_at_numbers(array: np.ndarray, head: str, exact: list[str], numbers: list[float]) -> None:
    if array.dtype.kind != "f":
        exact.append(f"{head} {zlib.crc32(np.ascontiguousarray(array).tobytes())}")
        return
    flat = array.reshape(-1)
    exact.append(head)
    if flat.size:
        finite = np.abs(flat[np.isfinite(flat)].astype(np.float64))
        numbers += [
            float(flat[0]),
            float(flat[flat.size // 2]),
            float(flat[-1]),
            float(finite.sum()),
        ]
