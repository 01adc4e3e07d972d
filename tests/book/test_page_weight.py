"""What a page weighs: every byte that a browser asks for to show it, without the models in it."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.book.conftest import one_in, open_page, page_names

LIMIT = 400_000  # bytes, without compression
HEAVIER = {  # pages that hold more, with a limit of their own: it may fall, not rise.
    # Most have two or three live figures' stills and many formulas.
    "search": 1_540_000,  # the texts of all pages
    "16-review/cards": 1_280_000,  # these three: all questions and cards of the book
    "16-review/exam": 1_230_000,
    "16-review/what-next": 1_140_000,
    "01-static-embeddings/evaluation": 410_000,
    "01-static-embeddings/glove": 700_000,  # a picture of 411 kB
    "01-static-embeddings/pmi": 510_000,
    "01-static-embeddings/polysemy": 500_000,
    "01-static-embeddings/word2vec": 490_000,
    "02-tokenization/byte-models": 425_000,
    "02-tokenization/unigram": 440_000,
    "03-context-before-attention/elmo": 500_000,
    "03-context-before-attention/lstm": 500_000,
    "03-context-before-attention/ngrams": 415_000,
    "03-context-before-attention/rnn": 460_000,
    "03-context-before-attention/seq2seq": 525_000,  # a diagram and its code: 30 to 40 kB
    "03-context-before-attention/state-space": 452_000,  # as above
    "04-attention-and-the-transformer/attention": 430_000,
    "04-attention-and-the-transformer/block": 465_000,
    "04-attention-and-the-transformer/families": 475_000,
    "04-attention-and-the-transformer/heads": 510_000,
    "04-attention-and-the-transformer/induction": 530_000,
    "04-attention-and-the-transformer/positions": 430_000,
    "04-attention-and-the-transformer/relative": 435_000,
    "04-attention-and-the-transformer/rotary": 420_000,
    "06-bert-finetuning-and-inference/search": 495_000,
    "09-generating-text/sampling": 435_000,
    "11-modernbert/block": 450_000,
    "15-serving-engine/engine": 430_000,
    "07-after-bert/longformer": 475_000,
    "07-after-bert/distillation": 460_000,
    "08-gpt/tasks": 435_000,
    "10-adapting-and-prompting/lora": 460_000,
    "10-adapting-and-prompting/grpo": 415_000,
    "10-adapting-and-prompting/chain-of-thought": 415_000,
    "12-llama/block": 555_000,  # as above
    "12-llama/cache": 410_000,
    "12-llama/mixture-of-experts": 432_000,  # as above
    "12-llama/four-bits": 440_000,
    "15-serving-engine/draft-heads": 406_000,
    "16-review/statements": 490_000,
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
