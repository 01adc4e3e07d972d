"""Slips: an answer that is right but for its type, its dtype, an axis of length 1 or a key too
many, a changed argument, or one that must lie in memory in one piece (`views`).

A slip costs SHARE of an exercise, once, whatever is wrong in that way and however often. `expect`
notes a slip and goes on with the value that was meant, so that the values themselves are looked at
all the same.
"""

import math
import re
from collections.abc import Iterable
from contextvars import ContextVar

import numpy as np
import torch

from autograder.checks.assertions.values import type_name, without_ones

SHARE = 0.2
CHANGED = (
    "Your function changes an argument: work on a copy, since `+=`, `x[i] = ...`, `append` and"
    " names ending in `_` write in place."
)
TRACKED = (
    "Your function leaves autograd switched on in an argument (`requires_grad`), or a gradient in"
    " its `.grad`. Work on a copy of your own: `x.detach().clone().requires_grad_()`."
)
AGAIN = (
    "Asked the same a second time, your function answers differently: it keeps something from call"
    " to call, or draws by chance."
)
STALE = (
    "A later call changes what an earlier call returned, or returns it again: your function keeps"
    " it or returns an argument."
)
LIST_FOR_TUPLE = "{} is a list; a tuple was asked for."
SHAPE = "{} has the right numbers in another shape: with an axis of length 1 too many or too few."
EXTRA_KEY = "{} has a key that was not asked for: return the named keys and no others."
INDEX = re.compile(r"\[\d+\]")
NUMBERS = (torch.Tensor, np.ndarray, int, float, list, tuple)

_noted: ContextVar[list[str] | None] = ContextVar("slips", default=None)


def begin() -> list[str]:
    """Start a fresh list of slips, for one stage; `expect` adds to it."""
    noted: list[str] = []
    _noted.set(noted)
    return noted


def note(sentence: str) -> None:
    """Remember a slip, once, and of the items of a list the first.

    Outside a stage nobody listens.
    """
    noted = _noted.get()
    if noted is not None and INDEX.sub("", sentence) not in {INDEX.sub("", one) for one in noted}:
        noted.append(sentence)


def without_echoes(sentences: Iterable[str]) -> list[str]:
    """The slips without those that an argument changed in place brings about by itself."""
    noted = list(sentences)
    return [one for one in noted if CHANGED not in noted or one not in (AGAIN, STALE)]


def converted(value: object, expected: object, name: str) -> object:
    """`value` as the type, dtype and shape of `expected` where only those differ, with a slip
    noted; else unchanged.
    """
    kind = type(expected)
    if kind in (torch.Tensor, np.ndarray):
        return _as_array(value, expected, name)
    if kind in (int, float) and type(value) is not kind:
        return _as_number(value, expected, name)
    if kind is bool and type(value) is not bool:
        return _as_bool(value, name)
    if kind in (list, tuple) and type(value) in (list, tuple) and type(value) is not kind:
        note(f"{name} is a {type_name(value)}; a {type_name(expected)} was asked for.")
        return kind(value)
    if (
        kind in (list, tuple)
        and type(value) in (torch.Tensor, np.ndarray)
        and value.ndim
        and _numeric(value)
    ):
        note(
            f"{name} is a {type_name(value)}; a {type_name(expected)} was asked for. Use .tolist()."
        )
        return kind(value.tolist())
    return value


def _as_number(value: object, expected: int | float, name: str) -> object:
    """A tensor or array of one number, a whole float for an int, or a bool, as the number.

    An int is a float to every caller (PEP 484), so it costs nothing.
    """
    kind = type(expected)
    asked = f"a plain {kind.__name__} was asked for"
    if type(value) in (torch.Tensor, np.ndarray) and len(value.reshape(-1)) == 1:
        item = value.reshape(-1)[0].item()
        if type(item) in (bool, int, float) and not (kind is int and item != item):
            came = (
                f"number of numpy ({value.dtype})"
                if type(value) is np.ndarray and not value.ndim
                else type_name(value)
            )
            note(
                f"{name} is a {came}; {asked}. Use .item() or {kind.__name__}() to make a Python"
                " number of it."
            )
            return kind(item) if type(item) is bool else _as_number(item, expected, name)
        return value
    if type(value) is bool:
        note(f"{name} is a bool; {asked}. Use {kind.__name__}().")
        return kind(value)
    if kind is int and type(value) is float and value.is_integer():
        note(f"{name} is a float; {asked}. Use // or int().")
        rounded = abs(value) >= 2**53 and math.isclose(
            value, expected, rel_tol=2**-50
        )  # what a float can hold of it
        return expected if rounded else int(value)
    return float(value) if kind is float and type(value) is int and abs(value) < 2**53 else value


def _as_bool(value: object, name: str) -> object:
    """The number 0 or 1, or a tensor or array of one truth value, as a bool."""
    one = value
    if type(value) in (torch.Tensor, np.ndarray) and len(value.reshape(-1)) == 1:
        one = value.reshape(-1)[0].item()
    if type(one) not in (bool, int, float) or one not in (0, 1):
        return value
    came = "an int" if type(value) is int else f"a {type_name(value)}"
    note(f"{name} is {came}; a bool was asked for. Use bool().")
    return bool(one)


def _as_array(value: object, expected: torch.Tensor | np.ndarray, name: str) -> object:
    """Another kind of array, another dtype, or axes of length 1 too many or too few, as what was
    asked for.
    """
    kind, came = type(expected), value
    if type(value) is not kind:
        if type(value) not in NUMBERS:
            return value
        try:
            plain = value.numpy() if type(value) is torch.Tensor else np.asarray(value)
        except (ValueError, TypeError):
            return value
        if plain.dtype.kind not in "biuf":
            return value
        came = torch.from_numpy(plain.copy()) if kind is torch.Tensor else plain
    if type(value) in (list, tuple) and came.shape[0:1] == (0,) and not len(expected.reshape(-1)):
        came = expected  # a list of nothing says no more of its shape
    if came.shape != expected.shape:
        if without_ones(came.shape) != without_ones(expected.shape):
            return value
        came = came.reshape(expected.shape)
    dtype = came.dtype
    if _numeric(came) != _numeric(
        expected
    ):  # truth values as the numbers 0 and 1, or the other way round
        numbers = came if _numeric(came) else expected
        if not ((numbers == 0) | (numbers == 1)).all():
            return value
        came = came.to(expected.dtype) if kind is torch.Tensor else came.astype(expected.dtype)
    if type(value) is not kind:
        note(f"{name} is a {type_name(value)}; a {type_name(expected)} was asked for.")
    elif value.shape != came.shape:
        note(SHAPE.format(name))
    elif dtype != expected.dtype:
        note(
            f"{name} has dtype {str(dtype).removeprefix('torch.')}; {_dtype(expected)} was asked"
            " for."
        )
    return came


def _numeric(array: torch.Tensor | np.ndarray) -> bool:
    return _dtype(array) != "bool"


def _dtype(array: torch.Tensor | np.ndarray) -> str:
    return str(array.dtype).removeprefix("torch.")
