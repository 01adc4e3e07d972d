"""What this machine can isolate, and the proof: every escape attempt, tried here and now.

The table that `course doctor` prints and the tests assert come from the same attempts.
"""

import platform
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from autograder.common.errors import CourseError
from autograder.sandbox.api.limits import Limits
from autograder.sandbox.api.opening import WARM
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.backends.choose import choose_backend
from autograder.sandbox.backends.stage import stage
from autograder.sandbox.monitor.process import Process
from autograder.sandbox.selftest.attempts import (
    ESCAPED,
    HELD,
    UNTRIED,
    Outcome,
    all_attempts,
    try_out,
)
from autograder.sandbox.selftest.bait import Bait

ALL_HELD, SOMETHING_ESCAPED, NO_ISOLATION = 0, 1, 2


@dataclass(frozen=True)
class Diagnosis:
    """Which backend this machine gives, why not a stronger one, what came of each attempt, and what
    holds student code, in words.

    graded_wrong: what notebooks whose points are known earned otherwise, a line for each exercise.
    ran_out: that is only because the time ran out.
    """

    backend: str
    tier: str
    reason: str
    outcomes: list[Outcome]
    surroundings: dict[str, str] = field(default_factory=dict)
    graded_wrong: list[str] = field(default_factory=list)
    ran_out: bool = False

    @property
    def exit_code(self) -> int:
        """0 if all is well, 1 if anything escaped, was not tried or was graded wrong, 2 if nothing
        here isolates.
        """
        if not self.outcomes:
            return NO_ISOLATION
        held = all(one.state == HELD for one in self.outcomes)
        return ALL_HELD if held and not self.graded_wrong else SOMETHING_ESCAPED

    @property
    def verdict(self) -> str:
        """One sentence for whoever grades."""
        count = {
            state: sum(one.state == state for one in self.outcomes)
            for state in (HELD, ESCAPED, UNTRIED)
        }
        if not self.outcomes:
            return (
                "Nothing on this machine can isolate student code. Grading others' work is refused"
                f" here, unless you ask for it by name. {self.reason}"
            )
        if self.exit_code == ALL_HELD:
            return (
                f"All {count[HELD]} attempts were held, and two notebooks whose points are known"
                " earned them. You can grade other people's code on this machine."
            )
        if count[HELD] == len(self.outcomes) and self.ran_out:
            return (
                f"All {count[HELD]} attempts were held, but the time ran out before notebooks whose"
                " points are known were graded, see above. Try again when this machine is less"
                " busy."
            )
        if count[HELD] == len(self.outcomes):
            return (
                f"All {count[HELD]} attempts were held, but this machine does not grade right:"
                " notebooks whose points are known earned others, see above. Do not grade other"
                " people's code on this machine."
            )
        return (
            f"{count[ESCAPED]} of {len(self.outcomes)} attempts escaped and {count[UNTRIED]} could"
            " not be tried. Do not grade other people's code on this machine."
        )

    def to_json(self) -> dict:
        """Everything as plain data."""
        return asdict(self) | {
            "exit_code": self.exit_code,
            "verdict": self.verdict,
            "machine": platform.platform(),
        }


def examine(backend: Backend) -> Iterator[Outcome]:
    """Run every attempt against `backend`, one after the other, each in a sandbox of its own."""
    with Bait() as bait:
        for one in all_attempts().values():
            yield try_out(one, backend, bait)


def find_backend(name: str | None = None, cold: bool = False) -> tuple[Backend | None, str]:
    """The backend to examine and an empty reason, or None and why there is none."""
    try:
        return choose_backend(name, True, cold), ""
    except CourseError as error:
        return None, str(error)


def cold_start(backend: Backend, times: int = 5) -> dict[str, float]:
    """Median milliseconds from nothing to "ready": without torch, and with what grading imports
    first.
    """

    def milliseconds(warm: tuple[str, ...]) -> float:
        begun = time.perf_counter()
        process = Process(backend, stage(), Limits(), warm)
        process.wait_until_ready()
        took = 1000 * (time.perf_counter() - begun)
        process.kill()
        return took

    return {
        "empty": statistics.median(milliseconds(()) for _ in range(times)),
        "torch": statistics.median(milliseconds(WARM) for _ in range(times)),
    }
