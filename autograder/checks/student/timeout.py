"""A student at home with a clock: a loop that does not end is stopped, with the sentence that
grading gives.

The clock is a signal, so it works in the main thread of Linux and macOS, which is where Jupyter and
a terminal run cells; elsewhere nothing is limited. It interrupts Python, not one long operation
inside a library. On a busy machine a right answer may wait for the processor longer than its time:
what has not computed for so long goes on, up to PATIENCE times as long. So does what is importing a
library when its time is up: the first call of torch.func.grad alone imports for two seconds or
more.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from autograder.checks.student.base import Student
from autograder.checks.student.requests import Request, Returned, StudentError

SECONDS = 5.0  # for one call, as in grading; the calls of the checks take milliseconds
PATIENCE = 6  # times SECONDS, for code that hardly gets the processor (or sleeps)


class OutOfTime(BaseException):
    """Raised inside the student's code when its time is up; no Exception, so that `except
    Exception` lets it pass.
    """


class TimedStudent(Student):
    """Passes every request on to `inner`, for `seconds` at most.

    What ran out of time once is not called again.
    """

    def __init__(self, inner: Student, seconds: float = SECONDS):
        super().__init__()
        self._inner, self._seconds = inner, seconds
        self._late: dict[str, StudentError] = {}

    def new_stage(self) -> None:
        """Another stage begins, for both."""
        super().new_stage()
        self._inner.new_stage()

    def begin_afresh(self) -> None:
        """See Student."""
        self._inner.begin_afresh()

    def perform(self, request: Request) -> Returned:
        """One request. Raises StudentError, of the kind "time" when the clock stopped it."""
        if request.label in self._late:
            raise self._late[request.label]
        fired: list[bool] = []
        try:
            with clock(self._seconds, fired):
                return self._inner.perform(request)
        except (StudentError, OutOfTime):
            if not fired:
                raise
            self._late[request.label] = StudentError(
                "time",
                f"`{request.label}` was stopped: it took more than {self._seconds:g} seconds. "
                "Is there a loop that does not end?",
            )
            raise self._late[request.label] from None

    def cap(self, memory: int):
        """See Student."""
        return self._inner.cap(memory)


@contextmanager
def clock(seconds: float, fired: list[bool]) -> Iterator[None]:
    """Raise OutOfTime in this block after `seconds`, and each second after that if the code went
    on; notes it in `fired`.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    computed, patient_until = time.process_time(), time.monotonic() + PATIENCE * seconds

    def ring(number: int, frame: object) -> None:
        waits = time.process_time() - computed < 0.9 * seconds
        if (waits or _importing(frame)) and time.monotonic() < patient_until:
            return
        fired.append(True)
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _importing(frame: FrameType | None) -> bool:
    """Whether the code that was interrupted stands below an import."""
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None
