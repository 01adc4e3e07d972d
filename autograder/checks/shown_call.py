"""A call as a student would write it, with its arguments: the input on which a stage failed.

Shown only where all arguments are plain and short; otherwise the sizes that a check names say more.
"""

from collections.abc import Sequence

import numpy as np
import torch

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.values import PLAIN, in_digits, readable
from autograder.checks.student.requests import Call, Returned

WIDTH = 120  # characters of a call; a longer one is not shown
NUMBERS = 12  # of one argument at most
FEW = 16  # numbers in all arguments together, with which a call may be longer:
LONG = 200


def detail_of(failed: CheckFailed, calls: Sequence[Call]) -> str:
    """The detail of a failure, with the call that gave the wrong value in place of its sizes."""
    if failed.asked is None:
        return failed.detail
    written = shown_call(call_that_gave(failed.asked.whole, calls))
    sizes = failed.asked.given_words()
    return f"{written}\n{failed.detail.removeprefix(sizes)}" if written else failed.detail


def call_that_gave(value: object, calls: Sequence[Call]) -> Call | None:
    """The call whose result is this object; for a number or a text, only the last call may be."""
    among = calls if type(value) in PLAIN else calls[-1:]
    found = (
        call
        for call in reversed(among)
        if isinstance(call.outcome, Returned) and call.outcome.value is value
    )
    return next(found, None)


def shown_call(call: Call | None) -> str:
    """ "layer_norm([2, 2, 6, 6], [1, 1, 1, 1], 1e-12)", or "" where that would be long."""
    if call is None or not call.again:
        return ""
    parts = [shown(one) for one in call.args]
    parts += [f"{name}={shown(one)}" for name, one in call.kwargs.items() if shown(one)]
    text = f"{call.name}({', '.join(parts)})"
    complete = all(parts) and len(parts) == len(call.args) + len(call.kwargs)
    return text if complete and len(text) <= (LONG if _numbers(call) <= FEW else WIDTH) else ""


def call_in_shapes(call: Call) -> str:
    """ "attention((1, 1, 2, 3), (1, 1, 4, 3), (1, 1, 4, 3), None)": shapes in place of tensors; ""
    for anything but a call with plain arguments.
    """
    if not call.again or call.kwargs:
        return ""
    parts = [
        str(tuple(one.shape)) if isinstance(one, (torch.Tensor, np.ndarray)) else shown(one)
        for one in call.args
    ]
    text = f"{call.name}({', '.join(parts)}), with shapes for tensors"
    return text if all(parts) and len(text) <= WIDTH else ""


def shown(value: object) -> str:
    """One argument, numbers with four digits; "" for what has no short text."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return _nested(value.tolist()) if 0 < value.reshape(-1).shape[0] <= NUMBERS else ""
    if type(value) in (list, tuple):
        return _nested(value)
    if value is None or type(value) in (bool, int, float, str):
        return in_digits(value, 4) if type(value) is float else readable(value)
    return ""


def _numbers(call: Call) -> int:
    """How many elements the tensors and arrays among the arguments have."""
    among = (*call.args, *call.kwargs.values())
    return sum(
        one.reshape(-1).shape[0] for one in among if isinstance(one, (torch.Tensor, np.ndarray))
    )


def _nested(value: object) -> str:
    if type(value) in (list, tuple):
        left, right = "[]" if type(value) is list else "()"
        items = [_nested(item) for item in value]
        comma = "," if type(value) is tuple and len(items) == 1 else ""
        return f"{left}{', '.join(items)}{comma}{right}" if all(items) or not items else ""
    return shown(value)
