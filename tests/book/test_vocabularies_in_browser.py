"""Published vocabularies in a page: the page's tokenizers give the ids of the reference, and
figures its merges.
"""

import json
import math
import random
from pathlib import Path

import pytest
import yaml

from course.book.pages.figure_data import vocabularies as page_vocabularies
from course.book.pages.figures import ASSETS, RUNTIME
from course.book.pages.models import write_scripts
from reference_impl import corpora
from reference_impl.corpora.cache import CorpusError
from reference_impl.tokenizers.bpe import train_bpe_plain
from reference_impl.tokenizers.encoding import kept_lengths
from reference_impl.tokenizers.unigram import Unigram
from reference_impl.tokenizers.vocabulary import TokenizerError
from tests.book.conftest import open_page

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
ODD = [
    "",
    " ",
    "  two  spaces \n\n end ",
    "It's 12345, isn't it? don't!",
    "caf\u00e9 cafe\u0301",
    "\U0001f3e6 bank\u200bs",
    "\u0130stanbul",
    "\u94f6\u884c lends",
    "\t\x00\x01",
    "[SEP] [MASK] x",
    "x" * 101,
    "a\u00a0b\u3000c",
    "\u2581 sign",
    "e\U0001d165",
    "<0x41>",
    "HTMLParser DON'T I\u017f isn't\r\n\r\n  x  ",
    "1234567 \u0968\u0969\u096a\u096b.5",
    "\U0001f1e9\U0001f1ea  \U0001f468\u200d\U0001f469",
]


def texts():
    article = yaml.safe_load(
        (ROOT / "book/02-tokenization/article_1.yml").read_text(encoding="utf-8")
    )
    draw = random.Random(0)
    mixed = [
        "".join(draw.choice("ab \u00e9\u0939\U0001f3e6'1.\n") for _ in range(draw.randint(1, 20)))
        for _ in range(60)
    ]
    return [*article.values(), *ODD, *mixed, *corpora.load("oewn_glosses")[::900]]


def encoders():
    from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
    from reference_impl.weights.gguf_files import read_gguf

    smollm2 = tokenizer_from_metadata(
        read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata
    )
    gpt2, bert = corpora.load("gpt2_tokenizer"), corpora.load("bert_tokenizer")
    ranked = {name: corpora.load(f"{name}_tokenizer") for name in ("cl100k", "o200k", "qwen3")}
    return {
        **{
            name: lambda text, of=of: of.encode(text, specials_in_text=False).ids
            for name, of in ranked.items()
        },
        "gpt2": lambda text: gpt2.encode(text).ids,
        "bert": lambda text: bert.encode(text, add_specials=False).ids,
        "mistral": corpora.load("mistral_tokenizer").encode,
        "smollm2": lambda text: smollm2.encode(text).ids,
    }


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabularies")
    for part in RUNTIME:
        (folder / f"{part}.js").write_text(
            (ASSETS / "models" / f"{part}.js").read_text(encoding="utf-8"), encoding="utf-8"
        )
    write_scripts(folder / "weights", page_vocabularies.READERS)
    scripts = "".join(f'<script src="{part}.js"></script>' for part in RUNTIME)
    (folder / "page.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{scripts}'
    )
    opened = open_page(browser, (folder / "page.html").as_uri())
    yield opened
    opened.context.close()


def test_each_vocabulary_gives_the_ids_of_the_reference(page):
    wrong = []
    for name, encode in encoders().items():
        asked, expected = [], []
        for text in texts():
            try:
                expected.append(encode(text))
            except TokenizerError:  # a byte that SmolLM2 has no token for
                continue
            asked.append(text)
        found = page.evaluate(
            """async ([name, texts]) => {
            const tokenizer = w2s.models.lib.tokenizer((await w2s.models.request(name)).tokenizer);
            return texts.map((text) => tokenizer.ids(text)); }""",
            [name, asked],
        )
        assert len(asked) > 200
        wrong += [
            (name, text, a, b) for text, a, b in zip(asked, found, expected, strict=True) if a != b
        ]
    assert wrong == []


def test_a_vocabulary_whose_merges_are_out_of_order_is_refused():
    with pytest.raises(CorpusError, match="does not hold its merges' tokens in order"):
        page_vocabularies.packed(["a", "b", "c", "bc", "ab"], [("a", "b"), ("b", "c")], "single")


@pytest.fixture
def drawn(look, tmp_path):
    """`drawn("bpe-training", data)`: a page with one figure; returns what a fresh stage says of
    itself.
    """

    def open_(name, data):
        from course.book.pages.figures import figure, scripts_of

        scripts = "".join(
            f'<script src="{(ASSETS / file).as_uri()}"></script>'
            for file in scripts_of(name, False)
        )
        (tmp_path / "page.html").write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
            f"<main>{figure(name, data, 'C', 'A').to_html()}</main>{scripts}",
            encoding="utf-8",
        )
        return look((tmp_path / "page.html").as_uri())

    return open_


def said(page, key):
    return json.loads(page.locator(".w2s-stage").get_attribute(f"data-{key}"))


@pytest.mark.parametrize("counts", [(3, 2, 4), (1, 1, 1), (9, 0, 9)])
def test_the_merges_of_the_figure_are_those_of_the_reference(drawn, counts):
    words = dict(zip(("bank", "tank", "bay"), counts, strict=True))
    page = drawn(
        "bpe-training",
        {"words": [{"word": word, "count": count} for word, count in words.items()], "merges": 6},
    )
    page.locator("input[type=range]").last.press("End")
    expected = train_bpe_plain({word: count for word, count in words.items() if count}, 6).merges
    assert [tuple(pair) for pair in said(page, "merges")] == expected


def test_a_letter_in_a_row_is_joined_without_overlap(drawn):
    page = drawn("bpe-training", {"words": [{"word": "aaaaa", "count": 2}], "merges": 2})
    page.get_by_role("button", name="Step").click()
    assert said(page, "pieces") == [["aa", "aa", "a"]]


@pytest.mark.parametrize(
    "length, strategy",
    [
        (5, "the longer"),
        (10, "the longer"),
        (12, "the longer"),
        (9, "the first"),
        (11, "the second"),
        (6, "the second"),
    ],
)
def test_the_input_is_cut_as_the_reference_cuts_it(drawn, length, strategy):
    page = drawn(
        "model-input",
        {"first": list("abcdefg"), "second": list("vwxyz"), "length": length, "batch": 16},
    )
    page.locator(".w2s-segment", has_text=strategy).click()
    key = {"the longer": "longest_first", "the first": "only_first", "the second": "only_second"}[
        strategy
    ]
    try:
        expected = list(kept_lengths(7, 5, length - 3, key))
    except TokenizerError:
        assert page.locator(".w2s-stage").get_attribute("data-kept") == ""
        return
    assert said(page, "kept") == expected
    assert said(page, "segment") == [0] * (expected[0] + 2) + [1] * (expected[1] + 1) + [0] * (
        16 - length
    )
    assert sum(said(page, "mask")) == length


def test_the_best_cut_and_its_bits_are_those_of_the_reference(drawn):
    bits = {"ban": 3, "bank": 4, "ks": 4, "s": 5, "k": 5}
    pieces = " ".join(f"{piece} {cost}" for piece, cost in bits.items())
    page = drawn(
        "unigram-lattice",
        {
            "pieces": [
                {"key": "one", "label": "one", "mark": "", "words": ["banks"], "pieces": pieces}
            ]
        },
    )
    model = Unigram([(piece, -cost * math.log(2)) for piece, cost in bits.items()], unknown=None)
    ((cut, score),) = model.n_best("banks", 1)
    assert said(page, "cut") == cut and said(page, "bits") == pytest.approx(-score / math.log(2))
    page.locator("select").select_option("bank")
    page.locator("input[type=range]").press("Home")
    assert said(page, "cut") == ["bank", "s"] and said(page, "bits") == 5.5
