"""What the stages of an exercise ask of a right answer: every call with its arguments and its
result.

Mutants, the mistakes that the frame makes for every exercise, and the search for importable answers
all start from these calls, so that none of them needs a list of its own.
"""

from dataclasses import dataclass

from autograder.authoring.implementations import reference
from autograder.checks.protocol import Exercise, LocalStudent, rng_for
from autograder.checks.stages import run_stages
from autograder.checks.student.requests import Returned


@dataclass(frozen=True)
class Asked:
    """One call that a stage made of the reference: the function's name, what it was given, what it
    gave.
    """

    stage: str
    name: str
    args: tuple
    kwargs: dict
    value: object


def asked(exercise: Exercise, secret: bytes = b"") -> list[Asked]:
    """Every call that the stages make of the reference, with the visible seed or with a
    hidden one.
    """
    runs = run_stages(
        exercise,
        LocalStudent(reference(exercise.id[:2])),
        lambda stage: (
            rng_for(exercise.id, stage, "asked" if secret else "", secret=secret)
            if secret
            else rng_for(exercise.id, stage)
        ),
    )
    return [
        Asked(run.result.name, call.name, call.args, call.kwargs, call.outcome.value)
        for run in runs
        for call in run.calls
        if call.again and isinstance(call.outcome, Returned)
    ]
