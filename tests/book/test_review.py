"""Chapter 16 leaves nothing out: every statement of the notes, every row of the syllabus, every
claim has its place in the built book.
"""

import hashlib
import re
from functools import lru_cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id

from course.book.lint.prose import plain
from course.book.pages.records import ROOT
from course.book.review import ledger, source_guide
from course.book.review.coverage import (
    OTHERS,
    Statement,
    address,
    gist,
    ledger_table,
    statements,
    syllabus,
)

LISTS = (
    ROOT.parent / "shared"
)  # the lists that the data were written from; not part of the repository
NOTES = (
    "000_16eec5e90f98e64c.txt",
    "001_2bfcf7a0ca545562.txt",
    "002_56d8d0541666091f.txt",
    "003_cfbabdd579936208.txt",
    "004_36c9018402f96adf.txt",
)
COUNTS = [139, 106, 76, 37, 25]
HASH = "f01ba4e153782e11"
ROWS = "672c5e4b5d95119f"


def digest(rows):
    """Sixteen digits for a list of rows."""
    return hashlib.sha256("\n".join("\t".join(map(str, row)) for row in rows).encode()).hexdigest()[
        :16
    ]


@lru_cache
def sections(page):
    """Anchor -> the words of each section of a page's source, without marks of emphasis, roles and
    formulas.
    """
    text, found, fence = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8"), {}, None
    for line in re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S).split("\n"):
        opened = re.match(r"\s*(`{3,})", line)
        if opened:
            fence = opened[1] if fence is None else None if line.strip() == fence else fence
        if fence is None and re.match(r"#{1,4} ", line):
            found[current := make_id(plain(line.lstrip("# ")))] = line + " "
        elif found:
            found[current] += line + " "
    return {anchor: squashed(words) for anchor, words in found.items()}


def squashed(text):
    return re.sub(r"[$`]", "", plain(re.sub(r"\{[\w:]+\}`([^`]*)`", r"\1", text)))


def test_no_statement_of_the_notes_is_missing():
    rows = statements()
    assert [sum(row.notes == number for row in rows) for number in range(5)] == COUNTS
    assert digest((row.notes, row.line, row.told) for row in rows) == HASH


@pytest.mark.skipif(
    not (LISTS / "seeds.md").is_file(), reason="the list of statements is not beside this checkout"
)
def test_the_statements_are_those_of_the_list():
    told = re.findall(
        r"^\| (.+) \| `(\d{3}_\w+\.txt)` L(\d+) \| .* \| .* \|$",
        (LISTS / "seeds.md").read_text(encoding="utf-8"),
        re.M,
    )
    assert [
        (NOTES.index(notes), int(line), item.replace("\\|", "|")) for item, notes, line in told
    ] == [(row.notes, row.line, row.told) for row in statements()]


def test_every_statement_stands_where_it_is_said_to():
    for row in [*statements(), *syllabus()]:
        page, section, words = (
            (row.page, row.section, row.words)
            if isinstance(row, Statement)
            else (row["page"], row["section"], row["words"])
        )
        assert squashed(words) and squashed(words) in sections(page).get(section, ""), row


def test_every_statement_has_a_verdict():
    known = {*ledger.KINDS, *OTHERS}
    assert not [row for row in statements() if not set(row.judged.split("; ")) <= known]
    assert not [
        row for row in statements() if row.verdict in ("wrong", "cannot be checked") and not row.why
    ], "say what holds, or why it cannot be known"


def test_the_rows_of_the_syllabus_are_all_there():
    assert digest((row["chapter"], row["what"]) for row in syllabus()) == ROWS


@pytest.mark.skipif(
    not (LISTS / "syllabus.md").is_file(), reason="the syllabus is not beside this checkout"
)
def test_the_rows_are_those_of_the_syllabus():
    """In its order.

    Rows of the second edition that no page has yet are added with the chapters that teach them.
    """
    taught = (LISTS / "syllabus.md").read_text(encoding="utf-8").split("# Claims ledger")[0]
    rows = [
        (int(chapter), row.split(" | ")[0].strip("| "))
        for chapter, part in re.findall(r"^### (\d+)\.(.*?)(?=^##|\Z)", taught, re.M | re.S)
        for row in re.findall(r"^(\| (?!what|---).*)$", part, re.M)
    ]
    ours = [(row["chapter"], row["what"]) for row in syllabus()]
    assert [row for row in rows if row in ours] == ours


def test_every_claim_of_the_ledger_is_judged():
    assert list(ledger.by_number()) == list(range(1, 47))


@pytest.mark.parametrize(
    "says, told",
    [
        ("Verdict: wrong. " + 3 * "It has GELU, not a ReLU. ", "It has GELU, not a ReLU."),
        ("Verdict: holds, by the count: 16 GB. Not more.", "16 GB. Not more."),
        ("Verdict: holds with a condition. Condition. See Dao et al. [2022]. (A", "See Dao"),
        ("The first half: holds. The second half: wrong.", "The first half: holds."),
    ],
)
def test_a_verdict_is_followed_by_its_reason(says, told):
    assert gist(says).startswith(told) and "(A" not in gist(says)


def test_each_claim_stands_in_one_table():
    whole = ledger_table().data
    parts = [ledger_table(one).data for one in ((1, 2), (3, 4), range(5, 8), range(8, 18))]
    for number in ledger.by_number():
        assert f'id="claim-{number}"' in whole
        assert sum(f'id="claim-{number}"' in part for part in parts) == 1
    assert whole.count("<tr") - 1 == len(ledger.verdicts())


def test_the_files_of_the_source_guide_are_there():
    import transformers

    assert source_guide.missing("ours", ROOT / "reference_impl") == []
    if transformers.__version__ == source_guide.versions()["transformers"]:
        assert source_guide.missing("transformers", Path(transformers.__file__).parent) == []
    for row in source_guide.rows():
        assert (ROOT / "book" / f"{row['page']}.md").is_file(), row["page"]
    topics = source_guide.listed()["topics"]
    shown = "".join(source_guide.guide(topic["topic"]).data for topic in topics)
    assert shown.count('<th scope="row">') == len(source_guide.rows())


def test_a_missing_file_or_name_of_a_system_is_named(tmp_path):
    lacking = source_guide.missing("sglang", tmp_path)
    assert len(lacking) == sum("sglang" in row for row in source_guide.rows())
    cell = lacking[0].removeprefix("sglang: ")
    path, name = cell.split(" ")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(f"class Other{name}:\n    pass\n")
    assert lacking[0] in source_guide.missing("sglang", tmp_path)
    (tmp_path / path).write_text(f"class {name}(Other):\n    pass\n")
    assert lacking[0] not in source_guide.missing("sglang", tmp_path)


def test_pages_that_judge_the_same_claim_agree():
    for number, boxes in ledger.by_number().items():
        whole = {box.verdicts for box in boxes if len(box.verdicts) == 1}
        halves = {verdict for box in boxes if len(box.verdicts) > 1 for verdict in box.verdicts}
        assert len(whole) == 1 and (not halves or next(iter(whole))[0] in halves), (
            number,
            [(box.page, box.verdicts) for box in boxes],
        )


def test_the_verdicts_are_those_of_the_built_pages(html):
    assert ledger.collect(html, ROOT / "book") == ledger.verdicts(), (
        "run python -m course.book.review.ledger, look at what changed, and build again"
    )


def test_a_box_without_a_verdict_is_named(tmp_path):
    (tmp_path / "01-x").mkdir()
    (tmp_path / "01-x" / "a.html").write_text(
        '<section id="s"><div class="claim admonition"><p class="admonition-title">Claim 1.'
        ' "A."</p><p>Verdict: perhaps.</p></div></section>'
    )
    (tmp_path / "01-x" / "a.md").write_text(
        ':::{admonition} Claim 1. "A."\n:class: claim\n**Verdict: perhaps.**\n:::\n'
    )
    with pytest.raises(ValueError, match="none of the four"):
        ledger.collect(tmp_path, tmp_path)


def test_the_built_pages_show_every_row_and_its_links_lead_somewhere(html):
    pages = {}

    def anchors(page):
        if page not in pages:
            pages[page] = {
                node["id"]
                for node in BeautifulSoup(
                    (html / f"{page}.html").read_text(encoding="utf-8"), "html.parser"
                ).select("[id]")
            }
        return pages[page]

    shown = BeautifulSoup(
        (html / "16-review" / "statements.html").read_text(encoding="utf-8"), "html.parser"
    )
    cells = [row.find_all("td") for row in shown.select('tr[id^="notes-"]')]
    assert [(int(row[0].text), row[1].text) for row in cells] == [
        (row.line, row.told) for row in statements()
    ]
    links = [row[3].a["href"] for row in cells]
    for row, link in zip(statements(), links, strict=True):
        assert link == address(row.page, row.section) and row.section in anchors(row.page), row
    judged = BeautifulSoup(
        (html / "16-review" / "ledger.html").read_text(encoding="utf-8"), "html.parser"
    ).select('tr[id^="claim-"]')
    assert {int(row.td.text) for row in judged} == set(ledger.by_number())
    road = (html / "16-review" / "road.html").read_text(encoding="utf-8")
    for row in syllabus():
        assert (
            row["section"] in anchors(row["page"]) and address(row["page"], row["section"]) in road
        ), row
