"""What a configuration may say: each setting is of a kind, and one check knows the
kinds.

    @dataclass(frozen=True)
    class TinyConfig(Settings):
        hidden_size: Count = 64
        dropout: Rate = 0.1

`TinyConfig(hidden_size=0)` raises ModelInputError: "hidden_size is 0: give int, 1 or
more". A value that is wrong is refused where it is written, before a layer divides by
it, runs zero times, or broadcasts.

Not here: whether a model of these sizes fits into memory.
"""

import math
import types
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from reference_impl.layers.checks import ModelInputError, check_heads
from reference_impl.layers.feed_forward import ACTIVATIONS


@dataclass(frozen=True)
class Kind:
    """What a value must be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def whole(low: int, words: str) -> Kind:
    """A whole number from `low` on; True and 3.0 are none."""
    return Kind(
        words,
        lambda value: (
            isinstance(value, Integral) and not isinstance(value, bool) and value >= low
        ),
    )


def number(words: str, holds: Callable[[float], bool]) -> Kind:
    """A finite number with a property; True is none."""
    return Kind(
        words,
        lambda value: (
            isinstance(value, Real)
            and not isinstance(value, bool)
            and _finite(value)
            and holds(value)
        ),
    )


def _finite(value: Real) -> bool:
    """Whether a float can hold it: a whole number of 400 digits is too large
    for one.
    """
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


Count = Annotated[int, whole(1, "int, 1 or more")]
CountOrZero = Annotated[int, whole(0, "int, 0 or more")]
Positive = Annotated[float, number("a number above 0", lambda value: value > 0)]
AtLeastZero = Annotated[float, number("a number, 0 or more", lambda value: value >= 0)]
Rate = Annotated[
    float,
    number("a number from 0 up to, but not including, 1", lambda value: 0 <= value < 1),
]
Share = Annotated[
    float, number("a number above 0, up to 1", lambda value: 0 < value <= 1)
]
Activation = Annotated[
    str,
    Kind(
        f"one of {', '.join(ACTIVATIONS)}",
        lambda value: isinstance(value, str) and value in ACTIVATIONS,
    ),
]


def kinds_of(annotation: Any) -> list[Kind] | None:
    """The kinds that a setting may be of, by its annotation; None for one that its own
    class checks.
    """
    if annotation is type(None):
        return [Kind("None", lambda value: value is None)]
    if annotation is bool:
        return [Kind("True or False", lambda value: isinstance(value, bool))]
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        return [
            Kind(
                " or ".join(map(repr, choices)),
                lambda value: isinstance(value, str) and value in choices,
            )
        ]
    if get_origin(annotation) is Annotated:
        return [
            kind for kind in annotation.__metadata__ if isinstance(kind, Kind)
        ] or None
    if get_origin(annotation) in (Union, types.UnionType):
        each = [kinds_of(one) for one in get_args(annotation)]
        return None if None in each else [kind for kinds in each for kind in kinds]
    return None


def is_of(value: Any, annotation: Any) -> bool:
    """Whether a value is of one of the kinds that its setting may be of."""
    kinds = kinds_of(annotation)
    return kinds is None or any(kind.holds(value) for kind in kinds)


def described(annotation: Any) -> str:
    """The kinds that a setting may be of, in words."""
    return " or ".join(kind.words for kind in kinds_of(annotation) or ())


class Settings:
    """A configuration that is checked when it is made: every setting by its kind, then
    all of them together.
    """

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if not is_of(value, field.type):
                raise ModelInputError(
                    f"{field.name} is {value!r}: give {described(field.type)}"
                )
        self.check_together()

    def check_together(self) -> None:
        """Refuse settings that don't fit each other: here heads that don't divide."""
        num_heads, width = (
            getattr(self, "num_heads", None),
            getattr(self, "hidden_size", None),
        )
        if num_heads is None or width is None:
            return
        head_dim = getattr(self, "head_dim", None)
        check_heads(
            width if head_dim is None else num_heads * head_dim,
            num_heads,
            getattr(self, "num_kv_heads", None) or num_heads,
        )
