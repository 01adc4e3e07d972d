"""Sandboxes that start before they are needed.

A cold start is almost all `import torch` by the worker. While one submission is being graded (which
mostly waits, or runs on another core) the next sandbox can warm up. Each sandbox still serves one
submission only: what is started ahead has never seen student code.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from autograder.sandbox.api.cells import Cell
from autograder.sandbox.api.limits import Limits
from autograder.sandbox.api.opening import WARM, open_student
from autograder.sandbox.api.student import RemoteStudent
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.backends.choose import choose_backend
from autograder.sandbox.backends.stage import stage
from autograder.sandbox.monitor.process import Process
from autograder.sandbox.monitor.time_account import Account


class Pool:
    """`with Pool(withhold) as pool:` and then `with pool.open_student(cells) as student:` for one
    after the other.

    extra: source files beside the reference, as in `stage`. ahead: how many sandboxes to keep
    started. Use a pool from one thread that outlives it: the kernel ends a sandbox together with
    the thread that started it.
    """

    def __init__(
        self,
        withhold: Sequence[str] | Mapping[str, str] = (),
        limits: Limits | None = None,
        backend: Backend | None = None,
        ahead: int = 1,
        warm: Sequence[str] | None = None,
        extra: Mapping[str, str] | None = None,
    ):
        self.withhold, self.limits, self.ahead = withhold, limits or Limits(), ahead
        self.warm = WARM if warm is None else warm
        self.backend, self.extra = backend or choose_backend(), extra or {}
        self._waiting: deque[Process] = deque()
        self._killed: deque[Process] = (
            deque()
        )  # it takes milliseconds until one is gone: the next submission need not wait for that
        self._left: int | None = None

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        while self._waiting:
            self._waiting.popleft().kill()
        self._bury(0)

    def prepare(self, wait: bool = True) -> None:
        """Make the files that are inside, and what has imported torch, before this process is
        forked: its forks then share them.

        Without `wait` the importing goes on meanwhile; a second call waits for it.
        """
        self.backend.share(stage(self.withhold, self.extra), self.limits, self.warm, wait)

    def expect(self, submissions: int) -> None:
        """Say how many submissions are still to come, so that none is started in vain at
        the end.
        """
        self._left = submissions
        self._fill()

    @contextmanager
    def open_student(
        self, cells: Sequence[Cell], ignored: Sequence[str] = (), account: Account | None = None
    ) -> Iterator[RemoteStudent]:
        """Like `open_student`, in the sandbox that has waited longest; the next one starts
        meanwhile.
        """
        self._bury(1)
        process = self._waiting.popleft() if self._waiting else self._start()
        if self._left is not None:
            self._left -= 1
        self._fill()
        with open_student(
            cells,
            self.withhold,
            self.limits,
            self.backend,
            warm=self.warm,
            process=process,
            ignored=ignored,
            extra=self.extra,
            account=account,
            bury=self._killed.append,
        ) as student:
            yield student

    def _bury(self, but: int) -> None:
        """Wait until what was killed is gone; `but` so many of the last."""
        while len(self._killed) > but:
            self._killed.popleft().bury()

    def _fill(self) -> None:
        wanted = self.ahead if self._left is None else min(self.ahead, self._left)
        while len(self._waiting) < wanted:
            self._waiting.append(self._start())

    def _start(self) -> Process:
        return Process(self.backend, stage(self.withhold, self.extra), self.limits, self.warm)
