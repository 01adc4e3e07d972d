"""The label of a box that judges a claim: what a reader sees, and what the ledger reads from it."""

import importlib
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from course.book.review import ledger
from tests.book.conftest import ROOT

APP = SimpleNamespace(
    builder=SimpleNamespace(get_relative_uri=lambda page, target: f"../{target}.html")
)


def labelled(monkeypatch, words: str, kind: str = "claim") -> nodes.title:
    """The title of a box after the extension has seen it."""
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    document = new_document("page")
    title = nodes.title("", "", nodes.Text(f'{words}"A '), nodes.emphasis("", "bank"))
    title += nodes.Text('."')
    document += nodes.admonition("", title, nodes.paragraph("", "Verdict: wrong."), classes=[kind])
    importlib.import_module("claim_boxes").label_boxes(APP, document, "04-x/heads")
    return title


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ("", 'Common claim, tested "A bank."'),
        ("Claim 41. ", 'Common claim, tested: no. 41 "A bank."'),
        ("Claim 1, second half. ", 'Common claim, tested: no. 1, second half "A bank."'),
    ],
)
def test_a_box_says_what_it_is(monkeypatch, before, seen):
    assert labelled(monkeypatch, before).astext() == seen


def test_a_number_leads_to_its_row_of_the_list(monkeypatch):
    (link,) = labelled(monkeypatch, "Claim 41. ").findall(nodes.reference)
    assert link["refuri"] == "../16-review/ledger.html#claim-41"


def test_other_boxes_stay_as_they_are(monkeypatch):
    assert labelled(monkeypatch, "Claim 41. ", kind="note").astext() == 'Claim 41. "A bank."'


def test_the_ledger_reads_number_and_claim_without_the_label(tmp_path):
    (tmp_path / "01-x").mkdir()
    box = (
        '<div class="claim admonition"><p class="admonition-title">'
        '<span class="claim-label">Common claim, tested{}</span> "A."</p>'
        "<p>Verdict: wrong.</p></div>"
    )
    numbered = box.format(': <a href="#">no. 7</a>, second half')
    (tmp_path / "01-x" / "a.html").write_text(
        f'<section id="s">{numbered}{box.format("")}</section>', encoding="utf-8"
    )
    source = ':::{admonition} "A."\n:class: claim\n**Verdict: wrong.**\n:::\n\n'
    (tmp_path / "01-x" / "a.md").write_text(2 * source, encoding="utf-8")
    found = ledger.collect(tmp_path, tmp_path)
    assert [(one.number, one.told) for one in found] == [(7, '"A."'), (None, '"A."')]
