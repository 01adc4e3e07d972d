"""`expect(value)`: the questions that a check asks about a value.

Every question looks at the exact type first, then dtype, shape and finiteness, and only then at
values, so that an object that equals everything, or a tensor subclass, answers nothing. A type,
dtype or axis of length 1 that is wrong while the values are right is a slip (see `slips`), and so
is a key too many (`only_keys`); a type that cannot be meant gets a sentence of its own; a wrong
value, shape or length gets the author's `cause`, one sentence that says what is likely wrong, and
then what is seen: the shape, NaN. What the numbers show by themselves (`likeness`) is
CheckFailed.hint, which `messages` shows or drops. A cause holds no drawn number, because in grading
it is shown; numbers come after, in CheckFailed.detail, which is not. Each question returns the
value, to go on with.

Tolerances of `equals` (relative, absolute): TOLERANCES by dtype; a Python float has float32's,
because a student may compute it in either precision; everything else must be exactly equal. An int
passes where a float is expected; a float for an int, or a bool for either, is a slip.
"""

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import torch

from autograder.checks.assertions.comparison_time import compares
from autograder.checks.assertions.numeric_hints import likeness, not_finite
from autograder.checks.assertions.slips import EXTRA_KEY, LIST_FOR_TUPLE, converted, note
from autograder.checks.assertions.values import (
    in_digits,
    readable,
    shortened,
    told_apart,
    two_lines,
    type_name,
)

TOLERANCES = {
    "float16": (1e-2, 1e-3),
    "bfloat16": (2e-2, 1e-2),
    "float32": (1e-5, 1e-6),
    "float64": (1e-9, 1e-12),
}
GIVEN = 160  # characters of what was given, or of one of two lists
SHOWN = 12  # a tensor with at most so many values is shown whole


class CheckFailed(Exception):
    """A stage that is not passed: the likely cause in a sentence, the numbers, and what they show
    by themselves.
    """

    def __init__(self, cause: str, detail: str = "", hint: str = ""):
        super().__init__(cause, detail)
        self.cause, self.detail, self.hint = cause, detail, hint
        self.asked: Expectation | None = None  # whose value was wrong


def expect(value: object, name: str = "Your result", given: str = "") -> "Expectation":
    """Begin a question about `value`; `name` is how sentences call it, for example "`d_center`".

    given: what the student's function got, in words, such as "7 words, window 3"; it is told with
    the numbers.
    """
    return Expectation(value, name, given)


class Expectation:
    """One value under question; see the module's docstring for the order of the questions."""

    def __init__(self, value: object, name: str, given: str = ""):
        self.value, self.name, self.given = value, name, given
        self.whole = value  # what the call gave, of which `value` may become a part
        self.key = ""  # under which it was in a dictionary

    def given_words(self) -> str:
        """ "Given 7 words, window 3. ", or ""."""
        return f"Given {shortened(self.given, GIVEN)}. " if self.given else ""

    def equals(self, expected: object, *, cause: str) -> object:
        """Same type, dtype and shape, finite where `expected` is, and equal within TOLERANCES."""
        return self._asked(expected, cause, None)

    def close(
        self, expected: object, *, cause: str, rtol: float = 0.0, atol: float = 0.0
    ) -> object:
        """Like `equals`, with the tolerances given here."""
        return self._asked(expected, cause, (rtol, atol))

    @compares
    def is_tensor(
        self, *, shape: tuple | None = None, dtype: torch.dtype | None = None, cause: str = ""
    ) -> torch.Tensor:
        """A torch.Tensor (no subclass) with this shape and dtype, where given; `cause`: what is
        likely wrong otherwise.
        """
        meant = torch.zeros(
            shape_of(self.value) if shape is None else tuple(shape),
            dtype=dtype or _dtype_of(self.value),
        )
        self.value = converted(self.value, meant, self.name)
        self._is(
            type(self.value) is torch.Tensor, f"is {_a(self.value)}; a torch.Tensor was asked for"
        )
        return self._fits(meant, cause)

    def is_a(self, kind: type) -> object:
        """This type: `expect(x).is_a(int)`; a bool is no int."""
        self.value = (
            converted(self.value, kind(), self.name)
            if kind in (bool, int, float, list, tuple)
            else self.value
        )
        self._is(
            type(self.value) is kind, f"is {_a(self.value)}; {_an(kind.__name__)} was asked for"
        )
        return self.value

    def items_as(self, kind: type) -> list:
        """A list whose items are of this type where they can be meant so: ask this before a check
        compares items itself.
        """
        items = self.is_a(list)
        self.value = [
            converted(item, kind(), f"{self.name}[{place}]") for place, item in enumerate(items)
        ]
        return self.value

    def unpacks(self, count: int) -> tuple:
        """A tuple of `count` items (a list is a slip): ask this before `loss, gradient = ...`."""
        self._is(
            type(self.value) in (tuple, list),
            f"is {_a(self.value)}; a tuple of {count} was asked for",
        )
        self._is(
            len(self.value) == count,
            "has another number of items than was asked for",
            f"{len(self.value)} items; {count} were asked for",
        )
        if type(self.value) is list:
            note(LIST_FOR_TUPLE.format(self.name))
        return tuple(self.value)

    def has(self, key: str) -> "Expectation":
        """A dict with this key; returns the question about its value."""
        self._is(type(self.value) is dict, f"is {_a(self.value)}; a dict was asked for")
        self._is(key in self.value, f"has no {readable(key)}")
        part = Expectation(self.value[key], f"{self.name}[{readable(key)}]", self.given)
        part.whole, part.key = self.whole, readable(key)
        return part

    def only_keys(self, names: Collection[str]) -> "Expectation":
        """A dict without other keys than these, where another one is a slip; `has` asks for each.

        Returns the question about the dict without what was not asked for. For keys that are data,
        such as the words of a table, ask `equals`: there another key is wrong.
        """
        self._is(type(self.value) is dict, f"is {_a(self.value)}; a dict was asked for")
        if not self.value.keys() <= set(names):
            note(EXTRA_KEY.format(self.name))
        kept = {key: item for key, item in self.value.items() if key in names}
        part = Expectation(kept, self.name, self.given)
        part.whole = self.whole
        return part

    @compares
    def is_finite(self, *, cause: str) -> object:
        """A tensor, array or number without NaN or infinity."""
        values = self._numbers()
        bad = ~np.isfinite(values)
        if bad.any():
            where = _first(bad)
            raise CheckFailed(
                cause,
                f"{bad.sum()} of {values.size} values are not finite; "
                f"the first{_at(where)} is {values[where]}",
            )
        return self.value

    @compares
    def between(self, low: float, high: float, *, cause: str) -> object:
        """Every number is in [low, high]; NaN is not."""
        values = self._numbers()
        bad = ~((values >= low) & (values <= high))
        if bad.any():
            where = _first(bad)
            raise CheckFailed(
                cause,
                f"{bad.sum()} of {values.size} values are outside [{low:g}, {high:g}]; "
                f"the first{_at(where)} is {_number(values[where])}",
            )
        return self.value

    def is_true(self, *, cause: str, detail: str = "") -> bool:
        """For a condition that the check itself worked out, or a student's bool: exactly True."""
        self.value = converted(self.value, True, self.name)
        if self.value is not True:
            self._is(type(self.value) is bool, f"is {_a(self.value)}; a bool was asked for")
            raise CheckFailed(cause, detail)
        return True

    def _is(self, holds: bool, otherwise: str, detail: str = "", cause: str = "") -> None:
        if not holds:
            raise CheckFailed(f"{cause} {self.name} {otherwise}.".strip(), detail)

    def _fits(self, meant: torch.Tensor | np.ndarray, cause: str = "") -> torch.Tensor | np.ndarray:
        """The value in the dtype of `meant`, after its shape and kind were asked for."""
        came, asked = _dtype(self.value), _dtype(meant)
        self._is(
            came == asked or "bool" not in (came, asked), f"has dtype {came}; {asked} was asked for"
        )
        self._is(
            self.value.shape == meant.shape,
            "has another shape than was asked for",
            f"shape {tuple(self.value.shape)}; {tuple(meant.shape)} was asked for",
            cause,
        )
        if came != asked:
            return (
                self.value.to(meant.dtype)
                if type(meant) is torch.Tensor
                else self.value.astype(meant.dtype)
            )
        return self.value

    def _numbers(self) -> np.ndarray:
        kind = type(self.value)
        self._is(
            kind in (torch.Tensor, np.ndarray, int, float),
            f"is {_a(self.value)}; numbers were asked for",
        )
        return _array(self.value)

    @compares
    def _asked(self, expected: object, cause: str, tolerance: tuple[float, float] | None) -> object:
        try:
            return self._match(expected, cause, tolerance)
        except CheckFailed as failed:
            told = CheckFailed(failed.cause, self.given_words() + failed.detail, failed.hint)
            told.asked = self
            raise told from None

    def _match_arrays(
        self, value: Any, expected: Any, cause: str, tolerance: tuple[float, float] | None
    ) -> None:
        known = [TOLERANCES[_dtype(one)] for one in (value, expected) if _dtype(one) in TOLERANCES]
        loosest = max(known, default=None)
        fitting = Expectation(value, self.name)._fits(expected, cause)
        if tolerance and _dtype(value) in ("float16", "bfloat16"):
            tolerance = max(tolerance, loosest)  # a slip; its rounding is no other one
        self._compare(_array(value), _array(expected), cause, tolerance or loosest)
        self.value = fitting if fitting.dtype != value.dtype else value

    def _match(self, expected: object, cause: str, tolerance: tuple[float, float] | None) -> object:
        kind = type(expected)
        value = converted(self.value, expected, self.name)
        self._is(type(value) is kind, f"is {_a(value)}; {_an(type_name(expected))} was asked for")
        if kind in (list, tuple):
            self._is(
                len(value) == len(expected),
                "has another number of items than was asked for",
                f"{len(value)} items; {len(expected)} were asked for\n{_both(value, expected)}",
                cause,
            )
            for i, item in enumerate(expected):
                Expectation(value[i], f"{self.name}[{i}]")._match(item, cause, tolerance)
        elif kind is dict:
            for key, item in expected.items():
                self._is(key in value, f"has no {readable(key)}", cause=cause)
                self.has(key)._match(item, cause, tolerance)
            extra = sorted(value.keys() - expected.keys(), key=repr)
            self._is(not extra, "has a key that was not asked for", readable(extra), cause)
        elif kind in (torch.Tensor, np.ndarray):
            self._match_arrays(value, expected, cause, tolerance)
        elif kind is float:
            self._compare(
                _array(value), _array(expected), cause, tolerance or TOLERANCES["float32"]
            )
        elif kind is int and tolerance:
            self._compare(_array(value), _array(expected), cause, tolerance)
        elif value != expected:
            came, meant = told_apart(value, expected)
            seen = likeness(_array(value), _array(expected), True) if kind is int else ""
            raise CheckFailed(cause, f"{self.name} is {came}, expected {meant}", seen)
        return self.value

    def _compare(
        self, came: np.ndarray, expected: np.ndarray, cause: str, tolerance: tuple | None
    ) -> None:
        bad = ~np.isfinite(came) & np.isfinite(expected)
        if bad.any():
            where = _first(bad)
            raise CheckFailed(
                f"{cause} {not_finite(came, expected, self.name)}",
                f"{came[where]}{_at(where)}; {bad.sum()} of {came.size} values are not finite",
            )
        # Exact for integers: a difference of theirs could overflow, and float64 has only 53 bits.
        wrong = (
            ~np.isclose(came, expected, *tolerance, equal_nan=True)
            if tolerance
            else came != expected
        )
        if not wrong.any():
            return
        where = _first(wrong)
        is_, meant = _apart(came[where], expected[where])
        detail = f"{self.name}{_at(where)} is {is_}, expected {meant}"
        if came.size > 1:
            detail += f"; {wrong.sum()} of {came.size} values differ, shape {came.shape}"
        if came.size > 1 and came.dtype.kind != "b":
            gap = np.abs(came[wrong].astype(float) - expected[wrong].astype(float)).max()
            detail += f", largest difference {in_digits(gap, 3)}"
        if tolerance:
            detail += f" (tolerance {tolerance[0]:.2g} relative, {tolerance[1]:.2g} absolute)"
        if 1 < came.size <= SHOWN:
            detail += f"\n{two_lines(*_rows(came, expected))}"
        raise CheckFailed(cause, detail, likeness(came, expected, tolerance is None))


def _a(value: object) -> str:
    if type(value) in (torch.Tensor, np.ndarray):
        return f"a {type_name(value)}"
    return (
        "None (is a `return` missing?)" if value is None else f"a value of type {type_name(value)}"
    )


def _an(name: str) -> str:
    return f"an {name}" if name[0] in "aeio" else f"a {name}"


def shape_of(value: object) -> tuple[int, ...]:
    """The shape of a tensor, an array or a list of numbers; () of anything else."""
    if type(value) in (torch.Tensor, np.ndarray):
        return tuple(value.shape)
    try:
        return np.shape(value) if type(value) in (list, tuple) else ()
    except (ValueError, TypeError):  # rows of different lengths
        return ()


def _dtype_of(value: object) -> torch.dtype:
    return value.dtype if type(value) is torch.Tensor else torch.float32


def _dtype(value: object) -> str:
    return str(value.dtype).removeprefix("torch.")


def _array(value: object) -> np.ndarray:
    """Numbers as a numpy array that can be compared: integers stay exact, all floats become
    float64.
    """
    if type(value) is int:
        return np.asarray(value if abs(value) < 2**63 else math.inf if value > 0 else -math.inf)
    array = (
        (value.double() if value.is_floating_point() else value).numpy()
        if type(value) is torch.Tensor
        else value
    )
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _first(mask: np.ndarray) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(map(int, np.argwhere(mask)[0]))


def _at(where: tuple) -> str:
    return f" at [{', '.join(map(str, where))}]" if where else ""


def _number(value: object, digits: int = 6) -> str:
    return in_digits(value, digits) if isinstance(value, (float, np.floating)) else str(value)


def _apart(came: object, expected: object) -> tuple[str, str]:
    """Two numbers that differ, with six digits or as many as show it."""
    shown = ((_number(came, digits), _number(expected, digits)) for digits in range(6, 18))
    return next((pair for pair in shown if pair[0] != pair[1]), (str(came), str(expected)))


def _both(came: object, expected: object) -> str:
    return two_lines(readable(came, GIVEN), readable(expected, GIVEN))


def _rows(came: np.ndarray, expected: np.ndarray) -> list[str]:
    """Two small arrays that differ, with four decimals or as many as show it."""
    if came.dtype.kind == expected.dtype.kind == "f":
        came, expected = came + 0.0, expected + 0.0  # no "-0."
    both: list[str] = []
    for precision in range(4, 18):
        both = [
            np.array2string(one, precision=precision, suppress_small=True, separator=", ")
            for one in (came, expected)
        ]
        if both[0] != both[1]:
            break
    return [text.replace("\n", "\n         ") for text in both]
