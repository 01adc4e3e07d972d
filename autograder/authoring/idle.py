"""Mistakes that the frame makes for every exercise: answers without any work in them, and work for
one size only.

`idle(exercise)` gives programs that must earn nothing: constants (among them every right answer of
the stages), echoes of an argument, a right answer's shape filled with one number, the answer to the
call before. `one_size(exercise)` gives programs that are right for the arguments of one size and
raise for all others; they may earn half.
"""

from collections.abc import Callable

import torch

from autograder.authoring.asked import Asked, asked
from autograder.authoring.implementations import reference
from autograder.checks.assertions.values import same
from autograder.checks.protocol import Exercise

CONSTANTS = (None, True, False, 0, 1, 2, 0.5, "", [], {})
MOST = 25  # right answers that are tried as constants
FILLINGS = (0.0, 0.5, 1.0)


def idle(exercise: Exercise, secret: bytes = b"") -> dict[str, dict[str, Callable]]:
    """By title: functions by name.

    A function without arguments is left out: its constant may be the answer.
    """
    calls = asked(exercise, secret)
    found: dict[str, dict[str, Callable]] = {}
    for name in dict.fromkeys(call.name for call in calls if call.args):
        own = [call for call in calls if call.name == name]
        right = reference(exercise.id[:2])[name]
        constants = [*CONSTANTS, *_distinct([call.value for call in own])[:MOST]]
        for number, value in enumerate(constants):
            found[f"{name}: constant {number} ({_short(value)})"] = {name: _constant(value)}
        for place in range(len(own[0].args)):
            found[f"{name}: echo of argument {place}"] = {name: _echo(place)}
        if exercise.kind != "write-test":  # a test's answer is whether it complains
            for filling in FILLINGS:
                found[f"{name}: the right shape filled with {filling:g}"] = {
                    name: _filled(right, filling)
                }
            found[f"{name}: the answer before"] = {name: _before(right)}
        found[f"{name}: complains always"] = {name: _complains}
    return found


def one_size(exercise: Exercise, secret: bytes = b"") -> dict[str, dict[str, Callable]]:
    """By title: the whole reference, in which one function works for one size only; every size that
    a stage asks for.
    """
    calls, names = asked(exercise, secret), reference(exercise.id[:2])
    found: dict[str, dict[str, Callable]] = {}
    for name in dict.fromkeys(call.name for call in calls if call.args):
        sizes = dict.fromkeys(_size(call) for call in calls if call.name == name)
        if len(sizes) > 1 or any(map(_has_size, (call for call in calls if call.name == name))):
            for size in sizes:
                found[f"{name}: only for {size}"] = {**names, name: _only(names[name], size)}
    return found


def _distinct(values: list) -> list:
    found: list = []
    for value in values:
        if not any(same(value, one) for one in found):
            found.append(value)
    return found


def _short(value: object) -> str:
    return " ".join(repr(value).split())[:40]


def _constant(value: object) -> Callable:
    return lambda *args, **more: value


def _echo(place: int) -> Callable:
    return lambda *args, **more: args[place]


def _complains(*args: object, **more: object) -> None:
    raise AssertionError("always")


def _filled(right: Callable, filling: float) -> Callable:
    def fill(value: object) -> object:
        if isinstance(value, torch.Tensor):
            return torch.full_like(value, filling)
        if isinstance(value, (tuple, list)):
            return type(value)(map(fill, value))
        if isinstance(value, dict):
            return {key: fill(item) for key, item in value.items()}
        return type(value)(filling) if type(value) in (int, float) else value

    return lambda *args, **more: fill(right(*args, **more))


def _before(right: Callable) -> Callable:
    kept: list = []

    def answer(*args: object, **more: object) -> object:
        kept.append(right(*args, **more))
        return kept[-2] if len(kept) > 1 else None

    return answer


def _only(right: Callable, size: tuple) -> Callable:
    def answer(*args: object, **more: object) -> object:
        if _sizes(args) != size:
            raise ValueError("not this size")
        return right(*args, **more)

    return answer


def _size(call: Asked) -> tuple:
    return _sizes(call.args)


def _sizes(values: tuple | list) -> tuple:
    """The shapes of tensors and the lengths of lists, nested ones too."""
    return tuple(
        tuple(value.shape) if isinstance(value, torch.Tensor) else (len(value), _sizes(value))
        for value in values
        if isinstance(value, (torch.Tensor, list, tuple))
    )


def _has_size(call: Asked) -> bool:
    return bool(_size(call))
