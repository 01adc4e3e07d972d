"""The built book, and a browser that may read it but not the network."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import axe_playwright_python
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}


def one_in(share: int, cases: Iterable, test: str) -> list:
    """Parameters of a test: one case in `share` is tried each time, the others in `make test-slow`.

    cases: names or tuples. test: tells tests apart, so that each tries other cases.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if _hash(f"{test}{case}") % share == 0 else pytest.mark.long,
        )
        for case in cases
    ]


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())


def page_names() -> list[str]:
    """Every page of the table of contents, and the search page."""

    def walk(entry):
        if isinstance(entry, dict):
            yield from (value for key, value in entry.items() if key in ("root", "file"))
            entry = list(entry.values())
        if isinstance(entry, list):
            for item in entry:
                yield from walk(item)

    return [*walk(yaml.safe_load((ROOT / "book" / "_toc.yml").read_text())), "search"]


@pytest.fixture(scope="session")
def html() -> Path:
    """The folder of the built book; built here if anything has changed since."""
    from course.book.build.build import build_book

    return build_book(ROOT, jobs=2).parent


@dataclass
class Heard:
    """What a page asked of the network and complained about."""

    requests: list = field(default_factory=list)
    complaints: list = field(default_factory=list)


def open_page(browser, url: str, size="desktop", scheme="light", **settings):
    """A page in a context of its own; the browser reaches files and this machine only (see
    CHROMIUM_ARGUMENTS).
    """
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, **settings)
    page = context.new_page()
    page.scripted = settings.get("java_script_enabled", True)
    page.on("request", lambda request: page.heard.requests.append(request.url))
    page.on(
        "console",
        lambda message: (
            page.heard.complaints.append(message.text)
            if message.type in ("error", "warning")
            else None
        ),
    )
    page.on("pageerror", lambda error: page.heard.complaints.append(str(error)))
    return visit(page, url)


def visit(page, url: str):
    """Load an address in an open page: ready when all that it asks for is there and it has been
    laid out.
    """
    page.heard = Heard()
    page.goto(url)
    if page.scripted:
        page.evaluate(DRAWN)
    return page


FONTS_THERE = "document.fonts.status === 'loaded'"  # those of formulas come last
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="session")
def opened():
    """The pages that tests have opened, by their settings: to load another address takes a fraction
    of opening one.
    """
    pages = {}
    yield pages
    for page in pages.values():
        page.context.close()


@pytest.fixture
def look(browser, opened):
    """`look(url, size="phone")` loads an address as in a new browser: nothing is remembered, no key
    or pointer was used.

    A test that looks at two addresses with the same settings gets two pages.
    """
    taken, further = set(), []

    def load(url, size="desktop", scheme="light", **settings):
        key = size, scheme, *sorted(settings.items())
        if key in taken:
            further.append(open_page(browser, url, size, scheme, **settings))
            return further[-1]
        taken.add(key)
        if key not in opened:
            opened[key] = open_page(browser, url, size, scheme, **settings)
            return opened[key]
        page = opened[key]
        if page.scripted:
            page.evaluate("() => { try { localStorage.clear(); } catch (error) { return; } }")
        page.mouse.move(0, 0)
        page.set_viewport_size(SIZES[size])
        page.emulate_media(media="null", color_scheme=scheme)
        return visit(page, url)

    yield load
    for page in further:
        page.context.close()


@pytest.fixture
def reader(look, html):
    """`reader("01-static-embeddings/pmi", size="phone")` shows a page of the book."""
    return lambda name, **settings: look((html / f"{name}.html").as_uri(), **settings)


@pytest.fixture(scope="session")
def stills_root(tmp_path_factory):
    """A folder in which a still that was drawn is kept: each figure's is there, drawn once for all
    tests.
    """
    from course.book.build import stills
    from course.book.pages.figures import figure
    from tests.book.figure_data import DATA

    root = tmp_path_factory.mktemp("stills")
    stills.draw_ahead([figure(name, data, "C", "A").to_html() for name, data in DATA.items()], root)
    return root


def violations(page, context=None, **options):
    """A line for each element at which axe finds a rule broken, on the page or inside `context`, a
    selector.
    """
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "([where, options]) => axe.run(where || document, options)",
        [context, {"resultTypes": ["violations"], "preload": False, **options}],
    )
    return [
        f"{rule['id']} at {node['target']}: {node['failureSummary'][:200]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
COLOUR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}
STRUCTURE = """() => [...document.querySelectorAll('body *')].map((one) => one.tagName + one.id
    + one.getAttribute('role') + one.getAttribute('aria-hidden') + one.hidden
    + (one.checkVisibility ? one.checkVisibility() : '')).join('|')"""
"""What axe's rules but those of colour depend on: while this stays, their findings stay."""
