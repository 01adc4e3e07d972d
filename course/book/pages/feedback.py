"""What the check of an exercise says of a function, short enough for a page.

feedback("04.attention", attention)     points, the first failure with its cause and input, the rest
"""

from collections.abc import Callable
from html import escape

from autograder.checks.messages import first_failure, following, sentences
from autograder.checks.protocol import (
    EXERCISES,
    ExerciseResult,
    LocalStudent,
    load_checks,
    run_exercise,
)
from autograder.checks.results import Status
from autograder.checks.rubric import headline, with_code


class Feedback:
    """The result of a check; displays itself as a box."""

    def __init__(self, result: ExerciseResult):
        self.result = result

    def _repr_html_(self) -> str:
        first = first_failure(self.result.stages)
        passed = [one.name for one in self.result.stages if one.status == Status.PASSED]
        parts = [f"<p><strong>{escape(headline(self.result))}</strong></p>"]
        if first:
            said = " ".join(map(with_code, sentences(first)))
            parts.append(f"<p>✗ <strong>{escape(first.name)}</strong>: {said}</p>")
            call, _, numbers = first.detail.partition("\n")
            parts.append(f"<p>{escape(call)}</p>" if call else "")
            parts.append(f"<pre>{escape(numbers)}</pre>" if numbers else "")
            parts.append(f"<p>{escape(following(self.result.stages))}</p>")
        if passed:
            parts.append(f"<p>✓ {escape(', '.join(passed))}</p>")
        return f'<div class="w2s-feedback">{"".join(parts)}</div>'


def feedback(exercise: str, function: Callable) -> Feedback:
    """Check `function` as the exercise's notebook does; `exercise` is an id such as "04.attention".

    KeyError for an id that no exercise has.
    """
    load_checks(exercise[:2])
    one = EXERCISES[exercise]
    return Feedback(run_exercise(one, LocalStudent({one.function: function})))
