"""What a page weighs: every byte that a browser asks for to show it, without the models in it."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.book.conftest import one_in, open_page, page_names

LIMIT = 400_000  # bytes, without compression
HEAVIER = {  # pages that hold more, with a limit of their own: it may fall, not rise
    "search": 1_250_000,  # the texts of all pages
    "16-review/cards": 1_100_000,  # these three: all questions and cards of the book
    "16-review/exam": 1_100_000,
    "16-review/what-next": 950_000,
    "01-static-embeddings/glove": 700_000,  # a picture of 411 kB
    "01-static-embeddings/polysemy": 480_000,
    "02-tokenization/byte-models": 415_000,
    "02-tokenization/unigram": 420_000,  # many formulas
    "04-attention-and-the-transformer/block": 520_000,  # three live figures
    "06-bert-finetuning-and-inference/search": 480_000,
    "07-after-bert/long": 460_000,
    "07-after-bert/smaller": 460_000,
    "10-adapting-and-prompting/lora": 460_000,
    "16-review/statements": 460_000,
}
MODELS = "_static/models/"  # weights and the program that runs them, loaded when a reader asks

pytestmark = pytest.mark.browser


def weight(requests) -> dict[str, int]:
    """Bytes of each file that a page asked for, without models."""
    paths = {unquote(urlsplit(url).path) for url in requests if url.startswith("file:")}
    return {
        Path(path).name: Path(path).stat().st_size for path in sorted(paths) if MODELS not in path
    }


@pytest.mark.parametrize("name", one_in(3, page_names(), "weight"))
def test_a_page_weighs_less_than_the_limit(browser, html, name):
    page = open_page(browser, (html / f"{name}.html").as_uri())
    page.evaluate("document.fonts.ready.then(() => true)")
    found = weight(page.heard.requests)
    page.context.close()
    assert f"{Path(name).name}.html" in found
    assert sum(found.values()) <= HEAVIER.get(name, LIMIT), found


def test_fonts_that_a_formula_needs_are_counted(browser, html):
    page = open_page(browser, (html / "04-attention-and-the-transformer/attention.html").as_uri())
    page.evaluate("document.fonts.ready.then(() => true)")
    found = weight(page.heard.requests)
    page.context.close()
    assert {"KaTeX_Main-Regular.woff2", "KaTeX_Math-Italic.woff2"} <= set(found)


def test_fonts_come_in_one_format(html):
    fonts = [path for path in html.rglob("*") if path.suffix in (".woff", ".ttf", ".otf", ".eot")]
    assert fonts == [] and list(html.rglob("*.woff2"))
