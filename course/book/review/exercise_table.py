"""The table on a chapter's page of exercises: what each asks, the section that explains it, minutes
and points.

Everything comes from the assignment and from the headings of the pages, so that the page types none
of it.
"""

import re
from html import escape
from pathlib import Path

from docutils.nodes import make_id
from IPython.display import HTML

from autograder.authoring.catalogue import Assignment
from course.book.lint.prose import plain
from course.book.review.reading_time import exercise_minutes

BOOK = Path(__file__).resolve().parents[3] / "book"
KINDS = {
    "function": "write a function",
    "predict": "predict, then run",
    "find-line": "find the wrong line",
    "drawn-fault": "find your wrong line",
    "counterexample": "break a sentence",
    "write-test": "write the test",
    "manual": "answer in words",
}
HEADS = ("exercise", "what you do", "kind", "read first", "minutes", "points")


def exercise_table(chapter: Assignment) -> HTML:
    """A line with the sums, and the table; each row has the id that sections link to."""
    times = exercise_minutes(chapter)
    head = "".join(f'<th scope="col"{_side(name)}>{name}</th>' for name in HEADS)
    rows = "".join(_row(chapter, name, one, times[name]) for name, one in chapter.exercises.items())
    return HTML(
        f"<p>{len(chapter.exercises)} exercises, {chapter.points:g} points, about"
        f" {sum(times.values())} minutes.</p>"
        f'<table class="words"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )


def section_title(see: str) -> str:
    """The words of a link to "01-static-embeddings/pmi#fewer-the": the titles of page and
    section.
    """
    page, _, anchor = see.partition("#")
    titles = [
        plain(title)
        for title in re.findall(
            r"^#+ (.+)$", (BOOK / f"{page}.md").read_text(encoding="utf-8"), re.M
        )
    ]
    section = next(
        (title for title in titles if make_id(title) == anchor), anchor.replace("-", " ")
    )
    return f"{titles[0]} › {section}" if anchor else titles[0]


def _row(chapter, name, one, minutes):
    card = chapter.cells[f"{name.split('.', 1)[1]}-card"][0].source
    title = re.search(r"^## \d+\. (.+)$", card, re.M)[1]
    page, _, anchor = one.see.removeprefix(f"{chapter.name}/").partition("#")
    page = (
        f"../{page}" if "/" in page else page
    )  # a page of another chapter, which chapter 16 goes back to
    link = (
        f'<a href="{page}.html{"#" + anchor if anchor else ""}">'
        f"{escape(section_title(one.see))}</a>"
    )
    return (
        f'<tr id="exercise-{name.replace(".", "-").replace("_", "-")}">'
        f"<td><code>{name}</code></td><td>{escape(title)}</td>"
        f"<td>{KINDS[one.kind]}</td><td>{link}</td><td{_side('minutes')}>{minutes}</td><td{_side('points')}>{one.points:g}</td></tr>"
    )


def _side(name):
    return ' class="text-right"' if name in ("minutes", "points") else ""
