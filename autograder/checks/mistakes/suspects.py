"""Students who make one known mistake each, with whom a student who is wrong somewhere is compared.

What a suspect answers depends on the exercise, the mistake and the seeds, and the same suspects are
asked again for the next wrong answer. So their stages are run once, when they are first looked at,
and kept for the last few seeds.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from autograder.checks.inputs.callables import afresh
from autograder.checks.stages import Run, run_one
from autograder.checks.student.base import Student
from autograder.checks.student.local import LocalStudent
from autograder.checks.student.requests import Call, Returned, StudentError

KEPT = (
    8  # exercises with their seeds: a notebook has one seed, a grader goes from student to student
)


class Suspect:
    """A student who makes `mistake` (a registry.Mistake) and is asked the stages of `exercise` in
    their order.
    """

    def __init__(self, exercise, mistake, rng_for_stage: Callable):
        self.exercise, self.mistake, self._rng = exercise, mistake, rng_for_stage
        self.student = LocalStudent({mistake.replaces: mistake.made()})
        self._runs: list[Run] = []

    def run(self, place: int) -> Run:
        """The stage at this place, run now if it was not yet; what is asked afterwards is not among
        its calls.
        """
        while len(self._runs) <= place:
            stage = self.exercise.stages[len(self._runs)]
            run = run_one(self.exercise, stage, self.student, self._rng(stage.name))
            self._runs.append(replace(run, calls=[*run.calls]))
        return self._runs[place]


def suspects(exercise, mistakes: list, rng_for_stage: Callable) -> list[Suspect]:
    """One for each mistake; one that remembers its calls is new, the others are those of an earlier
    question.
    """
    seeds = tuple(
        rng_for_stage(stage.name).get_state().numpy().tobytes() for stage in exercise.stages
    )
    kept = _kept(exercise, seeds)
    for mistake in mistakes:
        if mistake.remembers or mistake not in kept:
            kept[mistake] = Suspect(exercise, mistake, rng_for_stage)
    return [kept[mistake] for mistake in mistakes]


@lru_cache(maxsize=KEPT)
def _kept(exercise, seeds: tuple[bytes, ...]) -> dict:
    """The suspects of an exercise with these seeds, by mistake."""
    return {}


def answer(student: Student, call: Call) -> Returned | StudentError:
    """What a student says to a call that was put to somebody else; a function of ours comes with
    its whole budget.
    """
    try:
        return student.call(
            call.name,
            *map(afresh, call.args),
            **{name: afresh(one) for name, one in call.kwargs.items()},
        )
    except StudentError as error:
        return error
