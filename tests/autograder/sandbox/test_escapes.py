"""Every way out that `course doctor` tries, as a test; and the proof that each of these tests can fail.

The same attempts run against the process backend, which isolates nothing. What escapes there shows that the attempt
works and that its trace is seen; what is held there too is held by the pipe, the clock and the kernel's limits, which
both backends share.
"""
import pytest

from autograder.sandbox.attempts import ESCAPED, HELD, all_attempts, try_out
from autograder.sandbox.backend import ProcessBackend
from autograder.sandbox.bait import Bait
from autograder.sandbox.bubblewrap import BubblewrapBackend

pytestmark = pytest.mark.sandbox
HELD_BY_PIPE_AND_LIMITS = {"inherited-descriptors", "memory-hog", "memory-in-children", "endless-loop", "output-flood",
                           "lying-frame", "forged-frame", "equal-to-everything", "orphaned-pipe"}


@pytest.fixture(scope="module")
def bait():
    with Bait() as laid_out:
        yield laid_out


@pytest.mark.parametrize("name", all_attempts())
def test_the_sandbox_holds(name, bait):
    outcome = try_out(all_attempts()[name], BubblewrapBackend(), bait)
    assert outcome.state == HELD, outcome.happened


@pytest.mark.parametrize("name", [name for name in all_attempts() if name not in HELD_BY_PIPE_AND_LIMITS])
def test_the_same_attempt_escapes_where_nothing_isolates(name, bait):
    outcome = try_out(all_attempts()[name], ProcessBackend(), bait)
    assert outcome.state == ESCAPED, outcome.happened


def test_an_attempt_that_fails_by_its_own_fault_does_not_count_as_held(bait):
    from autograder.sandbox.attempts import UNTRIED, Attempt
    assert try_out(Attempt("broken", "divide by zero", broken), ProcessBackend(), bait).state == UNTRIED


def broken(facts):
    return str(1 / 0)
