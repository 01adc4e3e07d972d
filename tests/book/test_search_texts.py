"""What the search shows of formulas and of glossary entries: words that a reader can read."""

import re

import pytest

from tests.book.conftest import ROOT


@pytest.fixture
def search_texts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import search_texts

    return search_texts


@pytest.mark.parametrize(
    "tex, shown",
    [
        (r"\min\big(1, \sqrt{t/f}\big)", "min(1, √t/f)"),
        (r"\log \frac{a}{b}", "log a/b"),
        (r"w \cdot \tilde{c}", "w · c"),
        (r"x_{\max}", "x_ max"),
        (r"\#(w, c)", "#(w, c)"),
        ("D", "D"),
    ],
)
def test_a_formula_in_a_line_keeps_its_signs_and_the_names_of_functions(search_texts, tex, shown):
    assert search_texts.formula(tex) == shown


def test_an_entry_of_the_glossary_ends_with_its_chapter_and_not_in_the_air(html):
    lines = [
        line
        for line in (html / "search-texts.js").read_text(encoding="utf-8").splitlines()
        if "glossary.html#term-" in line
    ]
    assert len(lines) > 20
    assert [line for line in lines if not re.search(r'\(chapter \d+\)"\],?$', line)] == []
