"""Grade many submissions: by worker processes of this machine, each with one submission at a time,
or by another crew.

No single submission can stop the batch: an exception over one is its own trouble (guard.py); a
worker that dies, grows too large or is silent for longer than a submission may take is replaced,
and its submission is tried once more in a fresh worker and then waits for a human. A verdict is
written as soon as it is there, so a run that was interrupted goes on where it stopped.
"""

import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Protocol

from autograder.common.error_boundary import Guard
from autograder.common.errors import MachineError
from autograder.grading.assignment import Assignment, course_secret, load_assignment
from autograder.grading.executors.messages import Sent
from autograder.grading.grade import (
    BUDGET_SECONDS,
    Verdict,
    grade_submission,
    sandboxes,
    undecided,
)
from autograder.grading.intake.discovery import Submission
from autograder.grading.known_notebooks import KnownNotebook, differences, known_notebooks, refuse
from autograder.grading.notebook.read import reading
from autograder.grading.results_store import all_verdicts, held_open, save_verdict
from autograder.sandbox.monitor.time_account import CEILING

WORKER_MEMORY = 4 * 2**30  # bytes resident; torch and the checks take about one eighth
STARTS = 240.0  # seconds to read a submission and to start its sandbox, on a busy machine
LOOK_EVERY = 2.0  # seconds between two looks at the workers' memory
DIED = "The grader failed twice on this submission."


@dataclass
class Worker:
    """One worker process and what it is busy with."""

    process: multiprocessing.Process
    pipe: Connection
    submission: Submission | None = None
    since: float = 0.0


@dataclass
class Batch:
    """What a run did: verdicts by student, how many were kept from earlier runs, and what a regrade
    changed.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    kept: int = 0
    before: dict[str, Verdict] = field(default_factory=dict)
    seconds: float = 0.0


def patience(budget: float) -> float:
    """Seconds that a worker may be silent over one submission: only faults meet it."""
    return CEILING * budget + STARTS


class Crew(Protocol):
    """Who judges: processes here (Here), or workers on other machines (dask.DaskExecutor).

    name: of the isolation. budget: seconds that one submission may use, see
    sandbox/monitor/time_account.py.
    """

    name: str
    budget: float

    def begin(self, assignment: Assignment, course_root: Path, count: int) -> None:
        """Get ready for `count` submissions."""

    def busy(self) -> bool:
        """Whether anything that was handed out is still to come back."""

    def hand_out(self, todo: deque[Submission]) -> None:
        """Take from the left of `todo` for whoever is idle."""

    def answers(self) -> Iterator[tuple[Submission, Verdict | None]]:
        """Wait for some news; what came back, with None for a submission over which a
        worker died.
        """

    def close(self) -> None:
        """Let go of everybody, whatever they are at."""


def grade_all(
    submissions: list[Submission],
    assignment: Assignment,
    course_root: Path,
    jobs: int = 1,
    regrade: bool = False,
    backend: object = None,
    progress: Callable[[int, int, Verdict], None] | None = None,
    guard: Guard | None = None,
    crew: Crew | None = None,
) -> Batch:
    """Grade what has no record for the same bytes and the same checks; everything with `regrade`.

    backend: a sandbox backend, the same for all; default the strongest one here. crew: who judges,
    in the place of `jobs` processes here. Raises CourseError if there is no backend, and
    MachineError when this machine, or the crew, cannot go on; what was graded by then is kept.
    """
    started, batch = time.monotonic(), Batch()
    crew = crew or Here(jobs, backend)
    guard = guard or Guard(course_root)
    course_secret(course_root)
    batch.before = _earlier(submissions, assignment, course_root)
    todo: deque[Submission] = deque()
    for submission in submissions:
        kept = batch.before.get(submission.student)
        if kept and not regrade and _stands(kept, submission, assignment, crew, guard):
            batch.verdicts[submission.student] = _renamed(kept, submission, course_root)
            batch.kept += 1
        else:
            todo.append(submission)
    if todo:
        graded = _graded(todo, assignment, course_root, crew)
        with held_open(course_root), closing(graded):  # whatever a caller raises, the crew goes
            for verdict in graded:
                batch.verdicts[verdict.student] = verdict
                crew.hand_out(todo)  # before the caller does anything slow with the verdict
                if progress:
                    progress(len(batch.verdicts), len(submissions), verdict)
    batch.seconds = time.monotonic() - started
    return batch


def _earlier(
    submissions: list[Submission], assignment: Assignment, course_root: Path
) -> dict[str, Verdict]:
    """By student, the results of these submissions that can be read."""
    stored = all_verdicts(course_root, assignment.name)
    found = {one.student: stored.get(one.student) for one in submissions}
    return {student: verdict for student, verdict in found.items() if verdict}


def _stands(
    kept: Verdict, submission: Submission, assignment: Assignment, crew: Crew, guard: Guard
) -> bool:
    """Whether an earlier result is that of this submission; False where looking failed."""
    return bool(
        guard.run(
            submission.student,
            "looking for an earlier verdict",
            lambda: still_holds(kept, submission, assignment, crew.budget),
        )
    )


def _graded(
    todo: deque[Submission], assignment: Assignment, course_root: Path, crew: Crew
) -> Iterator[Verdict]:
    """Grade everything in `todo`; each result is stored before it is yielded.

    A submission over which a worker died is tried once more.
    """
    died: set[str] = set()
    try:
        crew.begin(assignment, course_root, len(todo))
        while todo or crew.busy():
            crew.hand_out(todo)
            for submission, verdict in crew.answers():
                if verdict is None and submission.student not in died:
                    died.add(submission.student)
                    todo.appendleft(submission)
                    continue
                verdict = verdict or undecided(submission, assignment, DIED)
                save_verdict(course_root, verdict)
                yield verdict
    finally:
        crew.close()


class Here:
    """Worker processes of this machine. Raises CourseError where nothing can isolate student code.

    One more worker grades the known notebooks meanwhile (see known_notebooks.py). What the others
    find is held back until these have what they deserve; if one has not, `answers` raises
    CourseError.
    """

    def __init__(self, jobs: int, backend: object = None, budget: float = BUDGET_SECONDS):
        from autograder.sandbox import choose_backend

        self._jobs, self._backend = jobs, backend or choose_backend()
        self.name, self.budget = self._backend.name, budget
        self._workers: list[Worker] = []
        self._examiner: Worker | None = None
        self._known: deque[KnownNotebook] = deque()
        self._again: list[
            KnownNotebook
        ] = []  # on a machine that is too busy one may lose a point by chance
        self._held: list[tuple[Submission, Verdict | None]] = []

    def begin(self, assignment: Assignment, course_root: Path, count: int) -> None:
        """See Crew."""
        assignment.load()
        with sandboxes(assignment, self._backend, self.budget) as pool:
            pool.prepare(
                wait=False
            )  # the files inside are made once, before the workers are forked
            _ = assignment.checks_hash  # takes about as long as importing torch does inside
            self._known.extend(
                known_notebooks(assignment) if self._proof(assignment) not in _PROVEN else []
            )
            pool.prepare()
        self._assignment, self._root = assignment, course_root
        for _ in range(min(self._jobs, count)):
            self._hire()
        if self._known:
            self._examine_next()

    def busy(self) -> bool:
        """See Crew."""
        return self._examiner is not None or any(worker.submission for worker in self._workers)

    def hand_out(self, todo: deque[Submission]) -> None:
        """See Crew."""
        _hand_out(self._workers, todo)

    def answers(self) -> Iterator[tuple[Submission, Verdict | None]]:
        """See Crew. Who died is replaced."""
        for worker in _ready(self._everybody(), patience(max(self.budget, BUDGET_SECONDS))):
            submission, verdict = worker.submission, _answer(worker)
            if worker is self._examiner:
                self._examined(submission, verdict)
                continue
            if verdict is None:
                _dismiss(worker)
                self._workers.remove(worker)
                self._hire()
            worker.submission = None
            self._held.append((submission, verdict))
        while self._held and self._examiner is None:
            yield self._held.pop(0)

    def close(self) -> None:
        """See Crew."""
        for worker in self._everybody():
            _dismiss(worker)
        self._workers.clear()
        self._known.clear()
        self._again.clear()
        self._held.clear()
        self._examiner = None

    def _examine_next(self) -> None:
        """Hand the next known notebook to the worker that grades these."""
        if self._examiner is None:
            self._hire()
            self._examiner = self._workers.pop()
        self._examiner.submission = None
        _hand_out([self._examiner], self._known)

    def _examined(self, known: KnownNotebook, verdict: Verdict | None) -> None:
        """Go on with the next known notebook, or with the same once more; raise CourseError if it
        was graded wrong twice.
        """
        wrong = differences(known, verdict)
        if wrong and known in self._again:
            refuse(self._assignment, wrong)
        if wrong:
            self._again.append(known)
            self._known.appendleft(known)
        if verdict is None or not self._known:
            _dismiss(self._examiner)
            self._examiner = None
        if self._known:
            self._examine_next()
        else:
            _PROVEN.add(self._proof(self._assignment))

    def _proof(self, assignment: Assignment) -> tuple:
        return assignment.name, assignment.checks_hash, type(self._backend), self.budget

    def _everybody(self) -> list[Worker]:
        return [*self._workers, *([self._examiner] if self._examiner else [])]

    def _hire(self) -> None:
        self._workers.append(
            _hire(self._assignment, self._root, self._backend, self.budget, self._everybody())
        )


_PROVEN: set[tuple] = (
    set()
)  # with what, and for which assignment, this process has seen the known notebooks graded right


def still_holds(
    kept: Verdict, submission: Submission, assignment: Assignment, budget: float = BUDGET_SECONDS
) -> bool:
    """Whether a record may stand: the same was handed in, the same checks, no fault of the grader
    in it, and no smaller budget that did not suffice.
    """
    return (
        kept.checks == assignment.checks_hash
        and not kept.fault
        and kept.source == submission.identity()
        and not 0 < kept.stopped_at < budget
    )


def _renamed(kept: Verdict, submission: Submission, course_root: Path) -> Verdict:
    """The record under the name that the platform has now for this number; saved where that is
    another one.
    """
    if not submission.lms_id or (kept.name, kept.entry) == (submission.name, submission.entry):
        return kept
    kept = replace(kept, name=submission.name, lms_id=submission.lms_id, entry=submission.entry)
    save_verdict(course_root, kept)
    return kept


def _hire(
    assignment: Assignment, course_root: Path, backend: object, budget: float, others: list[Worker]
) -> Worker:
    alone = may_fork()
    context = multiprocessing.get_context("fork" if alone else "spawn")
    here, there = context.Pipe()
    # An end of another's pipe that a fork keeps open would hide our end from that worker.
    theirs = [here.fileno(), *(worker.pipe.fileno() for worker in others)] if alone else []
    process = context.Process(
        target=_work,
        daemon=True,
        args=(
            there,
            assignment.name,
            assignment.checks_hash,
            course_root,
            backend,
            budget,
            os.getpid(),
            theirs,
        ),
    )
    # A Ctrl-C that comes before the worker ignores it waits until then: else it would end the
    # worker with a traceback.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    there.close()
    return Worker(process, here)


def may_fork() -> bool:
    """Whether a worker may be a fork of this process: it has torch and the checks loaded already,
    which saves 3 s.

    With other threads about, a fork may hang.
    """
    return sys.platform == "linux" and threading.active_count() == 1


def _work(
    pipe: Connection,
    assignment: str,
    checks_hash: str,
    course_root: Path,
    backend: object,
    budget: float,
    parent: int,
    theirs: list[int],
) -> None:
    """A worker's life: take a submission, send its verdict, until the pipe closes or its parent
    ends.
    """
    from autograder.sandbox.monitor.lifetime import die_with

    for descriptor in theirs:
        os.close(descriptor)
    die_with(parent)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the one who started us, who ends us
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    loaded, secret = load_assignment(assignment), course_secret(course_root)
    loaded.checks_hash = checks_hash  # one batch, one hash
    guard = Guard(course_root)
    with sandboxes(loaded, backend, budget) as pool, reading() as child:
        while True:
            try:
                submission, more = pipe.recv()
            except (EOFError, KeyboardInterrupt):
                return
            # The next sandbox starts while this submission is judged.
            pool.ahead = 1 if more else 0
            if isinstance(submission, Sent):
                grade = functools.partial(submission.grade, loaded, pool, budget, child)
            else:
                grade = functools.partial(
                    grade_submission, submission, loaded, secret, pool, child, budget
                )
            try:
                verdict = guard.run(submission.student, "grading", grade)
            except MachineError as error:
                pipe.send({"machine": str(error)})
                continue
            verdict = verdict or undecided(submission, loaded, guard.troubles[submission.student])
            pipe.send(verdict.to_json())


def _hand_out(workers: list[Worker], todo: deque[Submission]) -> None:
    for worker in workers:
        if worker.submission is None and todo:
            worker.submission, worker.since = todo.popleft(), time.monotonic()
            try:
                worker.pipe.send((worker.submission, bool(todo)))
            except OSError:
                continue  # it is dead; _ready finds its pipe closed


def _ready(workers: list[Worker], longest: float) -> list[Worker]:
    """Busy workers that have an answer, are dead, are silent for too long, or have grown
    too large.
    """
    from autograder.sandbox.monitor.procfs import resident

    busy = [worker for worker in workers if worker.submission]
    while True:
        heard = wait([worker.pipe for worker in busy], timeout=LOOK_EVERY)
        now = time.monotonic()
        found = [
            worker
            for worker in busy
            if worker.pipe in heard
            or now - worker.since >= longest
            or resident(worker.process.pid) > WORKER_MEMORY
        ]
        if found:
            return found


def _answer(worker: Worker) -> Verdict | None:
    try:
        record = worker.pipe.recv() if worker.pipe.poll() else None
    except (EOFError, OSError):
        return None
    if record and "machine" in record:
        raise MachineError(record["machine"])
    return Verdict.from_json(record) if record else None


def _dismiss(worker: Worker) -> None:
    worker.pipe.close()
    if worker.submission is not None:
        worker.process.kill()
    worker.process.join(timeout=10)
    if worker.process.is_alive():
        worker.process.kill()
