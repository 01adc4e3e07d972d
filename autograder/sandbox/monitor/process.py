"""One running sandbox seen from outside: the pipe with deadlines, the watch over memory, and the
end of it.

Everything here assumes that the other side is hostile: it may say nothing, say too much, lie about
lengths, close the pipe or keep it open with a child. The reader waits for the pipe, for the end of
the process and for the clock at once.
"""

import fcntl
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.sandbox.api.limits import Limits
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.monitor.procfs import (
    children,
    descendants,
    files_made,
    peak,
    tree_memory,
    waited_here,
)
from autograder.sandbox.monitor.time_account import Account, Waiting
from autograder.sandbox.protocol import frames

LOOK_EVERY = 0.1  # seconds between two looks at the memory of the process tree
GLANCE = 0.01  # seconds after which an answer is worth a look at how long it had to wait
PIECE = 1 << 20
PIPE_SIZE = 1 << 20
LATE = "it did not answer in time"
BUSY = "this machine was too busy to give it a processor for as long as a call may take"
GRACE = 2.0  # seconds that a killed tree may take to disappear
PATIENCE = 3  # times as much on the clock, for code that waits for a processor on a busy machine


class Died(Exception):
    """The sandbox is gone, and why: kind is "time", "memory", "killed", "suspect" (it answered what
    was not asked) or "busy" (it had no processor for its time), text a sentence.
    """

    def __init__(self, kind: str, text: str):
        super().__init__(kind, text)
        self.kind, self.text = kind, text


class Process:
    """A started worker. `send` and `receive` raise Died, after which nothing of it is left."""

    def __init__(self, backend: Backend, stage: Path, limits: Limits, warm: Sequence[str]):
        self.limits = limits
        read_inside, self._write = os.pipe()
        self._read, write_inside = os.pipe()
        self._errors, errors_inside = os.pipe()
        try:
            self._child, self._stop = backend.start(
                stage, limits, warm, read_inside, write_inside, errors_inside
            )
        finally:
            for fd in (read_inside, write_inside, errors_inside):
                os.close(fd)
        self._arrived = (
            bytearray()
        )  # read, and not asked for yet: a frame's length comes with the frame
        self._dying: list[int] | None = None  # once it was killed: its processes, to be waited for
        self._next_look = 0.0
        self.each_look: Callable[[], None] | None = None  # something else to look at while waiting
        self.started = self._asked = time.monotonic()
        self.ends = math.inf  # when everything is over, also for what waits for a processor
        self._account, self._waiting = Account(), Waiting(self._tree)
        self._waited_before = (
            0.0  # how long it had waited for a processor when, or shortly before, it was asked
        )
        self.ready = False
        self.received = 0  # bytes of messages, until now
        self.peak = (
            0  # bytes: the most that one of its processes had at a time, as the last look saw it
        )
        self._ended = os.pidfd_open(self._child.pid) if hasattr(os, "pidfd_open") else None
        for fd in (self._read, self._write, self._errors):
            os.set_blocking(fd, False)
        for fd in (self._read, self._write):
            if hasattr(fcntl, "F_SETPIPE_SZ"):
                _try_resize(fd)

    @property
    def pid(self) -> int:
        """The process id outside, of the sandbox's outermost process."""
        return self._child.pid

    def bill(self, account: Account) -> None:
        """From now on what it waits for a processor is credited to `account`."""
        self._waiting.begin_again()
        self._account, self._waited_before = account, 0.0

    def wait_until_ready(self) -> None:
        """Wait for the worker's first word. Raises Died with what it printed if it never comes."""
        if self.ready:
            return
        try:
            # One that was started ahead may have been ready for minutes: its word is waiting in the
            # pipe.
            message = self.receive(
                max(self.started + self.limits.start_seconds, time.monotonic() + LOOK_EVERY)
            )
        except Died as died:
            said = self._complaint.strip()[-1000:]
            raise Died(
                died.kind, f"the sandbox did not start: {died.text}" + (f"\n{said}" if said else "")
            ) from None
        if message != {"say": "ready", "number": 0}:
            raise self.die("killed", "the sandbox did not start: its first word was not `ready`")
        self.ready = True

    def send(self, frame: bytes, deadline: float) -> None:
        """Write a whole frame before `deadline` (time.monotonic).

        What is read next is the answer to it.
        """
        self._asked = time.monotonic()
        if (
            self._asked - self._waiting.looked >= LOOK_EVERY
        ):  # what it waited since then counts for it: at most as much as that is long
            self._look_at_waiting()
        self._waited_before = self._waiting.total
        view = memoryview(frame)
        while view:
            try:
                view = view[os.write(self._write, view[:PIECE]) :]
            except BlockingIOError:
                self._wait(self._write, select.POLLOUT, deadline)
            except BrokenPipeError:
                raise self._died_by_itself() from None

    def receive(self, deadline: float) -> dict:
        """Read one message before `deadline`. What is not a frame ends the sandbox."""
        length = frames.LENGTH.unpack(self._exactly(8, deadline))[0]
        if length > self.limits.frame_bytes:
            raise self.die(
                "killed",
                f"its answer has {length:,} bytes; at most {self.limits.frame_bytes:,} are read",
            )
        self.received += length
        try:
            message = frames.unpack(self._exactly(length, deadline))
        except frames.ProtocolError as error:
            raise self.die("killed", f"what came back is not an answer: {error}") from None
        if type(message) is not dict:
            raise self.die("killed", "what came back is not an answer: no dictionary")
        return message

    def die(self, kind: str, text: str) -> Died:
        """End everything inside and return the exception to raise."""
        self.kill()
        return Died(kind, text)

    def kill(self) -> None:
        """Kill the whole tree and wait until it is gone. Safe to call twice."""
        self.end()
        self.bury()

    def end(self) -> None:
        """Kill the whole tree: no line of a student's runs any more.

        Until it is gone, see `bury`, its memory is taken. Safe to call twice.
        """
        if self._child is None or self._dying is not None:
            return
        self._look_at_peak()
        self._look_at_waiting()
        # With a process namespace, the death of its first process is the death of all; that one is
        # bwrap's child.
        inner = children(self._child.pid)
        self._dying = (
            [os.pidfd_open(pid) for pid in inner if _exists(pid)] if self._ended is not None else []
        )
        for pid in [self._child.pid, *inner]:
            _signal(pid, os.kill)
        _signal(self._child.pid, os.killpg)  # without namespaces, this much can be done
        if self._stop:
            subprocess.run(self._stop, capture_output=True)

    def bury(self) -> None:
        """Wait until what `end` has killed is gone. Safe to call twice."""
        if self._child is None or self._dying is None:
            return
        self._child.wait()
        for fd in self._dying:
            select.select([fd], [], [], GRACE)
            os.close(fd)
        for fd in (
            self._read,
            self._write,
            self._errors,
            *([self._ended] if self._ended is not None else []),
        ):
            os.close(fd)
        self._child = None

    _complaint = ""  # the start of what the worker wrote to stderr before it was ready

    def _exactly(self, count: int, deadline: float) -> bytearray:
        data = self._arrived  # grows with what arrives, not with what was announced
        while len(data) < count:
            self._wait(self._read, select.POLLIN, deadline)
            try:
                piece = os.read(self._read, PIECE)
            except BlockingIOError:
                continue
            if not piece:
                raise self._died_by_itself()
            data += piece
        self._arrived = data[count:]
        del data[count:]
        return data

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        """Return when `fd` is ready; watch the clock, the memory and the life of the sandbox
        meanwhile.
        """
        poll = select.poll()
        poll.register(fd, event)
        if not self.ready:
            poll.register(self._errors, select.POLLIN)
        elif self._ended is not None:
            poll.register(self._ended, select.POLLIN)
        while True:
            # also while bytes arrive: an answer can be as slow and large as its sender likes
            self._look()
            if self.each_look is not None:
                self.each_look()
            left = self.left(deadline)
            if left <= 0:
                raise self.late(deadline)
            if not (found := dict(poll.poll(0))):
                waited = waited_here()
                if not (found := dict(poll.poll(1000 * min(left, LOOK_EVERY)))):
                    self._account.credit(
                        waited - waited_here()
                    )  # we were late for nothing; it went on meanwhile
            if fd in found:
                if event == select.POLLIN and time.monotonic() - self._waiting.looked >= GLANCE:
                    # now, since a child that answers ends, and takes along how long it had waited
                    self._look_at_waiting()
                return
            if self._errors in found:
                piece = os.read(self._errors, 4096)
                self._complaint = (self._complaint + piece.decode("utf-8", "replace"))[-4000:]
                if not piece:
                    poll.unregister(self._errors)
            elif found:
                raise self._died_by_itself()

    def _tree(self) -> list[int]:
        return [self._child.pid, *descendants(self._child.pid)]

    def left(self, deadline: float) -> float:
        """Seconds until it is late; waiting for a processor is not its time, up to a bound."""
        left = deadline - time.monotonic()
        if left > 0:
            return left
        kept_waiting = min(self._waited(), self._most_waiting(deadline))
        return min(left + kept_waiting, self.ends - time.monotonic())

    def late(self, deadline: float) -> Died:
        """End what has no time left: its own is used up, or the machine did not give it any."""
        busy = 0 < self._most_waiting(deadline) <= self._waited() and time.monotonic() < self.ends
        return self.die("busy", BUSY) if busy else self.die("time", LATE)

    def _waited(self) -> float:
        """Seconds since the last question that the tree was ready to run and had no processor."""
        self._look_at_waiting()
        return self._waiting.total - self._waited_before

    def _most_waiting(self, deadline: float) -> float:
        return (PATIENCE - 1) * max(0.0, deadline - self._asked)

    def _look_at_waiting(self) -> None:
        self._account.credit(self._waiting.look())

    def _look(self) -> None:
        """Look at the memory and the files of the tree, once in LOOK_EVERY seconds. Raises Died."""
        if time.monotonic() < self._next_look:
            return
        self._look_at_peak()
        self._look_at_waiting()
        if tree_memory(self._child.pid, self.limits.tree_memory) > self.limits.tree_memory:
            raise self.die("memory", f"it used more than {self.limits.tree_memory // 2**20:,} MiB")
        if files_made(self._child.pid) > self.limits.files:
            raise self.die("killed", f"it made more than {self.limits.files:,} files")
        self._next_look = time.monotonic() + LOOK_EVERY

    def _look_at_peak(self) -> None:
        self.peak = max(self.peak, *map(peak, self._tree()))

    def _died_by_itself(self) -> Died:
        """The pipe or the process ended without our doing: find out what the kernel says."""
        try:
            code = self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            return self.die("killed", "it closed its pipe")
        self._drain_complaint()
        self.kill()
        number = (
            -code if code < 0 else code - 128
        )  # bwrap and the shell report a signal as 128 + number
        if number == getattr(signal, "SIGXCPU", 0):
            return Died(
                "time", f"it used more than {self.limits.cpu_seconds} seconds of processor time"
            )
        if number in set(signal.Signals):
            return Died("killed", f"it was ended by {signal.Signals(number).name}")
        return Died("killed", f"it ended by itself with exit status {code}")

    def _drain_complaint(self) -> None:
        try:
            while not self.ready and (piece := os.read(self._errors, 4096)):
                self._complaint = (self._complaint + piece.decode("utf-8", "replace"))[-4000:]
        except BlockingIOError:
            return


def _exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _signal(pid: int, how) -> None:
    try:
        how(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # gone already, or a group whose members are


def _try_resize(fd: int) -> None:
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        return  # over the user's quota of pipe memory: smaller pieces, nothing else
