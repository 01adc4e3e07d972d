"""What a student is told of an exercise: the order of the texts, their length, and which stages are
only named.
"""

import pytest
import torch

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.messages import MOST, first_failure, following, sentences
from autograder.checks.mistakes.registry import mistake
from autograder.checks.protocol import LocalStudent, exercise, expect, run_exercise
from autograder.checks.results import StageResult
from autograder.checks.rubric import as_html, as_text

COUNTS = torch.tensor([1.0, 3.0, 4.0])


def run(made, function):
    return run_exercise(made, LocalStudent({made.function: function}))


@pytest.fixture
def doubled(fresh_registries):
    """`doubled(x)`: two stages that ask the same of other numbers."""
    made = exercise("99.doubled", function="doubled", points=2)

    @made.stage("values", points=1)
    def test_each_number_is_doubled(student):
        expect(student.doubled(COUNTS)).equals(2 * COUNTS, cause="Twice each number.")

    @made.stage("negative", points=1)
    def test_numbers_below_zero_are_doubled_too(student):
        expect(student.doubled(-COUNTS)).equals(-2 * COUNTS, cause="Also below 0.")

    return made


def register(name, function, says):
    mistake("99.doubled", name, caught_by="values", loses=2, misconception=says)(function)


def test_the_registered_mistake_comes_first_then_the_input_and_both_results(doubled):
    register("squared", lambda x: x**2, "You square.")
    result = run(doubled, lambda x: x * x)
    assert sentences(result.stages[0]) == ["You square."]
    for text in (as_text(result), as_html(result)):
        order = [text.index(part) for part in ("You square.", "doubled([1, 3, 4])", "expected 2")]
        assert order == sorted(order) and "Twice each number." not in text


def test_without_a_registered_mistake_the_cause_is_the_first_line(doubled):
    result = run(doubled, lambda x: x + 1)
    assert sentences(result.stages[0]) == ["Twice each number."]
    assert result.stages[0].detail.startswith("doubled([1, 3, 4])\nYour result")


def test_a_long_input_is_told_by_its_sizes_and_another_calls_input_never(fresh_registries):
    made = exercise("99.sums", function="sums", points=2)

    @made.stage("long", points=1)
    def test_long(student):
        expect(student.sums(torch.ones(99)), given="99 numbers").equals(
            torch.tensor(99.0), cause="All."
        )

    @made.stage("two", points=1)
    def test_two(student):
        first, _ = student.sums(torch.ones(2)), student.sums(torch.ones(3))
        expect(first).equals(torch.tensor(2.0), cause="Both.")

    long, two = run(made, lambda x: x.sum() + 1).stages
    assert long.detail.startswith("Given 99 numbers. Your result")
    assert two.detail.startswith("sums([1, 1])\n")


def test_a_hint_follows_the_cause_and_is_dropped_where_a_mistake_is_recognised(doubled):
    assert (
        run(doubled, lambda x: -2 * x)
        .stages[0]
        .cause.startswith("Twice each number. The sign is wrong")
    )
    register("negated", lambda x: -2 * x, "You take twice the negative.")
    result = run(doubled, lambda x: x * -2)
    assert result.stages[0].cause == "Twice each number." and result.stages[0].misconception
    assert result.stages[1].cause == "Also below 0."


def test_mistakes_that_give_the_same_answers_are_all_named(doubled):
    register("left", lambda x: x + 1, "You add 1.")
    register("other", lambda x: 1 + x, "You count from 1.")
    assert (
        run(doubled, lambda x: x - -1).stages[0].misconception == "You add 1. Or: You count from 1."
    )
    (
        register("third", lambda x: x + 1.0, "A third."),
        register("fourth", lambda x: x + 1.0, "A fourth."),
    )
    assert run(doubled, lambda x: x - -1).stages[0].misconception == ""


def test_an_exception_is_blamed_on_a_mistake_only_if_it_is_the_same_one(doubled):
    def wrong_key(x):
        return {"a": x}["b"]

    def other_key(x):
        return {"a": x}["c"]

    register("key", wrong_key, "You read `b`.")
    assert run(doubled, wrong_key).stages[0].misconception == "You read `b`."
    assert run(doubled, other_key).stages[0].misconception == ""


def test_an_exception_is_told_with_what_the_stage_asks(doubled):
    stage = run(doubled, lambda x: 1 / 0).stages[0]
    assert (
        stage.cause == "`doubled` raised an exception where this is asked: each number is doubled."
    )
    assert "ZeroDivisionError" in stage.detail


def test_stages_that_fail_after_the_first_are_named_and_not_explained(doubled):
    result = run(doubled, lambda x: x)
    for text in (as_text(result), as_html(result)):
        assert "Twice each number." in text and "Also below 0." not in text
        assert "This may follow from it: negative." in text
    assert following(run(doubled, lambda x: 2 * x).stages) == ""


def test_a_slip_is_not_where_to_start_while_something_fails():
    slip, wrong = (
        StageResult("a", 1, 0.8, "slip", "A list."),
        StageResult("b", 1, 0, "wrong", "Halve."),
    )
    assert first_failure([slip, wrong]) is wrong and first_failure([slip]) is slip
    assert following([slip, wrong]) == "" and following(
        [vars(wrong), vars(wrong) | {"name": "c"}]
    ).endswith(": c.")


@pytest.mark.parametrize(
    "raised",
    [CheckFailed("Cause. " * 900, "numbers " * 9_000), CheckFailed("Short.", "7" * 400_000)],
)
def test_all_that_is_said_of_a_stage_has_a_limit(fresh_registries, raised):
    made = exercise("99.long", function="f", points=1)

    @made.stage("one", points=1)
    def test_one(student):
        raise raised

    stage = run(made, lambda x: x).stages[0]
    assert len(stage.cause) + len(stage.detail) <= MOST and stage.detail and stage.cause


def test_a_long_exception_keeps_its_kind_and_the_line(doubled):
    def raises(x):
        raise ValueError("no " * 5_000)

    stage = run(doubled, raises).stages[0]
    assert len(stage.cause) + len(stage.detail) <= MOST and "ValueError: no no" in stage.detail


def test_a_long_detail_keeps_its_first_line_and_its_last_ones(fresh_registries):
    made = exercise("99.lines", function="f", points=1)

    @made.stage("one", points=1)
    def test_one(student):
        raise CheckFailed(
            "Cause.",
            "\n".join(["the run", *(f"line {i}" for i in range(9_000)), "came 1", "expected 2"]),
        )

    detail = run(made, lambda x: x).stages[0].detail
    assert (
        detail.startswith("the run\n... 8,")
        and detail.endswith("came 1\nexpected 2")
        and len(detail) < MOST
    )


def test_a_cap_of_a_mebibyte_and_a_half_is_told_as_such(fresh_registries):
    made = exercise("99.small", function="f", points=1)

    @made.stage("memory", points=1)
    def test_little_memory(student):
        with student.capped(3 * 2**19):
            student.f(torch.ones(3 * 2**17))

    said = run(made, lambda x: (x + 1) * (x + 2)).stages[0].detail
    assert "1.5 MiB are there" in said and "holds 1.5 MiB" not in said
