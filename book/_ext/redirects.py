"""Old addresses of pages, as a Sphinx extension: book/redirects.yml says where each leads now.

    04-attention-and-the-transformer/order: 04-attention-and-the-transformer/positions
    04-attention-and-the-transformer/order#dials: 04-attention-and-the-transformer/rotary#pairs

Keys and values are pages without ending, from book/. A key with an anchor says where that section
of an old page went; other anchors stay what they are. Every old page becomes a page of one line
with a link, which a browser leaves at once. Where the page of a key with an anchor is still there,
nav.js leads on. What leads to no page is a warning, and so is an old page that is there again.
"""

import json
import posixpath
from html import escape
from pathlib import Path

import yaml
from sphinx.util import logging

log = logging.getLogger(__name__)
PAGE = """<!DOCTYPE html>
<html lang="en" data-anchors="{anchors}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="robots" content="noindex">
  <title>Moved: {title}</title>
  <link rel="canonical" href="{address}">
  <script src="{static}/redirect.js"></script>
  <noscript><meta http-equiv="refresh" content="0; url={address}"></noscript>
</head>
<body><main><h1>This page has moved</h1><p><a href="{address}">{title}</a></p></main></body>
</html>
"""


def read(file: Path) -> dict[str, str]:
    """Old addresses with the new ones; none where there is no file."""
    if not file.is_file():
        return {}
    return yaml.safe_load(file.read_text(encoding="utf-8")) or {}


def relative(old: str, new: str) -> str:
    """The address of the page `new`, which may have an anchor, as seen from the page `old`."""
    page, mark, anchor = new.partition("#")
    return posixpath.relpath(f"{page}.html", posixpath.dirname(old) or ".") + mark + anchor


def anchors(moved: dict[str, str], old: str) -> dict[str, str]:
    """Where the sections of one page went, by their anchors."""
    return {
        key.partition("#")[2]: relative(old, new)
        for key, new in moved.items()
        if key.startswith(f"{old}#")
    }


def pages(moved: dict[str, str], titles: dict[str, str]) -> dict[str, str]:
    """The HTML of each old page, by its name. `titles` are those of the pages that exist."""
    found = {}
    for old, new in moved.items():
        if "#" in old:
            continue
        found[old] = PAGE.format(
            anchors=escape(json.dumps(anchors(moved, old)), quote=True),
            title=escape(titles[new.partition("#")[0]]),
            address=escape(relative(old, new), quote=True),
            static=posixpath.relpath("_static", posixpath.dirname(old) or "."),
        )
    return found


def problems(moved: dict[str, str], present: set[str]) -> list[str]:
    """A sentence for each address that is wrong."""
    found = [
        f"{old} leads to {new}, which is no page"
        for old, new in moved.items()
        if new.partition("#")[0] not in present
    ]
    found += [f"{old} is a page of the book again" for old in moved if old in present]
    return found + [
        f"{old} has an anchor, and its page {old.partition('#')[0]} is neither listed nor there"
        for old in moved
        if "#" in old and old.partition("#")[0] not in {*moved, *present}
    ]


def write(app, error):
    """After an HTML build: write the old pages."""
    if error is not None or app.builder.format != "html":
        return
    titles = {name: node.astext() for name, node in app.env.titles.items()}
    for name, text in pages(app.w2s_moved, titles).items():
        target = Path(app.outdir, f"{name}.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def check(app, env):
    """Warn of addresses that lead nowhere; keep the others for `write`."""
    moved = read(Path(app.srcdir, "redirects.yml"))
    for problem in problems(moved, env.found_docs):
        log.warning(f"book/redirects.yml: {problem}", type="w2s", subtype="redirects")
    app.w2s_moved = {
        old: new for old, new in moved.items() if new.partition("#")[0] in env.found_docs
    }


def note_moved_sections(app, pagename, templatename, context, doctree):
    """Tell nav.js which sections of a page that is still there have moved."""
    if doctree is not None and (gone := anchors(app.w2s_moved, pagename)):
        note = escape(json.dumps(gone), quote=True)
        context["body"] = f'{context["body"]}<span hidden data-w2s-moved="{note}"></span>'


def setup(app):
    """Connect checking and writing."""
    app.connect("env-updated", check)
    app.connect("html-page-context", note_moved_sections)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
