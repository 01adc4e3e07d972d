"""The whole book as one PDF: the built pages joined into one document, printed by Chromium.

One document and not one PDF a page, so that links between pages stay links, pages are numbered
through, and the PDF has an outline, without a library that joins files. Pictures are the stills;
what opens on a click is printed open.
"""

import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from autograder.common.errors import CourseError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARTICLE = re.compile(r"<article>(.*)</article>", re.S)
SCRIPT = re.compile(r"<script\b.*?</script>", re.S)
TAG = re.compile(r"<[a-zA-Z][^>]*>")
ATTRIBUTE = re.compile(
    r'(?<=\s)(id|for|name|href|xlink:href|src|aria-labelledby|aria-describedby|aria-controls|list)="([^"]*)"'
)
URL = re.compile(r"url\(#([^)]+)\)")
STYLES = (
    "palette.css",
    "sphinx-design.min.css",
    "vendor/katex/katex.min.css",
    "course.css",
    "formulas.css",
    "figures/figures.css",
)
SECONDS = 600  # for the browser to lay out and print all pages


def print_book(root: Path, html: Path) -> Path:
    """Print the built book in `html` into _build/word2serve.pdf.

    Raises CourseError if there is no browser or no PDF.
    """
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise CourseError(f"no {BROWSERS[0]} on PATH; install Chromium or Chrome to print the book")
    source, target = root / "_build" / "print" / "book.html", root / "_build" / "word2serve.pdf"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(joined(root, html), encoding="utf-8")
    target.unlink(missing_ok=True)
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
        "--virtual-time-budget=120000",
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        f"--print-to-pdf={target}",
        source.as_uri(),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise CourseError(f"{browser} did not print {source} within {SECONDS} s") from None
    if not target.is_file():
        raise CourseError(
            f"{browser} printed nothing of {source}; it said: {done.stderr.strip()[-500:]}"
        )
    return target


def joined(root: Path, html: Path) -> str:
    """All pages of the contents as one document whose ids are unique and whose links stay inside
    where they can.
    """
    order = [
        name for name in contents(root / "book" / "_toc.yml") if (html / f"{name}.html").is_file()
    ]
    parts, heads = [], []
    for name in order:
        text = (html / f"{name}.html").read_text(encoding="utf-8")
        article = ARTICLE.search(text)
        if article is None:
            raise CourseError(f"{html / name}.html has no article; build the book again")
        title = re.sub(r"<[^>]*>", "", re.search(r"<title>(.*?)</title>", text, re.S)[1]).split(
            " · "
        )[0]
        heads.append(f'<li><a href="#{mark(name)}">{title}</a></li>')
        body = TAG.sub(
            lambda tag, name=name: settled(tag[0], name, set(order)), SCRIPT.sub("", article[1])
        )
        parts.append(
            f'<section class="printed-page" id="{mark(name)}"><article>{body}</article></section>'
        )
    styles = "".join(
        f'<link rel="stylesheet" href="../html/_static/{name}">'
        for name in STYLES
        if (html / "_static" / name).exists()
    )
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta'
        f' charset="utf-8"><title>word2serve</title>{styles}</head><body'
        ' class="printed"><main class="content"><h1 class="printed-title">word2serve</h1><ul'
        f' class="printed-contents">{"".join(heads)}</ul>{"".join(parts)}</main></body></html>'
    )


def contents(toc: Path) -> list[str]:
    """The pages in the order of the table of contents."""

    def walk(entry) -> Iterator[str]:
        if isinstance(entry, dict):
            yield from (entry[key] for key in ("root", "file") if key in entry)
            for value in entry.values():
                yield from walk(value)
        elif isinstance(entry, list):
            for item in entry:
                yield from walk(item)

    return list(walk(yaml.safe_load(toc.read_text(encoding="utf-8"))))


def mark(page: str, name: str = "") -> str:
    """The id, in the joined document, of a page or of what bears `name` on it."""
    return page.replace("/", "-") + (f"--{name}" if name else "")


def settled(tag: str, page: str, pages: set[str]) -> str:
    """One tag of `page` with its ids, references and addresses made to fit the joined document, and
    opened.
    """

    def one(found):
        key, value = found[1], found[2]
        if key in ("href", "xlink:href", "src"):
            return f'{key}="{address(value, page, pages)}"'
        return f'{key}="{" ".join(mark(page, word) for word in value.split())}"'

    tag = URL.sub(lambda found: f"url(#{mark(page, found[1])})", ATTRIBUTE.sub(one, tag))
    return re.sub(r"^<details(?![^>]*\sopen)", "<details open", tag)


def address(value: str, page: str, pages: set[str]) -> str:
    """Where a link or a picture of `page` leads from the joined document."""
    parts = urlsplit(value)
    if parts.scheme or value.startswith("//"):
        return value
    if not parts.path:
        return "#" + mark(page, parts.fragment)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
    if path.removesuffix(".html") in pages:
        return "#" + mark(path.removesuffix(".html"), parts.fragment)
    return f"../html/{path}" + (f"#{parts.fragment}" if parts.fragment else "")
