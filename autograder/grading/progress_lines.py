"""What a terminal is told while a class is graded: a line a submission, and how long the rest will
take.
"""

import shutil
import sys
import time
from collections.abc import Callable

from autograder.grading.grade import Verdict


class Telling:
    """One line a submission: rewritten in place on a terminal, as wide as that is, and plain lines
    in a log.

    The time left is an estimate: as many submissions as are left, each at the pace of this
    assignment in this run. What comes before the first is judged, the start of workers and what is
    looked up, comes once and is left out. Of several assignments (`begin`) the whole is told too,
    those that follow at the pace of all of this run: some take ten times as long as others, so it
    is right in its size at best.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._of, self._later = clock, None, 0
        self._earlier, self._earlier_judged = 0.0, 0
        self._since, self._judged, self._last = clock(), 0, 0.0

    def begin(self, of: tuple[str, int, int], later: int = 0) -> None:
        """The next of several assignments: which of how many, ("02-tokenization", 2, 16).

        later: how many submissions to those after it have no verdict yet.
        """
        if self._judged:
            self._earlier, self._earlier_judged = (
                self._earlier + self._last - self._since,
                self._earlier_judged + self._judged,
            )
        self._of, self._later, self._judged = of, later, 0

    def __call__(self, done: int, total: int, verdict: Verdict) -> None:
        """`done` of `total` submissions have a verdict, this one the last; those of earlier runs
        are among them.
        """
        self._last = self._clock()
        if not self._judged:
            self._since = self._last - verdict.seconds
        self._judged += 1
        if sys.stdout.isatty():
            width = (
                shutil.get_terminal_size().columns - 1
            )  # a full line would end in the next one, which \r does not leave
            print(
                f"\r{self.short(done, total, verdict, width):<{width}}",
                end="\n" if done == total or not verdict.readable else "",
                flush=True,
            )
        else:
            print(self.line(done, total, verdict), flush=True)
        if not verdict.readable:
            print(f"{'':>12}  {verdict.waits('')}", flush=True)

    def line(self, done: int, total: int, verdict: Verdict) -> str:
        """All of it, for a log."""
        where = f"{self._of[1]}/{self._of[2]} {self._of[0]}  " if self._of else ""
        return (
            f"{where}{done:>4} of {total}  {verdict.label:<28.28} {_state(verdict):<14}"
            f" {verdict.seconds:6.1f} s  {self.left(done, total):<18}"
        )

    def short(self, done: int, total: int, verdict: Verdict, width: int) -> str:
        """As much of it as a terminal has room for: how far it is before whose work it was."""
        parts = [
            f"{self._of[1]}/{self._of[2]}" if self._of else "",
            f"{done:>4} of {total}",
            self.left(done, total),
            self._of[0] if self._of else "",
            f"{verdict.label:.28}",
            _state(verdict),
            f"{verdict.seconds:.1f} s",
        ]
        said = ""
        for part in filter(None, parts):
            longer = f"{said}  {part}" if said else part
            if len(longer) > width:
                break
            said = longer
        return said or f"{done} of {total}"[:width]

    def left(self, done: int, total: int) -> str:
        """How long the rest of this assignment takes, and of all; what there is no rest of is not
        said.
        """
        spent = self._last - self._since
        left = (total - done) * spent / self._judged
        said = [f"{spoken(left)} left"] if done < total else []
        if self._later:
            pace = (self._earlier + spent) / (self._earlier_judged + self._judged)
            said.append(f"all in {spoken(left + self._later * pace)}")
        return ", ".join(said)


def _state(verdict: Verdict) -> str:
    return (
        f"{sum(result['earned'] for result in verdict.results):g} points"
        if verdict.readable
        else "needs a human"
    )


def spoken(seconds: float) -> str:
    """How long, for people: "about 40 s", "about 3 min", "about 2 h 10 min"."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes // 60} h {minutes % 60} min"
