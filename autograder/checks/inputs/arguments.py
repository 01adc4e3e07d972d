"""What a check may pass to a student beside plain values, and how each is written on its way there.

    a callable of ours      forwards plain copies; the student asks, we compute (`callables` has
                            budgets)
    a Handle                the student's own object, by its number (`handles`)
    a Buffer                memory with strides and guards, changed in place (`buffers`)
    a torch.Generator       arrives in the same state
    a Fake                  a small object of ours that lives beside the student (`fakes`)

`lower` turns them into `Ours` nodes, inside lists, tuples and dictionaries too; the executor on the
other side makes them real again. Nothing of the kind ever comes back: towards us only plain values
pass.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from autograder.checks.assertions.values import MAX_DEPTH, Unreadable, cross
from autograder.checks.inputs.buffers import Buffer
from autograder.checks.inputs.fakes import Fake
from autograder.checks.student.handles import Handle

TAGS = ("callback", "handle", "buffer", "generator", "fake")


@dataclass(frozen=True)
class Ours:
    """One argument that is no plain value: what it is, and the plain values it is made of."""

    tag: str
    inner: object


def lower(argument: object, register: Callable[[Callable], int], depth: int = 0) -> object:
    """A copy of `argument` in which all that is no plain value is an Ours.

    `register` numbers a callable.

    Raises Unreadable for what cannot cross.
    """
    if isinstance(argument, Handle):
        return Ours("handle", argument.number)
    if isinstance(argument, Buffer):
        return Ours(
            "buffer", [argument.storage.clone(), argument.size, argument.stride, argument.offset]
        )
    if isinstance(argument, Fake):
        return Ours("fake", [type(argument).__name__, cross(argument.data())])
    if type(argument) is torch.Generator:
        return Ours("generator", argument.get_state())
    if type(argument) in (list, tuple) and depth < MAX_DEPTH:
        return type(argument)(lower(item, register, depth + 1) for item in argument)
    if type(argument) is dict and depth < MAX_DEPTH:
        return dict(
            zip(
                cross(dict.fromkeys(argument)),
                (lower(item, register, depth + 1) for item in argument.values()),
            )
        )
    if callable(argument):
        return Ours("callback", register(argument))
    return cross(argument)


def kind_of(lowered: object) -> str:
    """What may come back for an argument: its "value", a "buffer"'s memory, a "generator"'s state;
    nothing of "other".
    """
    if isinstance(lowered, Ours):
        return lowered.tag if lowered.tag in ("buffer", "generator") else "other"
    return "other" if _holds_ours(lowered) else "value"


def raised(sent: object, lowered: object, same: bool, after: object) -> object:
    """An argument after the call, for the check. `after` is hostile. Raises Unreadable."""
    kind = kind_of(lowered)
    if kind == "other":
        return sent
    if kind in ("value", "generator"):
        before = lowered if kind == "value" else lowered.inner
        found = cross(before if same else after)
        if type(found) is not type(before) or getattr(found, "dtype", None) != getattr(
            before, "dtype", None
        ):
            raise Unreadable("something else in the place of an argument")
        return found
    memory = cross(lowered.inner[0] if same else after)
    if (
        type(memory) is not torch.Tensor
        or memory.dtype != sent.storage.dtype
        or memory.shape != sent.storage.shape
    ):
        raise Unreadable("something else in the place of the memory it was given")
    return sent.with_memory(memory)


def _holds_ours(value: object) -> bool:
    if type(value) in (list, tuple):
        return any(map(_holds_ours, value))
    return any(map(_holds_ours, value.values())) if type(value) is dict else isinstance(value, Ours)
