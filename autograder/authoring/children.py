"""Work item by item in forked children, of which none can do harm: what hangs or dies costs that
item only.

A child goes through the items and says a line about each. One that stays silent for too long is
killed, and so is the last one when nobody asks any more; a fresh child goes on with the next item.
Time is that of the child's processor, where the system tells it, so that a busy machine changes no
answer.
"""

import faulthandler
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from autograder.sandbox.monitor.lifetime import die_with

T = TypeVar("T")
PATIENCE = 10  # times the limit on the wall clock, where the child's processor time is not known
GLANCE = 0.25  # seconds between two looks at a silent child


def in_children(
    items: Sequence[T],
    work: Callable[[T], object],
    seconds: float,
    prepare: Callable[[], object] = lambda: None,
) -> Iterator[tuple[T, object, str]]:
    """For each item: the item, what `work` returned for it (JSON), and "" or how the child ended
    over it.

    That is "time" after `seconds` of computing or of sleeping without an answer, "process" when the
    child died or `work` raised. prepare: what each child does first. Close the iterator when you
    stop early.
    """
    waiting = list(items)
    while waiting:
        with _child(waiting, work, prepare) as (child, answers):
            said, clock = b"", _Clock(child, seconds)
            while waiting:
                ready = select.select([answers], [], [], GLANCE)[0]
                if not ready and not clock.is_over():
                    continue
                piece = os.read(answers, 1 << 16) if ready else b""
                said += piece
                *lines, said = said.split(b"\n")
                for line in lines:
                    yield waiting.pop(0), json.loads(line), ""
                if not piece:
                    yield waiting.pop(0), None, "process" if ready else "time"
                    break
                if lines:
                    clock = _Clock(child, seconds)


class _Clock:
    """Whether a child has computed, or slept, for longer than `seconds` since this clock
    was made.
    """

    def __init__(self, child: int, seconds: float):
        self.child, self.seconds, self.begun, self.awake = (
            child,
            seconds,
            time.monotonic(),
            time.monotonic(),
        )
        self.spent = _processor_time(child)[0]

    def is_over(self) -> bool:
        spent, runs = _processor_time(self.child)
        now = time.monotonic()
        if spent is None:
            return now - self.begun > PATIENCE * self.seconds
        if runs:
            self.awake = now
        return spent - (self.spent or 0) > self.seconds or now - self.awake > self.seconds


def _processor_time(child: int) -> tuple[float | None, bool]:
    """Seconds of processor time of a child, and whether it wants more of it; (None, True) where
    that is not told.
    """
    try:
        with open(f"/proc/{child}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None, True
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == "R"


@contextmanager
def _child(
    items: Sequence[T], work: Callable[[T], object], prepare: Callable[[], object]
) -> Iterator[tuple[int, int]]:
    """A child at work, and the pipe to read; it ends with the block, however that ends."""
    read, write = os.pipe()
    sys.stdout.flush()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        _serve(items, work, prepare, write, parent)
    os.close(write)
    try:
        yield child, read
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)


def _serve(
    items: Sequence[T],
    work: Callable[[T], object],
    prepare: Callable[[], object],
    write: int,
    parent: int,
) -> None:
    """The child's whole life. It never returns."""
    try:
        die_with(parent)
        faulthandler.disable()  # what dies here is told by its silence
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(quiet, descriptor)
        import torch

        torch.set_num_threads(1)  # a forked child has no threads of its parent's pool
        prepare()
        for item in items:
            os.write(write, json.dumps(work(item)).encode() + b"\n")
        signal.pause()  # the parent ends it
    finally:
        os._exit(1)
