"""Which changes are made of a function, and on which lines they are."""

import torch

from autograder.hunt.changes import changes, function_alone
from autograder.hunt.inside import w2s_arguments
from autograder.hunt.written import written

CELL = '''# a comment that would show where nothing was changed
def scaled(x, factor):
    """The first entries, scaled."""
    if factor > 0:
        x = x * factor   # here
    return x[:2]


def other(x):
    return x + 1
'''


def test_the_function_is_shown_alone_and_without_comments():
    text = function_alone(CELL, "scaled")
    assert text.startswith("def scaled(x, factor):") and "other" not in text and "#" not in text


def test_what_cannot_be_parsed_or_is_no_function_gives_none():
    assert function_alone("def f(:", "f") is None
    assert function_alone("class f:\n    pass", "f") is None
    assert function_alone(f"x = {'(' * 5000}{')' * 5000}\ndef f():\n    return 1", "f") is None


def test_each_change_names_the_lines_that_differ_from_the_original():
    text = function_alone(CELL, "scaled")
    before = text.split("\n")
    found = changes(text, "scaled")
    assert len(found) > 8
    for one in found:
        after = one.source.split("\n")
        assert one.lines and all(1 <= line <= len(after) for line in one.lines)
        if len(after) == len(before):
            differ = [i for i, pair in enumerate(zip(before, after), 1) if pair[0] != pair[1]]
            assert list(one.lines) == differ


def test_a_comparison_and_a_product_are_labelled_as_such():
    kinds = {one.before: one.kind for one in changes(function_alone(CELL, "scaled"), "scaled")}
    assert kinds["factor > 0"] == "a comparison"
    assert kinds["x * factor"] == "arithmetic"


def test_written_arguments_are_read_back_as_they_were():
    args = (
        torch.tensor([[1.5, float("inf")], [0.1, -2.0]]),
        torch.zeros(0, 3, dtype=torch.int64),
        {"a": [1, (2,)], 3: float("nan")},
        torch.tensor(True),
        "text, with ) a bracket",
    )
    back, kwargs = w2s_arguments(written(args))
    assert kwargs == {} and repr(back) == repr(list(args))
    for one, other in zip(args, back):
        if isinstance(one, torch.Tensor):
            assert one.dtype == other.dtype and torch.equal(one, other)


def test_large_tensors_and_callables_have_no_text():
    assert written((torch.zeros(1000),)) is None
    assert written((len,)) is None
