"""What pages show of their code: no plumbing, claims apart, at most 88 columns."""

import pytest

from course.book.build.shown_code import answers_prediction, claims_of, shown_source
from course.book.lint.code_width import shown_lines, width_findings
from tests.book.conftest import ROOT

LONG = "x = " + "1 + " * 30 + "1"


@pytest.mark.parametrize(
    "source, shown",
    [
        ("from course.book.pages.claims import claim\nx = 1\nclaim('one', x == 1)", "x = 1"),
        (
            "from myst_nb import glue\n\nx = 1\n\n\nglue('x', x, display=False)\ny = 2",
            "x = 1\n\ny = 2",
        ),
        (
            "from course.book.pages.records import (\n    ROOT,\n    record,\n)\nrecord('a')",
            "record('a')",
        ),
        ("x = 3\nrevealed('name', round(x, 1), 'percent')", "x = 3\nround(x, 1)"),
        ("x = 1; claim('one', x == 1)", "x = 1; claim('one', x == 1)"),
        ("from course.book.review.exam import Item", "from course.book.review.exam import Item"),
        ("%matplotlib inline\nx = 1", "%matplotlib inline\nx = 1"),
        ("not python at all", "not python at all"),
        ("claim('one', True)", ""),
        ("x = 1" + " " * 90 + "# far", "x = 1  # far"),
    ],
)
def test_plumbing_is_not_shown(source, shown):
    assert shown_source(source) == shown


def test_claims_come_with_the_source_of_their_conditions():
    source = (
        "x = 1\nfor one in x:\n    claim('all', one)\nclaim('two',\n      x == 1\n      and True)"
    )
    found = [(one.sentence, one.condition) for one in claims_of(source)]
    assert found == [("all", "one"), ("two", "x == 1\nand True")]


def test_a_cell_that_reveals_is_known():
    assert answers_prediction("revealed('a', 1)") and not answers_prediction("claim('a', True)")


@pytest.fixture
def page(tmp_path):
    def write(text, folder="", revised=None):
        book = tmp_path / "book"
        (book / folder).mkdir(parents=True, exist_ok=True)
        if revised is not None:
            (book / "terms.yml").write_text(f"revised_chapters: {revised}\n")
        (book / "code.py").write_text(f"def f():\n    {LONG}\n")
        (book / folder / "page.md").write_text(f"# Page\n\n{text}\n")
        return width_findings(book)

    return write


@pytest.mark.parametrize(
    "text, count",
    [
        (f"```{{code-cell}} python\n{LONG}\n```", 1),
        (f"```{{code-cell}} python\n:tags: [hide-input]\n{LONG}\n```", 0),
        (f"```{{code-cell}} python\n{LONG}\nrevealed('a', x)\n```", 0),
        (f"```{{code-cell}} python\nclaim('a', {LONG[4:]} > 0)\n```", 0),
        (f"```python\n{LONG}\n```", 1),
        (f"```\n{LONG}\n```", 0),
        ("```{literalinclude} code.py\n:language: python\n:pyobject: f\n```", 1),
    ],
)
def test_shown_lines_that_are_too_wide_are_counted(page, text, count):
    assert len(page(text)) == count


def test_the_rule_holds_for_revised_chapters_and_outside_the_chapters(page):
    text = f"```python\n{LONG}\n```"
    assert page(text, "04-attention") == [] == page(text, "04-attention", [5])
    (finding,) = page(text, "04-attention", [4, 5])
    assert finding.startswith("book/04-attention/page.md: shows 125 columns of code, 88 fit: x = 1")


def test_no_page_for_which_the_rule_holds_shows_code_that_is_too_wide():
    assert width_findings(ROOT / "book") == []
    assert sum(1 for _ in shown_lines(ROOT / "book" / "what-you-need.md")) > 20
