"""Callables of ours that a student gets as arguments: what they may be asked, and how often.

Whatever a student passes is copied, measured and counted here before the function sees it. A plain
function may be handed over as it is; `Watched` adds a budget of calls and remembers what was asked.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from autograder.checks.assertions.values import cross

MAX_RECORDED = 10_000  # calls whose arguments are kept


class Watched:
    """`function` with a budget.

    `calls` counts; `asked` holds the positional arguments of each call; `over` is True once a call
    was refused because the budget was used up. The student cannot hide that: the count is kept
    here.

    calls: how many are allowed, None for any number. numbers: in the arguments of one call, counted
    as they broadcast.
    """

    def __init__(self, function: Callable, calls: int | None = None, numbers: int | None = None):
        self.function, self.budget, self.numbers = function, calls, numbers
        self.calls, self.over, self.asked = 0, False, []

    def __call__(self, *args: object, **kwargs: object) -> object:
        if self.budget is not None and self.calls >= self.budget:
            self.over = True
            raise RuntimeError(
                f"this function may be called {self.budget} times, and that is used up"
            )
        self.calls += 1
        if self.numbers is not None:
            check_sizes([*args, *kwargs.values()], self.numbers)
        if len(self.asked) < MAX_RECORDED:
            self.asked.append(args)
        return self.function(*args, **kwargs)


def afresh(value: object) -> object:
    """A Watched as before its first call, for another who is asked the same; anything else as it
    is.
    """
    return (
        Watched(value.function, value.budget, value.numbers)
        if isinstance(value, Watched)
        else value
    )


def answer(function: Callable, args: tuple, kwargs: dict) -> object:
    """Call our `function` with copies of what a student passed; a copy of the result.

    Raises whatever goes wrong.
    """
    return cross(
        function(*map(cross, args), **{name: cross(value) for name, value in kwargs.items()})
    )


def check_sizes(values: Sequence[object], most: int) -> None:
    """Refuse more than `most` numbers in all, and shapes that broadcast to more.

    Raises ValueError, for the student.
    """
    shapes = list(_shapes(values))
    total = sum(map(math.prod, shapes))
    try:
        together = math.prod(np.broadcast_shapes(*shapes[:32])) if len(shapes) > 1 else 0
    except ValueError:
        together = 0  # they do not go together; our function will say so
    if max(total, together) > most:
        raise ValueError(
            f"you passed {max(total, together):,} numbers to a function of the check, counted as"
            f" they broadcast; it takes at most {most:,}"
        )


def _shapes(values: Sequence[object]) -> Iterator[tuple[int, ...]]:
    for value in values:
        if isinstance(value, (torch.Tensor, np.ndarray)):
            yield tuple(value.shape)
        elif isinstance(value, dict):
            yield from _shapes(list(value.values()))
        elif isinstance(value, (list, tuple)):
            yield (len(value),)
            yield from _shapes(value)


def exceeded(arguments: object) -> Watched | None:
    """The first Watched among the arguments of a call whose budget is used up."""
    if isinstance(arguments, Watched):
        return arguments if arguments.over else None
    if type(arguments) is dict:
        arguments = list(arguments.values())
    if type(arguments) in (list, tuple):
        return next((found for item in arguments if (found := exceeded(item))), None)
    return None
