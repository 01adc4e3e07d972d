"""Questions are unambiguous, repeatable, right about the run, quote no code and tell nothing."""

import random
import re
from collections import Counter
from itertools import chain

import pytest

from autograder.viva.kinds.inputs import of_inputs
from autograder.viva.kinds.question import BOTH, scale, two_claims
from autograder.viva.kinds.values import of_values
from autograder.viva.questions import _all, questions
from tests.autograder.viva.test_inputs import CLAMPED, PAIRS, calls_of_clamped
from tests.autograder.viva.test_inside import BLOCKS, blocks

NOTHING = {"changed": {"before": None, "changes": []}, "inputs": [], "grown": {}}


@pytest.fixture(scope="module")
def run(runs):
    return runs(BLOCKS, "block_means", blocks)


@pytest.fixture(scope="module")
def every(run):
    """All questions of many draws."""
    return list(chain.from_iterable(_all(run, random.Random(seed)) for seed in range(300)))


def said(question) -> list[tuple[str, bool]]:
    """The two statements of a question, and whether the right option says that they are true."""
    first, second = re.search(r"\(1\) (.*)\. \(2\) (.*?)\. [A-Z]", question.text).groups()
    return [(first, question.answer < 2), (second, question.answer % 2 == 0)]


@pytest.mark.parametrize("seed", range(30))
def test_options_differ_and_nothing_of_the_code_is_quoted(run, seed):
    for one in questions(run, random.Random(seed), count=6):
        assert len(set(one.options)) == 4 and 0 <= one.answer < 4
        shown = " ".join([one.text, *one.options]).replace("block_means(", "")
        assert not any(word in shown for word in ("block", "start", "found", "size]", "`mean`"))


def test_the_same_seed_asks_the_same_and_another_one_something_else(run):
    made = [
        [one.to_json() for one in questions(run, random.Random(seed), count=6)]
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]


def test_statements_on_runs_are_true_where_a_run_by_hand_says_so(runs):
    found = runs(PAIRS, "pairs", lambda names: names["pairs"](["a", "b", "c"]))
    every = chain.from_iterable(_all(found, random.Random(seed)) for seed in range(60))
    made = [statement for one in every if one.kind == "runs" for statement in said(one)]
    assert made
    for text, true in made:
        line, times = map(int, re.findall(r"\d+", text))
        assert ({4: 3, 6: 9, 7: 9}[line] == times) is true


def test_statements_on_shapes_are_true_where_a_run_by_hand_says_so(every):
    """Of line 5: two rows, two rows, one row, each of 3; see BLOCKS."""
    by_hand = {"first": "(2, 3)", "second": "(2, 3)", "third": "(1, 3)"}
    made = [pair for one in every if one.kind == "values" for pair in said(one)]
    made = [(text, true) for text, true in made if text.startswith("line 5 ")]
    assert made
    for text, true in made:
        shape, visit = re.search(r"(\(.*\)) when it runs for the (\w+) time", text).groups()
        assert (by_hand[visit] == shape) is true


def test_a_line_runs_in_the_gaps_that_a_run_by_hand_shows(runs):
    """Line 6 runs after the first, third and fourth run of line 3."""
    source = (
        "def odd(x):\n    for one in x:\n        a = one\n        b = a\n"
        "        if a % 2:\n            b = a + 1\n        a = b\n    return a\n"
    )
    found = runs(source, "odd", lambda names: names["odd"]([3, 4, 5, 7, 8, 8, 8]))
    gaps = {"first and second": True, "second and third": False}
    gaps |= {"third and fourth": True, "fourth and fifth": True}
    made = list(chain.from_iterable(_all(found, random.Random(seed)) for seed in range(60)))
    asked = [one for one in made if one.kind == "between" and "line 6 run" in one.text]
    asked = [one for one in asked if one.text.startswith("Does line 6 run between these runs of")]
    of_three = [one for one in asked if "of line 3?" in one.text]
    assert len({one.answer for one in of_three}) == 3, "one of these gaps alone is without"
    for one in of_three:
        for text, true in said(one):
            assert gaps[text.removeprefix("its ").removesuffix(" run")] is true


def test_of_four_changes_one_gives_the_result_that_is_shown():
    changes = [[line, "a comparison is exchanged", "values", str(line)] for line in range(3, 9)]
    found = NOTHING | {
        "record": EMPTY,
        "changed": {"before": "1", "changes": changes},
    }
    made = list(chain.from_iterable(_all(found, random.Random(seed)) for seed in range(200)))
    assert {one.kind for one in made} == {"change"}
    for one in made:
        shown = one.text.split("it gives ")[1].split(".")[0]
        assert one.options[one.answer] == f"line {shown}: a comparison is exchanged"
    places = Counter(one.answer for one in made)
    assert max(places.values()) < 0.35 * len(made), "each is right about as often"


EMPTY = {
    "assigned": {},
    "expressions": {},
    "seen": {},
    "given": [],
    "order": [],
    "lines": [],
    "result": {"kind": "int", "text": "7"},
}


def test_the_kind_of_a_change_does_not_tell_its_effect():
    """Nine of ten removed lines raise, and one of ten exchanges; asked, each does half the time."""
    changes = [[line, "the line is removed", "error", None] for line in range(9)]
    changes += [[9, "the line is removed", "same", None]]
    changes += [[line, "a comparison is exchanged", "same", None] for line in range(9)]
    changes += [[9, "a comparison is exchanged", "error", None]]
    found = NOTHING | {"record": EMPTY, "changed": {"before": "1", "changes": changes}}
    made = chain.from_iterable(_all(found, random.Random(seed)) for seed in range(400))
    truths: dict[str, list[bool]] = {}
    for one in made:
        if one.kind == "effects" and "raise" in one.text:
            for text, true in said(one):
                truths.setdefault(text.split(": ")[1], []).append(true)
    assert len(truths) == 2
    assert all(0.42 < sum(one) / len(one) < 0.58 for one in truths.values())


def test_each_of_the_four_patterns_of_two_statements_is_right_as_often(every):
    for kind in ("values", "effects"):
        places = Counter(one.answer for one in every if one.kind == kind)
        total = sum(places.values())
        assert all(0.15 < places[place] / total < 0.35 for place in range(4)), kind


def test_a_scale_has_each_number_at_each_position_as_often():
    draw = random.Random(1)
    for right in (5, 6, 40):
        places = Counter(scale(right, draw)[1] for _ in range(2000))
        assert all(0.2 < places[place] / 2000 < 0.3 for place in range(4))
        options, position = scale(right, draw)
        assert options[position] == str(right)
    assert scale(4, draw) is None, "it would seldom be the last of a scale from 2"


def test_two_claims_are_never_alike():
    draw = random.Random(2)
    for _ in range(500):
        (one, true), (other, also) = two_claims([6, 3], [{6, 3, 12, 7}, {6, 3, 2, 7}], draw)
        assert one != other and (one == 6) is true and (other == 3) is also
    assert two_claims([6, 6], [{1, 2, 3}, {1, 2, 3}], draw) is None


def test_the_call_that_alone_takes_a_branch_is_the_right_one(runs):
    found = runs(CLAMPED, "clamped", calls_of_clamped)
    calls = [one["call"] for one in found["inputs"]]
    for one in found["inputs"]:
        # Another change, so that no call is one on which nothing ever has an effect.
        one["matters"] = [
            *(each for each in one["matters"] if each[:2] == [4, "the line is removed"]),
            [2, "a whole number is raised by 1", "x=7" not in one["call"]],
        ]
    made = []
    for seed in range(40):
        made += of_inputs(found["record"], found["inputs"], {}, random.Random(seed))
    removed = [one for one in made if one.kind == "matters" and one.line == 4]
    assert removed and set(calls) >= set(removed[0].options)
    for one in removed:
        assert "the result differ" in one.text
        assert one.options[one.answer] == "clamped(x=7, most=9)"


def test_a_call_on_which_nothing_has_an_effect_is_not_asked():
    """An empty text, say: that no change matters to it can be seen without the code."""
    changes = [(3, "the line is removed"), (4, "a comparison is exchanged")]
    inputs = [
        {"call": f"f({number})", "matters": [[*one, number > 0 and odd] for one in changes]}
        for number, odd in enumerate((False, True, False, True, True))
    ]
    assert list(of_inputs(EMPTY, inputs, {}, random.Random(1))) == []


def test_growth_is_what_a_run_by_hand_shows(runs):
    found = runs(PAIRS, "pairs", lambda names: names["pairs"](["a", "b"]))
    by_hand = {4: 4, 6: 16, 7: 16}
    made = []
    for seed in range(60):
        made += of_inputs(found["record"], [], found["grown"], random.Random(seed))
    assert {one.kind for one in made} == {"grows"}
    for one in made:
        for text, true in said(one):
            line, times = map(int, re.findall(r"\d+", text))
            assert (by_hand[line] == times) is true


def test_a_function_without_anything_to_ask_gives_no_question(recorded):
    source = "def same(x):\n    return x\n"
    record = recorded(source, "same", lambda names: names["same"]("word"))
    assert questions(NOTHING | {"record": record}, random.Random(1)) == []


def test_the_result_that_every_implementation_gives_is_not_asked(recorded):
    source = "def area(a, b):\n    side = a + 1\n    found = a * b\n    return found\n"
    record = recorded(source, "area", lambda names: names["area"](3, 5))
    made = chain.from_iterable(of_values(record, random.Random(seed)) for seed in range(20))
    assert not any("15" in f"{one.text} {one.options}" for one in made)


def test_of_four_lines_each_could_have_been_the_right_one(recorded):
    source = (
        "def steps(x):\n    a = x + 1\n    b = a * 3\n    c = b - 4\n    d = c * 2\n"
        "    e = d - 22\n    return [e]\n"
    )
    record = recorded(source, "steps", lambda names: names["steps"](5))
    by_hand = {"line 2": 6, "line 3": 18, "line 4": 14, "line 5": 28, "line 6": 6}
    made = chain.from_iterable(of_values(record, random.Random(seed)) for seed in range(400))
    lines = [one for one in made if one.kind == "line"]
    for one in lines:
        value = int(re.search(r"the value (\d+)", one.text)[1])
        assert [by_hand[line] == value for line in one.options].count(True) == 1
        assert by_hand[one.options[one.answer]] == value
    places = Counter(one.answer for one in lines)
    assert all(0.18 < places[place] / len(lines) < 0.32 for place in range(4))


@pytest.mark.parametrize("text", ["[" * 70, "'unclosed", "a b"])
def test_a_text_that_is_no_value_breaks_nothing(text):
    seen = {"kind": "str", "text": text}
    record = EMPTY | {"assigned": {0: [2, "a", False]}, "seen": {0: [seen]}, "order": [2]}
    assert list(of_values(record, random.Random(1))) == []


def test_two_statements_have_the_options_in_this_order():
    assert BOTH == ("both", "only (1)", "only (2)", "neither")
