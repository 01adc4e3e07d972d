"""A student whose functions run in a sandbox: the same calls as `LocalStudent`, with walls and a
clock.

Cells and calls are answered by a worker that may die at any time. A death costs the stage that
caused it; the next stage gets a fresh sandbox, a bounded number of times, in which the cells that
hung or killed the last one are left out.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from autograder.checks.inputs.arguments import Ours
from autograder.checks.kernels.memory_marks import marked_arguments
from autograder.checks.restrictions.guard import GRADERS
from autograder.checks.restrictions.names import is_operator
from autograder.checks.student.base import Student
from autograder.checks.student.requests import (
    KINDS,
    Request,
    Returned,
    StudentError,
    handles_of,
    lowered,
    returned,
)
from autograder.checks.student.tracebacks import only_own_places
from autograder.common.errors import CourseError
from autograder.sandbox.api.callbacks import Callbacks, TooSlow
from autograder.sandbox.api.cells import REMEMBERED_TEXT, Cell, CellError, Printed, clean
from autograder.sandbox.api.limits import MIB, Limits
from autograder.sandbox.inside.forked_call import Sizes, ballast_for, capped, sizes_of
from autograder.sandbox.monitor.process import LATE, Died, Process
from autograder.sandbox.monitor.procfs import descendants
from autograder.sandbox.monitor.time_account import Account
from autograder.sandbox.protocol import frames

MAX_CELL = 200_000  # characters of a cell in which kernels are looked for
INTERPRETING = ("torch", "autograder.checks.kernels.warm_up")


class MachineBusy(Exception):
    """A call or a cell was stopped that had no processor for its time: nobody knows whether it is
    slow.
    """


class RemoteStudent(Student):
    """See `open_student`.

    Attributes: cell_errors (list of CellError), ignored, printed (what the code printed, capped,
    with a last line that says how much was cut), and what every Student has.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        limits: Limits,
        start: Callable[..., Process],
        process: Process | None,
        ignored: Sequence[str] = (),
        account: Account | None = None,
        bury: Callable[[Process], None] = Process.bury,
    ):
        super().__init__()
        self.cell_errors: list[CellError] = []
        self.ignored = list(ignored)
        self._cells, self._limits, self._start = list(cells), limits, start
        self._lines = {
            cell.filename(i): cell.source.count("\n") + 1 for i, cell in enumerate(self._cells)
        }
        self._process, self._loaded, self._bury = process, False, bury
        self._clean: dict[
            bool, RemoteStudent
        ] = {}  # where no notebook ran: kernels are compiled, or interpreted
        self._callbacks = Callbacks(limits)
        self._memory: int | None = None  # the cap of the calls that come now
        self._before = Sizes(0, 0)  # of the sandbox's memory before the first cell
        self._kept: set[int] = set()  # numbers of the student's objects that are alive
        self._skip: set[int] = set()  # cells that hung or killed a sandbox
        self._deaths, self._last = 0, None
        self._peak = 0
        self._returned = 0  # bytes that came back in this exercise
        self._number = 0  # of the last request; answers carry it
        self._loaded_at = 0  # the number of the request that ran the cells of this sandbox
        self._ends, self._account = time.monotonic() + limits.total_seconds, account or Account()
        self._cut = False  # whether it is the account that ends what is going on now
        self._printed = Printed(limits.output_chars)

    @property
    def printed(self) -> str:
        """What the student's code printed, capped."""
        return self._printed.text

    @property
    def peak(self) -> int:
        """The most bytes of memory that one process of its sandboxes had at a time, measured from
        outside; 0 where /proc does not tell.

        What torch takes is in it. A process that lives for less than a tenth of a second may be
        missed.
        """
        now = self._process.peak if self._process is not None else 0
        return max(self._peak, now, *(one.peak for one in self._clean.values()))

    def new_exercise(self, withheld: Mapping[str, str], fault: str = "") -> None:
        """Another exercise begins, which may return as much as any."""
        super().new_exercise(withheld, fault)
        self._returned = 0
        for one in self._clean.values():
            one.new_exercise(withheld, fault)

    def new_stage(self) -> None:
        """Another stage begins: forget calls and objects, and come back to life if the last one was
        deadly.
        """
        super().new_stage()
        self._kept.clear()
        self._callbacks.forget()
        self._revive()
        for one in self._clean.values():
            one.new_stage()

    def begin_afresh(self) -> None:
        """End the sandbox, if it was asked anything; `new_stage` starts another one, in which the
        cells run again.
        """
        if self._number == self._loaded_at:
            return
        self._end()
        self._kept.clear()
        self._loaded = False

    def close(self) -> None:
        """End the sandbox and everything in it."""
        self._end()
        for one in self._clean.values():
            one.close()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._bury(self._process)
            self._peak, self._process = max(self._peak, self._process.peak), None

    def perform(self, request: Request) -> Returned:
        """Carry the request out in the sandbox, on copies of the arguments."""
        if request.do == "kernel":
            return self._replayed(request)
        return self._performed(request)

    def _replayed(self, request: Request) -> Returned:
        """A launcher's kernels: the notebook's process says what it starts, and a clean one, which
        never saw it, runs that.

        The launcher is given marks in place of numbers, so that the arguments of its kernels cannot
        hold an answer.
        """
        asked = replace(
            request, args=marked_arguments(request.args), more=request.more | {"record": True}
        )
        noted = self._performed(asked).value
        cells = [
            (cell.filename(i), cell.source)
            for i, cell in enumerate(self._cells)
            if len(cell.source) <= MAX_CELL
        ]
        more = {"compile": False, "seed": 0} | request.more | {"cells": cells, "recorded": noted}
        again = Request("replay", request.label, request.name, args=request.args, more=more)
        return self._in_clean(request.more["compile"]).perform(again)

    def _performed(self, request: Request) -> Returned:
        try:
            return self._attempt(request)
        except Died:  # suspect; a fresh sandbox is asked once more
            try:
                return self._attempt(request)
            except Died as died:
                raise StudentError(
                    "fault", f"`{request.label}` was asked twice: {died.text}."
                ) from None

    def _attempt(self, request: Request) -> Returned:
        """One request to the sandbox that is there.

        Raises StudentError, and Died for an answer to something else.
        """
        self._check_alive(request)
        if (
            self._returned > self._limits.answer_bytes
        ):  # the checker keeps what comes back, and compares it
            raise StudentError(
                "memory",
                f"`{request.label}` was not called: what this exercise returned has more than "
                f"{self._limits.answer_bytes // MIB} MiB in all.",
            )
        self._revive()
        if self._process is None and self._last is None:
            raise StudentError(
                "time", f"`{request.label}` was not called: the submission's time was used up."
            )
        if self._process is None:
            raise StudentError(
                _kind(self._last),
                f"`{request.label}` was not called any more: the sandbox ended too often, "
                f"or the time for everything is up. The last time, {self._last.text}.",
            )
        with (
            self._account.charging(),
            self._callbacks.during(lasting=request.keep is not None) as register,
        ):
            low = lowered(request, register)
            # Files and packages are not there, and what stands for them refuses by itself;
            # operators are watched.
            watched = {
                name: why
                for name, why in request.withheld.items()
                if is_operator(name) and name not in GRADERS
            }
            low |= {"stage": self.stage, "withheld": watched} | self._apart(request)
            try:
                answer = self._converse(low) if self._memory is None else self._converse_capped(low)
                outcome = self._outcome(request, low["args"], answer)
            except Died as died:
                self._died(died)
                if died.kind == "suspect":
                    raise
                if died.kind == "busy":
                    raise MachineBusy(f"`{request.label}` was stopped: {died.text}.") from None
                reason = (
                    f"it took more than {self._limits.call_seconds:g} seconds"
                    if died.text == LATE
                    else died.text
                )
                raise StudentError(died.kind, f"`{request.label}` was stopped: {reason}.") from None
        if request.keep is not None:
            self._kept.add(request.keep.number)
        return outcome

    def _ask(self, request: dict, deadline: float, again: bool = False) -> None:
        """Send a request with a number of its own; again: with the last one, of which it is the
        second half.
        """
        self._number += not again
        self._process.send(frames.pack({**request, "number": self._number}, Ours), deadline)

    def _hear(self, deadline: float) -> dict:
        """The next message, which must carry the number of the last request. Raises Died."""
        before = self._process.received
        try:
            message = self._process.receive(deadline)
        finally:
            self._returned += self._process.received - before
        number = message.pop("number", None)
        if type(number) is not int or number != self._number:
            raise self._process.die("suspect", "what came back is the answer to another question")
        return message

    def _converse(self, request: dict, again: bool = False) -> dict:
        """Send a request and answer what the student asks of our callables, until the request is
        answered.

        The time that our own functions take is part of the call's.
        """
        deadline = self._deadline(self._limits.call_seconds)
        self._ask(request, deadline, again)
        for _ in range(self._limits.callbacks + 1):
            message = self._hear(deadline)
            if message.get("say") != "callback":
                return message
            try:
                reply = self._callbacks.answer(message, self._process.left(deadline))
            except TooSlow:
                raise self._process.late(deadline) from None
            self._process.send(reply, deadline)
        raise self._process.die(
            "time", f"it called back more than {self._limits.callbacks:,} times"
        )

    def _in_clean(self, compiles: bool) -> "RemoteStudent":
        """A sandbox without cells, started when the first kernel is to run there."""
        if compiles not in self._clean:
            start = self._start if compiles else lambda: self._start(INTERPRETING)
            self._clean[compiles] = one = RemoteStudent(
                [], self._limits, start, None, account=self._account, bury=self._bury
            )
            one._ends, one.stage = self._ends, self.stage
            one._lines = self._lines  # the kernels that run there are those of the notebook
        return self._clean[compiles]

    def _apart(self, request: Request) -> dict:
        if self._memory is None:
            # A kernel may end its process; one that is only compiled, where no notebook ran, does
            # not, and Triton stays imported.
            apart = request.do == "kernel" or request.do == "replay" and not request.more["compile"]
            return {"apart": True} if apart else {}
        if request.keep is not None:
            raise ValueError(
                f"`{request.label}`: an object that is made under a cap is gone with the call; make"
                " it before"
            )
        return {}

    def _converse_capped(self, request: dict) -> dict:
        """The same with a child that has a cap on its memory, which is looked at before it
        starts.
        """
        if sys.platform != "linux":
            return self._converse(request)
        before, deadline = (
            set(descendants(self._process.pid)),
            self._deadline(self._limits.call_seconds),
        )
        ballast = ballast_for(len(frames.pack(request, Ours)))
        # First the child, then the question: nothing that is not capped ever sees what is asked.
        ask = {
            "do": "apart",
            "label": "a call",
            "stage": self.stage,
            "apart": True,
            "cap": self._memory,
            "ballast": ballast,
        }
        self._ask(ask, deadline)
        if self._hear(deadline) != {"say": "apart"}:
            raise self._process.die("killed", "it did not start a child for this call")
        with capped(self._process, self._memory, ballast, self._before, before):
            answer = self._converse(request, again=True)
        if answer.get("kind") == "memory":
            answer["text"] = (
                f"{answer.get('text')} {round(self._memory / MIB, 1):g} MiB are there for this"
                " call."
            )
        return answer

    @contextmanager
    def cap(self, memory: int) -> Iterator[None]:
        """Each call in this block runs in a child of its own with so much memory; see `apart`."""
        before, self._memory = self._memory, memory
        try:
            yield
        finally:
            self._memory = before

    def _outcome(self, request: Request, sent: tuple, answer: dict) -> Returned:
        """Make sense of an answer, trusting nothing in it.

        Raises StudentError, or Died for nonsense.
        """
        self._printed.remember(answer)
        if (
            answer.get("say") == "error"
            and answer.get("kind") in KINDS
            and type(answer.get("text")) is str
        ):
            raise StudentError(
                answer["kind"], only_own_places(clean(answer["text"], REMEMBERED_TEXT), self._lines)
            )
        after = answer.get("args")
        if (
            answer.get("say") != "returned"
            or "value" not in answer
            or type(after) is not list
            or len(after) not in (0, len(sent))
            or any(
                type(one) is not tuple or len(one) != 2 or type(one[0]) is not bool for one in after
            )
        ):
            raise self._process.die("killed", "what came back is not an answer to this call")
        return returned(request, sent, answer)

    def _check_alive(self, request: Request) -> None:
        """Objects end with their process, and with the stage that made them."""
        for handle in handles_of(request):
            if handle.number not in self._kept:
                if self._last is None:
                    raise ValueError(
                        f"`{handle._name}` was made in an earlier stage, or closed; objects live"
                        " for one stage"
                    )
                raise StudentError(
                    _kind(self._last),
                    f"`{request.label}` was not called: your object ended with its process. "
                    f"The last time, {self._last.text}.",
                )
        if request.do == "close":
            self._kept.discard(request.of.number)

    def _revive(self) -> None:
        """Make sure that a sandbox is there in which the cells have run, if there may
        still be one.
        """
        while not self._loaded and self._deaths <= self._limits.restarts and not self._account.over:
            if self._process is None:
                self._process = self._start()
            try:
                self._process.wait_until_ready()
                self._before = sizes_of(self._process)
            except Died as died:  # nothing of the student's has run: this is ours to mend
                self._end()
                raise CourseError(died.text) from None
            self._process.bill(self._account)
            with self._account.charging():
                self._process.ends = min(self._ends, self._account.ends)
                self._load()

    def _load(self) -> None:
        """Run the cells.

        A cell that ends the sandbox is remembered by its place and skipped from then on.
        """
        running = None
        try:
            deadline = self._deadline(self._limits.cells_seconds)
            cells = [(cell.filename(i), cell.source) for i, cell in enumerate(self._cells)]
            self._ask({"do": "cells", "cells": cells, "skip": sorted(self._skip)}, deadline)
            while True:
                limit = (
                    deadline
                    if running is None
                    else min(deadline, self._deadline(self._limits.cell_seconds))
                )
                message = self._hear(limit)
                if message.get("say") == "started":
                    break
                running = message.get("index")
                if (
                    message.get("say") != "cell"
                    or type(running) is not int
                    or not 0 <= running < len(self._cells)
                ):
                    raise self._process.die("killed", "it sent something else than its progress")
            self._report_cells(message)
            self._loaded, self._loaded_at = True, self._number
        except Died as died:
            self._died(died)
            if died.kind == "busy":
                raise MachineBusy(f"The cells were stopped: {died.text}.") from None
            if running is not None:
                self._skip.add(running)
                reason = (
                    died.text
                    if died.text != LATE
                    else (
                        "the submission's time was used up"
                        if self._cut
                        else f"it took more than {self._limits.cell_seconds:g} seconds"
                    )
                )
                self._blame(
                    running,
                    _kind(died),
                    f"This cell was stopped: {reason}. The other cells ran without it.",
                )

    def _report_cells(self, message: dict) -> None:
        self._printed.remember(message)
        errors = message.get("errors")
        known = {error.index for error in self.cell_errors}
        for one in errors if type(errors) is list else []:
            if type(one) is not tuple or list(map(type, one)) != [int, str, bool]:
                continue
            index, text, in_grader = one
            if 0 <= index < len(self._cells) and index not in known:
                self._blame(index, "fault" if in_grader else "error", clean(text, REMEMBERED_TEXT))

    def _blame(self, index: int, kind: str, text: str) -> None:
        self.cell_errors.append(CellError(index, self._cells[index].grade_id, kind, text))

    def _died(self, died: Died) -> None:
        self._end()
        self._kept.clear()
        self._loaded, self._last = False, died
        self._deaths += 1
        if self._cut and died.text == LATE and time.monotonic() < self._account.ends:
            self._account.use_up()
        if time.monotonic() >= self._ends or self._account.over:
            self._deaths = self._limits.restarts + 1

    def _deadline(self, seconds: float) -> float:
        left = self._account.left
        self._cut = left < seconds
        return min(time.monotonic() + min(seconds, left), self._ends, self._account.ends)


def _kind(died: Died) -> str:
    """What a death means for the student: one that answered what was not asked proves nothing, and
    a human looks.
    """
    return "fault" if died.kind == "suspect" else died.kind
