"""Labs: what stands between {lab} and {lab-end} is folded, searchable, and no page text."""

import subprocess
import sys

import pytest

from course.book.build.notebooks import to_notebook
from course.book.lint.prose import findings_of
from course.book.review import reading_time
from tests.book.conftest import ROOT

LAB = (
    "```{lab} How *peaked*?\nThe largest weight, for 3 scalings.\n```\n\nInside, $x$.\n\n"
    "| a | b |\n| - | - |\n| 1 | 2 |\n\n```python\nprint(1)\n```\n\n```{lab-end}\n```\n"
)
PAGE = f"# Page\n\nBefore.\n\n{LAB}\nAfter.\n"


def build(folder, text):
    """The page as HTML and the warnings of a site of this one page."""
    (folder / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'book' / '_ext')!r}]\n"
        "extensions = ['myst_nb', 'search_texts', 'labs']\nhtml_theme = 'basic'\n"
        "myst_enable_extensions = ['dollarmath']\nnb_execution_mode = 'off'\n"
    )
    (folder / "index.md").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", str(folder), str(folder / "out")],
        capture_output=True,
        text=True,
    )
    return (folder / "out" / "index.html").read_text(), done.stderr


def test_what_stands_between_the_marks_is_folded(tmp_path):
    html, warnings = build(tmp_path, PAGE)
    assert warnings == ""
    before, lab = html.split('<details class="lab" id="lab-how-peaked">')
    lab, after = lab.split("</details>")
    assert "Before." in before and "After." in after
    summary, body = lab.split("</summary>")
    assert "How <em>peaked</em>?" in summary and "for 3 scalings." in summary
    assert "Inside" in body and "<table" in body and "highlight-python" in body
    texts = (tmp_path / "out" / "search-texts.js").read_text()
    assert '["index.html", "Page", "Page", "Before. After."]' in texts
    assert '"index.html#lab-how-peaked", "How peaked?", "Page", "The largest' in texts


@pytest.mark.parametrize(
    "text, warning",
    [
        ("```{lab} A\nB.\n```\n\nInside.\n", "has no {lab-end} in its section"),
        ("```{lab} A\nB.\n```\n\n## C\n\n```{lab-end}\n```\n", "has no {lab-end} in its section"),
        ("```{lab-end}\n```\n", "closes no lab"),
        ("```{lab} A\n```\n\n```{lab-end}\n```\n", "say in one sentence"),
        ("```{lab} A\nB.\n\nC.\n```\n\n```{lab-end}\n```\n", "its body is one paragraph"),
        ("```{lab} A\n[B](https://b.org).\n```\n\n```{lab-end}\n```\n", "its body holds a link"),
        ("```{lab} A\n[B](index.md).\n```\n\n```{lab-end}\n```\n", "its body holds a link"),
    ],
)
def test_a_lab_without_its_end_or_its_sentence_is_a_warning(tmp_path, text, warning):
    assert warning in build(tmp_path, f"# Page\n\n{text}")[1]


def test_two_labs_of_one_title_have_two_ids(tmp_path):
    html, _ = build(tmp_path, f"# Page\n\n{LAB}\n{LAB}")
    assert 'id="lab-how-peaked"' in html and 'id="lab-how-peaked--2"' in html


def test_the_words_of_a_lab_are_no_words_of_its_page(tmp_path):
    (tmp_path / "page.md").write_text(PAGE)
    amounts = reading_time.amounts(tmp_path / "page.md")
    assert (amounts["word"], amounts["code line"]) == (3, 0)


def test_the_notebook_has_the_lab_as_ordinary_text(tmp_path):
    (tmp_path / "references.bib").write_text("")
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
    (tmp_path / "page.md").write_text(head + PAGE)
    text = to_notebook(tmp_path / "page.md", tmp_path).cells[1].source
    assert "**Lab: How *peaked*?** The largest weight, for 3 scalings.\n\nInside" in text
    assert "lab-end" not in text and "After." in text


def test_the_sentence_of_a_lab_needs_a_claim_like_any_other():
    (finding,) = findings_of("# Page\n\n```{lab} A\nThe loss is 0.3.\n```\n", "page.md")
    assert finding.startswith("page.md:4: '0.3.' has nothing behind it")
