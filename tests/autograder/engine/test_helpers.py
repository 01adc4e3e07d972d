"""Comparison up to names, questions about chance with their stated rate, counterexamples, visible
characters, short answers.
"""

import pytest
import torch

from autograder.checks.assertions.chance import each_seed, expect_frequencies, expect_mean
from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.renaming import Renaming
from autograder.checks.assertions.values import same, visible
from autograder.checks.kinds.counterexamples import Ids, Numbers, expect_breaks
from autograder.checks.kinds.short_answer import Sample, filled_in, short_answer


def test_names_may_differ_as_long_as_they_stay_the_same():
    names = Renaming()
    names.expect_same([[4, 1], (4,), None], [[0, 2], (0,), None], cause="no")
    names.expect_same({"a": [1, 9]}, {"a": [2, 5]}, cause="no")
    names.release(5)
    names.expect_same([7], [5], cause="no")


@pytest.mark.parametrize(
    ("came", "expected", "said"),
    [
        ([4, 4], [0, 1], "in use for something else"),
        ([4, 5], [0, 0], "where 4 stood before"),
        ([4], [0, 1], "up to names"),
        ([True], [1], "a name such as 1"),
        ([1.0], [1], "a name such as 1"),
        ((4,), [0], "up to names"),
        ([None], [0], "was expected"),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, "keys"),
    ],
    ids=str,
)
def test_what_is_not_a_renaming_is_said(came, expected, said):
    with pytest.raises(CheckFailed) as caught:
        Renaming().expect_same(came, expected, cause="Blocks are mixed up.")
    assert caught.value.cause == "Blocks are mixed up." and said in caught.value.detail


def test_a_name_cannot_change_between_two_comparisons():
    names = Renaming()
    names.expect_same([4], [0], cause="no")
    with pytest.raises(CheckFailed):
        names.expect_same([5], [0], cause="no")


def test_right_draws_fail_no_more_often_than_stated():
    chances, alarms = torch.tensor([0.5, 0.3, 0.15, 0.05]), 0
    for _, generator in each_seed(torch.Generator().manual_seed(1), 600):
        draws = torch.multinomial(chances, 60, replacement=True, generator=generator)
        try:
            expect_frequencies(
                torch.bincount(draws, minlength=4), chances, cause="no", false_alarms=0.02
            )
        except CheckFailed:
            alarms += 1
    assert alarms <= 600 * 0.02 * 2, alarms


@pytest.mark.parametrize(
    "wrong", [[0.25] * 4, [1.0, 0, 0, 0], [0.5, 0.3, 0.2, 0.0], [0.55, 0.3, 0.1, 0.05]], ids=str
)
def test_wrong_draws_fail_nearly_always(wrong):
    draws = torch.multinomial(
        torch.tensor(wrong), 20_000, replacement=True, generator=torch.Generator().manual_seed(2)
    )
    with pytest.raises(CheckFailed, match="draws follow") as caught:
        expect_frequencies(
            torch.bincount(draws, minlength=4),
            [0.5, 0.3, 0.15, 0.05],
            cause="The draws follow something else.",
        )
    assert "1,000,000" in caught.value.detail


def test_the_bound_on_counts_is_the_binomial_distribution_of_scipy():
    from scipy.stats import binom

    from autograder.checks.assertions.chance import _at_least

    for count, total, chance in (
        (3, 10, 0.2),
        (0, 5, 0.5),
        (700, 1000, 0.65),
        (10, 10, 0.9),
        (1, 10, 0.0),
        (4, 9, 1.0),
    ):
        assert _at_least(count, total, chance) == pytest.approx(
            float(binom.sf(count - 1, total, chance)), rel=1e-9
        )


def test_means_of_bounded_values():
    values = torch.rand(4000, generator=torch.Generator().manual_seed(0))
    expect_mean(values, 0.5, (0, 1), cause="no")
    with pytest.raises(CheckFailed, match="too large"):
        expect_mean(values, 0.4, (0, 1), cause="The mean is too large.")
    for hostile in (torch.tensor([]), torch.tensor([2.0]), torch.tensor([float("nan")]), None):
        with pytest.raises(CheckFailed):
            expect_mean(hostile, 0.5, (0, 1), cause="no")


def top_p_keeps_at_most_five(p):
    return int((p.sort(descending=True).values.cumsum(0) < 0.9).sum()) + 1 <= 5


def ask(data):
    expect_breaks(
        data,
        holds=top_p_keeps_at_most_five,
        form=Numbers(((2, 50),), low=0.0, high=1.0),
        degenerate={"it does not add up to 1": lambda p: abs(float(p.sum()) - 1) > 1e-5},
        cause="A flat distribution needs many tokens for 0.9.",
    )


def test_a_counterexample_is_accepted_and_one_that_is_none_is_told_why():
    ask(torch.full((20,), 0.05))
    for data, said in (
        (torch.tensor([0.95, 0.05]), "A flat distribution"),
        (torch.full((20,), 0.04), "does not add up to 1"),
        (torch.full((20,), float("nan")), "no NaN"),
        (torch.ones(1), "size 1; 2 to 50"),
        (torch.ones(10**6), "size 1000000"),
        (torch.ones(2, 2), "2 dimensions"),
        (None, "None"),
    ):
        with pytest.raises(CheckFailed) as caught:
            ask(data)
        assert said in caught.value.cause


def test_an_example_that_breaks_a_sentence_by_rounding_only_does_not_count():
    form = {"a": Numbers(((1, 3),)), "ids": Ids((1, 3), high=9)}
    good = {"a": torch.tensor([-1.0]), "ids": [1]}
    expect_breaks(
        good, holds=lambda a, ids: float(a.sum()), form=form, degenerate={}, cause="no", margin=0.1
    )
    for wrong in (
        {"a": torch.tensor([-1e-7]), "ids": [1]},
        {"a": torch.tensor([-1.0])},
        {"a": torch.tensor([-1.0]), "ids": [True, 2.5]},
        {"a": torch.tensor([-1.0]), "ids": [1] * 4},
        {"a": torch.tensor([-1.0]), "ids": [10]},
        [1],
    ):
        with pytest.raises(CheckFailed):
            expect_breaks(
                wrong,
                holds=lambda a, ids: float(a.sum()),
                form=form,
                degenerate={},
                cause="no",
                margin=0.1,
            )


def test_deep_sameness_looks_at_types_everywhere():
    left = {1: ["a", (torch.ones(2), b"x")], ("k", 2): {"z": float("nan")}}
    assert same(left, {("k", 2): {"z": float("nan")}, 1: ["a", (torch.ones(2), b"x")]})
    for right in (
        {1.0: ["a", (torch.ones(2), b"x")], ("k", 2): {"z": float("nan")}},
        {True: left[1], ("k", 2): left[("k", 2)]},
        {1: ["a", (torch.ones(2), "x")], ("k", 2): {"z": float("nan")}},
        {1: ["a", [torch.ones(2), b"x"]]},
    ):
        assert not same(left, right)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a b"),
        ("a\u200bb", "a\\u200bb"),
        ("\x00\t\n", "\\x00\\t\\n"),
        ("a\xa0b", "a\\xa0b"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", "\\u0301e"),
        ("日本 Ġthe", "日本 Ġthe"),
        ("\u202eabc", "\\u202eabc"),
        ("\ufeffx", "\\ufeffx"),
        ("\u3000", "\\u3000"),
        ("a\u3164b", "a\\u3164b"),
        ("\u2800", "\\u2800"),
        ("a\ufe0f", "a\\ufe0f"),
        ("a\u034fb", "a\\u034fb"),
    ],
)
def test_what_nobody_can_see_is_written_out(text, shown):
    assert visible(text) == shown


ROWS = {
    "bytes": (1, "Says that text is bytes."),
    "share": (2, "Compares two corpora."),
    "price": (1, "Names a price."),
}
SAMPLES = [
    Sample("Weak", "Tokens are words.", {}, "No row."),
    Sample("Fair", "Bytes, and one corpus.", {"bytes": 1, "share": 1}, "Half."),
    Sample("Strong", "All of it.", {"bytes": 1, "share": 2, "price": 1}, "All rows."),
]


def test_a_short_answer_is_one_call_and_fills_the_card_and_the_graders_cell(fresh_registries):
    made = short_answer("99.own", points=4, rubric=ROWS, samples=SAMPLES)
    assert made.kind == "manual" and made.points == 4
    card = filled_in("99.own", "How?\n\n{{rubric}}")
    assert "| share | Compares two corpora. | 2 |" in card and "{{" not in card
    notes = filled_in("99.own", "### BEGIN SOLUTION\n{{samples}}\n### END SOLUTION")
    assert (
        "**Fair, 2 of 4** (bytes 1 of 1, share 1 of 2, price 0 of 1)." in notes
        and "*Why*: Half." in notes
    )
    with pytest.raises(ValueError, match="no `short_answer"):
        filled_in("99.other", "{{rubric}}")


@pytest.mark.parametrize(
    ("points", "samples", "said"),
    [
        (5, SAMPLES, "add up to 4"),
        (4, SAMPLES[1:], "calibrate nothing"),
        (4, [*SAMPLES[:2], SAMPLES[1]], "calibrate nothing"),
        (4, [*SAMPLES, Sample("Odd", "x", {"bytes": 2}, "")], "does not give"),
        (4, [*SAMPLES, Sample("Odd", "x", {"size": 1}, "")], "does not give"),
    ],
)
def test_a_rubric_that_calibrates_nothing_is_refused(fresh_registries, points, samples, said):
    with pytest.raises(ValueError, match=said):
        short_answer("99.own", points=points, rubric=ROWS, samples=samples)
