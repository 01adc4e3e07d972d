"""Code that a page shows is at most 88 columns wide: it fits its column, and nothing is cut off.

Counted are the lines that a reader sees: code cells without hidden ones and without plumbing,
code blocks, and included code. The rule holds for pages outside the chapters and for the chapters
that `revised_chapters` in book/terms.yml lists; in the others longer lines are wrapped.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from course.book.build.shown_code import WIDEST, answers_prediction, shown_source

FENCE = re.compile(r"^[ ]*(`{3,})([^\n]*)\n(.*?)^[ ]*\1[ ]*$", re.S | re.M)
CHAPTER = re.compile(r"(\d\d)-")
LANGUAGES = {"python", "py", "bash", "sh", "console", "json", "toml", "yaml", "cuda", "c"}


def width_findings(book: Path) -> list[str]:
    """The shown lines of code that are too wide, on the pages for which the rule holds."""
    revised = revised_chapters(book)
    return [
        f"{path.relative_to(book.parent).as_posix()}: shows {len(line)} columns of code, {WIDEST}"
        f" fit: {line.strip()[:70]}"
        for path in sorted(book.rglob("*.md"))
        if not {"_ext", "_build", "assets"} & set(path.parts) and _is_held(path, book, revised)
        for line in shown_lines(path)
        if len(line) > WIDEST
    ]


def revised_chapters(book: Path) -> set[int]:
    """The numbers of the chapters that the list in book/terms.yml names; none without a list."""
    terms = book / "terms.yml"
    if not terms.is_file():
        return set()
    return set(
        (yaml.safe_load(terms.read_text(encoding="utf-8")) or {}).get("revised_chapters", [])
    )


def _is_held(path, book, revised):
    chapter = CHAPTER.match(path.relative_to(book).parts[0])
    return chapter is None or int(chapter[1]) in revised


def shown_lines(path: Path) -> Iterator[str]:
    """The lines of code that a page shows."""
    for fence in FENCE.finditer(path.read_text(encoding="utf-8")):
        kind, body = fence[2].strip(), fence[3]
        if kind.startswith("{code-cell}"):
            yield from _cell(body)
        elif kind.startswith("{literalinclude}"):
            yield from _included(path, kind.split("}", 1)[1].strip(), body)
        elif kind in LANGUAGES:
            yield from body.splitlines()


def _cell(body):
    lines = body.split("\n")
    while lines and re.match(r":[\w-]+:", lines[0]):
        if "hide-" in lines.pop(0):
            return []
    source = "\n".join(lines)
    return [] if answers_prediction(source) else shown_source(source).split("\n")


def _included(path, argument, body):
    from course.book.build.notebooks import included_code

    options = dict(re.findall(r"^:([\w-]+):[ ]*(.*)$", body, re.M))
    return included_code((path.parent / argument).resolve(), options).splitlines()
