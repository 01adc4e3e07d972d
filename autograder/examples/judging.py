"""How examples fare: the reference must agree with them, and registered mistakes should not.

An example is (arguments, expected): a tuple, and what the function returns for it. Only the
course's own functions run here, within limits, because a reference that is asked for a huge result
takes huge time and memory. Examples of somebody else are judged in children, which may die.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.authoring.children import in_children
from autograder.authoring.implementations import reference
from autograder.checks.assertions.values import Unreadable, cross, same
from autograder.checks.mistakes.registry import mistakes_of
from autograder.checks.protocol import Exercise, LocalStudent
from autograder.checks.runner import in_one_thread
from autograder.checks.student.local import OurNamespace
from autograder.checks.student.requests import StudentError
from autograder.checks.student.timeout import SECONDS as TIMED
from autograder.checks.student.timeout import TimedStudent
from autograder.common.errors import CourseError
from autograder.common.memory_limit import memory_limit

MOST = 20  # examples of one exercise that are looked at
SECONDS = 5.0  # of processor time for all examples of one function, in a child
MEMORY = 1 << 30  # bytes beyond what the process has
RTOL, ATOL = 1e-4, 1e-5
TOO_LARGE = (
    f"example {{}} takes the reference more than {TIMED:g} seconds or {MEMORY >> 30} GiB of memory:"
    " give smaller arguments"
)


@dataclass(frozen=True)
class Judged:
    """holds: for each example whether the reference agrees. caught: how many of `mistakes`
    registered mistakes disagree with one that holds.
    """

    holds: tuple[bool, ...]
    caught: int
    mistakes: int

    def sentence(self) -> str:
        """Both numbers, in words."""
        return (
            f"{sum(self.holds)} of {len(self.holds)} agree with the reference implementation; they"
            f" would catch {self.caught} of {self.mistakes} registered mistakes"
        )


def problem(pairs: object) -> str:
    """Why `pairs` is no list of examples, or ""."""
    if type(pairs) not in (list, tuple) or not pairs:
        return "give a list of examples, each (arguments, expected)"
    if len(pairs) > MOST:
        return f"give at most {MOST} examples"
    for place, pair in enumerate(pairs, 1):
        if type(pair) not in (tuple, list) or len(pair) != 2 or type(pair[0]) is not tuple:
            return (
                f"example {place} is not (arguments, expected) with a tuple of arguments, such as"
                " ((torch.tensor([3, 2]), 2, 3), expected); of one argument ((x,), expected)"
            )
    return ""


def judge(exercise: Exercise, pairs: Sequence, *, apart: bool) -> Judged:
    """Run the reference and the registered mistakes on the examples.

    apart: in children, for examples that are not one's own. Raises Unreadable for values that no
    check could compare, and CourseError where the reference does not run; at home also where an
    example takes it longer than a call of `check` may take, or more memory than MEMORY.
    """
    known = [one for one in mistakes_of(exercise.id) if one.replaces == exercise.function]
    ours = reference(exercise.id[:2])
    crossed = [(cross(tuple(args)), cross(expected)) for args, expected in pairs]

    def work(place: int) -> list[bool]:
        names = ours if place < 0 else {**ours, exercise.function: known[place].made()}
        with memory_limit(MEMORY):
            return _agree(
                OurNamespace(names), exercise.function, crossed, too_large=place < 0 and not apart
            )

    answers = _everything(range(-1, len(known)), work, len(crossed), apart)
    holds, others = answers[0], answers[1:]
    caught = sum(
        any(right and not mine for right, mine in zip(holds, theirs, strict=True))
        for theirs in others
    )
    return Judged(tuple(holds), caught, len(known))


def _everything(
    places: range, work: Callable[[int], list[bool]], count: int, apart: bool
) -> list[list[bool]]:
    """What `work` gives for each place; no agreement at all where a child was stopped."""
    if not apart:
        with in_one_thread():
            return [work(place) for place in places]
    found = in_children(list(places), work, SECONDS)
    return [[False] * count if ended else answer for _, answer, ended in found]


def _agree(names: OurNamespace, function: str, pairs: Sequence, *, too_large: bool) -> list[bool]:
    """Whether a function agrees with each example; not with one on which it fails.

    too_large: raise CourseError for an example that it has too little time or memory for.
    """
    student, found = TimedStudent(LocalStudent(names)), []
    for place, (args, expected) in enumerate(pairs, 1):
        try:
            value = student.call(function, *copy.deepcopy(args)).value
        except (StudentError, Unreadable, MemoryError) as error:
            if too_large and getattr(error, "kind", "memory") in ("time", "memory"):
                raise CourseError(TOO_LARGE.format(place)) from None
            found.append(False)
            continue
        found.append(same(value, expected, RTOL, ATOL))
    return found
