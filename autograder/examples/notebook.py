"""`examples(...)` in a notebook: how many of a student's examples hold, and what they would catch.

It is no oracle for homework: what the reference returns is never shown, an example is judged only
with all that is expected of it, and `pip install word2serve` holds no reference at all.
"""

from collections.abc import Callable

from autograder.check import find
from autograder.checks.assertions.values import Unreadable
from autograder.checks.protocol import Exercise
from autograder.common.course_files import IN_WHEEL
from autograder.common.errors import CourseError
from autograder.examples.judging import judge, problem

SHOWN = 300  # characters of what the student expected
AWAY = (
    "{id}: your {count} examples are noted. This package has no reference implementation: the"
    " grader checks whether they hold."
)


def examples(exercise: str | Callable, pairs: list) -> None:
    """Say how many examples hold and how many registered mistakes they would catch.

    exercise: such as "04.masks". pairs: a list of (arguments, expected), the arguments a tuple.
    Whatever is wrong becomes a sentence; nothing is raised but by the keyboard.
    """
    if not isinstance(exercise, str) and not callable(exercise):
        print(f'examples() wants an exercise such as "04.masks"; it got {exercise!r:.80}')
        return
    try:
        found, _ = find(exercise, {})
        print(_said(found, pairs))
    except LookupError as error:
        print(error.args[0])
    except (CourseError, Unreadable) as error:
        print(f"These examples cannot be run: {error}")


def _said(exercise: Exercise, pairs: list) -> str:
    if exercise.kind != "function":
        return f"{exercise.id} has no function: examples are for exercises with one"
    if why := problem(pairs):
        return f"{exercise.id}: {why}"
    if IN_WHEEL:
        return AWAY.format(id=exercise.id, count=len(pairs))
    judged = judge(exercise, pairs, apart=False)
    lines = [f"{exercise.id}: {judged.sentence()}."]
    for place, (holds, (_, expected)) in enumerate(zip(judged.holds, pairs), 1):
        if not holds:
            text = " ".join(repr(expected)[:SHOWN].split())
            lines.append(f"Example {place} does not hold. You expected {text}")
    if not all(judged.holds):
        lines.append("Values, shapes, types and dtypes count. Compute the example again by hand.")
    return "\n".join(lines)
