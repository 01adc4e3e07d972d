"""Hunts of the reference solutions in the real sandbox, and answers of all kinds."""

import random

import pytest

from autograder.authoring.solution_sources import reference_sources
from autograder.checks.protocol import LocalStudent
from autograder.checks.results import StageResult, Status
from autograder.checks.stages import Run
from autograder.grading.assignment import load_assignment
from autograder.hunt.changes import Change
from autograder.hunt.hunt import Hunt, differ, judge, make, ready

from .conftest import solved_student

ORIGINAL = "def masks(lengths, num_queries, num_keys):\n    return torch.ones(num_keys) * lengths"
CHANGED = "def masks(lengths, num_queries, num_keys):\n    return torch.ones(num_keys) + lengths"


def of_masks(changed=CHANGED, original=ORIGINAL):
    change = Change(changed, (2,), "*", "+", "arithmetic")
    return Hunt("04.masks", "masks", original, change, "torch.tensor([3]), 1, 3", 1, 1)


@pytest.fixture(scope="module")
def student(fourth):
    with solved_student(fourth) as one:
        yield one


def test_an_input_that_tells_them_apart_and_the_line_are_right(student):
    judged = judge(of_masks(), student, "torch.tensor([3]), 1, 3", 2)
    assert judged.right and "another result" in judged.said


def test_the_same_input_with_another_line_is_not_right(student):
    judged = judge(of_masks(), student, "torch.tensor([3]), 1, 3", 1)
    assert judged.exposes and not judged.line and not judged.right


def test_an_input_on_which_both_agree_exposes_nothing(student):
    near = of_masks(ORIGINAL.replace("* lengths", "* (lengths + 1e-6)"))
    judged = judge(near, student, "torch.tensor([3.0]), 1, 3", 2)
    assert not judged.exposes and "the same result" in judged.said


def test_arguments_by_name_and_seeded_numbers_are_inputs(student):
    text = "lengths=torch.randn(3, seed=7) * 2, num_queries=1, num_keys=3"
    assert judge(of_masks(), student, text, 2).right


def test_an_input_that_the_original_does_not_take_is_none(student):
    judged = judge(of_masks(), student, '"three", 1, 3', 2)
    assert not judged.exposes and "Your own function raises" in judged.said


def test_nan_exposes_nothing(student):
    judged = judge(of_masks(), student, 'torch.tensor([float("nan")]), 1, 1', 2)
    assert not judged.exposes and "NaN" in judged.said


def test_a_change_that_raises_or_never_ends_is_exposed(student):
    raises = of_masks(ORIGINAL.replace("return", "raise KeyError\n    return"))
    assert "raises KeyError" in judge(raises, student, "torch.tensor([3]), 1, 3", 2).said
    endless = of_masks(ORIGINAL.replace("    return", "    while True: pass\n    return"))
    judged = judge(endless, student, "torch.tensor([3]), 1, 3", 2)
    assert judged.exposes and "does not end" in judged.said


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os").system("touch /tmp/here"), 1, 3',
        "(lambda: 1)(), 1, 3",
        "[x for x in (1,)], 1, 3",
        "torch.load('x'), 1, 3",
        "torch.ops.aten, 1, 3",
        "masks.__globals__, 1, 3",
        "torch.tensor([1]).__class__, 1, 3",
        "1) + f(2",
        "*[1, 2, 3]",
        "**{'lengths': 1}",
        "1, 2, (",
        "(" * 3000 + ")" * 3000,
        "1 " * 40_000,
        "1 / 0, 1, 3",
        "",
    ],
)
def test_what_is_not_an_input_is_refused_or_not_taken_and_never_run(student, text):
    judged = judge(of_masks(), student, text, 2)
    assert not judged.exposes and judged.said.startswith(("The input was not run", "Your own"))


@pytest.mark.parametrize(
    "text", ["torch.zeros(10**6), 1, 1", "torch.zeros(4000000, 400000), 1, 1", "'a' * 99999999999"]
)
def test_a_huge_input_ends_as_a_sentence_and_the_next_is_judged(student, text):
    assert not judge(of_masks(), student, text, 2).exposes
    assert judge(of_masks(), student, "torch.tensor([3]), 1, 3", 2).right


def test_two_exceptions_do_not_differ_and_types_do():
    assert not differ(["error", "KeyError"], ["value", 1])
    assert differ(["value", 1], ["value", 1.0])
    assert not differ(["value", 1.0], ["value", 1.00001])


def test_a_function_that_fails_its_checks_is_not_hunted_in(fourth):
    source = "def masks(lengths, num_queries, num_keys):\n    return lengths"
    with solved_student(fourth, masks=source) as other:
        assert ready(fourth.exercises["04.masks"], other, source).startswith("it does not pass")
        assert ready(fourth.exercises["04.masks"], other, "x = 1").endswith("of that name")


def test_a_check_that_was_stopped_is_not_called_failed(fourth, monkeypatch):
    source = "def masks(lengths, num_queries, num_keys):\n    return lengths"
    busy = Run(StageResult("causal mask", 1, 0.0, Status.FAULT, detail="a busy machine"), [], [])
    slow = Run(StageResult("padding mask", 1, 0.0, Status.TIME), [], [])
    reasons = []
    for runs in ([busy], [busy, slow]):
        monkeypatch.setattr("autograder.hunt.hunt.run_stages", lambda *_, runs=runs: runs)
        student = LocalStudent({})
        reasons.append(ready(fourth.exercises["04.masks"], student, source))
    assert reasons[0] == "its checks could not be run (a busy machine)"
    assert reasons[1] == "it does not pass all of its checks yet (padding mask: time)"


def test_a_loop_that_does_not_end_is_waited_for_in_one_stage(fourth, monkeypatch):
    asked = []

    def run_stages(exercise, *_):
        asked.extend(stage.name for stage in exercise.stages)
        return [Run(StageResult(one, 1, 0.0, Status.TIME), [], []) for one in asked]

    monkeypatch.setattr("autograder.hunt.hunt.run_stages", run_stages)
    source = "def masks(lengths, num_queries, num_keys):\n    while True: pass"
    why = ready(fourth.exercises["04.masks"], LocalStudent({}), source)
    assert len(asked) == 1 and why.endswith(f"({asked[0]}: time)")


@pytest.mark.long
@pytest.mark.parametrize("number", ["01", "04", "06", "09", "14"])
def test_no_hunt_is_asked_that_has_no_answer(number):
    """At least a hundred in all: of each function of five chapters, with four seeds each."""
    assignment = load_assignment(number)
    sources = reference_sources(assignment)
    made = 0
    for one in assignment.exercises.values():
        if one.kind != "function" or not one.stages:
            continue
        with solved_student(assignment) as student:
            made += answered_hunts(one, student, sources[one.id.split(".", 1)[1]])
    assert made >= 20, made


def answered_hunts(exercise, student, source):
    """How many hunts four seeds make; each must have an answer."""
    found, made = ready(exercise, student, source), 0
    for seed in range(0 if isinstance(found, str) else 4):
        hunt = make(found, student, random.Random(f"{exercise.id}\0{seed}"))
        for line in hunt.change.lines if hunt else ():
            assert judge(hunt, student, hunt.exposing, line).right, hunt
        made += hunt is not None
    return made
