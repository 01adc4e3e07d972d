"""What a student is told of an exercise: the order of the texts, their length, and which stages are
only named.
"""

import pytest
import torch

from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.slips import CHANGED
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


def test_an_exception_is_told_with_its_call(doubled):
    stage = run(doubled, lambda x: 1 / 0).stages[0]
    assert stage.cause == "`doubled` raises an exception."
    assert stage.detail.startswith("doubled([1, 3, 4])\n") and "ZeroDivisionError" in stage.detail


def test_stages_that_fail_after_the_first_are_named_and_not_explained(doubled):
    result = run(doubled, lambda x: x)
    for text in (as_text(result), as_html(result)):
        assert "Twice each number." in text and "Also below 0." not in text
        assert "This may follow from it: negative." in text
    assert following(run(doubled, lambda x: 2 * x).stages) == ""


@pytest.fixture
def pair(fresh_registries):
    """`one(x)` and `other(x)`, graded by themselves, the second in two stages."""
    made = exercise("99.pair", function="one", also=["other"], points=3)

    def add(name, asked):
        @made.stage(name, points=1)
        def test_each_doubles(student):
            expect(getattr(student, asked)(COUNTS)).equals(2 * COUNTS, cause=f"Double the {name}.")

    for names in (("first", "one"), ("second", "other"), ("third", "other")):
        add(*names)
    return made


def both(one, other):
    return LocalStudent({"one": one, "other": other})


def test_a_stage_of_another_function_is_told_in_full(pair):
    result = run_exercise(pair, both(lambda x: x, lambda x: x + 1))
    for text in (as_text(result), as_html(result)):
        assert "Double the first." in text and "Double the second." in text
        assert "Double the third." not in text and text.count("may follow") == 1
    assert following(result.stages) == "This may follow from `second`: third."
    result = run_exercise(pair, both(lambda x: x, lambda x: 2 * x))
    assert following(result.stages) == ""


def test_another_number_of_a_prediction_is_told_unless_one_mistake_explains_both(fresh_registries):
    made = exercise("99.sizes", function="sizes", kind="predict", points=2)

    @made.stage("rows", points=1)
    def test_rows(student):
        expect(student.sizes(4)).has("rows").equals(2, cause="Count the rows.")

    @made.stage("columns", points=1)
    def test_columns(student):
        expect(student.sizes(4)).has("columns").equals(3, cause="Count the columns.")

    def turned(number):
        return {"rows": 3, "columns": 2}

    result = run(made, turned)
    assert following(result.stages) == "" and "Count the columns." in as_text(result)
    mistake("99.sizes", "turned", caught_by="rows", loses=2, misconception="Turned.")(turned)
    result = run(made, turned)
    assert following(result.stages).endswith("columns.") and "Count the" not in as_text(result)


def test_a_right_stage_that_does_not_count_yet_says_when(fresh_registries):
    made = exercise("99.every", function="every", points=2)

    @made.stage("small", points=1.25)
    def test_small(student):
        expect(student.every(1)).equals(1, cause="One.")

    @made.stage("all sizes", points=0.25, at_most=0.5)
    def test_all_sizes(student):
        expect(student.every(9)).equals(9, cause="Nine.")

    @made.stage("last", points=0.5)
    def test_last(student):
        expect(student.every(1)).equals(1, cause="One.")

    part, _, none = run(made, lambda x: 1).stages
    assert part.cause == "Right, counted in part until `all sizes` passes." and part.earned == 1
    assert none.cause == "Right, not counted until `all sizes` passes." and none.earned == 0


def test_a_slip_that_changes_an_argument_is_one_sentence(fresh_registries):
    made = exercise("99.halved", function="halved", points=1)

    @made.stage("values", points=1)
    def test_values(student):
        expect(student.halved(COUNTS.clone())).equals(COUNTS / 2, cause="Halve.")

    cause = run(made, lambda x: x.div_(2)).stages[0].cause
    assert cause == CHANGED and len(cause.split()) <= 25


def test_what_came_and_what_was_expected_stay_where_the_counts_have_no_room(fresh_registries):
    made = exercise("99.grid", function="grid", points=1)
    right = torch.arange(12.0).reshape(3, 4) / 7

    @made.stage("values", points=1)
    def test_values(student):
        asked = expect(student.grid(7), given="a grid " * 15)
        asked.close(right, cause="Divide by seven. " * 12, rtol=1e-4)

    detail = run(made, lambda x: right + 1).stages[0].detail
    assert "yours    [[" in detail and "expected [[" in detail and "values differ" not in detail
    assert "1.5714" in detail.split("expected")[-1] and "more line" not in detail


def test_an_exception_for_an_argument_of_none_says_so(fresh_registries):
    made = exercise("99.optional", function="optional", points=1)

    @made.stage("none", points=1)
    def test_none(student):
        expect(student.optional(torch.ones(30), None)).equals(1.0, cause="One.")

    stage = run(made, lambda x, mask: mask.sum()).stages[0]
    assert stage.cause == "`optional` raises an exception when an argument is None."
    assert stage.detail.startswith("optional((30,), None), with shapes for tensors\n")


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
