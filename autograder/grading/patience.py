"""A student whose deadly functions are not called for ever.

Each call that hangs or kills a sandbox costs seconds and a fresh start. One function must not use up what the student's
other functions need: they have earned their points. So after DEATHS such ends a function is not called any more, and
its remaining stages end in the same way at once.
"""
from autograder.checks.student import Request, Returned, Student, StudentError

DEADLY = ("time", "memory", "killed")


class Patient(Student):
    """Passes every call on to `inner`, and remembers which functions ended badly."""

    DEATHS = 2

    def __init__(self, inner: Student):
        super().__init__()
        self._inner = inner
        self._ends: dict[str, list[StudentError]] = {}

    def new_stage(self) -> None:
        """Another stage begins, for both."""
        super().new_stage()
        self._inner.new_stage()

    def perform(self, request: Request) -> Returned:
        """One request, unless the function or method has ended badly too often."""
        ends = self._ends.setdefault(request.label, [])
        if len(ends) >= self.DEATHS:
            raise StudentError(ends[-1].kind, f"`{request.label}` ended in this way {self.DEATHS} times; it was not called "
                                              "again.")
        try:
            return self._inner.perform(request)
        except StudentError as error:
            if error.kind in DEADLY:
                ends.append(error)
            raise

    def cap(self, memory: int):
        """See Student."""
        return self._inner.cap(memory)
