"""What a terminal is told while a class is graded: a line a submission, and how long the rest will take."""
import sys
import time
from collections.abc import Callable

from autograder.grading.verdict import Verdict


class Telling:
    """One line a submission: rewritten in place on a terminal, plain lines in a log.

    The time left is an estimate: as many submissions as are left, each at the pace of this run so far. of: which assignment
    of how many, ("02-tokenization", 2, 16).
    """

    def __init__(self, of: tuple[str, int, int] | None = None, clock: Callable[[], float] = time.monotonic):
        self._of, self._clock, self._judged = of, clock, 0
        self._started = clock()

    def __call__(self, done: int, total: int, verdict: Verdict) -> None:
        """`done` of `total` submissions have a verdict, this one the last; those of earlier runs are among them."""
        self._judged += 1
        line = self.line(done, total, verdict)
        if sys.stdout.isatty():
            print(f"\r{line}", end="\n" if done == total or not verdict.readable else "", flush=True)
        else:
            print(line, flush=True)
        if not verdict.readable:
            print(f"{'':>12}  {verdict.waits('')}", flush=True)

    def line(self, done: int, total: int, verdict: Verdict) -> str:
        """The line, with a fixed width for what changes, so that it covers the one before it."""
        earned = sum(result["earned"] for result in verdict.results)
        state = f"{earned:g} points" if verdict.readable else "needs a human"
        where = f"{self._of[1]}/{self._of[2]} {self._of[0]}  " if self._of else ""
        left = (total - done) * (self._clock() - self._started) / self._judged if self._judged else 0.0
        return f"{where}{done:>4} of {total}  {verdict.label:<28.28} {state:<14} {verdict.seconds:6.1f} s  {spoken(left) if done < total else '':<18}"


def spoken(seconds: float) -> str:
    """About how long, for people: "about 40 s left", "about 3 min left", "about 2 h 10 min left"."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 90 else f"about {minutes // 60} h {minutes % 60} min left"
