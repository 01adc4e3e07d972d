"""Our own functions, called back by a student: what they may be given, and what that may cost us.

They run on the checker's side of the wall, where a student's sizes would otherwise be our memory and our time: two
vectors that broadcast become a matrix. So what is passed is counted first, the address space is limited while ours
runs, and a timer ends it; its time is the call's time. Whatever is left ends the checker's own process at worst, which
serves one submission and may die.
"""
import builtins
import math
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import numpy as np
import torch

from autograder.checks.values import cross
from autograder.sandbox import frames
from autograder.sandbox.limits import Limits

REMEMBERED_TEXT = 4000      # characters of an error of ours that a student may see


class TooSlow(BaseException):
    """Our function did not end in the time that the student's call had left; no `except Exception` of ours hides it."""


def answer(message: dict, ours: Sequence[Callable], limits: Limits, seconds: float) -> bytes:
    """The frame that answers a call back, by the rules of `guarded` in autograder/checks/student.py.

    Raises TooSlow after `seconds`. What else goes wrong, memory included, is an error that the student sees.
    """
    number, args, kwargs = message.get("callback"), message.get("args"), message.get("kwargs")
    try:
        if type(number) is not int or not 0 <= number < len(ours) or type(args) is not tuple or type(kwargs) is not dict:
            raise ValueError("there is no such function")
        check_sizes([*args, *kwargs.values()], limits.callback_numbers)
        with within(seconds, limits.callback_memory):
            value = cross(ours[number](*map(cross, args), **{key: cross(item) for key, item in kwargs.items()}))
        return frames.pack({"do": "value", "value": value})
    except Exception as error:
        kind = type(error).__name__ if getattr(builtins, type(error).__name__, None) is type(error) else "RuntimeError"
        text = str(error).encode("utf-8", "replace").decode()[:REMEMBERED_TEXT]
        return frames.pack({"do": "error", "type": kind, "text": text})


def check_sizes(values: Sequence[object], most: int) -> None:
    """Refuse more than `most` numbers in all, and shapes that broadcast to more. Raises ValueError, for the student."""
    shapes = list(_shapes(values))
    total = sum(map(math.prod, shapes))
    try:
        together = math.prod(np.broadcast_shapes(*shapes[:32])) if len(shapes) > 1 else 0
    except ValueError:
        together = 0        # they do not go together; our function will say so
    if max(total, together) > most:
        raise ValueError(f"you passed {max(total, together):,} numbers to a function of the check, counted as they "
                         f"broadcast; it takes at most {most:,}")


def _shapes(values: Sequence[object]) -> Iterator[tuple[int, ...]]:
    for value in values:
        if isinstance(value, (torch.Tensor, np.ndarray)):
            yield tuple(value.shape)
        elif isinstance(value, dict):
            yield from _shapes(list(value.values()))
        elif isinstance(value, (list, tuple)):
            yield (len(value),)
            yield from _shapes(value)


@contextmanager
def within(seconds: float, memory: int) -> Iterator[None]:
    """Limit the address space of this process to `memory` bytes more than now, and end the block after `seconds`.

    The timer needs the main thread, where the grader's workers run; the address space needs Linux.
    """
    timed = threading.current_thread() is threading.main_thread()
    if seconds <= 0:
        raise TooSlow
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        ceiling = mapped + memory if hard == resource.RLIM_INFINITY else min(mapped + memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))
    before = signal.signal(signal.SIGALRM, _ring) if timed else None
    pause = signal.setitimer(signal.ITIMER_REAL, seconds)[0] if timed else 0.0
    try:
        yield
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, pause)
            signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _ring(number: int, frame: FrameType | None) -> None:
    raise TooSlow
