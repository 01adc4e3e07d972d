"""Signatures checked at every call, in a tenth of the time that jaxtyping's own wrapper takes.

`--jaxtyping-packages` (addopts in pyproject.toml) has jaxtyping wrap each function of the package.
Its wrapper binds the arguments, has beartype look at them twice, and is made anew whenever a
function inside another is defined: in a tokenizer's loops that takes a hundred times longer than
the work. `install` puts a shorter one in its place: beartype looks once, inside jaxtyping's table
of dimensions where the signature names shapes, and is set up once a function.
"""

import dataclasses
import functools
import inspect
import types
import typing

import jaxtyping
from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeException

thorough = jaxtyping.jaxtyped
with_checks = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))
made: dict[types.CodeType, tuple[dict, types.FunctionType | None, bool]] = {}
"""By a function's code: its hints, the function with beartype's checks or None, whether shapes are
named."""


def install() -> None:
    """Have the import hook of jaxtyping call `checked`. Before any checked package is imported."""
    jaxtyping.jaxtyped = checked


def checked(fn=None, *, typechecker):
    """What `jaxtyping.jaxtyped` does with beartype, for functions and dataclasses."""
    if fn is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isclass(fn) and dataclasses.is_dataclass(fn) and "__init__" in vars(fn):
        fn.__init__ = checked(fn.__init__, typechecker=typechecker)
        return fn
    if not inspect.isfunction(fn):
        return thorough(fn, typechecker=typechecker)
    strict, shapes = strictly(fn)
    if strict is None:
        return thorough(fn, typechecker=typechecker)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        if jaxtyping.config.jaxtyping_disable:
            return fn(*args, **kwargs)
        if not shapes:
            return strict(*args, **kwargs)
        with thorough("context"):
            return strict(*args, **kwargs)

    return wrapped


def strictly(fn):
    """The function with beartype's checks, or None if it can't read a hint, and whether hints name
    shapes.

    A function that is defined inside another is defined at each call of that one: the check is made
    once, and later ones get it with their own function in the place of the first.
    """
    kept = made.get(fn.__code__)
    if kept is None or kept[0] != fn.__annotations__:
        made[fn.__code__] = kept = fn.__annotations__, *template(fn)
    _, first, shapes = kept
    if first is None:
        return None, shapes
    if not first.__kwdefaults__ or "__beartype_func" not in first.__kwdefaults__:
        return fn, False  # there is nothing to check
    again = types.FunctionType(first.__code__, first.__globals__, fn.__name__, first.__defaults__)
    again.__kwdefaults__ = {**first.__kwdefaults__, "__beartype_func": fn}
    return again, shapes


def template(fn):
    """A copy of the function with beartype's checks; hints that can't be read yet count as Any, as
    in jaxtyping.
    """
    hints = {name: read(hint, fn.__globals__) for name, hint in fn.__annotations__.items()}
    copy = types.FunctionType(
        fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
    )
    copy.__kwdefaults__, copy.__annotations__, copy.__qualname__ = (
        fn.__kwdefaults__,
        hints,
        fn.__qualname__,
    )
    try:
        return with_checks(copy), any(map(holds_shape, hints.values()))
    except (BeartypeException, jaxtyping.TypeCheckError):
        return None, True


def read(hint, names):
    """A hint without quotes."""

    def holder(value: hint):
        """Holds the hint where `get_type_hints` finds it."""

    try:
        return typing.get_type_hints(holder, names, include_extras=True)["value"]
    except Exception:  # a class that is being defined, or that is imported for type checkers only
        return typing.Any


def holds_shape(hint) -> bool:
    """Whether an array with dimensions stands anywhere in a hint."""
    if isinstance(hint, list | tuple):
        return any(map(holds_shape, hint))
    if inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return any(map(holds_shape, typing.get_args(hint)))
