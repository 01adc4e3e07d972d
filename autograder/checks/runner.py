"""Run an exercise on one student, and say what came of each stage.

Every stage runs, whatever the ones before it did, and earns all its points or none (`stages`). Then
the results are put in proportion (`proportion`): slips, stages that count only after another, code
that works for one size only. When something is wrong, the known mistakes are compared with the
student over all calls (`misconceptions`). In grading, hidden inputs stay hidden (`discretion`).
`messages` decides what is said.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from autograder.checks.discretion import discreet
from autograder.checks.messages import worded
from autograder.checks.mistakes.matching import named
from autograder.checks.mistakes.registry import mistakes_of
from autograder.checks.proportion import in_proportion
from autograder.checks.restrictions.names import in_exercise
from autograder.checks.results import FAILED, ExerciseResult
from autograder.checks.stages import rng_for, run_stages
from autograder.checks.student.base import Student


def run_exercise(
    exercise,
    student: Student,
    rng_for_stage: Callable[[str], torch.Generator] | None = None,
    mistakes: list | None = None,
    shown: ExerciseResult | None = None,
    fault: str = "",
) -> ExerciseResult:
    """Run every stage of `exercise` (an exercise.Exercise) on `student`.

    rng_for_stage: from a stage's name to a fresh generator; called again for each mistake that is
    tried, so it must give the same numbers each time. Default: the visible seed. mistakes: default,
    the registered ones. shown: in grading, the result with the visible seed, taken before any
    hidden input was sent: then nothing of the student's is repeated that was not said there too
    (see `discretion`). fault: in grading, the name of the one that was drawn.
    """
    with in_one_thread():
        return _run(exercise, student, rng_for_stage, mistakes, shown, fault)


@contextmanager
def in_one_thread() -> Iterator[None]:
    """A block in which torch keeps to one thread, as in grading.

    The tensors of the checks are small. Two threads that share a busy core spend fifty times the
    work on waiting.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _run(
    exercise,
    student: Student,
    rng_for_stage: Callable[[str], torch.Generator] | None,
    mistakes: list | None,
    shown: ExerciseResult | None,
    fault: str,
) -> ExerciseResult:
    rng_for_stage = rng_for_stage or (lambda stage: rng_for(exercise.id, stage))
    student.new_exercise(in_exercise(exercise), fault)
    runs = run_stages(exercise, student, rng_for_stage)
    results = in_proportion(exercise, runs)
    if any(result.status in FAILED for result in results):
        known = mistakes_of(exercise.id) if mistakes is None else mistakes
        results = named(exercise, student, runs, results, rng_for_stage, known)
    results = worded(runs, results)
    if shown is not None:
        results = [discreet(result, before) for result, before in zip(results, shown.stages)]
    return ExerciseResult(
        exercise.id, exercise.points, sum(stage.earned for stage in results), results
    )
