"""What two pieces of code differ in."""

import pytest

from course.book.pages.code_diff import difference


def one(x: int) -> int:
    """A text."""
    y = x + 1
    z = 2 * y
    return z


def other(x: float) -> float:
    """Another text."""
    y = x + 1  # a comment
    z = 3 * y
    return z


def renamed(x):
    y = x + 1
    z = 2 * y
    return z


def test_only_code_that_differs_is_shown_with_a_line_around_it():
    assert difference(one, other).splitlines() == [
        "-def one(x):",
        "+def other(x):",
        "     y = x + 1",
        "-    z = 2 * y",
        "+    z = 3 * y",
        "     return z",
    ]


def test_texts_comments_and_shapes_are_no_difference():
    lines = difference(one, renamed).splitlines()
    assert lines == ["-def one(x):", "+def renamed(x):", "     y = x + 1"]


def test_the_same_code_is_refused():
    with pytest.raises(ValueError, match="no difference"):
        difference(one, one)
