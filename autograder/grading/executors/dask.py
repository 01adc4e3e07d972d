"""Judge on other machines: the crew of `course grade --dask`, workers of Dask that run this course
too.

One writer, the command, owns journal and gradebook; a worker gets one submission at a time and
keeps nothing. Each worker is greeted first: who has other checks, versions or no isolation refuses
in words and gets nothing. A submission whose worker dies or loses its net is tried on another once,
as here (schedule.py). The scheduler's end ends the run, and what was graded is kept. What travels:
parcels.py. Who speaks with Dask: link.py.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autograder.common.error_boundary import Guard
from autograder.common.errors import CourseError, MachineError
from autograder.grading.assignment import Assignment, course_secret
from autograder.grading.executors import messages as parcels
from autograder.grading.executors.local import LOOK_EVERY, patience
from autograder.grading.grade import BUDGET_SECONDS, Verdict, undecided
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.parse import IntakeError
from autograder.grading.seeds import Seeds

KEPT = "What was graded is kept; run the same command again"
MISSING = (
    "--dask needs the package `distributed`, which is not installed here: run `make setup`, or "
    "`.venv/bin/pip install -e '.[cluster]'` in the course's folder"
)
THREADS = (
    "it was started with {} threads and needs exactly one: use `course worker`, or `--nthreads 1`"
    " and more of `--nworkers`"
)
UNABLE = (
    "it cannot run this course ({}): install the course there, from the same commit, and start it"
    " with `course worker`"
)


@dataclass
class Distant:
    """A worker on another machine.

    state: "greeted", "ready", "out", "gone". at: the request that it is at, by number.
    """

    state: str = "greeted"
    at: int = 0
    since: float = 0.0
    parcel: parcels.Parcel | None = None


class Cluster:
    """The crew behind a Dask scheduler at `address`.

    Raises CourseError when `distributed` is not installed.

    isolation: the backend that every worker must use, and `cold`: see choose_backend. budget: see
    schedule.Crew. note: takes a line for people about workers that are waited for or left out.
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
                "--dask with --backend process: other machines judge with isolation or not at all"
            )
        self.address, self.name, self.budget, self._cold, self._note = (
            address,
            isolation,
            budget,
            cold,
            note,
        )
        # The worker has its own patience, and may be at another command's submission first.
        self._longest = 2 * patience(budget) + 120.0
        self._link: subprocess.Popen | None = None
        self._workers: dict[str, Distant] = {}
        self._decided: list[tuple[Submission, Verdict]] = []
        self._back: deque[Submission] = (
            deque()
        )  # from workers that did not begin: no sign against the submission

    def begin(self, assignment: Assignment, course_root: Path, count: int) -> None:
        """See schedule.Crew."""
        self._assignment, self._most = assignment, count
        self._secret, self._guard = course_secret(course_root), Guard(course_root)
        self._terms = parcels.terms(assignment, self.name, self._cold, self.budget)
        self._heard = bytearray()
        self._out: dict[str, str] = {}  # workers that are given nothing any more, with the reason
        self._threads: dict[str, int] = {}  # who is there, as the scheduler says
        self._number = 0
        self._waiting = False
        self._link = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "autograder.grading.executors.dask_link",
                self.address,
                str(os.getpid()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def busy(self) -> bool:
        """See schedule.Crew."""
        return bool(self._decided or self._back) or any(
            worker.parcel for worker in self._workers.values()
        )

    def hand_out(self, todo: deque[Submission]) -> None:
        """See schedule.Crew. What cannot be read is decided here and sent to nobody."""
        for address, worker in self._workers.items():
            while worker.state == "ready" and worker.parcel is None and (self._back or todo):
                submission = (self._back or todo).popleft()
                made = self._guard.run(
                    submission.student,
                    "reading what was handed in",
                    lambda: self._packed(submission),
                )  # noqa: B023
                if isinstance(made, parcels.Parcel):
                    worker.parcel = made
                    self._send(address, worker, made.task())
                else:
                    self._decided.append(
                        (
                            submission,
                            made
                            or undecided(
                                submission,
                                self._assignment,
                                self._guard.troubles[submission.student],
                            ),
                        )
                    )

    def answers(self) -> Iterator[tuple[Submission, Verdict | None]]:
        """See schedule.Crew.

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
                self._threads = message["workers"]
                continue
            address = next(
                (one for one, worker in self._workers.items() if worker.at == message["id"]), None
            )
            if address is None:
                continue  # it was given up, and answers after all
            worker = self._workers[address]
            parcel, worker.parcel, worker.at = worker.parcel, None, 0
            verdict, counts = self._understood(message, address, worker, parcel)
            if parcel and (verdict or counts):
                yield parcel.submission, verdict
            elif parcel:
                self._back.append(parcel.submission)
        yield from self._silent()
        self._who_is_there()
        if all(worker.state == "out" for worker in self._workers.values()):
            if self._workers:
                reasons = "; ".join(
                    f"{address}: {self._out[address]}" for address in list(self._workers)[:4]
                )
                raise MachineError(
                    f"no worker at {self.address} can go on. {reasons}. {KEPT} when that is mended"
                )
            if not self._waiting:
                self._note(
                    f"waiting for a worker at {self.address}: `course worker {self.address}`"
                    " starts one"
                )
            self._waiting = True

    def close(self) -> None:
        """See schedule.Crew. What workers are at is dropped when they are done."""
        if self._link:
            self._link.kill()
            self._link.wait()
            with contextlib.suppress(OSError):  # what it did not take any more
                self._link.stdin.close()
            self._link.stdout.close()
        self._workers.clear()
        self._decided.clear()
        self._back.clear()

    def _packed(self, submission: Submission) -> parcels.Parcel | Verdict:
        try:
            return parcels.packed(
                submission, Seeds.drawn(self._assignment, submission.student, self._secret)
            )
        except IntakeError as problem:
            return parcels.unreadable(submission, self._assignment, problem)

    def _send(self, address: str, worker: Distant, task: dict | None) -> None:
        self._number += 1
        worker.at, worker.since = self._number, time.monotonic()
        order = {"to": address, "id": self._number, "request": {"terms": self._terms, "task": task}}
        with contextlib.suppress(OSError):  # the link is gone; `_news` says so
            self._link.stdin.write(parcels.line(order))
            self._link.stdin.flush()

    def _who_is_there(self) -> None:
        """Forget those who left, unless their answer is still to come; greet who is new, as many as
        there is work for.
        """
        for address in [
            one
            for one, worker in self._workers.items()
            if one not in self._threads and not worker.at
        ]:
            del self._workers[address]
        for address, threads in self._threads.items():
            if (
                address not in self._workers
                and sum(worker.state != "out" for worker in self._workers.values()) < self._most
            ):
                self._waiting = False
                worker = self._workers[address] = Distant()
                if threads != 1:
                    self._leave_out(address, worker, THREADS.format(threads))
                else:
                    self._send(address, worker, None)

    def _understood(
        self, message: dict, address: str, worker: Distant, parcel: parcels.Parcel | None
    ) -> tuple[Verdict | None, bool]:
        """The verdict in a worker's answer, or None and whether that counts as a failure over the
        submission.
        """
        if "lost" in message:
            worker.state = "gone"
            self._threads.pop(address, None)
            self._note(f"{address}: {message['lost']}")
            return None, True
        try:
            answer = json.loads(message.get("answer", "null"))
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            answer = (
                {"refused": UNABLE.format(message["unable"])}
                if "unable" in message
                else {"refused": "it answers no JSON"}
            )
        if "verdict" in answer and parcel:
            try:
                return parcels.opened(answer["verdict"], parcel, self._assignment, self.name), True
            except parcels.BadAnswer as error:
                self._leave_out(
                    address, worker, f"it sent back what is no verdict on what it was sent: {error}"
                )
                return None, True
        if "died" in answer:
            self._note(f"{address}: {answer['died']}")
            if not parcel:
                self._leave_out(address, worker, str(answer["died"]))
            return None, True
        if "ready" in answer and not parcel:
            worker.state = "ready"
        else:
            self._leave_out(
                address,
                worker,
                str(
                    answer.get("refused") or answer.get("machine") or "it answers another question"
                )[:600],
            )
        return None, False

    def _leave_out(self, address: str, worker: Distant, reason: str) -> None:
        worker.state, self._out[address] = "out", reason
        self._note(f"{address} gets nothing more: {reason}")

    def _silent(self) -> Iterator[tuple[Submission, Verdict | None]]:
        """Give up whoever has been silent for too long."""
        for address, worker in self._workers.items():
            if worker.at and time.monotonic() - worker.since > self._longest:
                parcel, worker.parcel, worker.at = worker.parcel, None, 0
                self._leave_out(address, worker, f"it was silent for more than {self._longest:g} s")
                if parcel:
                    yield parcel.submission, None

    def _news(self) -> list[dict]:
        """What the link has said since; waits for a first word, but not for ever."""
        pipe, found = self._link.stdout.fileno(), []
        if select.select([pipe], [], [], LOOK_EVERY)[0]:
            piece = os.read(pipe, 1 << 20)
            if not piece:
                raise MachineError(f"the process that speaks with {self.address} ended. {KEPT}")
            self._heard += piece
            *whole, rest = self._heard.split(b"\n")
            self._heard, found = bytearray(rest), [json.loads(one) for one in whole]
        return found
