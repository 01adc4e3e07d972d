"""Mistakes that wrap a right function: what no change of its syntax tree can make, and a check must
notice.

`wrapped(...)` gives those that could be seen in some calls: work in another precision, an answer of
another type, changed arguments, results that are written into again, an option that is kept, an
answer known by a part of the question, work for some sizes only, texts that are changed on the way.
What cannot be seen from outside (a view in place of a copy, a tensor that is not contiguous) is not
here: arguments and results cross as plain copies.
"""

import copy
import unicodedata
from collections.abc import Callable, Iterator

from autograder.authoring.operators import Mutant

LONG = 100  # "at most some hundred entries" say the statements where they name no size


def wrapped(source: str, name: str, calls: list[tuple[tuple, object]]) -> list[Mutant]:
    """The mutants that wrap a function, as far as they could be seen in its `calls`: (arguments,
    result) of each.
    """

    def fits(values: object, wanted: Callable) -> bool:
        return any(map(wanted, _tensors(values)))

    found = []
    for wrapper, (title, applies, _) in WRAPPERS.items():
        if any(applies(args, value, fits) for args, value in calls):
            found.append(Mutant(f"{name} {title}", 1, source, wrapper))
    if len({len(args) for args, _ in calls}) > 1:  # some leave out what has a default
        found.append(Mutant(f"{name} {WRAPPERS['option'][0]}", 1, source, "option"))
    return found


def _tensors(values: object) -> Iterator:
    import torch

    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _each(change: Callable, values: object) -> object:
    """`change` applied to every tensor of a result."""
    import torch

    if isinstance(values, torch.Tensor):
        return change(values)
    return (
        type(values)(_each(change, value) for value in values)
        if isinstance(values, (list, tuple))
        else values
    )


def _in_half(function: Callable) -> Callable:
    import torch

    def lower(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.half().to(tensor.dtype) if tensor.is_floating_point() else tensor

    return lambda *args, **more: _each(
        lower, function(*(_each(lower, arg) for arg in args), **more)
    )


def _as_double(function: Callable) -> Callable:
    return lambda *args, **more: _each(
        lambda one: one.double() if one.is_floating_point() else one, function(*args, **more)
    )


def _as_tensor(function: Callable) -> Callable:
    import torch

    def answer(*args: object, **more: object) -> object:
        value = function(*args, **more)
        return torch.tensor(value) if type(value) in (int, float) else value

    return answer


def _writing(function: Callable) -> Callable:
    def answer(*args: object, **more: object) -> object:
        value = function(*args, **more)
        for arg in args:
            for tensor in _tensors(arg):
                tensor.copy_(tensor == 0)  # another number whatever it was, for every dtype
            if isinstance(arg, list):
                arg.append([0])
        return value

    return answer


def _into_one_buffer(function: Callable) -> Callable:
    import torch

    buffers: dict[tuple, torch.Tensor] = {}

    def write(tensor: torch.Tensor, place: object) -> torch.Tensor:
        buffer = buffers.setdefault((place, tensor.shape, tensor.dtype), torch.empty_like(tensor))
        return buffer.copy_(tensor)

    def answer(*args: object, **more: object) -> object:
        value = function(*args, **more)
        if isinstance(value, dict):
            return {
                key: write(one, key) if isinstance(one, torch.Tensor) else one
                for key, one in value.items()
            }
        places = iter(range(sum(1 for _ in _tensors(value))))
        return _each(lambda one: write(one, next(places)), value)

    return answer


def _keeping_options(function: Callable) -> Callable:
    kept: list = []

    def answer(*args: object, **more: object) -> object:
        kept[:] = [*args, *kept[len(args) :]]
        return function(*kept, **more)

    return answer


def _known_by(part: Callable) -> Callable:
    """Answers are kept by a part of the question, as a table would that was given too
    short a key.
    """

    def wrap(function: Callable) -> Callable:
        kept: dict[str, object] = {}

        def answer(*args: object, **more: object) -> object:
            key = repr(part(args))
            if key not in kept:
                kept[key] = function(*args, **more)
            return copy.deepcopy(kept[key])

        return answer

    return wrap


def _contents(value: object) -> object:
    if callable(value):  # a stand-in of its own in each call, whose address says nothing
        return "a function"
    return value.tolist() if hasattr(value, "tolist") else value


def _size(value: object) -> object:
    if hasattr(value, "shape"):
        return tuple(value.shape), value.dtype
    return len(value) if isinstance(value, (str, list, tuple, dict)) else _contents(value)


def _texts(change: Callable, value: object) -> object:
    """`change` applied to every text of a value."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_texts(change, key): _texts(change, one) for key, one in value.items()}
    return (
        type(value)(_texts(change, one) for one in value)
        if isinstance(value, (list, tuple))
        else value
    )


def _reading(change: Callable) -> Callable:
    """A text that is the whole argument is changed before the work: lists and tables stay as they
    are.
    """
    return lambda function: (
        lambda *args, **more: function(
            *(change(one) if isinstance(one, str) else one for one in args), **more
        )
    )


def _saying(change: Callable) -> Callable:
    return lambda function: lambda *args, **more: _texts(change, function(*args, **more))


def _form(name: str) -> Callable:
    return lambda text: unicodedata.normalize(name, text)


def _reads(args: tuple, value: object, fits: Callable) -> bool:
    """Whether a text came in."""
    return any(isinstance(one, str) for one in args)


def _longest(value: object) -> int:
    """The longest axis, list or text of an argument, those inside a list too."""
    if hasattr(value, "shape"):
        return max(value.shape, default=0)
    inner = map(_longest, value) if isinstance(value, (list, tuple)) else ()
    return max(len(value), *inner, 0) if isinstance(value, (str, list, tuple, dict)) else 0


def _short(function: Callable) -> Callable:
    def answer(*args: object, **more: object) -> object:
        if max(map(_longest, args), default=0) > LONG:
            raise ValueError("too long")
        return function(*args, **more)

    return answer


def _only(fits: Callable) -> Callable:
    def wrap(function: Callable) -> Callable:
        def answer(*args: object, **more: object) -> object:
            if not all(map(fits, _tensors(list(args)))):
                raise ValueError("not for this tensor")
            return function(*args, **more)

        return answer

    return wrap


def _axes(number: int) -> Callable:
    return lambda args, value, fits: fits(list(args), lambda tensor: tensor.dim() >= number)


# Title, whether it could be seen in a call (arguments, result), and the wrapper. Whether calls
# leave options out is seen in all of them together.
WRAPPERS: dict[str, tuple[str, Callable, Callable]] = {
    "half": (
        "works in half precision",
        lambda args, value, fits: fits(list(args), lambda one: one.is_floating_point()),
        _in_half,
    ),
    "double": (
        "answers in double precision",
        lambda args, value, fits: fits(value, lambda one: one.is_floating_point()),
        _as_double,
    ),
    "tensor": (
        "answers with a tensor for a number",
        lambda args, value, fits: type(value) in (int, float) and args,
        _as_tensor,
    ),
    "writes": (
        "changes its arguments",
        lambda args, value, fits: (
            fits(list(args), lambda one: True) or any(type(arg) is list for arg in args)
        ),
        _writing,
    ),
    "buffer": (
        "answers into one buffer for each shape",
        lambda args, value, fits: fits(
            list(value.values()) if isinstance(value, dict) else value, lambda one: True
        ),
        _into_one_buffer,
    ),
    "option": (
        "keeps an option for the next call",
        lambda args, value, fits: False,
        _keeping_options,
    ),
    **{
        f"without-{place}": (
            f"keeps its answers by all arguments but number {place + 1}",
            lambda args, value, fits, place=place: len(args) > max(place, 1),
            _known_by(
                lambda args, place=place: [
                    _contents(one) for at, one in enumerate(args) if at != place
                ]
            ),
        )
        for place in range(4)
    },
    "sizes": (
        "keeps its answers by the sizes of its arguments",
        lambda args, value, fits: any(_longest(one) for one in args),
        _known_by(lambda args: list(map(_size, args))),
    ),
    "short": (
        f"works for up to {LONG} of anything",
        lambda args, value, fits: any(_longest(one) for one in args),
        _short,
    ),
    "small": ("makes the text small", _reads, _reading(str.lower)),
    "stripped": ("drops spaces at the ends of the text", _reads, _reading(str.strip)),
    "marked": (
        "drops a byte-order mark",
        _reads,
        _reading(lambda text: text.removeprefix("\ufeff")),
    ),
    "composed": ("composes the text (NFC)", _reads, _reading(_form("NFC"))),
    "decomposed": ("takes the text apart (NFD)", _reads, _reading(_form("NFD"))),
    "said": (
        "composes what it returns (NFC)",
        lambda args, value, fits: isinstance(value, str),
        _saying(_form("NFC")),
    ),
    "square": (
        "works for square tables only",
        lambda args, value, fits: fits(list(args), lambda one: one.dim() == 2),
        _only(lambda one: one.dim() != 2 or one.shape[0] == one.shape[1]),
    ),
    "one": (
        "works for a first axis of 1 only",
        _axes(1),
        _only(lambda one: one.dim() == 0 or one.shape[0] == 1),
    ),
    "many": (
        "fails for a first axis of 1",
        _axes(1),
        _only(lambda one: one.dim() == 0 or one.shape[0] != 1),
    ),
    "middle": (
        "fails for a middle axis of 1",
        _axes(3),
        _only(lambda one: one.dim() < 3 or 1 not in one.shape[1:-1]),
    ),
    "whole": (
        "works for tensors in one piece of memory only",
        _axes(1),
        _only(lambda one: one.is_contiguous()),
    ),
    "last": (
        "fails for a last axis of 1",
        _axes(2),
        _only(lambda one: one.dim() < 2 or one.shape[-1] != 1),
    ),
}
