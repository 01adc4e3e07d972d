"""A student whose deadly functions are not called for ever.

Each call that hangs or kills a sandbox costs seconds and a fresh start. One function must not use up what the student's
other functions need: they have earned their points. So after DEATHS such ends a function is not called any more, and
its remaining stages end in the same way at once. And one submission must not hold a worker for long: it has a budget.
"""
import time

from autograder.checks.exchange import Request, Returned, StudentError
from autograder.checks.student import Student

DEADLY = ("time", "memory", "killed")


class BudgetSpent(Exception):
    """One submission has had all the time that it may hold a worker; what is left waits for a human."""


class Patient(Student):
    """Passes every call on to `inner`, and remembers which functions ended badly.

    deadline: time.monotonic() at which the submission's budget ends. From then on, and for the call that was cut off
    there, BudgetSpent is raised: what was not judged is not wrong.
    """

    DEATHS = 2

    def __init__(self, inner: Student, deadline: float = float("inf")):
        super().__init__()
        self._inner, self._deadline = inner, deadline
        self._ends: dict[str, list[StudentError]] = {}

    def new_stage(self) -> None:
        """Another stage begins, for both."""
        super().new_stage()
        if time.monotonic() < self._deadline:       # coming back to life may take as long as all cells
            self._inner.new_stage()

    def perform(self, request: Request) -> Returned:
        """One request, unless the function or method has ended badly too often, or the budget is spent."""
        if time.monotonic() >= self._deadline:
            raise BudgetSpent
        ends = self._ends.setdefault(request.label, [])
        if len(ends) >= self.DEATHS:
            raise StudentError(ends[-1].kind, f"`{request.label}` ended in this way {self.DEATHS} times; it was not called "
                                              "again.")
        try:
            return self._inner.perform(request)
        except StudentError as error:
            if error.kind in DEADLY and time.monotonic() >= self._deadline:
                raise BudgetSpent from None
            if error.kind in DEADLY:
                ends.append(error)
            raise

    def cap(self, memory: int):
        """See Student."""
        return self._inner.cap(memory)
