"""Work on a student's bytes, in a process of its own with limits on time and memory.

Whatever a file makes our readers do, quadratic patterns and deep nesting included, ends here with a sentence: the
child sends JSON back or is killed. It is our own code in a fork of ours, so this is a limit, not a wall.
"""
import faulthandler
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable

from autograder.errors import MachineError
from autograder.grading.intake import IntakeError
from autograder.sandbox.lifetime import die_with

SECONDS = 20                # of processor time
PATIENCE = 4                # times as much on the wall clock: the machine may be busy
MEMORY = 768 * 2**20        # address space beyond what the process has already
MAX_ANSWER = 64 * 2**20


def in_limits(work: Callable[[], object], seconds: int = SECONDS, memory: int = MEMORY) -> object:
    """What `work()` returns, which must be JSON, computed in a child within the limits.

    Raises IntakeError as `work` does, and when a limit ends the child; MachineError as `work` does; RuntimeError with the
    child's traceback for any other exception.
    """
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
        raise IntakeError(f"reading it takes more than {seconds} s or {memory // 2**20:,} MiB")
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
    faulthandler.disable()      # its death is an answer, not a crash of ours to be reported
    try:
        die_with(parent)
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
        if mapped:
            _lower(resource.RLIMIT_AS, mapped + memory)
        _lower(resource.RLIMIT_CPU, seconds)
        _lower(resource.RLIMIT_CORE, 0)
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
        view = memoryview(json.dumps(answer).encode())
        while view:
            view = view[os.write(write, view):]
    finally:
        os._exit(0)


def _lower(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (value, value))


def _receive(read: int, deadline: float) -> bytes | None:
    """All that the child writes until it closes the pipe; None when that is not a whole answer in time."""
    data = bytearray()
    while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(read, 1 << 20)
        if not piece:
            return bytes(data) if data[-1:] == b"}" else None
        data += piece
        if len(data) > MAX_ANSWER:
            return None
    return None
