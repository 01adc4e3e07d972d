"""The built book, and a browser that may read it but not the network."""
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}


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
    from course.book.build import build_book
    return build_book(ROOT, jobs=2).parent


@dataclass
class Heard:
    """What a page asked of the network and complained about."""
    requests: list = field(default_factory=list)
    complaints: list = field(default_factory=list)


def open_page(browser, url: str, size="desktop", scheme="light", maths=True, **settings):
    """A page in a context of its own, with the network cut: only file:// and this machine are answered.

    Without `maths` MathJax arrives empty: two megabytes of script that only tests which look at the whole page need.
    """
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, **settings)
    heard = Heard()

    def answer(route):
        heard.requests.append(route.request.url)
        if not maths and "/mathjax/" in route.request.url:
            route.fulfill(body="", content_type="text/javascript")
        elif route.request.url.startswith(("file://", "data:", "blob:", "http://127.0.0.1:")):
            route.continue_()
        else:
            route.abort()

    context.route("**/*", answer)
    page = context.new_page()
    page.on("console", lambda message: heard.complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: heard.complaints.append(str(error)))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.heard = heard
    return page


@pytest.fixture
def reader(browser, html):
    """`reader("01-static-embeddings/counting", size="phone")` opens a page of the book from disk, its formulas not set."""
    contexts = []

    def read(name, **settings):
        page = open_page(browser, (html / f"{name}.html").as_uri(), maths=False, **settings)
        contexts.append(page.context)
        return page

    yield read
    for context in contexts:
        context.close()
