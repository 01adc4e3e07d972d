"""Nothing may hang on which objects a call was given, and nothing is handed out twice."""

import functools

import numpy as np
import pytest
import torch

from autograder.checks.assertions.expect import expect
from autograder.checks.exercise import exercise
from autograder.checks.runner import run_exercise
from autograder.checks.student.local import LocalStudent


@pytest.fixture
def doubled(fresh_registries):
    """`doubled(values)`: a tensor, or a list, of twice the values. Stages: two calls, one call."""
    made = exercise("99.doubled", function="doubled", points=4)

    @made.stage("tensors", points=2)
    def test_tensors_are_doubled(student, rng):
        for values in (torch.rand(3, generator=rng), torch.rand(3, generator=rng), torch.zeros(0)):
            expect(student.doubled(values)).equals(values * 2, cause="Not the double.")

    @made.stage("lists", points=2)
    def test_lists_are_doubled(student):
        expect(student.doubled([1, 2])).equals([2, 4], cause="Not the double.")

    return made


def twice(values):
    return values * 2 if isinstance(values, torch.Tensor) else [2 * one for one in values]


@pytest.mark.parametrize(
    "address",
    [id, lambda values: values.data_ptr() if isinstance(values, torch.Tensor) else id(values)],
)
def test_who_knows_an_argument_by_its_address_is_wrong_when_it_has_other_contents(doubled, address):
    known = {}

    def answer(values):
        return known.setdefault(address(values), (values, twice(values)))[1] + (
            0 if isinstance(values, torch.Tensor) else []
        )

    assert run_exercise(doubled, LocalStudent({"doubled": answer})).stages[0].status == "wrong"


def test_who_returns_the_argument_itself_makes_a_slip(doubled):
    result = run_exercise(
        doubled,
        LocalStudent(
            {
                "doubled": lambda values: (
                    values.mul_(2) if isinstance(values, torch.Tensor) else twice(values)
                )
            }
        ),
    )
    assert (
        result.earned == pytest.approx(3.2)
        and run_exercise(doubled, LocalStudent({"doubled": twice})).earned == 4
    )


def test_who_changes_only_the_order_of_an_arguments_keys_has_changed_it(fresh_registries):
    made = exercise("99.least", function="least", points=5)

    @made.stage("keys", points=5)
    def test_the_least_key_is_found(student):
        expect(student.least({"b": 1, "a": 2})).equals("a", cause="Not the least key.")

    def sorts(table):
        table["b"] = table.pop("b")
        return min(table)

    assert run_exercise(made, LocalStudent({"least": min})).earned == 5
    assert run_exercise(made, LocalStudent({"least": sorts})).earned == 4


def test_a_list_that_is_kept_and_returned_when_the_same_is_asked_again_is_seen(doubled):
    kept = functools.cache(lambda values: twice(values))
    result = run_exercise(
        doubled,
        LocalStudent(
            {
                "doubled": lambda values: (
                    kept(tuple(values)) if type(values) is list else twice(values)
                )
            }
        ),
    )
    assert result.earned == pytest.approx(3.2) and "or returns it again" in result.stages[1].cause


def test_an_object_of_the_students_keeps_the_tensors_that_it_was_built_with():
    class Table:
        def __init__(self, values):
            self.values = values

        def look(self):
            return self.values

    student = LocalStudent({"Table": Table, "twice": twice})
    student.new_stage()
    table = student.build("Table", torch.ones(3))
    student.build("Table", torch.zeros(3))
    student.twice(torch.full((3,), 5.0))
    assert table.look().tolist() == [1.0, 1.0, 1.0]


def test_numbers_of_numpy_are_never_the_same_memory():
    student = LocalStudent({"add": lambda a, b: np.int64(a) + np.int64(b)})
    student.new_stage()
    for number in range(50):
        student.add(number, 1)
    assert not any(call.outcome.stale for call in student.calls)


def test_lists_dictionaries_and_arrays_come_in_the_objects_of_the_call_before_and_others_as_they_are():  # noqa: E501
    seen = []
    student = LocalStudent({"see": lambda *values: seen.append([*map(id, values)]) or len(values)})
    student.new_stage()
    for number in (1, 2):
        student.see([number], {"a": number}, torch.full((2,), number).numpy(), torch.ones(number))
    assert seen[0][:3] == seen[1][:3] and seen[0][3] != seen[1][3]
