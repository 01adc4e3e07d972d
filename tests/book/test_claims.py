"""A claim stops the page when its condition fails, and only one truth value will do as a
condition.
"""

import numpy as np
import pytest
import torch

from course.book.pages.claims import ClaimError, claim
from course.book.pages.predictions import revealed


@pytest.mark.parametrize(
    "true", [True, np.bool_(True), torch.tensor(True), torch.tensor([[1.0]]) > 0, np.array([2]) > 1]
)
def test_a_true_condition_says_nothing(true, capsys):
    assert claim("two is more than one", true) is None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("false", [False, np.bool_(False), torch.tensor(False)])
def test_a_false_condition_stops_with_the_sentence(false):
    with pytest.raises(ClaimError, match="two is more than three"):
        claim("two is more than three", false)


@pytest.mark.parametrize(
    "no_truth",
    [
        "yes",
        1,
        0.5,
        [True],
        (),
        None,
        torch.tensor([True, True]),
        np.array([]),
        torch.tensor(3.0),
        (x for x in [True]),
        claim,
    ],
)
def test_what_is_not_one_truth_value_is_refused(no_truth):
    with pytest.raises(TypeError, match="not one truth value"):
        claim("anything", no_truth)


def test_a_claim_without_a_sentence_is_refused():
    with pytest.raises(TypeError, match="quote the page"):
        claim(" ", True)


def test_an_answer_shows_itself_with_its_value():
    shown = revealed("pairs", torch.tensor(1234), "pairs")._repr_mimebundle_()
    assert shown["text/plain"] == "computed: 1,234 pairs"
    assert 'data-w2s-revealed="pairs" data-value="1234"' in shown["text/html"]


@pytest.mark.parametrize("nothing", [float("nan"), float("inf"), None, "", True, [1]])
def test_an_answer_that_nobody_could_give_stops_the_page(nothing):
    with pytest.raises(ClaimError, match="finite number or the text of an option"):
        revealed("pairs", nothing)
