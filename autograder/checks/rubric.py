"""The rubric of one exercise as a student reads it: plain text for a terminal, a table for Jupyter.

The table takes its colours from the page around it, says everything in words, and marks the first
stage that is not passed with "start here": the stages are ordered so that it is the cause of the
later ones, which are only named.
"""

import os
import re
from html import escape
from urllib.parse import quote

from autograder.checks.messages import first_failure, following, sentences, told
from autograder.checks.results import ExerciseResult, StageResult
from autograder.common.course_files import ROOT

WORDS = {
    "passed": "passed",
    "slip": "nearly",
    "capped": "counts less",
    "wrong": "not yet",
    "error": "exception",
    "not_attempted": "not written yet",
    "time": "too slow",
    "memory": "too much memory",
    "killed": "ended early",
    "fault": "checker failed",
}
PAGES = ROOT / "book"
BOOK = PAGES.parent / "_build" / "html"
HEADING = re.compile(r"^#{1,4} +(.+?) *$", re.MULTILINE)
CELL = (
    "padding:.4em .9em;border:0;border-bottom:1px solid"
    " currentColor;text-align:left;vertical-align:top"
)
FIRST = "border-left:.35em solid currentColor"
NUMBERS = (
    "margin:.4em 0 0;padding:0;background:transparent;color:inherit;font-family:monospace;"
    "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
)


def headline(result: ExerciseResult) -> str:
    """ "01.ppmi: 3 of 4 points"."""
    return f"{result.exercise}: {result.earned:g} of {result.points:g} points"


def as_text(result: ExerciseResult, see: str = "") -> str:
    """Several lines for a terminal; the causes are indented below their stage."""
    first, shown, width = (
        first_failure(result.stages),
        told(result.stages),
        max((len(stage.name) for stage in result.stages), default=0),
    )
    lines = [headline(result)]
    for stage in result.stages:
        mark = "   <- start here" if stage is first else ""
        lines.append(
            f"  {stage.name:<{width}}  {stage.earned:g}/{stage.points:g} "
            f" {WORDS[stage.status]}{mark}"
        )
        for text in filter(None, [*sentences(stage), stage.detail] if stage in shown else []):
            lines += [f"      {line}" for line in text.split("\n")]
    if also := following(result.stages):
        lines.append(f"  {also}")
    if first and see:
        lines.append(f"  Read: {page_in_words(see)}")
    return "\n".join(lines)


def as_html(result: ExerciseResult, see: str = "") -> str:
    """One table with a caption and scoped headers; nothing of the student's is markup in it."""
    first = first_failure(result.stages)
    columns = ("Stage", "Points", "Result", "Why") if first else ("Stage", "Points", "Result")
    heads = "".join(f"<th scope='col' style='{CELL}'>{name}</th>" for name in columns)
    rows = "".join(_row(stage, result, first) for stage in result.stages)
    also = f"<p>{escape(line)}</p>" if (line := following(result.stages)) else ""
    link = f"<p>Read in the book: {_link(see)}</p>" if first and see else ""
    return (
        "<table style='border-collapse:collapse;color:inherit;background:transparent'>"
        "<caption style='caption-side:top;text-align:left;font-weight:bold;color:inherit'>"
        f"{escape(headline(result))}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{also}{link}"
    )


def _row(stage: StageResult, result: ExerciseResult, first: StageResult | None) -> str:
    style, here = (f"{CELL};{FIRST}", " <em>(start here)</em>") if stage is first else (CELL, "")
    shown = stage in told(result.stages)
    why = "".join(f"<div>{with_code(text)}</div>" for text in sentences(stage)) if shown else ""
    why += f"<pre style='{NUMBERS}'>{escape(stage.detail)}</pre>" if shown and stage.detail else ""
    return (
        f"<tr><th scope='row' style='{style}'>{escape(stage.name)}{here}</th><td"
        f" style='{CELL}'>{stage.earned:g} of {stage.points:g}</td><td"
        f" style='{CELL}'>{WORDS[stage.status]}</td>"
        + (f"<td style='{CELL}'>{why}</td></tr>" if first else "</tr>")
    )


def with_code(sentence: str) -> str:
    """A sentence as HTML: everything escaped, `between backticks` as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(sentence))


def page(see: str) -> str:
    """The file of the built book: "01-static-embeddings/pmi#ppmi" is in pmi.html."""
    name, _, anchor = see.partition("#")
    return f"{name}.html" + (f"#{anchor}" if anchor else "")


def page_in_words(see: str) -> str:
    """The page and its section as a reader finds them: "chapter 1, page “Counting”, section “Four
    headlines”".
    """
    name, _, anchor = see.partition("#")
    source = PAGES / f"{name}.md"
    headings = (
        HEADING.findall(source.read_text(encoding="utf-8")) if source.is_file() else []
    )  # students may have no book
    chapter, _, short = name.partition("/")
    number = f"chapter {int(chapter[:2])}, " if chapter[:2].isdecimal() else ""
    title = headings[0] if headings else short.replace("-", " ")
    section = next(
        (heading for heading in headings if _anchor(heading) == anchor), anchor.replace("-", " ")
    )
    return f"{number}page “{_plain(title)}”" + (f", section “{_plain(section)}”" if anchor else "")


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _plain(heading).lower()).strip("-")


def _plain(heading: str) -> str:
    """A heading without its marks for code, emphasis and mathematics."""
    return re.sub(r"[*`$]", "", heading)


def _link(see: str) -> str:
    """The page as a link from the notebook's folder, which is where a kernel runs; plain text while
    it is not built.
    """
    file, _, anchor = page(see).partition("#")
    words = escape(page_in_words(see))
    if not (BOOK / file).is_file():
        return words
    path = quote(os.path.relpath(BOOK / file)) + (f"#{quote(anchor)}" if anchor else "")
    return f"<a href='{path}' target='_blank'>{words}</a>"
