"""What a student's last calls were given, and what they gave: later calls must depend on neither,
nor change it.

A function that keeps one buffer and answers with it again and again is right each time, and changes
what it had handed out before. So the last results are kept beside copies of them, and looked at
after each call: whether they are still what they were, and whether the new result is one of them.
One that knows its arguments by their address, or hands one of them back, is right as long as each
call brings new ones. So arguments come in the objects of the call before, with new contents, and a
result is looked through for parts of them.
"""

import sys
from collections import deque
from collections.abc import Iterator, Sequence

RESULTS = 8  # so many results are looked at again after each call
KEPT_BYTES = 2**20  # of each of them at most
KEPT_ITEMS = 1000  # of a list, a tuple or a dictionary
DEPTH = 3  # of lists in lists that are looked at
FORMS = 64  # so many arguments are kept to be filled again


class Given:
    """The last results and, beside each, a plain copy of it as it was."""

    def __init__(self):
        self._last: deque[tuple[object, object]] = deque(maxlen=RESULTS)
        self._arguments: dict[tuple, object] = {}

    def forget(self) -> None:
        """Another stage begins: its results are not compared with those before.

        What arguments come in stays.
        """
        self._last.clear()

    def argument(self, function: str, place: int | str, value: object) -> object:
        """An object that the function was given at this place before, with the contents of `value`;
        `value` itself if none fits.
        """
        form = _form(value)
        if form is None:
            return value
        old = self._arguments.get((function, place, form))
        if old is not None and _form(old) == form:
            try:
                _refill(old, value)
                return old
            except (
                RuntimeError
            ):  # the code has made a tensor of ours into one that cannot be written into
                pass
        if len(self._arguments) >= FORMS:
            self._arguments.clear()
        self._arguments[function, place, form] = value
        return value

    def keep(self, value: object, copy: object) -> None:
        """Remember a result, if it is one that can be written into and is not large."""
        if _small(copy):
            self._last.append((value, copy))

    def changed(
        self,
        value: object,
        arguments: Sequence[object],
        let_through: tuple[type[BaseException], ...],
    ) -> bool:
        """Whether an earlier result is not what it was, or `value` has a part of one, or of an
        argument: the code kept it.
        """
        try:
            parts = set(_parts(value))
            return any(
                not _as_it_was(one, before) or not parts.isdisjoint(_parts(one))
                for one, before in self._last
            ) or any(not parts.isdisjoint(_parts(one)) for one in arguments)
        except let_through:
            raise
        except BaseException:  # a hostile object may answer anything
            return True


def _as_it_was(value: object, before: object) -> bool:
    """Whether a result is what its plain copy says; tensors, as most are, need no other copy."""
    from torch import Tensor, equal

    from autograder.checks.assertions.values import cross, same

    if (
        type(value) is Tensor is type(before)
        and value.dtype == before.dtype
        and equal(value, before)
    ):
        return True
    if type(value) in (tuple, list) and type(value) is type(before) and value:
        return len(value) == len(before) and all(map(_as_it_was, value, before))
    if type(value) is dict is type(before) and value:
        return list(value) == list(before) and all(map(_as_it_was, value.values(), before.values()))
    return same(cross(value), before, 0, 0)


def _form(value: object) -> tuple | None:
    """What two arguments have in common if one can take the contents of the other; None for what is
    never written into.
    """
    if type(value) in (list, dict):
        return (type(value),)
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if (
        torch is not None
        and type(value) is torch.Tensor
        and value.nbytes <= KEPT_BYTES
        and not value.requires_grad
    ):
        return torch.Tensor, value.shape, value.dtype, value.stride()
    if (
        numpy is not None
        and type(value) is numpy.ndarray
        and value.nbytes <= KEPT_BYTES
        and value.flags.writeable
    ):
        return numpy.ndarray, value.shape, value.dtype, value.strides
    return None


def _refill(old: object, value: object) -> None:
    if type(old) is list:
        old[:] = value
    elif type(old) is dict:
        old.clear()
        old.update(value)
    elif hasattr(old, "copy_"):
        old.copy_(value)
    else:
        old[...] = value


def _parts(value: object, depth: int = DEPTH) -> Iterator[int]:
    """The addresses of what can be written into in a result: lists and dictionaries, and the memory
    of tensors and arrays.
    """
    if type(value) in (list, dict, tuple):
        if type(value) is not tuple:
            yield id(value)
        for item in (value.values() if type(value) is dict else value) if depth else ():
            yield from _parts(item, depth - 1)
    elif hasattr(value, "untyped_storage"):
        if value.numel():
            yield value.untyped_storage().data_ptr()
    elif (
        hasattr(value, "__array_interface__")
        and value.nbytes
        and not isinstance(value, sys.modules["numpy"].generic)
    ):
        yield value.__array_interface__["data"][0]


def _small(value: object) -> bool:
    """A tensor, an array, a list, a tuple or a dictionary that can be kept for some calls."""
    if type(value) in (list, tuple, dict):
        items = value.values() if type(value) is dict else value
        return (
            len(value) <= KEPT_ITEMS
            and sum(getattr(item, "nbytes", 0) for item in items) <= KEPT_BYTES
        )
    return hasattr(value, "dtype") and value.nbytes <= KEPT_BYTES
