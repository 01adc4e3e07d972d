"""Grade on other machines: Dask's executor, with the workers of a scheduler.

One process, the command, owns records and gradebook. Dask's client runs in a second one
(`_submit_all`): it has threads, and a process with threads must not fork. Each task is
`grade_there`, which grades one submission in the local executor of the worker's machine. Dask
chooses the worker, and gives a task to another one when its worker dies.
"""

import contextlib
import functools
import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path

from autograder.common.error_boundary import Guard
from autograder.common.errors import CourseError, MachineError
from autograder.grading.assignment import Assignment, course_secret
from autograder.grading.executors import messages
from autograder.grading.executors.dask_worker import grade_there
from autograder.grading.executors.local import LOOK_EVERY
from autograder.grading.grade import BUDGET_SECONDS, Verdict, undecided
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.parse import IntakeError
from autograder.grading.seeds import Seeds

CONNECT = 10.0  # seconds to wait for a scheduler's first answer
KEPT = "What was graded is kept; run the same command again"
LOST = "Every worker that was given this submission died while grading it."
MISSING = (
    "--dask needs the package `distributed`, which is not installed here: run `make setup`, or "
    "`.venv/bin/pip install -e '.[cluster]'` in the course's folder"
)


class DaskExecutor:
    """The crew (see `local.Crew`) behind the Dask scheduler at `address`.

    isolation: the backend that every worker must use, and `cold`: see `choose_backend`. note:
    takes a line for people. Raises CourseError when `distributed` is not installed.
    """

    def __init__(
        self,
        address: str,
        isolation: str = "bubblewrap",
        cold: bool = False,
        note: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
        budget: float = BUDGET_SECONDS,
    ):
        if find_spec("distributed") is None:
            raise CourseError(MISSING)
        if isolation == "process":
            raise CourseError(
                "--dask with --backend process: other machines grade with isolation or not at all"
            )
        self.address, self.name, self.budget = address, isolation, budget
        self._cold, self._note = cold, note
        self._process: multiprocessing.Process | None = None

    def begin(self, assignment: Assignment, course_root: Path, count: int) -> None:
        """See Crew."""
        self._assignment = assignment
        self._secret, self._guard = course_secret(course_root), Guard(course_root)
        self._terms = messages.terms(assignment, self.name, self._cold, self.budget)
        self._number, self._waiting = 0, False
        self._workers: set[str] = set()
        self._refused: dict[str, str] = {}  # workers that get nothing more, with the reason
        self._sent: dict[int, tuple[messages.Parcel, set[str]]] = {}
        self._decided: list[tuple[Submission, Verdict]] = []
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_submit_all, args=(theirs, self.address, os.getpid()), daemon=True
        )
        self._process.start()
        theirs.close()

    def busy(self) -> bool:
        """See Crew."""
        return bool(self._process and (self._decided or self._sent))

    def hand_out(self, todo: deque[Submission]) -> None:
        """See Crew. One that cannot be read is decided here and not sent."""
        while todo and len(self._sent) < len(self._workers - self._refused.keys()):
            submission = todo.popleft()
            parcel = self._guard.run(
                submission.student,
                "reading what was submitted",
                functools.partial(self._packed, submission),
            )
            if isinstance(parcel, messages.Parcel):
                self._send(parcel)
            else:
                trouble = self._guard.troubles.get(submission.student, "")
                verdict = parcel or undecided(submission, self._assignment, trouble)
                self._decided.append((submission, verdict))

    def answers(self) -> Iterator[tuple[Submission, Verdict | None]]:
        """See Crew.

        Raises MachineError when the scheduler is gone or every worker that is there refuses.
        """
        while self._decided:
            yield self._decided.pop(0)
        for message in self._news():
            if "gone" in message:
                raise MachineError(
                    f"{message['gone']}. {KEPT} once it runs: `dask scheduler`, and `course worker"
                    f" {self.address}` on each machine"
                )
            if "workers" in message:
                self._workers = set(message["workers"])
                self._send_again()
            elif message["id"] in self._sent:
                yield from self._answered(message)
        self._check_workers()

    def close(self) -> None:
        """See Crew. Tasks that run are dropped when they are done."""
        if self._process:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = None

    def _packed(self, submission: Submission) -> messages.Parcel | Verdict:
        try:
            return messages.packed(
                submission, Seeds.drawn(self._assignment, submission.student, self._secret)
            )
        except IntakeError as problem:
            return messages.unreadable(submission, self._assignment, problem)

    def _send(self, parcel: messages.Parcel) -> None:
        """Submit a task. Once a worker has refused, name those that may run it."""
        self._number += 1
        chosen = self._workers - self._refused.keys() if self._refused else set()
        self._sent[self._number] = parcel, chosen
        order = {"id": self._number, "workers": sorted(chosen)}
        with contextlib.suppress(OSError):  # the process is gone; `_news` says so
            self._pipe.send_bytes(json.dumps(order).encode())
            self._pipe.send_bytes(messages.request(self._terms, parcel.sent))

    def _send_again(self) -> None:
        """Submit a task once more when every worker that may run it has left."""
        for number, (parcel, chosen) in list(self._sent.items()):
            if chosen and not chosen & self._workers and self._workers - self._refused.keys():
                del self._sent[number]
                self._send(parcel)

    def _answered(self, message: dict) -> Iterator[tuple[Submission, Verdict | None]]:
        parcel, _ = self._sent.pop(message["id"])
        if "lost" in message:
            self._note(f"{self.address}: {message['lost']}")
            yield parcel.submission, undecided(parcel.submission, self._assignment, LOST)
            return
        answer, worker = message["answer"], message["answer"]["worker"]
        if "died" in answer:
            self._note(f"{worker}: {answer['died']}")
            yield parcel.submission, None
            return
        reason = str(answer.get("refused", ""))
        if "verdict" in answer:
            try:
                isolation = self.name
                yield (
                    parcel.submission,
                    messages.opened(answer["verdict"], parcel, self._assignment, isolation),
                )
                return
            except messages.BadAnswer as error:
                reason = f"its answer is not a result for what it was sent: {error}"
        self._refused[worker] = reason
        self._note(f"{worker} gets nothing more: {reason}")
        self._send(parcel)

    def _check_workers(self) -> None:
        if self._workers - self._refused.keys():
            self._waiting = False
        elif self._workers:
            reasons = [f"{one}: {self._refused[one]}" for one in sorted(self._workers)[:4]]
            raise MachineError(
                f"no worker at {self.address} can grade. {'; '.join(reasons)}. {KEPT} when that is"
                " fixed"
            )
        elif not self._waiting:
            self._waiting = True
            self._note(
                f"waiting for a worker at {self.address}: `course worker {self.address}` starts one"
            )

    def _news(self) -> list[dict]:
        """Return the messages since the last call; wait LOOK_EVERY seconds for a first one."""
        found = []
        try:
            while self._pipe.poll(0 if found else LOOK_EVERY):
                found.append(json.loads(self._pipe.recv_bytes(2 * messages.MAX_ANSWER)))
        except (EOFError, OSError):
            if not found:
                raise MachineError(f"Dask's client for {self.address} ended. {KEPT}") from None
        return found


def _submit_all(pipe: Connection, address: str, parent: int) -> None:
    """Submit what the command sends to Dask's executor, and send back what becomes of it."""
    from distributed import Client

    from autograder.sandbox.monitor.lifetime import die_with

    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends us
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    sending, known = threading.Lock(), None

    def say(message: dict) -> None:
        with sending, contextlib.suppress(OSError):
            pipe.send_bytes(json.dumps(message).encode())

    try:
        client = Client(address, set_as_default=False, timeout=CONNECT)
    except Exception as error:  # whatever Dask raises for an address, a certificate, a version
        problem = f"{type(error).__name__}: {str(error)[:300]}"
        say({"gone": f"no Dask scheduler answers at {address} ({problem})"})
        return
    executor = client.get_executor(pure=False)
    with contextlib.suppress(EOFError, OSError):  # the command or the scheduler is gone
        while client.status == "running":
            if (workers := sorted(client.ncores())) != known:
                known = workers
                say({"workers": workers})
            until = time.monotonic() + LOOK_EVERY / 4
            while pipe.poll(max(0.0, until - time.monotonic())):
                order, request = json.loads(pipe.recv_bytes()), pipe.recv_bytes()
                chosen = {"workers": order["workers"]} if order["workers"] else {}
                future = executor.submit(grade_there, request, **chosen)
                future.add_done_callback(functools.partial(_report, say, order["id"]))
    say({"gone": f"the connection to the Dask scheduler at {address} is lost"})


def _report(say: Callable[[dict], None], number: int, future: Future) -> None:
    """Send what became of a task; nothing of one that was canceled, with its scheduler."""
    if future.cancelled():
        return
    error = future.exception()
    if error is None:
        say({"id": number, "answer": json.loads(future.result())})
    elif type(error).__name__ == "KilledWorker":
        say({"id": number, "lost": "the workers that were given a submission died"})
    else:  # Dask could not run `grade_there`
        problem = f"{type(error).__name__}: {str(error)[:300]}"
        say({"gone": f"a worker cannot run this course ({problem}); install the same commit there"})
