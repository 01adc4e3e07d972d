"""Questions are unambiguous, repeatable, and right about the run that they ask for."""

import random

import pytest
import torch

from autograder.viva import recorder
from autograder.viva.questions import OUTCOMES, _near_shapes, questions
from tests.autograder.viva.test_recorder import BLOCKS

ARGS = (torch.ones(5, 3), 2)


@pytest.fixture(scope="module")
def run():
    recorder.__dict__["torch"] = torch
    return (
        recorder.w2s_record(BLOCKS, "block_means", ARGS),
        recorder.w2s_changed(BLOCKS, "block_means", ARGS),
    )


@pytest.mark.parametrize("seed", range(40))
def test_three_questions_of_three_kinds_with_four_different_options(run, seed):
    made = questions(BLOCKS, *run, random.Random(seed))
    assert {one.kind for one in made} == {"value", "change", "count"}
    for one in made:
        assert len(set(one.options)) == 4 and 0 <= one.answer < 4
        assert one.code == BLOCKS.split("\n")[one.line - 1]


def test_the_same_seed_asks_the_same_and_another_one_something_else(run):
    asked = [
        [one.to_json() for one in questions(BLOCKS, *run, random.Random(seed))]
        for seed in (1, 1, 2)
    ]
    assert asked[0] == asked[1] != asked[2]


def test_the_right_option_is_what_the_run_showed(run):
    record, changes = run
    for seed in range(40):
        for one in questions(BLOCKS, record, changes, random.Random(seed)):
            right = one.options[one.answer]
            if one.kind == "count":
                assert right == str(record["lines"][one.line])
            elif one.kind == "change":
                outcomes = {
                    end
                    for line, old, new, end in changes
                    if f"`{old}`" in one.text and new in one.text
                }
                assert right in {OUTCOMES[end] for end in outcomes}
            else:
                values = [
                    value
                    for number, (line, text) in record["expressions"].items()
                    if line == one.line and f"`{text}`" in one.text
                    for value in record["seen"][number]
                ]
                said = {str(tuple(v["shape"])) if "shape" in v else v["text"] for v in values}
                assert right in said


def test_the_right_option_is_at_each_place_about_as_often(run):
    places = [
        one.answer
        for seed in range(200)
        for one in questions(BLOCKS, *run, random.Random(seed))
        if one.kind != "change"
    ]
    for place in range(4):
        assert 60 < places.count(place) < 140


def test_a_function_without_anything_to_ask_gives_no_question():
    source = "def same(x):\n    return x\n"
    record = recorder.w2s_record(source, "same", (torch.ones(2),))
    assert questions(source, record, [], random.Random(1)) == []


@pytest.mark.parametrize("seed", range(10))
def test_a_wrong_shape_is_another_shape_of_the_run_before_one_is_invented(seed):
    wrong = _near_shapes((2, 3), [(2, 3), (7, 9), (4,)], random.Random(seed))
    assert (7, 9) in wrong[:2]
