"""What a page shows of a check: points, the first failure, and what passed."""

import re

import pytest

from course.book.pages.feedback import feedback


def attention(q, k, v, mask=None, root=0.5):
    """Attention whose scores are divided by D to the power `root`."""
    scores = q @ k.mT / q.shape[-1] ** root
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0) @ v


def text_of(shown):
    """The words of a box."""
    return re.sub(r"<[^>]*>", " ", shown._repr_html_())


def test_a_missing_division_is_told_with_its_cause_and_both_values():
    text = text_of(feedback("04.attention", lambda *args: attention(*args, root=0.0)))
    assert "square root of D" in text and "yours" in text and "✓" in text
    assert not re.search(r"\b9 of 9 points", text)


def test_of_right_work_all_stages_are_named_as_passed():
    shown = feedback("04.attention", attention)
    assert shown.result.earned == shown.result.points
    assert "✗" not in text_of(shown)
    assert all(stage.name in text_of(shown) for stage in shown.result.stages)


def test_an_unknown_exercise_is_refused():
    with pytest.raises(KeyError):
        feedback("04.nothing", attention)
