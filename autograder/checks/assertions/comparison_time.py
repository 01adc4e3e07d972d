"""Whose time a comparison takes: in grading it is charged to the submission whose answer is
compared.

What an answer costs to compare is the student's choice: its size, and how its parts collide.
`autograder.sandbox.monitor.time_account` keeps the account; at home nobody counts.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps

_charging: Callable[[], AbstractContextManager] = nullcontext


@contextmanager
def charged_to(charging: Callable[[], AbstractContextManager]) -> Iterator[None]:
    """Within the block, every comparison runs in a context that `charging` makes."""
    global _charging
    before, _charging = _charging, charging
    try:
        yield
    finally:
        _charging = before


def compares(function: Callable) -> Callable:
    """Decorator of what looks at a student's answer."""

    @wraps(function)
    def counted(*args: object, **kwargs: object) -> object:
        with _charging():
            return function(*args, **kwargs)

    return counted
