"""A student whose functions live in this process: at home in a notebook, and for what the course
itself wrote.

What passes is the same as through the sandbox's pipe: the same executor carries a request out, on
copies of the arguments, and what comes back is looked at by the same rules.
"""

import math
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager

from autograder.checks.assertions.values import cross
from autograder.checks.inputs import arguments
from autograder.checks.inputs.callables import answer
from autograder.checks.restrictions.guard import Paused
from autograder.checks.student.base import MIB, Student
from autograder.checks.student.executor import Executor
from autograder.checks.student.failed import builtin_exception
from autograder.checks.student.requests import Request, Returned, StudentError, lowered, returned


class OurNamespace(dict):
    """Functions of the course's own (a known mistake, a mutant): what is withheld from a student is
    not withheld from them.
    """


class LocalStudent(Student):
    """A student whose functions live in this process, in `namespace` (a notebook's globals, or just
    functions).

    For code that is trusted by whoever runs it: there is no isolation and no time limit, and a cap
    on memory is kept by looking at the tensors that a call made.
    """

    def __init__(self, namespace: Mapping[str, object]):
        super().__init__()
        self._executor = Executor(namespace, self._stand_in, (KeyboardInterrupt,))
        self._ours: dict[int, Callable] = {}
        self._memory: int | None = None
        self._ours_to_answer = isinstance(namespace, OurNamespace)

    def new_stage(self) -> None:
        """Another stage begins: our callables and the student's objects are forgotten."""
        super().new_stage()
        self._ours.clear()

    def perform(self, request: Request) -> Returned:
        """Carry it out on copies of the arguments, in this process."""
        self._executor.begin(self.stage)
        if request.of is not None and request.of.number not in self._executor.objects:
            raise ValueError(
                f"`{request.of._name}` was made in an earlier stage, or closed; objects live for"
                " one stage"
            )
        low = lowered(request, self._register)
        if self._ours_to_answer:
            low["withheld"] = {}
        if self._memory is not None:
            low["count"] = True
        if low.get("compile") and interprets():
            return Returned([])
        delivered = self._deliver(low)
        reply = self._executor.carry_out(delivered)
        if reply["say"] == "error":
            raise StudentError(reply["kind"], reply["text"])
        peak = reply.get("counted", {}).get("peak", 0)
        if self._memory is not None and peak > self._memory:
            raise StudentError(
                "memory",
                f"`{request.label}` holds {math.ceil(10 * peak / MIB) / 10:g} MiB of tensors at"
                f" once; {round(self._memory / MIB, 1):g} MiB are there for this call.",
            )
        return returned(request, low["args"], reply)

    @contextmanager
    def cap(self, memory: int):
        """Calls in this block may hold `memory` bytes of tensors at once."""
        before, self._memory = self._memory, memory
        try:
            yield
        finally:
            self._memory = before

    def _register(self, function: Callable) -> int:
        self._ours[len(self._ours)] = function
        return len(self._ours) - 1

    def _stand_in(self, number: int) -> Callable:
        return guarded(self._ours[number])

    def _deliver(self, low: object) -> object:
        if isinstance(low, arguments.Ours):
            inner = [low.inner[0].clone(), *low.inner[1:]] if low.tag == "buffer" else low.inner
            return self._executor.deliver(low.tag, inner)
        if type(low) in (list, tuple):
            return type(low)(map(self._deliver, low))
        return (
            {key: self._deliver(item) for key, item in low.items()}
            if type(low) is dict
            else cross(low)
        )


def interprets() -> bool:
    """Whether Triton's kernels are interpreted in this process."""
    return "triton" in sys.modules and bool(sys.modules["triton"].knobs.runtime.interpret)


def guarded(function: Callable) -> Callable:
    """Our own callable as a student receives it: nameless, and trading plain copies only."""

    def implementation(*args: object, **kwargs: object) -> object:
        try:
            with Paused():
                return answer(function, args, kwargs)
        except Exception as error:
            raise builtin_exception(type(error).__name__, str(error)) from None

    return implementation
