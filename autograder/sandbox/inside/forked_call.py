"""One call in a forked child of the worker, alone, within a cap on its memory that the kernel
keeps.

The child lowers its own limit on address space and forbids itself to fork, both for good: what may
be lowered can never be raised again. It runs the student's code, so it is not believed: before it
hears the question, the limits are read from outside, and every other process of the sandbox is
stopped, so that none can do its work. Memory that the cells took before, more than SPARE, counts as
memory of the call: nothing is gained by taking it early.

The child's changes to objects are gone with it; its answer goes the usual way.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox.api.limits import MIB
from autograder.sandbox.monitor.process import Process
from autograder.sandbox.monitor.procfs import descendants

SPARE = 160 * MIB  # data that cells may have loaded: matplotlib and the like take less
SPARE_ADDRESSES = 400 * MIB  # the same in addresses, which libraries take more of


@dataclass(frozen=True)
class Sizes:
    """Bytes that the processes of a sandbox have reserved together: private memory (VmData) and
    addresses (VmSize).
    """

    data: int
    addresses: int


def sizes_of(process: Process) -> Sizes:
    """As the kernel tells them now; addresses are those of the largest process."""
    pids = descendants(process.pid)
    return Sizes(
        sum(_status(pid, "VmData") for pid in pids),
        max((_status(pid, "VmSize") for pid in pids), default=0),
    )


def ballast_for(frame: int) -> int:
    """Bytes that a child sets aside for its question, and as many for its answer: a few copies of
    what it is given.
    """
    return 3 * (frame // MIB + 2) * MIB


@contextmanager
def capped(
    process: Process, memory: int, ballast: int, before: Sizes, forked_from: set[int]
) -> Iterator[None]:
    """The block in which the child answers. Raises Died if the sandbox is not as it should be.

    before: the sizes before the first cell. forked_from: the processes before the child was asked
    for.
    """
    born = [pid for pid in descendants(process.pid) if pid not in forked_from]
    if len(born) != 1:
        raise process.die("killed", f"{len(born)} processes came where one was asked for")
    child = born[0]
    # What the child has mapped is its own word for it; what it can have mapped honestly is known
    # from before. Of its two ballasts it has given one back by now.
    allowed = (
        min(_status(child, "VmSize") + ballast, before.addresses + SPARE_ADDRESSES + 2 * ballast)
        + memory
    )
    early = max(0, sizes_of(process).data - _status(child, "VmData") - before.data - SPARE)
    if early >= memory:
        raise process.die("memory", f"your cells had taken {early // MIB:,} MiB before the call")
    if _limit(child, "Max address space") > allowed or _limit(child, "Max processes") > 1:
        raise process.die(
            "killed", "it did not take the cap on its memory, or had taken too much before"
        )
    ended = os.pidfd_open(child)
    stopped = _stop_all_but(process, child)

    def look() -> None:
        if select.select([ended], [], [], 0)[0]:
            _continue(stopped)  # the worker says how its child ended

    process.each_look = look
    try:
        yield
    finally:
        process.each_look = None
        os.close(ended)
        _continue(stopped)


def _stop_all_but(process: Process, child: int) -> list[int]:
    """Stop every process inside but one; what a process forked before it was stopped is found in
    the next round.
    """
    stopped: list[int] = []
    while found := [pid for pid in descendants(process.pid) if pid != child and pid not in stopped]:
        for pid in found:
            _send(pid, signal.SIGSTOP)
            stopped.append(pid)
    return stopped


def _continue(pids: list[int]) -> None:
    for pid in pids:
        _send(pid, signal.SIGCONT)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _status(pid: int, name: str) -> int:
    """A size from /proc/PID/status, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
    except OSError:
        return 0


def _limit(pid: int, name: str) -> float:
    """The hard limit of a process as the kernel tells it."""
    try:
        line = next(
            line
            for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
            if line.startswith(name)
        )
        hard = line[len(name) :].split()[1]
        return float("inf") if hard == "unlimited" else int(hard)
    except (OSError, StopIteration):
        return float("inf")
