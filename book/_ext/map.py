"""Where the reader is, as a Sphinx extension: numbers of chapters in the navigation, and the small
map of a GPT at the head of chapters 4 to 17.

`book/map.yml` holds the parts of the map. The page `map` draws them large with the figure
`model-map`; here they are a row of links, with those marked that the chapter is about. In the
sidebar a link to a chapter also says how many pages the chapter has, which nav.js needs for its
marks of what was read.
"""

import posixpath
import re
from html import escape
from pathlib import Path

import yaml

LINK = re.compile(r'<a ((?:[^>]* )?href="([^"]*)")>')
PAGE = re.compile(r"(\d\d)-[\w-]+/index")
TITLE_END = "</h1>"


def chapter_of(pagename: str) -> int | None:
    """The number of the chapter that this page opens, or None."""
    found = PAGE.fullmatch(pagename)
    return int(found[1]) if found else None


def target(pagename: str, href: str) -> str:
    """The page that a link of `pagename` leads to."""
    if href.startswith("#"):
        return pagename
    path = posixpath.normpath(posixpath.join(posixpath.dirname(pagename), href.partition("#")[0]))
    return path.removesuffix(".html")


def numbered(navigation: str, pagename: str, sizes: dict[str, int]) -> str:
    """The contents with the number of each chapter before its title, and its count of pages."""

    def with_number(found):
        page = target(pagename, found[2])
        number = chapter_of(page)
        if number is None:
            return f'<a data-page="{page}" {found[1]}>'
        return (
            f'<a data-page="{page}" data-pages="{sizes.get(page, 1)}" {found[1]}>'
            f'<span class="nav-number">{number}</span>'
        )

    return LINK.sub(with_number, navigation)


def with_chapter(link: dict, pagename: str) -> dict:
    """A link of the frame, such as the one to the next page, with a chapter's number in it."""
    number = chapter_of(target(pagename, link["link"]))
    return link if number is None else {**link, "title": f"{number}. {link['title']}"}


def small_map(known: dict, number: int, address) -> str:
    """The parts of the map as a row of links; those of chapter `number` are marked."""
    here = known["here"][number]
    items = []
    for part in known["parts"]:
        mark = ' class="is-here" aria-current="true"' if part["key"] in here["parts"] else ""
        items.append(
            f'<li{mark}><a href="{address(part["pages"][0])}">{escape(part["label"])}</a></li>'
        )
    return (
        '<nav class="w2s-small-map" aria-label="Where this chapter is on the map">'
        f'<p><b>You are here:</b> {escape(here["words"])}. <a href="{address("map")}">The map</a>'
        f"</p><ol>{''.join(items)}</ol></nav>"
    )


def place(app, pagename, templatename, context, doctree):
    """Put numbers into the frame, and the small map below the title of a chapter."""
    sizes = {
        page: 1 + len(below)
        for page, below in app.env.toctree_includes.items()
        if chapter_of(page) is not None
    }
    context["w2s_nav"] = numbered(context.get("w2s_nav") or "", pagename, sizes)
    context["parents"] = [with_chapter(link, pagename) for link in context.get("parents") or []]
    for key in ("prev", "next"):
        if context.get(key):
            context[key] = with_chapter(context[key], pagename)
    number = chapter_of(pagename)
    if doctree is None or number not in app.w2s_map["here"]:
        return
    row = small_map(app.w2s_map, number, lambda page: app.builder.get_relative_uri(pagename, page))
    head, end, rest = context["body"].partition(TITLE_END)
    context["body"] = head + end + row + rest


def load(app):
    """Read the map's parts once."""
    file = Path(app.srcdir, "map.yml")
    empty = {"parts": [], "here": {}}
    app.w2s_map = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else empty


def setup(app):
    """Register the events, after those of the theme."""
    app.connect("builder-inited", load)
    app.connect("html-page-context", place, priority=940)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
