"""What the stages of an exercise ask of a right answer: every call with its arguments and its result.

Mutants, the mistakes that the frame makes for every exercise, and the search for importable answers all start from
these calls, so that none of them needs a list of its own.
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch

from autograder.authoring.implementations import reference
from autograder.checks.protocol import Exercise, LocalStudent, rng_for, run_exercise
from autograder.checks.student import Request, Returned


@dataclass(frozen=True)
class Asked:
    """One call that a stage made of the reference: the function's name, what it was given, what it gave."""
    stage: str
    name: str
    args: tuple
    kwargs: dict
    value: object


class _Recorder(LocalStudent):
    """A student that keeps the arguments of every call."""

    def __init__(self, namespace: dict):
        super().__init__(namespace)
        self.asked: list[tuple[str, tuple, dict, Returned]] = []

    def perform(self, request: Request) -> Returned:
        """Like LocalStudent, and remember the calls of functions; what is done with objects is not a call to repeat."""
        came = super().perform(request)
        if request.do == "call" and request.of is None and request.keep is None:
            self.asked.append((request.name, request.args, request.kwargs, came))
        return came


def asked(exercise: Exercise, secret: bytes = b"") -> list[Asked]:
    """Every call that the stages make of the reference, with the visible seed or with a hidden one."""
    found = []
    for stage in exercise.stages:
        student = _Recorder(reference(exercise.id[:2]))
        run_exercise(_alone(exercise, stage), student, _seeds(exercise, secret), mistakes=[])
        found += [Asked(stage.name, name, args, kwargs, came.value) for name, args, kwargs, came in student.asked]
    return found


def _alone(exercise: Exercise, stage: object) -> Exercise:
    return Exercise(**{**vars(exercise), "stages": [stage]})


def _seeds(exercise: Exercise, secret: bytes) -> Callable[[str], torch.Generator] | None:
    if not secret:
        return None
    return lambda stage: rng_for(exercise.id, stage, "asked", secret=secret)
