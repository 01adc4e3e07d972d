"""Questions are unambiguous, repeatable, right about the run, and quote no code."""

import itertools
import random
from collections import Counter

import pytest

from autograder.viva.distractors import near_shapes, near_texts
from autograder.viva.questions import questions
from tests.autograder.viva.test_inside import BLOCKS, blocks


@pytest.fixture(scope="module")
def run(recorded, changed):
    record = recorded(BLOCKS, "block_means", blocks)
    return record, changed(record["names"], BLOCKS, "block_means")


def asked(run, seed):
    return questions(*run, random.Random(seed), count=6)


@pytest.mark.parametrize("seed", range(30))
def test_options_differ_and_nothing_of_the_code_is_quoted(run, seed):
    for one in asked(run, seed):
        assert len(set(one.options)) == 4 and 0 <= one.answer < 4
        shown = " ".join([one.text, *one.options])
        assert not any(word in shown for word in ("block", "start", "found", "size]"))


def test_the_same_seed_asks_the_same_and_another_one_something_else(run):
    made = [[one.to_json() for one in asked(run, seed)] for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_the_right_option_alone_is_what_the_run_showed(run):
    record, _ = run
    counts = Counter(record["order"])
    for one in itertools.chain.from_iterable(asked(run, seed) for seed in range(40)):
        if one.kind == "runs":
            times = int(one.text.split("exactly ")[1].split()[0])
            fits = [counts[int(option.split()[1])] == times for option in one.options]
        elif one.kind == "next":
            after = record["order"][one.steps :]
            first = next(line for line in after if f"line {line}" in one.options)
            fits = [option == f"line {first}" for option in one.options]
        elif one.kind == "change" and "error" not in one.why:
            text = one.text.split("it gives ")[-1].split(". Which")[0]
            fits = [f"{option}; it gives {text}" in one.why for option in one.options]
            if text not in one.why:
                continue  # "makes no difference"
        else:
            continue
        assert fits.count(True) == 1 and fits[one.answer]


def test_each_line_is_right_at_each_position_about_as_often(run):
    every = itertools.chain.from_iterable(asked(run, seed) for seed in range(200))
    made = [one for one in every if one.kind == "next"]
    places = Counter(one.answer for one in made)
    assert max(places.values()) < 0.5 * len(made)


def test_a_function_without_anything_to_ask_gives_no_question(recorded):
    source = "def same(x):\n    return x\n"
    record = recorded(source, "same", lambda names: names["same"]("word"))
    changes = {"before": None, "changes": []}
    assert questions(record, changes, random.Random(1)) == []


def test_the_result_that_every_implementation_gives_is_not_asked(recorded):
    source = "def area(a, b):\n    side = a + 1\n    found = a * b\n    return found\n"
    record = recorded(source, "area", lambda names: names["area"](3, 5))
    changes = {"before": None, "changes": []}
    for seed in range(10):
        for one in questions(record, changes, random.Random(seed)):
            assert one.options[one.answer] != "15"


@pytest.mark.parametrize("seed", range(10))
def test_wrong_shapes_are_shapes_of_the_run_before_any_is_invented(seed):
    wrong = near_shapes((2, 3), [(2, 3), (7, 9), (4,)], random.Random(seed))
    assert wrong[:2] == [(7, 9), (4,)]


@pytest.mark.parametrize("text", ["[" * 70, "'unclosed", "a b"])
def test_a_text_that_is_no_value_breaks_nothing(text):
    assert isinstance(near_texts(text, [], random.Random(1)), list)
