"""The same question once more, with tensors that are views of larger ones: a right answer has the
same numbers.

Every tensor argument comes transposed in memory, with guards between its numbers: what every slice
and every `.T` of a caller may look like; and then the first of them alone. Who answers the plain
call and not this one makes a slip, as with a type or a dtype. Asked after each stage that passes,
about its call with the most axes, and of those the most numbers, and never about arguments that are
made to be written into.
"""

from torch import Tensor

from autograder.checks.assertions.slips import AGAIN
from autograder.checks.assertions.values import PLAIN, SCALARS, same
from autograder.checks.inputs.buffers import Buffer
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Call, Request, Returned, StudentError

FAILS = (
    "Your function fails where a tensor is a view of a larger one, such as a transpose or every"
    " second number: take `reshape` in place of `view`."
)
DIFFERS = (
    "Your function answers otherwise where a tensor is a view of a larger one, such as a transpose"
    " or every second number: read the tensor by its indices, and not the memory under it."
)
ROUNDING = {"rtol": 1e-3, "atol": 1e-4}  # sums over another layout add up in another order


def slip_with_views(student: Student, calls: list[Call]) -> str:
    """The sentence of the slip that views bring to light, or ""."""
    asked = [call for call in calls if is_plain(call) and _numbers(call)]
    if not asked:
        return ""
    call = max(asked, key=lambda one: (_axes(one), _numbers(one)))
    views = {name: strided(value) for name, value in call.kwargs.items()}
    first = next(
        (place for place, value in enumerate(call.args) if strided(value) is not value),
        len(call.args),
    )
    alone = (
        *call.args[:first],
        *map(strided, call.args[first : first + 1]),
        *call.args[first + 1 :],
    )
    try:
        for args, kwargs in ((tuple(map(strided, call.args)), views), (alone, call.kwargs)):
            came = student.perform(Request("call", call.name, call.name, args=args, kwargs=kwargs))
            if not same(came.value, call.outcome.value, **ROUNDING):
                break
        else:
            return ""
        again = student.perform(
            Request("call", call.name, call.name, args=call.args, kwargs=call.kwargs)
        )
    except StudentError as error:
        return FAILS if error.kind == "error" else ""
    return DIFFERS if same(again.value, call.outcome.value, **ROUNDING) else AGAIN


def strided(value: object) -> object:
    """A tensor with axes as a Buffer whose axes are turned round in memory, every second number a
    guard; else `value`.

    In lists, tuples and dictionaries too: a new one where there is such a tensor in it.
    """
    if type(value) is Tensor:
        return Buffer(value, order=range(value.dim())[::-1], spread=2) if value.dim() else value
    if not any(one.dim() for one in _tensors(value)):
        return value
    return (
        {key: strided(one) for key, one in value.items()}
        if type(value) is dict
        else type(value)(map(strided, value))
    )


def is_plain(call: Call) -> bool:
    """Whether a function answered, with plain values as arguments and nothing else: it may be asked
    again.
    """
    given = [*call.args, *call.kwargs.values()]
    return (
        call.again
        and isinstance(call.outcome, Returned)
        and all(one is None or type(one) in SCALARS or type(one) in PLAIN for one in given)
    )


def _axes(call: Call) -> int:
    return max(one.dim() for one in _tensors([*call.args, *call.kwargs.values()]))


def _numbers(call: Call) -> int:
    return sum(one.numel() for one in _tensors([*call.args, *call.kwargs.values()]) if one.dim())


def _tensors(value: object) -> list[Tensor]:
    """All tensors in a value."""
    if type(value) is Tensor:
        return [value]
    inner = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return [one for item in inner for one in _tensors(item)]
