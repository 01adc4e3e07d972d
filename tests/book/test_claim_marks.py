"""Claims leave the text: a list below the title, a mark at each sentence that is found."""

import re

import pytest
from docutils import nodes

from tests.book.conftest import ROOT


@pytest.fixture
def marks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import claim_marks

    return claim_marks


def marked(marks, paragraph, *sentences):
    """The text of a paragraph, with each mark as the numbers of its claims in brackets."""
    document = nodes.section("", nodes.title("", "Title: it is 5"), paragraph)
    marks.place_marks(document, sentences)
    return "".join(
        "[" + re.search(r'data-checks="([^"]*)"', one)[1].replace("check-", "") + "]"
        if "check-mark" in one
        else one
        for one in (part.astext() for part in paragraph.children)
    )


@pytest.mark.parametrize(
    "text, sentences, found",
    [
        ("So it is 5. And so on.", ["it is 5"], "So it is 5.[1] And so on."),
        ("It is 5, as said", ["It is 5"], "It is 5, as said[1]"),
        ("It\u2019s 5. It is 6.", ["It's 5", "it is *6*"], "It\u2019s 5.[1] It is 6.[2]"),
        ("A is 5 and B is 6. End.", ["A is 5", "B is 6"], "A is 5 and B is 6.[1 2] End."),
        ("It takes 12 GB. It has 2 GB.", ["2 GB"], "It takes 12 GB. It has 2 GB.[1]"),
        ("Nothing of it.", ["it is 5"], "Nothing of it."),
        ("Same. Same. Same.", ["Same"], "Same.[1] Same. Same."),
    ],
)
def test_a_mark_stands_at_the_end_of_the_quoted_sentence(marks, text, sentences, found):
    assert marked(marks, nodes.paragraph("", text), *sentences) == found


def test_a_quotation_runs_over_formulas_and_emphasis(marks):
    parts = [
        nodes.Text("The "),
        nodes.strong("", "share"),
        nodes.Text(" is "),
        nodes.math("", "x = 3"),
    ]
    paragraph = nodes.paragraph("", "", *parts, nodes.Text(", so it is. Then"))
    assert marked(marks, paragraph, "The **share** is $x = 3$").endswith("x = 3, so it is.[1] Then")


def test_a_quotation_that_ends_in_a_formula_at_the_end_is_marked_after_it(marks):
    paragraph = nodes.paragraph("", "", nodes.Text("It is "), nodes.math("", "x = 3"))
    assert marked(marks, paragraph, "It is $x = 3$") == "It is x = 3[1]"


def test_the_list_has_sentence_condition_and_the_code_before(marks):
    from course.book.build.shown_code import Claim

    claims = [Claim("It is $x$ or `y` or *z* by {cite}`a`", "x == 3"), Claim("B", "y")]
    listed = marks.claim_list([(claims, "x = 3")])
    text = "".join(part.astext() for part in listed.children)
    assert "2 results checked" in text and text.count("Code before the conditions") == 1
    assert 'id="check-1"' in text and 'id="check-2"' in text
    kinds = {type(part) for part in listed.children}
    assert {nodes.math, nodes.literal, nodes.emphasis} <= kinds and "{cite}" not in text


def cell(code, *tags, output=False):
    """A code cell as myst-nb makes it."""
    source = nodes.container("", nodes.literal_block(code, code), nb_element="cell_code_source")
    classes = ["cell", *(f"tag_{tag}" for tag in tags)]
    made = nodes.container("", source, nb_element="cell_code", classes=classes)
    if "hide-input" in tags:
        made["hide_mode"] = "input"
    if output:
        made += nodes.container("", nb_element="cell_code_output")
    return made


def test_cells_of_claims_leave_the_page_and_others_fold_their_code(marks):
    import code_cells

    section = nodes.section("", nodes.title("", "Title"), nodes.paragraph("", "It is 5."))
    section += cell("from myst_nb import glue\ny = 5", "hide-input", "claims")
    section += cell("claim('It is 5', y == 5)", "hide-input", "claims", output=True)
    section += cell("figure(y)", "hide-input", output=True)
    section += cell("revealed('a', y)", output=True)
    section += cell("import torch")
    marks.gather(None, section)
    code_cells.settle_cells(None, section)
    listed, hidden, answer, shown = section[1], section[4], section[5], section[6]
    assert "y = 5" in re.sub("<[^>]*>", "", "".join(part.astext() for part in listed.children))
    assert section[3].children[0]["nb_element"] == "cell_code_output"
    assert "is-hidden" in hidden[0]["classes"] and "hide_mode" not in hidden
    assert "is-answer" in answer[0]["classes"] and answer[0].astext() == "y"
    assert shown[0]["nb_element"] == "cell_code_source"


def test_a_page_without_claims_has_no_list(marks):
    section = nodes.section("", nodes.title("", "Title"), cell("x = 1", "hide-input", "claims"))
    marks.gather(None, section)
    assert len(section) == 2 and section[1].astext() == "x = 1"
