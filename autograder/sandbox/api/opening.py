"""Start a sandbox and run a student's cells in it, for the time of a `with` block."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from autograder.sandbox.api.cells import Cell
from autograder.sandbox.api.limits import Limits
from autograder.sandbox.api.student import RemoteStudent
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.backends.choose import choose_backend
from autograder.sandbox.backends.stage import stage
from autograder.sandbox.monitor.process import Process
from autograder.sandbox.monitor.time_account import Account

WARM = ("torch",)  # imported before any student code is there


@contextmanager
def open_student(
    cells: Sequence[Cell],
    withhold: Sequence[str] | Mapping[str, str] = (),
    limits: Limits | None = None,
    backend: Backend | None = None,
    *,
    warm: Sequence[str] = WARM,
    process: Process | None = None,
    ignored: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    account: Account | None = None,
    bury: Callable[[Process], None] = Process.bury,
) -> Iterator[RemoteStudent]:
    """A student whose `cells` have run in a fresh sandbox, for the time of a `with` block.

    withhold: what does not exist inside, as in `stage`. backend: default, the strongest one here;
    raises CourseError if there is none. process: a sandbox that was started ahead with the same
    withhold, limits and backend (see pool.py). extra: source files beside the reference, as in
    `stage`. ignored: what intake dropped, passed through as `student.ignored`. account: what the
    submission may use; default, as much as `limits` let it. bury: waits, now or later, until a
    killed sandbox is gone. Errors of the student are never raised here: see `student.cell_errors`.
    """
    limits = limits or Limits()
    backend = backend or choose_backend()
    start = lambda warm=tuple(warm): Process(backend, stage(withhold, extra or {}), limits, warm)
    student = RemoteStudent(cells, limits, start, process or start(), ignored, account, bury)
    try:
        student._revive()
        yield student
    finally:
        student.close()
