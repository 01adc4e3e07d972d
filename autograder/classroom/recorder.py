"""What a watched module reports to: which functions and places are asked what, by which stage, and what they give.

A function or place can be recorded when no answer of a student's reaches what it is given. That is seen from outside: the
reference answers first; then it answers otherwise, with the checks going on all the same, and wrong and right answers of
others follow (`recording`). Who is then given what it was never given before depends on the answers, and keeps its body.
It does so too when the student's code or the frame calls it, when it changes its arguments, and when it gives no plain data.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CellType

import numpy as np
import torch

from autograder.checks.student import Student
from autograder.recorded import key_of
from autograder.recorded.plain import CHAPTERS, Arrays, NotPlain, encoded, fields_of
from autograder.recorded.sketch import MOST, Opaque, inside, sketch

DEPENDS = "it is asked about what a student answers"
CALLED = "a student's code calls it, with arguments of its own"
CHANGES = "it changes what it is given"
GRADIENT = "gradients are taken through what it gives"
ASKS = "it is given the student"
SHARES = "it hands back a part of what it is given"
OFTEN = "it is asked thousands of times"
LARGE = "its results are large"
LARGEST = 500_000  # characters of all results of one function or place
INSIDE, OUTSIDE = 300, 3000  # times by one stage
RAISES = "it raises an exception"
EMPTY = CellType()
EXACT = {bool, int, float, str, bytes, type(None)}  # repr() says all of them


@dataclass
class Recorder:
    """The state of a recording. chosen: keys whose results are kept in `calls` now; None while it is only watched."""

    known: dict[tuple[str, str], set[bytes]] = field(
        default_factory=dict
    )  # by stage and key: digests of arguments
    asked: set[str] = field(default_factory=set)
    unfit: dict[str, str] = field(default_factory=dict)  # by key: why it cannot be recorded
    skipped: dict[str, set[tuple[str, ...]]] = field(
        default_factory=dict
    )  # by key: what it was in when it was not looked at
    tracked: set[str] = field(
        default_factory=set
    )  # keys that give a tensor which asks for a gradient
    gradients: bool = True  # whether such tensors may be written down
    draws: set[str] = field(default_factory=set)  # keys that are given a generator
    first: bool = True  # the reference as it is answers
    chosen: set[str] | None = None
    calls: dict[str, dict[str, list]] = field(default_factory=dict)
    at_import: list[tuple] = field(default_factory=list)
    arrays: Arrays = field(default_factory=Arrays)
    values: list = field(default_factory=list)
    stage: str = ""
    asleep: int = 0  # in the code of a known mistake
    performing: int = 0  # in the code of a student
    stack: list[str] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _times: dict[tuple[str, str, bool], int] = field(default_factory=dict)

    def went(self, key: str, run: Callable, given: list, caller: str) -> object:
        """Carry `run` out, and note what belongs to it."""
        if self.asleep or caller.startswith(CHAPTERS) and ".mistakes_" in caller:
            self.asleep += 1
            try:
                return run()
            finally:
                self.asleep -= 1
        self.asked.add(key)
        if self.performing or not caller.startswith(CHAPTERS):
            self.unfit.setdefault(key, CALLED)
        elif self.chosen is not None:
            return self._kept(key, run, given)
        if key in self.unfit or self._too_often(key):
            return run()
        return self._watched(key, run, given)

    def _too_often(self, key: str) -> bool:
        """Whether a stage asks something so often that looking at it is not worth the time. Inside something else that may not matter."""
        inside = bool(self.stack)
        if not self.first:
            return inside and key in self.skipped
        count = self.stage, key, inside
        self._times[count] = self._times.get(count, 0) + 1
        often = self._times[count] > (INSIDE if inside else OUTSIDE)
        if often and inside:
            self.skipped.setdefault(key, set()).add(tuple(self.stack))
        elif often:
            self.unfit.setdefault(key, OFTEN)
        return often

    def _watched(self, key: str, run: Callable, given: list) -> object:
        try:
            before = digest(given)
            rest = before if _held(key, given) is None else digest(given[1:])
        except Opaque as what:
            self.unfit.setdefault(key, f"it is given {what}")
            return run()
        if any(type(one) is torch.Generator for one in given):
            self.draws.add(key)
        seen = self.known.setdefault((self.stage, key), set())
        if self.first:
            seen.add(before)
        elif before not in seen:
            self.unfit.setdefault(key, DEPENDS)
        self.stack.append(key)
        try:
            value = run()
        except BaseException:
            if self.first:
                self.unfit.setdefault(key, RAISES)
            raise
        finally:
            self.stack.pop()
        if (
            key not in self.draws
            and (digest(given) if _held(key, given) is None else digest(given[1:])) != rest
        ):
            self.unfit.setdefault(key, CHANGES)
        own = given if _held(key, given) is None else [*given[1:], fields_of(given[0])]
        if not _memory(own).isdisjoint(_memory([value])):
            self.unfit.setdefault(key, SHARES)
        if self.first and not self.stage:
            self.at_import.append((key, tuple(self.stack), sketch([tuple(given), {}]), value))
        return value

    def _kept(self, key: str, run: Callable, given: list) -> object:
        """Carry a call out, and write it down where nothing round it is written down."""
        if key not in self.chosen or self.stack:
            return run()
        seen = sketch([tuple(given), {}])
        generator = next((one for one in given if type(one) is torch.Generator), None)
        before, held = generator.get_state() if generator is not None else None, _held(key, given)
        self.stack.append(key)
        try:
            value = run()
        finally:
            self.stack.pop()
        after = generator.get_state() if generator is not None else None
        self.write(
            self.stage,
            key,
            seen,
            value,
            None if after is None or torch.equal(before, after) else after,
            None if held == _held(key, given) else fields_of(given[0]),
        )
        return value

    def write(
        self,
        stage: str,
        key: str,
        seen: list,
        value: object,
        state: torch.Tensor | None,
        fields: dict | None = None,
    ) -> None:
        """Write one call down. fields: what the object of a method holds afterwards, where that has changed."""
        try:
            row = [
                seen,
                self._number(value),
                None if state is None else self._number(state),
                *([] if fields is None else [self._number(fields)]),
            ]
        except NotPlain as what:
            self.unfit.setdefault(key, f"it gives {what}")
            return
        self._sizes[key] = size = self._sizes.get(key, 0) + len(repr(self.values[row[1]]))
        if '["G", ' in repr(self.values[row[1]]).replace("'", '"'):
            self.tracked.add(key)
            if not self.gradients:
                self.unfit.setdefault(key, GRADIENT)
        if size > LARGEST:
            self.unfit.setdefault(key, LARGE)
        self.calls.setdefault(stage, {}).setdefault(key, []).append(row)

    def _number(self, value: object) -> int:
        tree = encoded(value, self.arrays)
        text = repr(tree)
        if text not in self._places:
            self._places[text] = len(self.values)
            self.values.append(tree)
        return self._places[text]

    def begin(self, chosen: set[str]) -> None:
        """Write down from now on, and what was asked while modules were loaded at once."""
        self.chosen, self.calls, self.arrays, self.values, self._places, self._sizes = (
            chosen,
            {},
            Arrays(),
            [],
            {},
            {},
        )
        for key, around, seen, value in self.at_import:
            if key in chosen and not chosen & set(around):
                self.write("", key, seen, value, None)


state = Recorder()


def stage(function: Callable) -> Callable:
    """Decorator of a stage."""

    @functools.wraps(function)
    def run(*args: object, **kwargs: object) -> object:
        state.stage, before = key_of(function), state.stage
        try:
            return function(*args, **kwargs)
        finally:
            state.stage = before

    return run


def function(one: Callable) -> Callable:
    """Decorator of a function that may be recorded."""
    key = key_of(one)

    @functools.wraps(one)
    def run(*args: object, **kwargs: object) -> object:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        return state.went(key, lambda: one(*args, **kwargs), [*args, *kwargs.items()], caller)

    return run


def at(key: str, run: Callable, *names: object) -> object:
    """A place in a function: works out what stands there."""
    return state.went(key, run, list(names), CHAPTERS)


def _held(key: str, given: list) -> bytes | None:
    """What the object of a method of a chapter's own holds; None for a function."""
    method = given and any(
        key.endswith(f".{base.__name__}.{key.rpartition('.')[2]}")
        for base in type(given[0]).__mro__
    )
    fields = fields_of(given[0]) if method else None
    return None if fields is None else digest(fields)


def _memory(values: list) -> set[int]:
    """Where the numbers of tensors and lists are kept, in some values and in what they hold."""
    found: set[int] = set()
    for one in values:
        if isinstance(one, torch.Tensor) and one.numel():
            found.add(one.untyped_storage().data_ptr())
        elif isinstance(one, np.ndarray) and one.size:
            found.add(one.__array_interface__["data"][0])
        elif isinstance(one, (list, dict)):
            found.add(id(one))
        if isinstance(one, (list, tuple, dict)) and len(one) < 100:
            found |= _memory(list(one.values() if isinstance(one, dict) else one))
    return found


def digest(value: object) -> bytes:
    """Of all bits of some arguments. Raises Opaque."""
    found = hashlib.blake2b(digest_size=12)
    _feed(value, found, 8)
    return found.digest()


def _feed(value: object, found: object, depth: int) -> None:
    kind = type(value)
    if depth == 0:
        raise Opaque("lists in lists in lists")
    if isinstance(value, Student):
        raise Opaque("the student")
    found.update(f"|{kind.__name__}".encode())
    if kind is torch.Tensor and value.numel() > MOST:
        raise Opaque("a tensor of millions")
    if kind is torch.Tensor:
        numbers = value.detach()
        found.update(f"{value.dtype}{tuple(value.shape)}{value.requires_grad}".encode())
        found.update(
            (numbers.view(torch.int16) if numbers.dtype == torch.bfloat16 else numbers)
            .contiguous()
            .numpy()
            .tobytes()
        )
    elif kind is np.ndarray:
        found.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif kind is torch.Generator:
        found.update(value.get_state().numpy().tobytes())
    elif isinstance(value, (list, tuple, set, frozenset)) and set(map(type, value)) <= EXACT:
        found.update(
            repr(
                sorted(map(repr, value)) if isinstance(value, (set, frozenset)) else value
            ).encode()
        )
    elif (
        isinstance(value, dict) and set(map(type, value)) | set(map(type, value.values())) <= EXACT
    ):
        found.update(repr(value).encode())
    elif isinstance(value, dict):
        for key, one in value.items():
            _feed(key, found, depth - 1)
            _feed(one, found, depth - 1)
    elif isinstance(value, (list, tuple)):
        found.update(str(len(value)).encode())
        for one in value:
            _feed(one, found, depth - 1)
    elif isinstance(value, (set, frozenset)):
        found.update(repr(sorted(map(repr, value))).encode())
    elif inspect.isroutine(value) or isinstance(value, type):
        found.update(
            f"{getattr(value, '__module__', '')}{getattr(value, '__qualname__', '')}".encode()
        )
        if inspect.isfunction(value) and value.__closure__:
            for cell in value.__closure__:
                if cell != EMPTY:
                    _feed(cell.cell_contents, found, depth - 1)
    elif (inner := inside(value)) is not None:
        _feed(inner, found, depth - 1)
    elif (fields := fields_of(value)) is not None:
        _feed(fields, found, depth - 1)
    elif (
        value is None
        or isinstance(value, (bool, int, float, str, bytes, np.generic, slice, range, torch.dtype))
        or kind.__name__ == "Fraction"
    ):
        found.update(repr(value).encode())
    else:
        raise Opaque(f"an object of type {kind.__name__}")
