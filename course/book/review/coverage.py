"""What chapter 16 goes over: the statements of the study notes and the rows of the syllabus, each
with its place in the book.

    statements()                        book/16-review/statements.yml, one entry a statement
    statement_table(0)                  those of the first set of notes, as a table with links
    ledger_table([1, 2])                the claims that these chapters judge, from
                                        course.book.review.ledger
    listed(rows)                        rows for the figure judged-sentences

An entry has the sentence as told, and either the number of a claim, whose verdict the page that
judged it computed, or a verdict of its own; then the page, its section, and words that stand in
that section (tests/book/test_review.py looks).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import yaml
from IPython.display import HTML

from course.book.pages.records import ROOT, beside
from course.book.review.exercise_table import section_title
from course.book.review.ledger import KINDS, Judged, by_number, verdicts

OTHERS = ("shown", "opinion")  # a definition, a heading, a picture; what no code can judge
FOLDER = ROOT / "book" / "16-review"
HUES = {
    "holds": "green",
    "holds with a condition": "yellow",
    "wrong": "orange",
    "cannot be checked": "purple",
}


@dataclass(frozen=True)
class Statement:
    """One sentence of one set of notes, and what became of it.

    A claim's number stands in the place of a verdict.
    """

    notes: int  # which of the five sets, from 0
    line: int
    told: str
    page: str
    section: str
    words: str  # what to look for there
    verdict: str = ""
    claim: int = 0
    why: str = ""

    @property
    def judged(self) -> str:
        """The verdict, its own or that of the claim."""
        return self.verdict or by_number()[self.claim][-1].verdict

    @property
    def href(self) -> str:
        """The address from a page of chapter 16."""
        return address(self.page, self.section)


def address(page: str, section: str) -> str:
    """The address of a section from a page of chapter 16."""
    return (
        f"../{page}.html" if not page.startswith("16-review/") else f"{page.split('/')[1]}.html"
    ) + (f"#{section}" if section else "")


@lru_cache
def statements() -> list[Statement]:
    """All of them, in the order of the notes.

    ValueError for an entry with no verdict, or with one that there is not.
    """
    rows = [
        Statement(**row)
        for row in yaml.load(
            beside("16-review/statements.yml").read_text(encoding="utf-8"),
            Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
        )
    ]
    for row in rows:
        if (
            bool(row.claim) == bool(row.verdict)
            or row.verdict
            and row.verdict not in KINDS + OTHERS
        ):
            raise ValueError(
                f"notes {row.notes}, line {row.line}: give the number of a claim, or one of"
                f" {', '.join(KINDS + OTHERS)}"
            )
    return rows


def statement_table(notes: int) -> HTML:
    """The statements of one set of notes: line, sentence, verdict, and the section that
    shows it.
    """
    body = "".join(
        f'<tr id="notes-{notes}-{place}"><td'
        f' class="text-right">{row.line}</td><td>{escape(row.told)}</td>'
        f"<td>{_mark(row.judged)}"
        f"{f' (claim {row.claim})' if row.claim else ''}"
        f"{f': {escape(row.why)}' if row.why else ''}</td>"
        f"<td>{_link(row.page, row.section)}</td></tr>"
        for place, row in enumerate(one for one in statements() if one.notes == notes)
    )
    return _table(("line", "as told", "verdict here", "where"), body)


def ledger_table(chapters: Iterable[int] = range(1, 18)) -> HTML:
    """The claims that these chapters settle: number, sentence, verdict with its reason, and page.

    Those of the ledger come first; a claim that several pages judge has a row for each.
    """
    wanted, numbered = set(chapters), by_number()
    rows = [
        (f"claim-{number}" + (f"-{place}" if place else ""), box)
        for number, boxes in numbered.items()
        for place, box in enumerate(boxes)
        if int(boxes[-1].page[:2]) in wanted
    ]
    others = [one for one in verdicts() if one.number is None and int(one.page[:2]) in wanted]
    body = "".join(_claim_row(name, box) for name, box in [*rows, *(("", one) for one in others)])
    return _table(("no.", "claim", "verdict", "where", "judged by"), body)


def _claim_row(name, box):
    cells = (
        escape(box.told),
        f"{_mark(box.verdict)}: {escape(gist(box.says))}",
        _link(box.page, box.section),
        "code" if box.code else "a paper",
    )
    return (
        f'<tr id="{name}">' if name else "<tr>"
    ) + f'<td class="text-right">{box.number or ""}</td><td>{"</td><td>".join(cells)}</td></tr>'


def gist(says: str) -> str:
    """What a box says after its verdict: whole sentences, of seventy characters or a little more.

    A verdict that goes on in its sentence, as in "wrong beyond the first merges", is cut off too.
    """
    kinds = "|".join(sorted(KINDS, key=len, reverse=True))
    found, text = re.match(rf"Verdict: (?:{kinds}).*?(?<!et al)[.:] ", says), ""
    rest = says[found.end() :] if found else says
    for sentence in re.split(
        r"(?<!et al)(?<=[.!?])\s+(?=[A-Z“(])", rest.replace("Condition. ", "")
    ):
        if len(text) >= 70 or sentence.startswith("("):
            break
        text = f"{text} {sentence}".strip()
    return text[:1].upper() + text[1:]


def listed(rows: Iterable[Statement | Judged]) -> list[dict[str, Any]]:
    """Rows for the figure judged-sentences, shortest form: what is told, its verdict, its chapter,
    and what is unfolded.
    """
    found = []
    for row in rows:
        box = isinstance(row, Judged)
        found.append(
            {
                "told": row.told,
                "verdict": row.verdict if box else row.judged,
                "chapter": int(row.page[:2]),
                "name": (
                    f"Claim {row.number}"
                    if box and row.number
                    else ""
                    if box
                    else f"Notes {row.notes + 1}, line {row.line}"
                ),
                "says": row.says if box else row.why,
                "code": row.code if box else "",
                "href": row.address if box else row.href,
                "title": section_title(f"{row.page}#{row.section}" if row.section else row.page),
            }
        )
    return found


def syllabus() -> list[dict[str, Any]]:
    """The rows of the syllabus: chapter, what, page and section, and words that stand there."""
    return yaml.load(
        beside("16-review/syllabus.yml").read_text(encoding="utf-8"),
        Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
    )


def syllabus_table() -> HTML:
    """What the course teaches, row by row, and where."""
    body = "".join(
        "<tr><td"
        f' class="text-right">{row["chapter"]}</td><td>{escape(row["what"])}</td>'
        f"<td>{_link(row['page'], row['section'])}</td></tr>"
        for row in syllabus()
    )
    return _table(("chapter", "what", "where"), body)


def _table(heads, body):
    head = "".join(
        f'<th scope="col"'
        f"{' class=text-right' if name in ('line', 'no.', 'chapter') else ''}>{name}</th>"
        for name in heads
    )
    return HTML(f'<table class="words"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def _link(page, section):
    title = section_title(f"{page}#{section}" if section else page)
    return (
        f'<a href="{address(page, section)}">{int(page[:2])}.'
        f" {escape(re.sub(r'[$`]', '', title))}</a>"
    )


def _mark(verdict):
    return f"<strong>{escape(verdict)}</strong>" if verdict in KINDS else escape(verdict)


@dataclass(frozen=True)
class StudyUnit:
    """A part of the course that is done at one go: a page to read, or all exercises of a chapter;
    its minutes.
    """

    chapter: int
    name: str
    minutes: int
    reading: bool


def parts(chapters: Iterable[int]) -> list[StudyUnit]:
    """The pages of each chapter in the order of the contents, and its exercises, with the minutes
    that book and cards say.
    """
    from autograder.authoring.catalogue import assignment
    from course.book.review.reading_time import exercise_minutes, minutes

    contents, found = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")), []
    listed = [entry for part in contents["parts"] for entry in part["chapters"]]
    for entry in listed:
        if not re.match(r"\d\d-", entry["file"]) or int(entry["file"][:2]) not in chapters:
            continue
        number = int(entry["file"][:2])
        for file in [entry["file"], *(section["file"] for section in entry.get("sections", []))]:
            if file.endswith("/exercises"):
                found.append(
                    StudyUnit(
                        number,
                        "exercises",
                        sum(exercise_minutes(assignment(f"{number:02}")).values()),
                        False,
                    )
                )
            else:
                found.append(
                    StudyUnit(
                        number, section_title(file), minutes(ROOT / "book" / f"{file}.md"), True
                    )
                )
    return found


def weeks(given: list[StudyUnit], count: int) -> list[list[StudyUnit]]:
    """The parts in their order, cut into so many weeks that the longest week is as short as it can
    be.
    """
    longest = max(part.minutes for part in given)
    total = sum(part.minutes for part in given)
    while longest < total and len(_filled(given, longest)) > count:
        longest += 1
    return _filled(given, longest)


def _filled(given, most):
    """Weeks of at most so many minutes, each filled before the next begins."""
    cut: list[list[StudyUnit]] = [[]]
    for part in given:
        if sum(one.minutes for one in cut[-1]) + part.minutes > most:
            cut.append([])
        cut[-1].append(part)
    return cut
