"""What every exercise of every assignment owes: right answers pass, known mistakes are caught as meant, junk earns nothing.

Each verdict is asked for with the visible seed and with five hidden ones, and must be the same.
"""
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from autograder.authoring.catalogue import ROOT, assignments
from autograder.authoring.implementations import from_file, namespace_of
from autograder.authoring.notebooks import build, stale
from autograder.checks.protocol import LocalStudent, rng_for, run_exercise
from autograder.checks.registry import alternatives_of, mistakes_of

ASSIGNMENTS = assignments()
CHECKED = [one for assignment in ASSIGNMENTS for one in assignment.exercises.values() if one.stages]
FUNCTIONS = [one for one in CHECKED if one.kind == "function"]
MISTAKES = [(one, mistake) for one in CHECKED for mistake in mistakes_of(one.id)]
ALTERNATIVES = [(one, other) for one in CHECKED for other in alternatives_of(one.id)]
SECRETS = [b""] + [f"secret {number}".encode() for number in range(5)]
each_exercise = pytest.mark.parametrize("exercise", CHECKED, ids=lambda one: one.id)
each_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda one: one.name)


def named(pairs) -> list:
    return [pytest.param(*pair, id=f"{pair[0].id} {pair[1].name}") for pair in pairs]


def results(exercise, namespace, secrets=SECRETS) -> list:
    """One result per secret."""
    return [run_exercise(exercise, LocalStudent(namespace), lambda stage, secret=secret: rng_for(
        exercise.id, stage, "ada" if secret else "", secret=secret)) for secret in secrets]


@each_assignment
def test_the_notebook_and_the_checks_agree(assignment):
    assert assignment.problems() == []


@each_assignment
def test_the_committed_notebook_is_what_the_sources_give_and_leaks_nothing(assignment):
    assert stale(assignment) == ""


@each_assignment
def test_every_exercise_has_three_hints(assignment):
    for id in assignment.exercises:
        hints = assignment.hints(id)
        assert len(hints) == 3 and all(hint.title and hint.text for hint in hints), id


@each_exercise
def test_the_reference_gets_every_point(exercise):
    for result in results(exercise, namespace_of("reference", exercise)):
        assert result.earned == exercise.points, result


@pytest.mark.parametrize(("exercise", "other"), named(ALTERNATIVES))
def test_another_right_answer_gets_every_point(exercise, other):
    for result in results(exercise, namespace_of(f"alternative:{other.name}", exercise)):
        assert result.earned == exercise.points, result


@pytest.mark.parametrize(("exercise", "mistake"), named(MISTAKES))
def test_a_mistake_is_caught_first_by_its_stage_and_loses_its_points(exercise, mistake):
    for result in results(exercise, namespace_of(f"mistake:{mistake.name}", exercise)):
        failed = [stage for stage in result.stages if stage.status != "passed"]
        assert failed and failed[0].name == mistake.caught_by, result
        assert result.points - result.earned == pytest.approx(mistake.loses), result
        assert all(stage.status in ("wrong", "error") and stage.cause for stage in failed), result


@pytest.mark.parametrize(("exercise", "mistake"), named(
    (one, mistake) for one, mistake in MISTAKES if one.kind != "write-test"))
def test_a_mistake_that_gives_an_answer_is_told_which_misconception_gives_it(exercise, mistake):
    result = results(exercise, namespace_of(f"mistake:{mistake.name}", exercise), SECRETS[:1])[0]
    stage = next(stage for stage in result.stages if stage.name == mistake.caught_by)
    known = {one.misconception for one in mistakes_of(exercise.id) if one.caught_by == mistake.caught_by}
    assert stage.status == "error" or stage.misconception in known, stage


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda one: one.id)
def test_a_function_exercise_has_six_mistakes_and_two_other_right_answers(exercise):
    assert len(mistakes_of(exercise.id)) >= 6 and len(alternatives_of(exercise.id)) >= 2


@pytest.fixture(scope="module")
def stubs(tmp_path_factory) -> dict:
    """By assignment number: the namespace of a student notebook in which nothing is written yet."""
    folder = tmp_path_factory.mktemp("stubs")
    return {one.number: from_file(build(one, folder / "build", folder / "exercises"))
            for one in ASSIGNMENTS}


@each_exercise
def test_an_empty_stub_earns_nothing_and_is_told_so_in_a_sentence(exercise, stubs):
    result = results(exercise, stubs[exercise.id[:2]], SECRETS[:1])[0]
    assert result.earned == 0
    for stage in result.stages:
        assert stage.status == "not_attempted" and "is not written yet: replace this line" in stage.cause, stage


class EqualsEverything(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True

    def __eq__(self, other):
        return True


JUNK = [None, True, 10**5000, -1, 0.0, float("nan"), "text", [], (), {}, (None, None, None, None), [[1.0]], {"parameters": None},
        torch.tensor(0.0), torch.zeros(0), torch.zeros(3), torch.full((3, 3), torch.nan), torch.ones(2, 2, dtype=torch.int64),
        torch.ones(3).double(), np.zeros(3), np.float32(1), object(), EqualsEverything(), torch.ones(2, 2).to_sparse()]


@each_exercise
def test_junk_earns_nothing_and_never_trips_a_check(exercise):
    for junk in JUNK:
        functions = {name: lambda *args, junk=junk, **kwargs: junk for name in (exercise.function, *exercise.also)}
        result = results(exercise, functions, SECRETS[:1])[0]
        assert result.earned == 0, (type(junk), result)
        assert all(stage.status == "wrong" and stage.cause for stage in result.stages), (type(junk), result)


@each_exercise
def test_returning_an_argument_or_zeros_like_it_earns_no_stage_by_luck_twice(exercise):
    for lazy in (lambda *args, **kwargs: args[0] if args else 0,
                 lambda *args, **kwargs: torch.zeros_like(args[0]) if args and type(args[0]) is torch.Tensor else 0):
        functions = {name: lazy for name in (exercise.function, *exercise.also)}
        for result in results(exercise, functions):
            assert result.earned <= exercise.points / 3, result
            assert all(stage.status != "fault" for stage in result.stages), result


def run_pytest(impl: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "autograder/checks", "--impl", impl],
                          cwd=ROOT, capture_output=True, text=True, timeout=300, env=os.environ)


def test_the_checks_are_ordinary_pytest_tests():
    done = run_pytest("reference")
    assert done.returncode == 0, done.stdout
    assert f"{sum(len(one.stages) for one in CHECKED)} passed" in done.stdout


def test_pytest_fails_on_a_mistake_and_skips_the_exercises_it_is_not_of():
    exercise, mistake = MISTAKES[0]
    done = run_pytest(f"mistake:{mistake.name}")
    assert done.returncode == 1 and f"{len(CHECKED) - 1} skipped" not in done.stdout
    others = sum(len(one.stages) for one in CHECKED if mistake.name not in {m.name for m in mistakes_of(one.id)})
    assert f"{others} skipped" in done.stdout, done.stdout
