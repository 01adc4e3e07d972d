"""How examples fare: the reference must agree with them, and registered mistakes should not.

An example is (arguments, expected): a tuple, and what the function returns for it. Only the
course's own functions run here. Examples of somebody else are judged in children with limits,
because a reference that is asked for a huge result takes huge memory.
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

MOST = 20  # examples of one exercise that are looked at
SECONDS = 5.0  # of processor time for all examples of one function, in a child
MEMORY = 1 << 30  # bytes beyond what the process has, in a child
RTOL, ATOL = 1e-4, 1e-5


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

    apart: in children with limits, for examples that are not one's own. Raises Unreadable for
    values that no check could compare, and CourseError where the reference does not run.
    """
    known = [one for one in mistakes_of(exercise.id) if one.replaces == exercise.function]
    ours = reference(exercise.id[:2])
    crossed = [(cross(tuple(args)), cross(expected)) for args, expected in pairs]

    def work(place: int) -> list[bool]:
        names = ours if place < 0 else {**ours, exercise.function: known[place].made()}
        return _agree(OurNamespace(names), exercise.function, crossed)

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
    found = in_children(list(places), work, SECONDS, _limited)
    return [[False] * count if ended else answer for _, answer, ended in found]


def _agree(names: OurNamespace, function: str, pairs: Sequence) -> list[bool]:
    student, found = LocalStudent(names), []
    for args, expected in pairs:
        try:
            value = student.call(function, *copy.deepcopy(args)).value
        except (StudentError, Unreadable, MemoryError):
            found.append(False)
            continue
        found.append(same(value, expected, RTOL, ATOL))
    return found


def _limited() -> None:
    """In a child: no more memory than MEMORY beyond what is mapped now."""
    import resource
    from pathlib import Path

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
