"""What the theme mends in the pages that Sphinx wrote."""

import re

import pytest

from tests.book.conftest import ROOT

FORMULA = '<span class="math notranslate nohighlight">\\(k\\)</span>'


@pytest.fixture
def course_theme(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import course_theme

    return course_theme


@pytest.mark.parametrize(
    "text, kept",
    [
        (f"of {FORMULA}: how", f"{FORMULA}:"),
        (f"a word ({FORMULA}) is", f"({FORMULA})"),
        (f"({FORMULA} alone", f"({FORMULA}"),
        (f"up to {FORMULA}.</p>", f"{FORMULA}."),
    ],
)
def test_a_formula_and_the_signs_that_touch_it_stay_on_one_line(course_theme, text, kept):
    assert course_theme.keep_signs(text) == text.replace(kept, f'<span class="nobr">{kept}</span>')


@pytest.mark.parametrize("text", [f"when {FORMULA} grows", f"{FORMULA}-th"])
def test_a_formula_between_words_is_left_as_it_is(course_theme, text):
    assert course_theme.keep_signs(text) == text


def test_no_formula_of_the_book_has_a_sign_that_could_begin_the_next_line(html):
    for page in html.rglob("*.html"):
        assert not re.search(
            r"nohighlight\">[^<]*</span>[,.;:](?!</span>)", page.read_text(encoding="utf-8")
        ), page
