"""What one submission may use of a grader: seconds of its own, and seconds by the clock.

Its own are those in which its cells and its calls are carried out, with what our functions do that
it calls back and however long it sleeps, and those in which what it returned is read and compared.
Two things are not charged. What its threads were ready to run and waited for a processor, for which
a busy machine is to blame, and we with them; and what is not done for it: the start of a sandbox,
and what a check does between two calls.

By the clock everything counts, from its first cell on, and CEILING times as many seconds end it
too: whoever makes himself wait, or our checks work, gains no more than that.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autograder.sandbox.monitor.procfs import scheduled, waited_here

CEILING = 3  # times the seconds of its own, by the clock


class Account:
    """The seconds of one submission, however many sandboxes serve it.

    The default is never used up.
    """

    def __init__(self, seconds: float = math.inf):
        self.seconds = seconds
        self._charged = self._credited = 0.0
        self._used_up = False
        self._began: float | None = None
        self._running: float | None = None  # since when, inside a block that is charged

    def begin(self) -> None:
        """The clock starts, unless it runs already."""
        if self._began is None:
            self._began = time.monotonic()

    @contextmanager
    def charging(self) -> Iterator[None]:
        """The time of this block counts. A block inside another is part of it."""
        if self._running is not None:
            yield
            return
        self.begin()
        self._running, waited = time.monotonic(), waited_here()
        try:
            yield
        finally:
            self._charged += time.monotonic() - self._running
            self._running = None
            self.credit(waited_here() - waited)

    def credit(self, seconds: float) -> None:
        """Take back what was waited for a processor."""
        self._credited += seconds

    def use_up(self) -> None:
        """It was stopped where its seconds ended: none are left, whatever is credited yet."""
        self._used_up = True

    @property
    def spent(self) -> float:
        """Seconds of its own until now."""
        running = 0.0 if self._running is None else time.monotonic() - self._running
        return max(0.0, self._charged + running - self._credited)

    @property
    def left(self) -> float:
        """Seconds of its own that are left; below 0 when it used more."""
        left = self.seconds - self.spent
        return min(left, 0.0) if self._used_up else left

    @property
    def ends(self) -> float:
        """When it ends by the clock, in time.monotonic()."""
        return math.inf if self._began is None else self._began + CEILING * self.seconds

    @property
    def by_clock(self) -> bool:
        """Whether the clock ended it, with seconds of its own left."""
        return time.monotonic() >= self.ends and self.left > 0

    @property
    def over(self) -> bool:
        """Whether nothing more is to be done for it."""
        return self.left <= 0 or time.monotonic() >= self.ends


class Waiting:
    """How long a tree of processes had to wait for a processor, as read now and then.

    Of threads that wait at the same time the one that waited longest counts. In no second did they
    wait in which they ran: threads that keep each other waiting gain nothing by it. Where the
    kernel does not tell, nothing was waited.
    """

    def __init__(self, processes: Callable[[], list[int]]):
        self._processes = processes
        self._seen: dict[int, tuple[float, float]] = {}
        self.looked = time.monotonic()
        self._waited = self._free = 0.0
        self.total = 0.0  # seconds since this began

    def begin_again(self) -> None:
        """Forget what was waited until now."""
        self.look()
        self._waited = self._free = self.total = 0.0

    def look(self) -> float:
        """Read again; the seconds that this adds."""
        now, seen = time.monotonic(), scheduled(self._processes())
        grown = [
            (ran - before[0], waited - before[1])
            for thread, (ran, waited) in seen.items()
            for before in [self._seen.get(thread, (0.0, 0.0))]
        ]
        self._waited += max((waited for _, waited in grown), default=0.0)
        self._free += max(0.0, now - self.looked - sum(ran for ran, _ in grown))
        self._seen, self.looked = seen, now
        before, self.total = self.total, max(self.total, min(self._waited, self._free))
        return self.total - before
