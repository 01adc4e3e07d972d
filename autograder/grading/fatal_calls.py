"""A student whose deadly functions are not called for ever.

Each call that hangs or kills a sandbox costs seconds and a fresh start. One function must not use
up what the student's other functions need: they have earned their points. So after DEATHS such ends
a function is not called any more, and its remaining stages end in the same way at once. And one
submission must not hold a worker for long: it has a budget (see sandbox/monitor/time_account.py).
"""

from collections.abc import Mapping

from autograder.checks.student.base import Student
from autograder.checks.student.requests import Request, Returned, StudentError
from autograder.sandbox.monitor.time_account import Account

DEADLY = ("time", "memory", "killed")


class BudgetSpent(Exception):
    """One submission has had all the time that it may hold a worker; what is left waits for a
    human.
    """


class Patient(Student):
    """Passes every call on to `inner`, and remembers which functions ended badly.

    account: the submission's. Once it is over, and for the call that was cut off there, BudgetSpent
    is raised: what was not judged is not wrong. answered: seconds of the account's, for calls that
    did not end badly. asked_again: whether all that is asked now is asked once more later; then
    BudgetSpent comes as soon as what is left would not suffice for what was answered.
    """

    DEATHS = 2
    AGAIN = 1.25  # times the seconds that the answers took: asking again may take a little longer

    def __init__(self, inner: Student, account: Account | None = None):
        super().__init__()
        self._inner, self._account = inner, account or Account()
        self._ends: dict[str, list[StudentError]] = {}
        self.answered = 0.0
        self.asked_again = False

    def new_exercise(self, withheld: Mapping[str, str], fault: str = "") -> None:
        """Another exercise begins, for both."""
        super().new_exercise(withheld, fault)
        self._inner.new_exercise(withheld, fault)

    def new_stage(self) -> None:
        """Another stage begins, for both."""
        super().new_stage()
        if not self._account.over:  # coming back to life may take as long as all cells
            self._inner.new_stage()

    def begin_afresh(self) -> None:
        """See Student."""
        if not self._account.over:
            self._inner.begin_afresh()

    def perform(self, request: Request) -> Returned:
        """One request, unless the function or method has ended badly too often, or the budget is
        spent.
        """
        if (
            self._account.over
            or self.asked_again
            and self._account.left <= self.AGAIN * self.answered
        ):
            raise BudgetSpent
        ends = self._ends.setdefault(request.label, [])
        if len(ends) >= self.DEATHS:
            raise StudentError(
                ends[-1].kind,
                f"`{request.label}` ended in this way {self.DEATHS} times; it was not called "
                "again.",
            )
        before = self._account.spent
        try:
            found = self._inner.perform(request)
        except StudentError as error:
            if error.kind not in DEADLY:
                self.answered += self._account.spent - before
                raise
            if self._account.over:
                raise BudgetSpent from None
            ends.append(error)
            raise
        self.answered += self._account.spent - before
        return found

    def cap(self, memory: int):
        """See Student."""
        return self._inner.cap(memory)
