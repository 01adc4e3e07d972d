"""SQuAD's scores against those of the released program; the best span by trying all."""

import pytest
import torch

from reference_impl.measure.answers import best_spans, exact_match, normalise_answer, token_f1
from reference_impl.measure.metrics import MetricError

# What the program released with SQuAD (its copy in transformers 2, `squad_metrics.py`) made of
# each.
NORMAL = {
    "The bank of the river.": "bank of river",
    "a river's  bank": "rivers bank",
    "bank": "bank",
    "An answer, the answer": "answer answer",
    "": "",
    "the": "",
    "theatre a-an": "theatre aan",
    "U.S. $1,000": "us 1000",
    "bank bank river": "bank bank river",
    "Ünïcode «the» bank": "ünïcode « » bank",
    "THE BANK OF\tA RIVER": "bank of river",
}
F1 = [
    ("The bank of the river.", "a river's  bank", 0.4),
    ("The bank of the river.", "bank", 0.5),
    ("The bank of the river.", "bank bank river", 0.6667),
    ("The bank of the river.", "Ünïcode «the» bank", 0.2857),
    ("a river's  bank", "bank", 0.6667),
    ("bank", "bank bank river", 0.5),
    ("", "the", 1),
    ("the", "bank", 0),
    ("bank bank river", "THE BANK OF\tA RIVER", 0.6667),
    ("An answer, the answer", "bank", 0),
    ("An answer, the answer", "An answer, the answer", 1),
]


def test_texts_are_normalised_and_matched_as_by_the_released_program():
    assert {text: normalise_answer(text) for text in NORMAL} == NORMAL
    for answer, one in NORMAL.items():
        for truth, other in NORMAL.items():
            assert exact_match(answer, [truth]) == (one == other)


@pytest.mark.parametrize("answer, truth, expected", F1)
def test_the_f1_of_words_is_the_released_programs(answer, truth, expected):
    assert (
        token_f1(answer, [truth]) == token_f1(truth, [answer]) == pytest.approx(expected, abs=5e-5)
    )


def test_scores_by_hand_and_the_best_of_several_truths():
    assert normalise_answer("The  Bank, of a River!") == "bank of river"
    assert exact_match("the bank", ["river", "Bank."]) == 1
    # Of "bank bank river" and "bank of river" two words are shared: 2/3 and 2/3.
    assert token_f1("bank bank river", ["bank of river"]) == pytest.approx(2 / 3)
    assert token_f1("bank", ["a river's far bank", "the bank of lend"]) == pytest.approx(
        2 * 1 / (1 + 3)
    )


@pytest.mark.parametrize("max_tokens, count", [(1, 3), (3, 1), (3, 10), (30, 500)])
def test_the_best_spans_are_those_found_by_trying_all(max_tokens, count):
    generator = torch.Generator().manual_seed(0)
    start, end = torch.randn(2, 13, generator=generator, dtype=torch.float64)
    allowed = torch.arange(13) > 2
    every = [
        (i, j, float(start[i] + end[j]))
        for i in range(3, 13)
        for j in range(i, min(i + max_tokens, 13))
    ]
    expected = sorted(every, key=lambda span: -span[2])[:count]
    assert best_spans(start, end, allowed, max_tokens, count) == expected


def test_the_best_start_after_the_best_end_makes_no_span():
    start, end = torch.tensor([0.0, 1.0, 9.0]), torch.tensor([9.0, 2.0, 0.0])
    assert best_spans(start + torch.tensor([0.5, 0, 0]), end, count=2) == [(0, 0, 9.5), (2, 2, 9.0)]


def test_what_gives_no_answer_is_refused():
    with pytest.raises(MetricError, match="no token is allowed"):
        best_spans(torch.zeros(3), torch.zeros(3), torch.zeros(3, dtype=torch.bool))
    with pytest.raises(MetricError, match="max_tokens is 0"):
        best_spans(torch.zeros(3), torch.zeros(3), max_tokens=0)
    with pytest.raises(MetricError, match="give a list"):
        exact_match("bank", [])
    with pytest.raises(MetricError, match="give a list"):
        token_f1("bank", "bank")
