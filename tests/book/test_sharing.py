"""Every page says what it is about to whoever shows a link to it."""

import re
import struct
from collections import Counter

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document

from tests.book.conftest import ROOT, page_names


@pytest.fixture
def sharing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import sharing

    return sharing


def tags(html, name):
    """The tags of a page's head by their names."""
    text = (html / f"{name}.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(text[: text.index("</head>")], "html.parser")
    return {
        tag.get("name") or tag["property"]: tag["content"]
        for tag in soup.select("meta[name], meta[property]")
    }


def png_size(path):
    """Width and height of a PNG, from its first bytes."""
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", head[16:])


@pytest.mark.parametrize("name", page_names())
def test_a_page_has_a_description_a_title_and_a_card(html, sharing, name):
    found = tags(html, name)
    assert sharing.SHORTEST / 2 <= len(found["description"]) <= sharing.LONGEST
    assert found["og:description"] == found["description"] and found["og:title"]
    assert not re.search(r"[<`\\$]|\s[,.;:]|\(\)", found["description"])
    card = (html / f"{name}.html").parent / found["og:image"]
    assert png_size(card.resolve()) == sharing.SIZE
    assert card.name == sharing.card_of(name) and found["og:image:alt"]


def test_no_two_pages_describe_themselves_in_the_same_words(html):
    seen = Counter(tags(html, name)["description"] for name in page_names())
    assert [text for text, many in seen.items() if many > 1] == []


def test_the_icon_is_at_the_root_and_every_page_names_it(html):
    icon = (html / "favicon.ico").read_bytes()
    assert icon.startswith(b"\0\0\1\0") and struct.unpack("<H", icon[4:6]) == (3,)
    for name in page_names():
        text = (html / f"{name}.html").read_text(encoding="utf-8")
        address = re.search(r'<link rel="icon" href="([^"]*favicon\.ico)"', text)[1]
        assert ((html / f"{name}.html").parent / address).resolve() == html / "favicon.ico"


def page(*texts):
    """A page of one section whose paragraphs have the given texts."""
    document = new_document("page")
    section = nodes.section("", nodes.title("", "Title"))
    section += [nodes.paragraph("", text) for text in texts]
    document += section
    return document


LONG = "A sentence that is long enough to describe what the page is about, and all of it."


@pytest.mark.parametrize(
    "texts, description",
    [
        ((f"{LONG} Another.",), LONG),
        (("Short.", LONG, "More."), f"Short. {LONG}"),
        (("It costs 1.5 bytes.", "And that is all."), "It costs 1.5 bytes. And that is all."),
        (("Ends with a colon:",), "Ends with a colon:"),
    ],
)
def test_a_description_is_the_first_sentences_that_say_enough(sharing, texts, description):
    assert sharing.first_sentences(page(*texts)) == description


def test_a_quotation_and_a_box_are_no_description(sharing):
    document = page(LONG)
    document[0].insert(1, nodes.block_quote("", nodes.paragraph("", "We sat on the bank.")))
    document[0].insert(1, nodes.admonition("", nodes.paragraph("", "Time: ten minutes.")))
    assert sharing.first_sentences(document) == LONG


def test_a_long_description_ends_between_words(sharing):
    text = sharing.shortened("words, " * 60)
    assert text.endswith("words…") and len(text) <= sharing.LONGEST
