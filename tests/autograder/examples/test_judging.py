"""Examples at home: which hold, what they catch, and what is said of the others."""

from functools import partial

import pytest
import torch

from autograder.checks.mistakes.registry import mistakes_of
from autograder.checks.protocol import EXERCISES, load_checks
from autograder.checks.student.timeout import TimedStudent
from autograder.common.errors import CourseError
from autograder.examples import examples, judging
from autograder.examples.judging import MOST, judge, problem

BOTH = torch.tensor(
    [
        [[[True, True, False], [True, True, True]]],
        [[[True, True, False], [True, True, False]]],
    ]
)
RIGHT = ((torch.tensor([3, 2]), 2, 3), BOTH)
WEAK = ((torch.tensor([1]), 1, 1), torch.ones(1, 1, 1, 1, dtype=torch.bool))
WRONG = ((torch.tensor([1]), 1, 1), torch.zeros(1, 1, 1, 1, dtype=torch.bool))


@pytest.fixture(scope="module")
def masks():
    load_checks("04")
    return EXERCISES["04.masks"]


@pytest.mark.parametrize("apart", [False, True])
def test_a_telling_example_catches_more_than_a_weak_one(masks, apart):
    telling, weak = judge(masks, [RIGHT], apart=apart), judge(masks, [WEAK], apart=apart)
    assert telling.holds == weak.holds == (True,)
    assert telling.mistakes == len(mistakes_of("04.masks"))
    assert weak.caught < telling.caught <= telling.mistakes


def test_an_example_that_does_not_hold_catches_nothing(masks):
    judged = judge(masks, [WRONG], apart=False)
    assert judged.holds == (False,) and judged.caught == 0


def test_rounding_is_no_disagreement_and_another_dtype_is_one():
    load_checks("01")
    noise = EXERCISES["01.noise_distribution"]
    args = (torch.tensor([1, 1]),)
    near, double = torch.tensor([0.5, 0.500001]), torch.tensor([0.5, 0.5]).double()
    assert judge(noise, [(args, near), (args, double)], apart=False).holds == (True, False)


@pytest.mark.parametrize("sizes", [(10**6, 10**6), (10**12, 10**12)])
def test_a_huge_result_stops_a_child_and_counts_as_not_holding(masks, sizes):
    judged = judge(masks, [((torch.tensor([1]), *sizes), WEAK[1])], apart=True)
    assert judged.holds == (False,) and judged.caught == 0


def test_an_example_that_is_too_large_for_the_reference_is_said_at_home(masks, capsys):
    examples("04.masks", [RIGHT, ((torch.tensor([1]), 10**5, 10**5), WEAK[1])])
    said = capsys.readouterr().out
    assert "example 2 takes the reference more than 5 seconds or 1 GiB of memory" in said


def test_a_reference_that_takes_too_long_is_stopped_as_check_would_be(masks, monkeypatch):
    def endless():
        while True:
            pass

    monkeypatch.setattr(judging, "TimedStudent", partial(TimedStudent, seconds=0.1))
    monkeypatch.setattr(judging, "reference", lambda number: {"masks": lambda *_: endless()})
    with pytest.raises(CourseError, match="example 1 takes the reference more than"):
        judge(masks, [RIGHT], apart=False)


def test_a_notebook_says_both_numbers_and_never_what_is_right(masks, capsys):
    examples("04.masks", [RIGHT, WRONG])
    said = capsys.readouterr().out
    assert "1 of 2 agree with the reference implementation; they would catch" in said
    assert "Example 2 does not hold. You expected tensor([[[[False]]]])" in said
    assert "True" not in said


@pytest.mark.parametrize(
    "pairs, words",
    [
        ([], "give a list of examples"),
        ("text", "give a list of examples"),
        ([(torch.tensor(1), 2)], "example 1 is not (arguments, expected)"),
        ([RIGHT] * (MOST + 1), f"at most {MOST}"),
    ],
)
def test_what_is_no_list_of_examples_is_explained(pairs, words, capsys):
    assert words in problem(pairs)
    examples("04.masks", pairs)
    assert words in capsys.readouterr().out


def test_values_that_cannot_be_compared_and_unknown_exercises_are_sentences(capsys):
    examples("04.masks", [((len,), 1)])
    examples("04.nothing", [RIGHT])
    said = capsys.readouterr().out
    assert "cannot be run" in said and "no exercise '04.nothing'" in said


def test_what_names_no_exercise_is_told_what_examples_wants(capsys):
    examples(None, [RIGHT])
    said = 'examples() wants an exercise such as "04.masks"; it got None\n'
    assert capsys.readouterr().out == said
