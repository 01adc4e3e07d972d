"""Slips that students make with a right answer: each changes the type, the dtype or an axis, and no
number.

`slipping(function, change)` answers as `function` does, with every part of its answers changed so;
of a class, with every part of what its methods return.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

Change = Callable[[object], object]  # of one part of an answer; it gives back what it leaves alone


def _tensor(fits: Callable[[Tensor], bool], change: Change) -> Change:
    return lambda value: change(value) if isinstance(value, Tensor) and fits(value) else value


def _number(kind: type, change: Change) -> Change:
    return lambda value: change(value) if type(value) is kind else value


def _of_tensors(values: object) -> object:
    """A list of numbers as a tensor."""
    plain = type(values) is list and values and all(type(one) in (int, float) for one in values)
    return (
        torch.tensor(values, dtype=torch.float64 if float in map(type, values) else None)
        if plain
        else values
    )


CHANGES: dict[str, Change] = {
    "float64 for float32": _tensor(lambda x: x.dtype == torch.float32, Tensor.double),
    "int32 for int64": _tensor(
        lambda x: x.dtype == torch.int64 and torch.equal(x, x.int()), Tensor.int
    ),
    "floats for integers": _tensor(
        lambda x: x.dtype == torch.int64 and torch.equal(x, x.double().long()), Tensor.double
    ),
    "integers for bools": _tensor(lambda x: x.dtype == torch.bool, Tensor.int),
    "floats for bools": _tensor(lambda x: x.dtype == torch.bool, Tensor.float),
    "an axis too many in front": _tensor(lambda x: True, lambda x: x[None]),
    "an axis too many at the end": _tensor(lambda x: True, lambda x: x.unsqueeze(-1)),
    "axes of length 1 dropped": _tensor(lambda x: 1 in x.shape, Tensor.squeeze),
    "a number for a tensor": _tensor(lambda x: x.dim() == 0, Tensor.item),
    "a list for a tensor": _tensor(lambda x: x.dim() > 0, Tensor.tolist),
    "an array for a tensor": _tensor(lambda x: True, lambda x: x.detach().numpy()),
    "a tensor for a float": _number(float, lambda x: torch.tensor(x, dtype=torch.float64)),
    "a tensor for an int": _number(int, torch.tensor),
    "an array's number for an int": _number(int, np.int64),
    "a float for an int": _number(int, float),
    "an int for a bool": _number(bool, int),
    "a tensor for a bool": _number(bool, torch.tensor),
    "a tensor for a list": _of_tensors,
    "a tuple for a list": lambda value: tuple(value) if type(value) is list else value,
    "a list for a tuple": lambda value: list(value) if type(value) is tuple else value,
}


def slipping(right: Callable, change: Change, made: list) -> Callable:
    """`right` with `change` in its answers; `made` gets each answer that came out otherwise."""
    if inspect.isclass(right):
        return _class(right, change, made)

    @functools.wraps(right)
    def answer(*args: object, **more: object) -> object:
        value = right(*args, **more)
        if inspect.isgenerator(value):
            return (changed(one, change, made) for one in value)
        return changed(value, change, made)

    return answer


def changed(value: object, change: Change, made: list) -> object:
    """`value` with every part of it changed."""
    if type(value) in (list, tuple):
        inner = type(value)(changed(one, change, made) for one in value)
    elif type(value) is dict:
        inner = {key: changed(one, change, made) for key, one in value.items()}
    else:
        inner = value
    with suppress(OverflowError):  # an int that no int64 holds
        inner = change(inner) if type(inner) is type(value) else inner
    if type(inner) is not type(value) or isinstance(value, Tensor) and inner is not value:
        made.append(inner)
    return inner


def _class(right: type, change: Change, made: list) -> type:
    """A subclass whose methods slip where they are called from outside; among themselves they
    answer as before.
    """
    depth = [0]

    def outermost(method: Callable) -> Callable:
        @functools.wraps(method)
        def answer(self: object, *args: object, **more: object) -> object:
            depth[0] += 1
            try:
                value = method(self, *args, **more)
            finally:
                depth[0] -= 1
            return value if depth[0] else changed(value, change, made)

        return answer

    names = [
        name
        for name, one in vars(right).items()
        if inspect.isfunction(one)
        and (not name.startswith("_") or name == "__call__")
        and not inspect.isgeneratorfunction(one)
    ]
    kept = {name: outermost(vars(right)[name]) for name in names}
    return type(right)(right.__name__, (right,), {**kept, "__module__": right.__module__})
