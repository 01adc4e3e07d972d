"""Our own functions, called back by a student: what they may be given, and what that may cost us.

They run on the checker's side of the wall, where a student's sizes would otherwise be our memory
and our time: two vectors that broadcast become a matrix. So what is passed is counted first, the
address space is limited while ours runs, and a timer ends it; its time is the call's time. Whatever
is left ends the checker's own process at worst, which serves one submission and may die.
"""

import builtins
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from autograder.checks.inputs.callables import answer, check_sizes
from autograder.common.memory_limit import memory_limit
from autograder.sandbox.api.limits import Limits
from autograder.sandbox.protocol import frames

REMEMBERED_TEXT = 4000  # characters of an error of ours that a student may see


class TooSlow(BaseException):
    """Our function did not end in the time that the student's call had left; no `except Exception`
    of ours hides it.
    """


class Callbacks:
    """The functions that a student's side may ask for now, by number.

    Numbers are never given twice.

    A function can be asked for during the call that it was given to; one that was given to an
    object that the student keeps, until the stage ends.
    """

    def __init__(self, limits: Limits):
        self._limits, self._functions, self._next = limits, {}, 0

    def forget(self) -> None:
        """Another stage begins."""
        self._functions.clear()

    @contextmanager
    def during(self, lasting: bool) -> Iterator[Callable[[Callable], int]]:
        """For one request: gives the function that numbers a callable.

        lasting: they outlive the request.
        """
        given = []

        def register(function: Callable) -> int:
            self._next += 1
            self._functions[self._next] = function
            given.append(self._next)
            return self._next

        try:
            yield register
        finally:
            if not lasting:
                for number in given:
                    del self._functions[number]

    def answer(self, message: dict, seconds: float) -> bytes:
        """The frame that answers a call back, by the rules of `guarded` in
        autograder/checks/student/local.py.

        Raises TooSlow after `seconds`. What else goes wrong, memory included, is an error that the
        student sees.
        """
        number, args, kwargs = message.get("callback"), message.get("args"), message.get("kwargs")
        try:
            if type(number) is not int or type(args) is not tuple or type(kwargs) is not dict:
                raise ValueError("there is no such function")
            if number not in self._functions:
                raise RuntimeError(
                    "this function is only there while the check that gave it is running"
                )
            if any(type(name) is not str for name in kwargs):
                raise TypeError("keywords must be strings")
            check_sizes([*args, *kwargs.values()], self._limits.callback_numbers)
            with within(seconds, self._limits.callback_memory):
                frame = frames.pack(
                    {"do": "value", "value": answer(self._functions[number], args, kwargs)}
                )
            if len(frame) > self._limits.frame_bytes:
                raise ValueError(
                    f"the answer has {len(frame):,} bytes; at most {self._limits.frame_bytes:,} are"
                    " sent"
                )
            return frame
        except Exception as error:
            kind = (
                type(error).__name__
                if getattr(builtins, type(error).__name__, None) is type(error)
                else "RuntimeError"
            )
            text = str(error).encode("utf-8", "replace").decode()[:REMEMBERED_TEXT]
            return frames.pack({"do": "error", "type": kind, "text": text})


@contextmanager
def within(seconds: float, memory: int) -> Iterator[None]:
    """Limit the address space of this process to `memory` bytes more than now, and end the block
    after `seconds`.

    The timer needs the main thread, where the grader's workers run; the address space needs Linux.
    """
    timed = threading.current_thread() is threading.main_thread()
    if seconds <= 0:
        raise TooSlow
    before = signal.signal(signal.SIGALRM, _ring) if timed else None
    pause = signal.setitimer(signal.ITIMER_REAL, seconds)[0] if timed else 0.0
    try:
        with memory_limit(memory):
            yield
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, pause)
            signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: FrameType | None) -> None:
    raise TooSlow
