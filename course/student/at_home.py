"""Judging one's own notebook where a process cannot fork: Windows.

It stands where a pool of sandboxes stands (`open_student`), so the grader's own code judges, with
its intake, its checks and its budget. The cells run in this process, as they do in Jupyter, and it
is for one's own work only. A call has the clock of `course check`; where that has no signal to go
by, as on Windows, only the whole is limited: a watch ends this process.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence

from autograder.checks.student.requests import Request, Returned
from autograder.sandbox.api.cells import Cell, CellError
from course.own_notebook import Own, run_cells

NAME = "none"
TOGETHER = (
    300.0  # seconds for cells and checks together: those of the grader, the cells' time included
)
TOO_LONG = (
    f"course: your notebook took more than {TOGETHER:g} seconds and was stopped: is there a loop"
    " that does not end? `course check` names the exercise"
)


class Quiet(Own):
    """A student in this process, with what a sandbox tells of one: cells that failed, and a peak of
    memory that is not known.
    """

    peak = 0

    def __init__(self, cells: Sequence[Cell]):
        module, failures = run_cells(
            [(cell.filename(place), cell.source) for place, cell in enumerate(cells)], "notebook"
        )
        super().__init__(module)
        self.cell_errors = [
            CellError(place, cells[place].grade_id, "error", text) for place, text in failures
        ]

    def perform(self, request: Request) -> Returned:
        """One request; what the notebook prints is not our output."""
        with contextlib.redirect_stdout(sys.stderr):
            return super().perform(request)


class AtHome:
    """In the place of `sandboxes`: no walls.

    Use it in a `with` block, which also ends the watch.
    """

    name = NAME

    def __init__(self):
        self.backend = self
        self._watch = threading.Timer(TOGETHER, _end)
        self._watch.daemon = True

    def __enter__(self) -> "AtHome":
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._watch.cancel()

    @contextlib.contextmanager
    def open_student(self, cells: Sequence[Cell], account: object = None) -> Iterator[Quiet]:
        """The student whose cells have run here; the watch stands for the account."""
        with contextlib.redirect_stdout(sys.stderr):
            student = Quiet(cells)
        yield student


def _end() -> None:
    print(TOO_LONG, file=sys.stderr, flush=True)
    os._exit(2)
