"""An entry of the code track in the sandbox: its training, and its predictions byte by byte.

Each pass over the passages has a fresh sandbox that gets the entry's source and the artefact, and
nothing else: no other pass, no training text, no data cache, no network. A byte of a passage
crosses the pipe only after the distribution for it has arrived as an array.

Processor time is measured from outside: the clock while the entry works, without what it waited for
a processor (see `autograder/sandbox/monitor/time_account.py`). The kernel allows it one process
with one thread, so the clock cannot be cheated with several, and ends the process that uses more
processor time than it may.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from autograder.checks.student.handles import Handle
from autograder.checks.student.requests import Request, StudentError
from autograder.common.errors import CourseError
from autograder.golf.rules import ALPHABET, MAX_ARTEFACT, Invalid, Rules
from autograder.sandbox.api.cells import Cell
from autograder.sandbox.api.limits import MIB, Limits
from autograder.sandbox.api.opening import open_student
from autograder.sandbox.api.student import MachineBusy, RemoteStudent
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.monitor.time_account import Account

PATIENCE = 10  # times its seconds by the clock, on a machine that has other work
NEARLY = 0.9  # of its seconds: an entry that ends with so many used up ended for lack of time
SUM_TOLERANCE = 1e-4  # of 256 probabilities in float32

# Runs after the entry's source, in the same process: it is for the entry's convenience, and
# nothing is safer for it.
DRIVER = """
def w2s_train(text, seed):
    made = train(bytes(text.numpy()), seed)
    if type(made) not in (bytes, bytearray):
        raise TypeError(f"train returned {type(made).__name__}: return bytes")
    return bytes(made)


class W2sPredictor:
    def __init__(self, artefact, passages):
        self.own = Predictor(artefact, passages)

    def next(self, observed):
        import torch

        return torch.as_tensor(self.own.next(observed), dtype=torch.float32).detach()
"""


@dataclass
class Opened:
    """A sandbox in which an entry's source has run, and the account of its time."""

    student: RemoteStudent
    account: Account
    seconds: float  # of processor time that it may use
    late: str  # the check that fails when they are used up

    def call(self, name: str, *args: object) -> object:
        """The value of a call of a function. Raises Invalid."""
        return self.perform(Request("call", name.removeprefix("w2s_"), name, args=args))

    def build(self, artefact: bytes, passages: int) -> Handle:
        """The entry's Predictor for some passages. Raises Invalid."""
        kept = Handle(self.student, "Predictor")
        self.perform(
            Request("call", "Predictor", "W2sPredictor", args=(artefact, passages), keep=kept)
        )
        return kept

    def perform(self, request: Request) -> object:
        """The value that a request brings back. Raises Invalid, CourseError on a busy machine."""
        try:
            return self.student.perform(request).value
        except StudentError as error:
            raise self._broken(error) from None
        except MachineBusy as busy:
            raise _busy(f"{busy}") from None

    def _broken(self, error: StudentError) -> Exception:
        if self.account.spent >= NEARLY * self.seconds:
            return Invalid(self.late, f"{self.seconds:.1f} seconds are used up: {error.text}")
        asked = error.kind in ("time", "fault") and self.late == "prediction budget"
        return Invalid("one pass" if asked else "runs", error.text.strip())


def _busy(text: str) -> CourseError:
    return CourseError(f"this machine is too busy to measure: {text} Run it again when it is idle")


@dataclass(frozen=True)
class Machine:
    """Where entries run: a backend of the sandbox, and the rules.

    start_seconds: processor time that a sandbox may take to start, for backends that import torch
    in each.
    """

    backend: Backend
    rules: Rules
    start_seconds: int = 5

    @contextmanager
    def open(
        self, cells: list[Cell], seconds: float = 600.0, late: str = "training budget"
    ) -> Iterator[Opened]:
        """A fresh sandbox with `seconds` of processor time, in which the cells have run."""
        training = late == "training budget"
        limits = Limits(
            call_seconds=PATIENCE * seconds if training else self.rules.step_seconds,
            total_seconds=10 * PATIENCE * seconds,
            cpu_seconds=math.ceil(seconds) + self.start_seconds,
            memory=2048 * MIB,
            tree_memory=3072 * MIB,
            processes=1,
            answer_bytes=1024 * MIB,
            restarts=0,
        )
        account = Account()
        try:
            with open_student(cells, (), limits, self.backend, account=account) as student:
                for failed in student.cell_errors:
                    raise Invalid("runs", failed.text.strip())
                yield Opened(student, account, seconds, late)
        except MachineBusy as busy:
            raise _busy(f"{busy}") from None

    def train(self, source: str, text: bytes, seed: int, seconds: float) -> tuple[bytes, float]:
        """The artefact that the entry's `train` makes, and the seconds it took. Raises Invalid."""
        with self.open(entry_cells(source), seconds) as opened:
            given = torch.frombuffer(bytearray(text), dtype=torch.uint8)
            artefact = opened.call("w2s_train", given, seed)
            spent = opened.account.spent
        if type(artefact) is not bytes:
            raise Invalid("runs", "train did not return bytes")
        if len(artefact) > MAX_ARTEFACT:
            raise Invalid(
                "artefact size", f"it has {len(artefact):,} bytes, {MAX_ARTEFACT:,} are allowed"
            )
        return artefact, spent

    @contextmanager
    def predictor(
        self, source: str, artefact: bytes, passages: int, seconds: float
    ) -> Iterator["Predictor"]:
        """A Predictor of the entry in a fresh sandbox."""
        with self.open(entry_cells(source), seconds, "prediction budget") as opened:
            yield Predictor(opened, opened.build(artefact, passages), passages)


def entry_cells(source: str) -> list[Cell]:
    """The entry's source and the driver."""
    return [Cell("entry", source), Cell(None, DRIVER)]


class Predictor:
    """An entry's predictor, seen from outside."""

    def __init__(self, opened: Opened, handle: Handle, passages: int):
        self._opened, self._handle, self._passages = opened, handle, passages

    @property
    def spent(self) -> float:
        """Seconds of processor time until now."""
        return self._opened.account.spent

    def next(self, observed: np.ndarray | None) -> np.ndarray:
        """The distributions (B, 256) after one more byte of each passage; None at the start.

        Raises Invalid for anything but distributions.
        """
        given = None if observed is None else torch.from_numpy(observed.astype(np.int64))
        value = self._opened.perform(
            Request("call", "Predictor.next", "next", of=self._handle, args=(given,))
        )
        return distributions(value, self._passages)


def distributions(value: object, passages: int) -> np.ndarray:
    """What an entry sent, as float64 (B, 256). Raises Invalid for anything but distributions."""
    if type(value) is not torch.Tensor or value.dtype != torch.float32:
        raise Invalid("probabilities", "it returned something other than an array of numbers")
    if tuple(value.shape) != (passages, ALPHABET):
        raise Invalid(
            "probabilities",
            f"the shape is {tuple(value.shape)}; return ({passages}, {ALPHABET})",
        )
    found = value.numpy().astype(np.float64)
    if not np.isfinite(found).all() or found.min() < 0:
        raise Invalid("probabilities", "a probability is negative or not a number")
    worst = max(found.sum(-1), key=lambda total: abs(total - 1))
    if abs(worst - 1) > SUM_TOLERANCE:
        raise Invalid("probabilities", f"they add up to {worst:.6g} in place of 1")
    return found
