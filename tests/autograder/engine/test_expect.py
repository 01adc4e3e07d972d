"""What `expect` lets through, what it refuses, and how it says so."""

import math
import re

import numpy as np
import pytest
import torch

from autograder.checks.assertions import slips
from autograder.checks.assertions.expect import CheckFailed, expect
from autograder.checks.assertions.numeric_hints import UNWRITTEN
from autograder.checks.assertions.values import cross, readable
from autograder.checks.inputs.buffers import Buffer


class EqualsEverything:
    shape, dtype = (2,), torch.float32

    def __eq__(self, other):
        return True

    def __getattr__(self, name):
        return lambda *args, **kwargs: True


class AgreeableTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True


def failure(ask) -> CheckFailed:
    with pytest.raises(CheckFailed) as caught:
        ask()
    return caught.value


RIGHT = torch.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    "impostor",
    [
        EqualsEverything(),
        torch.tensor([1.0, 2.0]).as_subclass(AgreeableTensor),
        torch.nn.Parameter(torch.tensor([1.0, 2.0])),
        "12",
        None,
    ],
)
def test_nothing_but_a_plain_tensor_equals_a_tensor(impostor):
    assert (
        "a torch.Tensor was asked for"
        in failure(lambda: expect(impostor).equals(RIGHT, cause="author's")).cause
    )


def test_a_result_of_none_asks_for_the_return():
    assert (
        "is a `return` missing?"
        in failure(lambda: expect(None).equals(1.0, cause="author's")).cause
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (torch.tensor([True, True]), "has dtype bool; float32 was asked for"),
        (torch.tensor([[1.0, 2.0], [1.0, 2.0]]), "shape (2, 2); (2,) was asked for"),
        (torch.tensor([1.0, float("nan")]), "nan at [1]"),
        (torch.tensor([-torch.inf, 2.0]), "-inf at [0]"),
    ],
)
def test_dtype_shape_and_finiteness_have_sentences_of_their_own(value, sentence):
    failed = failure(lambda: expect(value, "The loss").equals(RIGHT, cause="author's"))
    assert "The loss" in failed.cause and sentence in failed.cause + failed.detail


@pytest.mark.parametrize(
    ("value", "expected", "sentence"),
    [
        (RIGHT.double(), RIGHT, "has dtype float64; float32 was asked for"),
        (RIGHT.half(), RIGHT, "has dtype float16"),
        (RIGHT.long(), RIGHT, "has dtype int64"),
        (RIGHT[None], RIGHT, "axis of length 1"),
        (RIGHT.numpy(), RIGHT, "is a numpy.ndarray; a torch.Tensor was asked for"),
        ([1.0, 2.0], RIGHT, "is a list"),
        (torch.tensor(3), 3, "Use .item()"),
        (torch.tensor([2.5]), 2.5, "Use .item()"),
        (3.0, 3, "is a float"),
        (2.5, torch.tensor(2.5), "is a float; a torch.Tensor"),
        ([1, 2], (1, 2), "is a list; a tuple was asked for"),
        (torch.tensor([1, 0]), torch.tensor([True, False]), "has dtype int64; bool was asked for"),
        (torch.tensor([[True, False]]), torch.tensor([1, 0]), "axis of length 1"),
        (1, True, "is an int; a bool was asked for"),
        (True, 1.0, "is a bool; a plain float was asked for"),
        (False, 0, "is a bool; a plain int was asked for"),
        (torch.tensor(True), 1, "is a torch.Tensor; a plain int was asked for"),
        (torch.tensor([1.0, 0.0]), torch.tensor([True, False]), "has dtype float32"),
        (torch.tensor(False), False, "Use bool()"),
        (float(2**60 + 1), 2**60 + 1, "is a float; a plain int"),
        ([], torch.zeros(0, 3), "is a list"),
    ],
)
def test_a_right_answer_of_another_type_is_a_slip_and_its_values_are_looked_at(
    value, expected, sentence
):
    noted = slips.begin()
    expect(value).equals(expected, cause="author's")
    assert len(noted) == 1 and sentence in noted[0], noted


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (torch.tensor([1.0, 2.5]).double(), RIGHT),
        ([1.0, 3.0], RIGHT),
        (torch.tensor(4), 3),
        (3.5, 3),
        (torch.tensor(True), 2),
        (False, 1.0),
        ([[1.0], [2.0, 3.0]], RIGHT),
        ("text", RIGHT),
        (torch.nan, 3),
        (torch.tensor([2, 0]), torch.tensor([True, False])),
        (2, True),
        (float(2**60 + 2**20), 2**60),
        (torch.tensor([True, False]), torch.tensor([2, 0])),
    ],
)
def test_a_wrong_answer_of_another_type_stays_wrong(value, expected):
    assert failure(lambda: expect(value).equals(expected, cause="author's")).cause


def test_wrong_values_give_the_authors_cause_and_then_the_numbers():
    failed = failure(
        lambda: expect(torch.tensor([1.0, 2.5])).equals(RIGHT, cause="You forgot to halve.")
    )
    assert failed.cause == "You forgot to halve."
    assert "at [1] is 2.5, expected 2; 1 of 2 values differ" in failed.detail


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (torch.tensor([1.0 + 1e-6, 2.0]), RIGHT),
        (2, 2.0),
        (3, 3),
        ("a", "a"),
        (True, True),
        (None, None),
        (torch.tensor(True), torch.tensor(True)),
        (torch.tensor([]), torch.tensor([])),
        ([1, {"k": (2.0, RIGHT.clone())}], [1, {"k": (2.0, RIGHT)}]),
        (np.array([1, 2]), np.array([1, 2])),
        (torch.tensor([torch.inf]), torch.tensor([torch.inf])),
    ],
)
def test_equal_values_pass_and_come_back(value, expected):
    assert expect(value).equals(expected, cause="no") is value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, 2),
        (2, True),
        ("1", 1),
        ([1, 2], [1]),
        ({"k": 1, "extra": 2}, {"k": 1}),
        ({}, {"k": 1}),
        (torch.tensor([1.001, 2.0]), RIGHT),
        (torch.tensor([True, False]), torch.tensor([True, True])),
        (2.1, 2.0),
        (torch.tensor(1.5), torch.tensor(1.0)),
        (torch.inf, 1.0),
        pytest.param(10**400, 3.0, id="huge for a float"),
        pytest.param(10**5000, 3, id="huge"),
        ([1, [2]], [1, [3]]),
    ],
)
def test_unequal_values_fail_with_a_sentence_and_not_with_another_error(value, expected):
    assert failure(lambda: expect(value).equals(expected, cause="no")).cause


@pytest.mark.parametrize("offset", [1, 2**62, -(2**63)])
def test_integers_are_compared_exactly_even_where_a_difference_overflows(offset):
    # 5 - (-2**63) overflows to a negative number, which is below every tolerance.
    failed = failure(
        lambda: expect(torch.tensor([5 + offset])).equals(torch.tensor([5]), cause="no")
    )
    assert failed.cause.endswith("no") and "expected 5" in failed.detail


def test_integers_beyond_the_53_bits_of_a_float_are_told_apart():
    assert failure(
        lambda: expect(torch.tensor(2**60 + 1)).equals(torch.tensor(2**60), cause="no")
    ).cause.endswith("no")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x: -x, "minus the expected"),
        (lambda x: x / 3, "same factor"),
        (lambda x: x / math.log(2), "base 2"),
        (lambda x: x.trunc(), "rounded to whole"),
        (lambda x: x.flip(0), "another order"),
        (lambda x: x**2, "squares"),
        (lambda x: 1 - x, "1 minus"),
    ],
)
def test_what_all_wrong_numbers_show_is_a_hint_and_no_part_of_the_cause(wrong, said):
    right = torch.tensor([0.3337, 1.2345, 2.7771, 5.1239])
    failed = failure(lambda: expect(wrong(right)).equals(right, cause="The cause."))
    assert failed.cause == "The cause." and said in failed.hint


@pytest.mark.parametrize(
    ("came", "right"),
    [
        (1.0, 0.7),
        (1, 1.4),
        ([0.0, 1.0], [0.3, 0.8]),  # returned 1, or labels: nothing was cut
        (7_087_872 - 256 * 3, 7_087_872),
        (0, 256),
        (44, 300),  # differences that 256 divides
        ([1.0, -2.0, 4.0], [1.0, 2.0, 3.0]),
        ([0.5, 1.001, 2.0], [0.5, 1.0, 2.0]),
    ],
)
def test_a_hint_is_silent_where_it_does_not_explain_every_difference_or_could_be_chance(
    came, right
):
    came, right = (torch.tensor(one) if type(one) is list else one for one in (came, right))
    assert failure(lambda: expect(came).equals(right, cause="The cause.")).hint == ""


def test_a_hint_does_not_take_every_number_next_to_0_for_minus_the_right_one():
    tiny, wrong = torch.tensor([2.5e-13, 3e-12]), torch.tensor([2e-9, 2e-9])
    close = {"rtol": 1e-4, "atol": 1e-16, "cause": "The cause."}
    assert failure(lambda: expect(wrong).close(tiny, **close)).hint == ""
    assert "The sign is wrong" in failure(lambda: expect(-tiny).close(tiny, **close)).hint


@pytest.mark.parametrize(
    ("wrong", "said"), [(lambda x: x / 0, "holds infinity"), (lambda x: x * math.nan, "holds NaN")]
)
def test_what_is_not_finite_is_told_after_the_cause_without_a_guess_at_its_origin(wrong, said):
    right = torch.tensor([0.5, 2.0])
    cause = failure(lambda: expect(wrong(right)).equals(right, cause="The cause.")).cause
    assert cause.startswith("The cause.") and said in cause and "0 / 0" not in cause


def test_a_nan_that_the_check_placed_is_told_as_memory_that_nobody_wrote():
    out = Buffer(torch.full((3,), UNWRITTEN))
    for came in (out.values, out.values * 2 + 1):
        cause = failure(lambda: expect(came).equals(torch.ones(3), cause="Write it.")).cause  # noqa: B023
        assert "never written" in cause and "uninitialized memory" in cause
    assert (
        "uninitialized"
        not in failure(lambda: expect(torch.zeros(3) / 0).equals(torch.ones(3), cause="no")).cause
    )


def test_lost_last_digits_are_a_floats_whichever_it_was():
    for kind, right in ((np.float32, 2**24 + 1), (float, 2**53 + 1)):
        hint = failure(lambda: expect(int(kind(right))).equals(right, cause="no")).hint  # noqa: B023
        assert "a float keeps 15 digits" in hint
    assert not failure(lambda: expect(2**40 + 7).equals(2**40, cause="no")).hint


@pytest.mark.parametrize(
    ("came", "right"),
    [([1, 2], [1, 2, 3]), (torch.ones(2, 2), torch.ones(2)), ({"a": 1}, {"b": 1})],
)
def test_a_wrong_length_shape_or_key_keeps_the_authors_cause_first(came, right):
    assert failure(lambda: expect(came).equals(right, cause="The cause.")).cause.startswith(
        "The cause. Your result has"
    )
    if type(right) is torch.Tensor:
        assert failure(
            lambda: expect(came).is_tensor(shape=(2,), cause="The cause.")
        ).cause.startswith("The cause. Your")


@pytest.mark.parametrize(
    "value",
    [
        list(range(40_000)),
        "a" * 40_000,
        {i: i for i in range(40_000)},
        torch.arange(40_000),
        ["b" * 40_000] * 40,
        {"a": ["c" * 9_000] * 10},
    ],
)
def test_a_long_value_is_shortened_and_says_how_much_more_there_is(value):
    text = readable(value)
    assert len(text) < 320 and re.search(r"and [\d,]+ more", text), text


def test_what_was_given_is_shortened():
    failed = failure(lambda: expect(1, given="words " * 5_000).equals(2, cause="no"))
    assert len(failed.detail) < 300


def test_a_count_that_wrapped_round_names_the_bits_of_its_type():
    hint = failure(lambda: expect(5_000_000_000 - 2**32).equals(5_000_000_000, cause="no")).hint
    assert "wrapped round" in hint and "32 bits" in hint
    counts = torch.tensor([300, 700, 3])
    assert (
        "8 bits"
        in failure(lambda: expect(counts.to(torch.uint8).long()).equals(counts, cause="no")).hint
    )


@pytest.mark.parametrize("came", [np.array([3, 1]), torch.tensor([3, 1])], ids=["numpy", "torch"])
def test_an_array_for_a_list_is_a_slip_and_its_numbers_are_looked_at(came):
    noted = slips.begin()
    assert expect(came).is_a(list) == [3, 1] and "Use .tolist()." in noted[0]
    expect(came).equals([3, 1], cause="author's")
    assert failure(lambda: expect(came).equals([3, 2], cause="author's")).cause
    assert (
        failure(lambda: expect(torch.tensor(3)).is_a(list)).cause
        and failure(lambda: expect(came > 1).is_a(list)).cause
    )


def test_a_list_for_a_tuple_and_a_number_of_numpy_for_an_int_are_slips():
    noted = slips.begin()
    expect([1, 2]).unpacks(2)
    expect(cross(np.int64(3))).equals(3, cause="no")
    assert "a tuple was asked for" in noted[0] and "number of numpy (int64)" in noted[1]


def test_close_uses_the_tolerance_that_is_stated():
    expect(torch.tensor([1.04])).close(torch.tensor([1.0]), atol=0.05, cause="no")
    failed = failure(
        lambda: expect(torch.tensor([1.06])).close(torch.tensor([1.0]), atol=0.05, cause="no")
    )
    assert "tolerance 0 relative, 0.05 absolute" in failed.detail


def test_between_refuses_nan_and_names_the_first_value_outside():
    assert (
        "the first at [1] is nan"
        in failure(
            lambda: expect(torch.tensor([0.5, torch.nan, 3.0])).between(0, 1, cause="no")
        ).detail
    )
    expect(torch.tensor([0.0, 1.0])).between(0, 1, cause="no")


def test_is_finite_takes_the_authors_cause():
    assert (
        failure(lambda: expect(-torch.inf).is_finite(cause="The logarithm of zero.")).cause
        == "The logarithm of zero."
    )


def test_is_true_takes_only_a_truth_value_and_one_of_another_type_as_a_slip():
    noted = slips.begin()
    assert expect(True).is_true(cause="no") and not noted
    assert (
        expect(torch.tensor(True)).is_true(cause="no")
        and expect(1).is_true(cause="no")
        and len(noted) == 2
    )
    for value in (False, 2, EqualsEverything(), torch.tensor(False)):
        assert failure(lambda: expect(value).is_true(cause="no")).cause


def test_unpacks_counts_the_items_before_a_check_unpacks_them():
    loss, gradient = expect((1.0, RIGHT)).unpacks(2)
    assert loss == 1.0 and gradient is RIGHT
    assert "3 items; 2 were asked for" in failure(lambda: expect((1, 2, 3)).unpacks(2)).detail
    assert "a tuple of 2 was asked for" in failure(lambda: expect(RIGHT).unpacks(2)).cause


def test_has_asks_on_about_one_entry_and_names_it():
    failed = failure(lambda: expect({"bytes": 3}, "The answer").has("bytes").equals(4, cause="no"))
    assert "The answer['bytes'] is 3, expected 4" in failed.detail
    assert "has no 'flops'" in failure(lambda: expect({"bytes": 3}).has("flops")).cause


def test_is_a_takes_the_exact_type_and_a_bool_for_a_number_as_a_slip():
    noted = slips.begin()
    assert expect(3).is_a(int) == 3 and type(expect(3).is_a(float)) is float and not noted
    assert failure(lambda: expect("3").is_a(float)).cause
    assert expect(True).is_a(int) == 1 and "is a bool" in noted[0]


def test_a_key_too_many_is_a_slip_and_the_others_are_asked_about():
    noted, asked = slips.begin(), expect({"loss": 1, "more": 2}).only_keys(["loss", "exponent"])
    assert asked.value == {"loss": 1}
    assert noted == [slips.EXTRA_KEY.format("Your result")]
    assert asked.has("loss").equals(1, cause="no") == 1
    assert "has no 'exponent'" in failure(lambda: asked.has("exponent")).cause
    assert "a dict was asked for" in failure(lambda: expect([1]).only_keys("a")).cause


def test_named_keys_alone_are_no_slip():
    noted = slips.begin()
    expect({"loss": 1}).only_keys(["loss"])
    assert not noted


def test_large_tensors_are_not_printed_whole():
    failed = failure(lambda: expect(torch.zeros(100, 100)).equals(torch.ones(100, 100), cause="no"))
    assert len(failed.detail) < 300 and "10000 of 10000 values differ" in failed.detail


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        ("a b", "a\u3164b"),
        ("the", "the\u200b"),
        ("caf\u00e9", "cafe\u0301"),
        ("fi", "\ufb01"),
        ("x" * 300 + "a", "x" * 300 + "b"),
        (["a"], ["a\u2060"]),
        ({"a": "b"}, {"a": "b\ufe0f"}),
        (("k", "\u2800"), ("k", " ")),
        (b"a\x00", b"a"),
    ],
)
def test_two_values_that_differ_never_look_the_same_in_a_message(came, expected):
    detail = failure(lambda: expect(came).equals(expected, cause="no")).detail
    left, _, right = detail.partition(", expected ")
    assert left.partition(" is ")[2] != right and not set(detail) & set(
        "\u200b\u2060\ufe0f\u2800\u3164\u0301"
    )


def test_a_key_that_nobody_can_see_is_written_out():
    assert "has no 'a\\u200b'" in failure(lambda: expect({"a": 1}).has("a\u200b")).cause
    assert (
        "'a\\u200b'"
        in failure(lambda: expect({"a": 1, "a\u200b": 2}).equals({"a": 1}, cause="no")).detail
    )


@pytest.mark.parametrize(
    ("came", "right", "said"),
    [
        (-0.3052822645, -0.3052822784, "is -0.30528226, expected -0.30528228"),
        (10_000.0, 20_000.0, "is 10000, expected 20000"),
        (1.5e-7, 2.5e-7, "is 1.5e-07, expected 2.5e-07"),
    ],
)
def test_as_many_digits_are_shown_as_differ_and_no_needless_exponent(came, right, said):
    came, right = (torch.tensor([one, 0.0], dtype=torch.float64) for one in (came, right))
    failed = failure(lambda: expect(came).close(right, cause="author's", rtol=1e-9))
    assert said in failed.detail
    shown = re.search(r"yours +(.*)\nexpected +(.*)", failed.detail)
    assert shown.group(1) != shown.group(2)


def test_truth_values_have_no_largest_difference_and_one_number_no_count():
    came, right = torch.tensor([True, False]), torch.tensor([True, True])
    failed = failure(lambda: expect(came).equals(right, cause="author's"))
    assert "1 of 2 values differ, shape (2,)\n" in failed.detail
    failed = failure(lambda: expect(torch.tensor([[2.0]])).equals(torch.ones(1, 1), cause="a"))
    assert failed.detail.startswith("Your result at [0, 0] is 2, expected 1 (tolerance")
