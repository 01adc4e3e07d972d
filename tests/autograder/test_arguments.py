"""Checks pass what the signature in the notebook declares: no int for a float, no other dtype or
rank, no int beyond 64 bits.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator

import jaxtyping
import numpy as np
import pytest
import torch
from torch import nn

from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import reference
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.student.local import OurNamespace

CHECKED = [
    one for assignment in assignments() for one in assignment.exercises.values() if one.stages
]
Found = dict[str, None]  # what was wrong, each once


def fits(value: object, hint: object) -> bool:
    """Whether a value is of the declared type, in its parts too; a hint that says nothing of values
    fits all.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if hint is None or hint is type(None):
        return value is None
    if origin in (list, tuple, dict, set):
        return type(value) is origin and _parts_fit(value, origin, inner)
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return _array_fits(value, hint)
    if hint is int:
        return type(value) is int and abs(value) < 2**63
    if hint in (bool, float, str, bytes, list, tuple, dict):
        return type(value) is hint
    return True


def _parts_fit(value: object, origin: type, inner: tuple) -> bool:
    if not inner:
        return True
    if origin is dict:
        return all(fits(key, inner[0]) and fits(one, inner[1]) for key, one in value.items())
    if origin is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(one, inner[0]) for one in value)


def _array_fits(value: object, hint: type) -> bool:
    """The kind, the dtype and, where the shape has no "...", the rank; sizes that depend on others
    are not asked.
    """
    dims = hint.dim_str.split()
    ranks = None if any("..." in one or one.startswith("*") for one in dims) else len(dims)
    dtypes = hint.dtypes if isinstance(hint.dtypes, (list, tuple)) else None
    if type(value) not in (torch.Tensor, nn.Parameter, np.ndarray) or not issubclass(
        type(value), hint.array_type
    ):
        return False
    dtype = str(value.dtype).removeprefix("torch.")
    return (dtypes is None or dtype in dtypes) and (ranks is None or value.ndim == ranks)


def watching(function: Callable, label: str, found: Found) -> Callable:
    """`function`, which notes arguments that do not fit its annotations in `found`."""
    signature, hints = inspect.signature(function), typing.get_type_hints(function)

    @functools.wraps(function)
    def watched(*args: object, **more: object) -> object:
        given = signature.bind(*args, **more)
        for name, value in given.arguments.items():
            hint = hints.get(name, typing.Any)
            kind = signature.parameters[name].kind
            parts = value if kind is inspect.Parameter.VAR_POSITIONAL else [value]
            if not all(fits(one, hint) for one in parts):
                found[f"{label}({name}: {hint}) got {_told(value)}"] = None
        return function(*args, **more)

    return watched


def _told(value: object) -> str:
    shown = (
        f"{value.dtype} of shape {tuple(value.shape)}" if hasattr(value, "dtype") else repr(value)
    )
    return f"{type(value).__name__} {shown:.80}"


def watched_class(kind: type, found: Found) -> type:
    """A subclass with the same methods, each of which looks at its arguments."""
    own = {name: watching(one, f"{kind.__name__}.{name}", found) for name, one in _methods(kind)}
    return type(kind)(kind.__name__, (kind,), {**own, "__module__": kind.__module__})


def _methods(kind: type) -> Iterator[tuple[str, Callable]]:
    for name, one in vars(kind).items():
        if inspect.isfunction(one) and (
            not name.startswith("_") or name in ("__init__", "__call__")
        ):
            yield name, one


@pytest.mark.parametrize("exercise", CHECKED, ids=lambda one: one.id)
def test_every_argument_of_every_stage_is_of_its_declared_type(exercise):
    names, found = reference(exercise.id[:2]), {}
    wrapped = {
        name: (
            watched_class(names[name], found)
            if inspect.isclass(names[name])
            else watching(names[name], name, found)
        )
        for name in (exercise.function, *exercise.also)
        if callable(names.get(name))
    }
    run_exercise(exercise, LocalStudent(OurNamespace({**names, **wrapped})), mistakes=[])
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("value", "hint", "right"),
    [
        (3, float, False),
        (3.0, float, True),
        (True, int, False),
        (2**63, int, False),
        (-5, int, True),
        (3, int | None, True),
        (None, int | None, True),
        ([1, 2], list[int], True),
        ([1, 2.0], list[int], False),
        ({"a": 1}, dict[str, float], False),
        ((1, "a"), tuple[int, str], True),
        ((1, 2), tuple[int, ...], True),
        ([1], tuple[int, ...], False),
        (torch.zeros(2), jaxtyping.Float[torch.Tensor, "N"], True),
        (torch.zeros(2), jaxtyping.Int[torch.Tensor, "N"], False),
        (torch.zeros(2), jaxtyping.Float[torch.Tensor, "N D"], False),
        (torch.zeros(2, 3), jaxtyping.Float[torch.Tensor, "... D"], True),
        (torch.zeros(()), jaxtyping.Float[torch.Tensor, ""], True),
        (1.0, jaxtyping.Float[torch.Tensor, ""], False),
    ],
)
def test_an_argument_fits_only_its_own_type(value, hint, right):
    assert fits(value, hint) is right
