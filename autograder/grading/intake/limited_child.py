"""Work on a student's bytes, in a process of its own with limits on time and memory.

Whatever a file makes our readers do, quadratic patterns and deep nesting included, ends here with a
sentence: the child sends JSON back or is killed. It is our own code in a fork of ours, so this is a
limit, not a wall. `in_limits` forks for one item, `Limited` for a class of them. On Windows, where
only one's own notebook is looked at, nothing is forked and nothing limited.
"""

import faulthandler
import json
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable

from autograder.common.errors import MachineError
from autograder.grading.notebook.parse import IntakeError
from autograder.sandbox.monitor.lifetime import die_with

try:
    import resource
except ImportError:  # Windows
    resource = None

SECONDS = 20  # of processor time
LENGTH = struct.Struct(">Q")
PATIENCE = 4  # times as much on the wall clock: the machine may be busy
MEMORY = 768 * 2**20  # address space beyond what the process has already
MAX_ANSWER = 64 * 2**20


def in_limits(work: Callable[[], object], seconds: int = SECONDS, memory: int = MEMORY) -> object:
    """What `work()` returns, which must be JSON, computed in a child within the limits.

    Raises IntakeError as `work` does, and when a limit ends the child; MachineError as `work` does;
    RuntimeError with the child's traceback for any other exception.
    """
    if not hasattr(os, "fork"):
        return json.loads(json.dumps(work()))
    read, write = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(read)
        _serve(work, write, parent, seconds, memory)
    os.close(write)
    try:
        data = _receive(read, time.monotonic() + PATIENCE * seconds)
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if data is None:
        raise _too_much(seconds, memory)
    return _value(data)


class Limited:
    """`work(item)` for one item after another, in one child, within the limits of `in_limits` for
    each item.

    A fork of a process as large as the grader costs more than most items do. When the child meets a
    limit or dies, the next item gets a fresh one; its own item is done once more in a child of its
    own, unless it was the first, so that none pays for those before it. What `work` uses is as it
    was when the child started. Use it in a `with` block, from one thread.
    """

    def __init__(
        self, work: Callable[[object], object], seconds: int = SECONDS, memory: int = MEMORY
    ):
        self._work, self._seconds, self._memory = work, seconds, memory
        self._child, self._owner, self._served = 0, 0, 0

    def __enter__(self) -> "Limited":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, item: object) -> object:
        """What `work(item)` returns; raises as `in_limits` does."""
        if (
            not self._child or self._owner != os.getpid()
        ):  # a fork of ours must not speak with its parent's child
            self._start()
        data = self._ask(pickle.dumps(item))
        self._served += 1
        if data is None:
            first = self._served == 1
            self.close()
            if first:
                raise _too_much(self._seconds, self._memory)
            return in_limits(lambda: self._work(item), self._seconds, self._memory)
        return _value(data)

    def close(self) -> None:
        """End the child; the next item would start another."""
        if self._child and self._owner == os.getpid():
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            os.close(self._asks)
            os.close(self._hears)
        self._child = 0

    def _start(self) -> None:
        theirs, self._asks = os.pipe()
        self._hears, back = os.pipe()
        self._owner, self._served = os.getpid(), 0
        self._child = os.fork()
        if self._child == 0:
            _serve_many(self._work, theirs, back, self._owner, self._seconds, self._memory)
        os.close(theirs)
        os.close(back)

    def _ask(self, item: bytes) -> bytes | None:
        view = memoryview(LENGTH.pack(len(item)) + item)
        try:
            while view:
                view = view[os.write(self._asks, view) :]
        except BrokenPipeError:
            return None
        return _receive(self._hears, time.monotonic() + PATIENCE * self._seconds, end=b"}\n")


def _too_much(seconds: int, memory: int) -> IntakeError:
    return IntakeError(f"reading it takes more than {seconds} s or {memory // 2**20:,} MiB")


def _value(data: bytes) -> object:
    answer = json.loads(data)
    if "refused" in answer:
        raise IntakeError(answer["refused"])
    if "machine" in answer:
        raise MachineError(answer["machine"])
    if "broken" in answer:
        raise RuntimeError(answer["broken"])
    return answer["value"]


def _serve(work: Callable[[], object], write: int, parent: int, seconds: int, memory: int) -> None:
    """The child's whole life. It never returns."""
    faulthandler.disable()  # its death is an answer, not a crash of ours to be reported
    try:
        die_with(parent)
        _bound(memory)
        _lower(resource.RLIMIT_CPU, seconds)
        _send(write, _answer(work))
    finally:
        os._exit(0)


def _serve_many(
    work: Callable[[object], object], read: int, write: int, parent: int, seconds: int, memory: int
) -> None:
    """The whole life of a child that serves until its pipe closes. It never returns."""
    faulthandler.disable()
    try:
        die_with(parent)
        kept = sorted({0, 1, 2, read, write})
        for low, high in zip(
            kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")]
        ):  # a pipe that it held would hide another's end
            os.closerange(low + 1, high)
        _bound(memory)
        with open(read, "rb") as asked:
            while header := asked.read(LENGTH.size):
                item = pickle.loads(asked.read(LENGTH.unpack(header)[0]))  # from our own parent
                used = resource.getrusage(resource.RUSAGE_SELF)
                hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
                resource.setrlimit(
                    resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + seconds, hard)
                )
                _send(write, _answer(lambda: work(item)) + b"\n")  # noqa: B023
    finally:
        os._exit(0)


def _bound(memory: int) -> None:
    mapped = (
        int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        if sys.platform == "linux"
        else 0
    )
    if mapped:
        _lower(resource.RLIMIT_AS, mapped + memory)
    _lower(resource.RLIMIT_CORE, 0)


def _answer(work: Callable[[], object]) -> bytes:
    try:
        answer = {"value": work()}
    except IntakeError as error:
        answer = {"refused": str(error)}
    except MachineError as error:
        answer = {"machine": str(error)}
    except MemoryError:
        os._exit(1)
    except Exception:
        answer = {"broken": traceback.format_exc(limit=-8)[-6_000:]}
    return json.dumps(answer).encode()


def _send(write: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(write, view) :]


def _lower(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (value, value))


def _receive(read: int, deadline: float, end: bytes = b"") -> bytes | None:
    """All that the child writes until it closes the pipe, or until `end`; None when that is not a
    whole answer in time.
    """
    data = bytearray()
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(read, 1 << 20)
        if not piece:
            return bytes(data) if not end and data[-1:] == b"}" else None
        data += piece
        if end and data.endswith(end):
            return bytes(data)
        if len(data) > MAX_ANSWER:
            return None
    return None
