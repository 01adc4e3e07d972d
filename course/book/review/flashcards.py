"""All flashcards of the book for other programs: an Anki package, and two files of plain text.

    cards = all_cards(book)
    write_package(cards, "word2serve.apkg")      for Anki (genanki); a deck, and one below it for
                                                 each chapter
    as_table(cards), as_notes(cards)             tab-separated values; and Markdown,
                                                 `front -?- back`, as note programs take it

Ids come from the chapter's number and the card's id in questions.yml, never from texts or time:
whoever learns the cards keeps the history of one when its text is mended, and two builds give the
same bytes. The moment at which notes were last changed is made from the texts: by an equal moment
Anki would leave a mended note as it was, even if told to update always.
"""

import hashlib
import html
import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from course.book.review.questions import load_questions

# seconds; to it comes a number from the texts: Anki takes a note over when its moment is another
TIME = 1_700_000_000
ZIP_TIME = (2023, 11, 14, 0, 0, 0)
MODEL, DECK = 1_607_392_319, 2_059_400_110  # never change: learners' collections know them
STYLE = (
    ".card {font-family: sans-serif; font-size: 20px; line-height: 1.45; text-align: left;"
    " max-width: 34em; margin: 1em auto; padding: 0 1em} .where {font-size: 14px; opacity: 0.7;"
    " margin-top: 1.5em}"
)
MATHS = re.compile(r"\$([^$]+)\$")


@dataclass(frozen=True)
class DeckCard:
    """One card of the whole book; `key` is chapter and id, texts are Markdown as in
    questions.yml.
    """

    key: str
    chapter: int
    title: str
    front: str
    back: str


def all_cards(book: Path) -> list[DeckCard]:
    """The cards of every chapter below `book`, in the order of the chapters."""
    cards = []
    for path in sorted(book.glob("[0-9][0-9]-*/questions.yml")):
        questions = load_questions(path)
        title = re.search(
            r"^# (.+)$", (path.parent / "index.md").read_text(encoding="utf-8"), re.M
        )[1]
        cards += [
            DeckCard(
                f"{questions.chapter:02d}.{one.id}", questions.chapter, title, one.front, one.back
            )
            for one in questions.flashcards
        ]
    return cards


@lru_cache(maxsize=1)
def _markdown():
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    reader = MarkdownIt("commonmark").use(dollarmath_plugin)
    reader.add_render_rule(
        "math_inline",
        lambda self, tokens, index, options, env: (
            f"\\({html.escape(tokens[index].content, quote=False)}\\)"
        ),
    )
    return reader


def to_html(text: str) -> str:
    r"""A card's Markdown as HTML, with formulas as \( \), which Anki sets; $ it would show as it
    is.
    """
    return _markdown().renderInline(text)


def number_of(text: str) -> int:
    """A whole number below 2**32 that belongs to a text for ever."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def write_package(cards: Sequence[DeckCard], path: Path) -> None:
    """The Anki package of `cards` at `path`, byte for byte the same for the same cards."""
    import genanki

    model = genanki.Model(
        MODEL,
        "word2serve",
        fields=[{"name": "Front"}, {"name": "Back"}, {"name": "Where"}],
        css=STYLE,
        templates=[
            {
                "name": "Card",
                "qfmt": "{{Front}}",
                "afmt": '{{FrontSide}}<hr id="answer">{{Back}}<div class="where">{{Where}}</div>',
            }
        ],
    )
    decks, moment = {}, TIME + number_of(as_table(cards)) % 10_000_000
    for card in cards:
        deck = decks.setdefault(
            card.chapter,
            genanki.Deck(DECK + card.chapter, f"word2serve::{card.chapter:02d} {card.title}"),
        )
        deck.add_note(
            genanki.Note(
                model,
                [
                    to_html(card.front),
                    to_html(card.back),
                    html.escape(f"Chapter {card.chapter}, {card.title}"),
                ],
                guid=genanki.guid_for("word2serve", card.key),
                tags=[f"chapter-{card.chapter:02d}"],
            )
        )
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw.apkg")
        genanki.Package(list(decks.values())).write_to_file(raw, timestamp=moment)
        _copy_without_times(raw, path)


def _copy_without_times(raw: Path, path: Path) -> None:
    """Copy a zip; genanki's carries the time of the build."""
    with zipfile.ZipFile(raw) as read, zipfile.ZipFile(path, "w") as written:
        for name in read.namelist():
            entry = zipfile.ZipInfo(name, ZIP_TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            written.writestr(entry, read.read(name))


def as_table(cards: Sequence[DeckCard]) -> str:
    """Tab-separated values with the head that Anki reads: key, front, back, tags; texts as HTML,
    one card a line.
    """
    lines = [
        f"{card.key}\t{to_html(card.front)}\t{to_html(card.back)}\tchapter-{card.chapter:02d}"
        for card in cards
    ]
    return "\n".join(
        [
            "#separator:tab",
            "#html:true",
            "#columns:key\tfront\tback\ttags",
            "#tags column:4",
            *(" ".join(line.splitlines()) for line in lines),
            "",
        ]
    )


def as_notes(cards: Sequence[DeckCard]) -> str:
    """Markdown: a title a chapter, and each card as one paragraph `front -?- back`.

    The program that schedules them writes its comment `<!--SR:!2026-12-01,3,250-->` behind a card;
    ours has none, so every card is new.
    """
    parts, before = ["# word2serve: all flashcards", "#flashcards/word2serve"], None
    for card in cards:
        if card.chapter != before:
            parts.append(f"## {card.chapter}. {card.title}")
            before = card.chapter
        parts.append(f"{' '.join(card.front.split())} -?- {' '.join(card.back.split())}")
    return "\n\n".join(parts) + "\n"
