"""Every way out that `course doctor` tries, as a test; and the proof that each of these tests can
fail.

The same attempts run against the process backend, which isolates nothing. What escapes there shows
that the attempt works and that its trace is seen; what is held there too is held by the pipe, the
clock and the kernel's limits, which both backends share.
"""

from dataclasses import replace

import pytest

from autograder.sandbox.api.student import MachineBusy, RemoteStudent
from autograder.sandbox.backends.base import ProcessBackend
from autograder.sandbox.backends.bubblewrap import BubblewrapBackend
from autograder.sandbox.backends.warm import WarmBackend
from autograder.sandbox.selftest.attempts import (
    ESCAPED,
    HELD,
    UNTRIED,
    Attempt,
    all_attempts,
    try_out,
)
from autograder.sandbox.selftest.bait import REPOSITORY, Bait

pytestmark = pytest.mark.sandbox
HELD_BY_PIPE_AND_LIMITS = {
    "inherited-descriptors",
    "memory-hog",
    "memory-in-children",
    "endless-loop",
    "output-flood",
    "lying-frame",
    "forged-frame",
    "equal-to-everything",
    "orphaned-pipe",
}


@pytest.fixture(scope="module")
def bait():
    with Bait() as laid_out:
        yield laid_out


@pytest.mark.parametrize("backend", [BubblewrapBackend(), WarmBackend()], ids=["cold", "warm"])
@pytest.mark.parametrize("name", all_attempts())
def test_the_sandbox_holds(name, backend, bait):
    outcome = try_out(all_attempts()[name], backend, bait)
    assert outcome.state == HELD, outcome.happened


@pytest.mark.parametrize(
    "name", [name for name in all_attempts() if name not in HELD_BY_PIPE_AND_LIMITS]
)
def test_the_same_attempt_escapes_where_nothing_isolates(name, bait):
    outcome = try_out(all_attempts()[name], ProcessBackend(), bait)
    assert outcome.state == ESCAPED, outcome.happened


def test_an_attempt_that_fails_by_its_own_fault_does_not_count_as_held(bait):
    assert (
        try_out(Attempt("broken", "divide by zero", broken), ProcessBackend(), bait).state
        == UNTRIED
    )


def broken(facts):
    return str(1 / 0)


@pytest.mark.parametrize(("ends", "state"), [(("time",), HELD), (("memory",), UNTRIED)])
def test_an_attempt_that_a_busy_machine_stopped_was_ended_by_the_clock(
    ends, state, bait, monkeypatch
):
    def busy(self, *args):
        raise MachineBusy("`broken` was stopped: this machine was too busy.")

    monkeypatch.setattr(RemoteStudent, "call", busy)
    one = Attempt("broken", "divide by zero", broken, ends, must_end=True)
    assert try_out(one, ProcessBackend(), bait).state == state


class Weakened(BubblewrapBackend):
    """The sandbox with one wall taken out of its command line, or a window put in."""

    def __init__(self, remove=(), window=None):
        self.remove, self.window = remove, window

    def launch(self, *args):
        launch = super().launch(*args)
        command = list(launch.command)
        for option, values in self.remove:
            while option in command:
                at = command.index(option)
                del command[at : at + 1 + values]
        if self.window:
            closing = next(
                i
                for i, word in enumerate(command)
                if word == "--remount-ro" and command[i + 1] == "/"
            )
            parents = [
                part
                for folder in list(self.window.parents)[-2::-1]
                for part in ("--perms", "0755", "--dir", str(folder))
            ]
            command[closing:closing] = [*parents, "--ro-bind", str(self.window), str(self.window)]
        return replace(launch, command=command)


WALLS = [
    (
        "the system-call filter",
        Weakened([("--seccomp", 1)]),
        ["kernel-calls", "sockets", "memory-elsewhere"],
    ),
    (
        "the filter and the network namespace",
        Weakened([("--seccomp", 1), ("--unshare-net", 0)]),
        ["loopback"],
    ),
    (
        "the process namespace",
        Weakened([("--unshare-pid", 0), ("--as-pid-1", 0)]),
        ["process-list"],
    ),
    ("the sizes of the mounts in memory", Weakened([("--size", 1)]), ["fill-disk"]),
    ("the repository's absence", Weakened(window=REPOSITORY), ["answers"]),
]


@pytest.mark.parametrize("wall, backend, names", WALLS, ids=[wall for wall, _, _ in WALLS])
def test_each_wall_is_needed(wall, backend, names, bait):
    for name in names:
        outcome = try_out(all_attempts()[name], backend, bait)
        assert outcome.state == ESCAPED, f"{name} without {wall}: {outcome.happened}"
