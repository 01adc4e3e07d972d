"""The ledger: every claim that a page judged, as the built page says it, with the code that gave
the verdict.

    python -m course.book.review.ledger        after `course book build`: writes
                                        book/16-review/verdicts.json anew
    verdicts()                          what stands there: a list of Judged, in the order of the
                                        book

A claim is judged where it arises, in a box of class `claim`; its verdict comes out of a cell there,
or of a paper. No page repeats a verdict by hand: chapter 16 reads this file, and a test compares it
with the built pages (tests/book/test_review.py).
"""

import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from course.book.pages.records import ROOT

FILE = ROOT / "book" / "16-review" / "verdicts.json"
KINDS = ("holds", "holds with a condition", "wrong", "cannot be checked")
SAID = re.compile(
    rf"(?:Verdict|The (?:first|second) half): ({'|'.join(sorted(KINDS, key=len, reverse=True))})"
)
NUMBER = re.compile(r"no\. (\d+)")  # in the label that book/_ext/claim_boxes.py gives a box


@dataclass(frozen=True)
class Judged:
    """One box: `number` in the ledger or None, the sentence as told, its verdicts, what the box
    says of them, where it stands.
    """

    number: int | None
    told: str
    verdicts: tuple[str, ...]
    says: str
    page: str  # such as 08-gpt/configurations
    section: str  # the anchor of the section that holds the box
    code: str  # what computes the first verdict; empty where a paper gives it

    @property
    def verdict(self) -> str:
        """The verdict, or both where the halves of a claim were judged apart."""
        return "; ".join(dict.fromkeys(self.verdicts))

    @property
    def address(self) -> str:
        """The address from a page of another chapter."""
        return f"../{self.page}.html#{self.section}"


@lru_cache
def verdicts() -> list[Judged]:
    """All boxes, as they were written down after the last build that somebody looked at."""
    return [
        Judged(**{**row, "verdicts": tuple(row["verdicts"])})
        for row in json.loads(FILE.read_text(encoding="utf-8"))
    ]


def by_number() -> dict[int, list[Judged]]:
    """Claim of the ledger -> its boxes, the page that settles it last."""
    found: dict[int, list[Judged]] = {}
    for row in verdicts():
        if row.number is not None:
            found.setdefault(row.number, []).append(row)
    return dict(sorted(found.items()))


def collect(html: Path, book: Path) -> list[Judged]:
    """All boxes of the built pages below `html`, whose sources lie below `book`.

    ValueError for a box with no verdict of the four.
    """
    from bs4 import BeautifulSoup

    rows = []
    for path in sorted(html.glob("[0-9][0-9]-*/*.html")):
        text = path.read_text(encoding="utf-8")
        if "claim admonition" not in text:
            continue
        page = path.relative_to(html).with_suffix("").as_posix()
        soup, codes = (
            BeautifulSoup(text, "html.parser"),
            _codes((book / f"{page}.md").read_text(encoding="utf-8")),
        )
        for box, code in zip(soup.select("div.claim.admonition"), codes, strict=True):
            number, title = _number_and_claim(box.find(class_="admonition-title"))
            says = " ".join(_words(part) for part in box.find_all(["p", "li"])[1:])
            found = SAID.findall(says)
            if not found:
                raise ValueError(
                    f"{page}: the box {title!r} says none of the four verdicts: {says[:80]!r}"
                )
            rows.append(
                Judged(
                    number,
                    title,
                    tuple(found),
                    says,
                    page,
                    box.find_parent("section")["id"],
                    code,
                )
            )
    return rows


def _number_and_claim(title):
    """The number in a box's label, or None, and the title without its label."""
    label = title.find(class_="claim-label")
    found = label and NUMBER.search(label.extract().get_text())
    return int(found[1]) if found else None, _words(title)


def _words(node):
    """The words of a node, a citation without its brackets' links, and formulas as they are
    read aloud.
    """
    for seen in node.select(".katex-html"):
        seen.decompose()
    for formula, sign in (("mfrac", "/"), ("msub", "_"), ("msup", "^")):
        for part in node.select(formula):
            part.insert(1, sign)
    return " ".join(node.get_text().split())


def _codes(source):
    """For each box of a page's source, the expression that its first glued verdict comes from, or
    an empty text.
    """
    expressions = dict(re.findall(r'^glue\("(verdict\w*)", (.+), display=False\)$', source, re.M))
    boxes = re.findall(r"^:::\{admonition\}[^\n]*\n:class: claim\n(.*?)^:::", source, re.S | re.M)
    names = [re.search(r"\{glue:text\}`(verdict\w*)`", box) for box in boxes]
    return [expressions.get(name[1], "") if name else "" for name in names]


def write(root: Path = ROOT) -> int:
    """Write FILE from the book that was built last; how many boxes there are."""
    rows = collect(root / "_build" / "html", root / "book")
    FILE.write_text(
        json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1) + "\n",
        encoding="utf-8",
    )
    return len(rows)


if __name__ == "__main__":
    print(f"{write()} boxes: {FILE.relative_to(ROOT)}")
