"""The flashcards for other programs: Anki's own library reads the package."""

import csv
import json
import re
import sqlite3
import zipfile

import pytest

from course.book.review import flashcards as deck
from course.book.review import repetition as spacing
from course.book.review.flashcards import DeckCard
from course.book.review.repetition import NEW, review
from tests.book.conftest import ROOT

CARDS = deck.all_cards(ROOT / "book")
FIRST = {
    "01.card-pmi": "P~d9>jC@pu",
    "02.card-byt5-canine": "C!*KnJXwt>",
    "13.memory-intensity": "t2l>V7@-P@",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    path = tmp_path_factory.mktemp("deck") / "word2serve.apkg"
    deck.write_package(CARDS, path)
    return path


@pytest.fixture
def collection(tmp_path):
    from anki.collection import Collection

    one = Collection(str(tmp_path / "learner.anki2"))
    yield one
    one.close()


def take(collection, path):
    from anki.collection import ImportAnkiPackageOptions, ImportAnkiPackageRequest
    from anki.import_export_pb2 import ImportAnkiPackageUpdateCondition as When

    options = ImportAnkiPackageOptions(
        update_notes=When.IMPORT_ANKI_PACKAGE_UPDATE_CONDITION_ALWAYS
    )
    return collection.import_anki_package(
        ImportAnkiPackageRequest(package_path=str(path), options=options)
    ).log


def test_anki_finds_a_note_for_each_card_and_a_second_import_adds_none(package, collection):
    take(collection, package)
    assert collection.note_count() == collection.card_count() == len(CARDS) > 250
    take(collection, package)
    assert collection.note_count() == len(CARDS)
    names = {entry.name for entry in collection.decks.all_names_and_ids()}
    assert {f"word2serve::{card.chapter:02d} {card.title}" for card in CARDS} <= names
    backs = {collection.get_note(note).fields[1] for note in collection.find_notes("")}
    assert backs == {deck.to_html(card.back) for card in CARDS}
    card = collection.get_card(collection.find_cards("tag:chapter-01")[0])
    assert card.question() in card.answer() and "Chapter 1" in card.answer()


def test_a_mended_card_is_the_same_note_with_the_new_text(package, collection, tmp_path):
    take(collection, package)
    before = {note: collection.get_note(note).guid for note in collection.find_notes("")}
    mended = [
        DeckCard(
            card.key,
            card.chapter,
            card.title,
            card.front,
            f"{card.back} Mended." if n == 0 else card.back,
        )
        for n, card in enumerate(CARDS)
    ]
    deck.write_package(mended[::-1], tmp_path / "next.apkg")
    take(collection, tmp_path / "next.apkg")
    assert {note: collection.get_note(note).guid for note in collection.find_notes("")} == before
    assert len(collection.find_notes('"back:*Mended."')) == 1


def test_two_builds_are_equal_whatever_the_clock_says(package, tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 4_000_000_000.0)
    deck.write_package(deck.all_cards(ROOT / "book"), tmp_path / "again.apkg")
    assert (tmp_path / "again.apkg").read_bytes() == package.read_bytes()


def test_ids_are_those_that_learners_have(package, tmp_path):
    """If this fails, cards lost their history: an id was renamed, or the way that ids are made has
    changed.
    """
    with zipfile.ZipFile(package) as file:
        file.extract("collection.anki2", tmp_path)
    with sqlite3.connect(tmp_path / "collection.anki2") as base:
        guids = dict(
            zip(
                [card.key for card in CARDS],
                [row[0] for row in base.execute("select guid from notes order by id")],
            )
        )
    assert len(set(guids.values())) == len(CARDS)
    assert {key: guids[key] for key in FIRST} == FIRST


def test_formulas_are_in_anki_s_brackets_and_everything_else_is_html():
    assert (
        deck.to_html(r"*One* of $a_1 < b$ & `x<y`")
        == r"<em>One</em> of \(a_1 &lt; b\) &amp; <code>x&lt;y</code>"
    )
    for card in CARDS:
        for text in (card.front, card.back):
            made = deck.to_html(text)
            assert "$" not in made.replace("\\$", "") or "\\$" in text or text.count("$") % 2, (
                card.key
            )
            assert made.count("\\(") == made.count("\\)") and "{" + "cite}" not in made


def test_the_table_has_a_line_for_each_card():
    lines = deck.as_table(CARDS).splitlines()
    assert lines[:2] == ["#separator:tab", "#html:true"]
    rows = list(
        csv.reader(
            [line for line in lines if not line.startswith("#")],
            delimiter="\t",
            quoting=csv.QUOTE_NONE,
        )
    )
    assert [row[0] for row in rows] == [card.key for card in CARDS] and all(
        len(row) == 4 for row in rows
    )


def test_the_notes_have_a_paragraph_for_each_card_under_its_chapter():
    text = deck.as_notes(CARDS)
    paragraphs = [one for one in text.split("\n\n") if " -?- " in one]
    assert len(paragraphs) == len(CARDS) and all(one.count(" -?- ") == 1 for one in paragraphs)
    assert len(re.findall(r"^## \d+\. ", text, re.M)) == len({card.chapter for card in CARDS})
    assert "<!--SR:" not in text


def test_memory_and_intervals_are_those_of_py_fsrs():
    kept = json.loads((ROOT / "book" / "16-review" / "fsrs6.json").read_text(encoding="utf-8"))
    assert tuple(kept["parameters"]) == spacing.W
    for rows in kept["cards"]:
        card = NEW
        for day, rating, recall, stability, difficulty, wait in rows:
            if card != NEW:
                found = spacing.retrievability(day - card.last, card.stability)
                assert found == pytest.approx(recall, rel=1e-9)
            card = review(card, spacing.GRADES[rating - 1], day)
            assert card.stability == pytest.approx(stability, rel=1e-9)
            assert card.difficulty == pytest.approx(difficulty, rel=1e-9)
            assert spacing.interval(card.stability) == wait
            assert card.due == day + (wait if rating > 1 else 0)  # forgotten: again today
    stabilities = kept["intervals"]["stability"]
    for goal, waits in kept["intervals"]["by_retention"].items():
        assert [spacing.interval(one, float(goal)) for one in stabilities] == waits


def test_answers_and_lapses_are_counted():
    card = review(review(NEW, "good", 0), "again", 30)
    assert (card.answers, card.lapses, card.last, card.due) == (2, 1, 30, 30)
    assert review(NEW, "again", 3).lapses == 0
    low = NEW
    for day in range(40):
        low = review(low, "again", day)
    assert low.difficulty <= 10 and low.stability >= 0.001
    assert spacing.interval(1e9) == spacing.LONGEST
    with pytest.raises(ValueError, match="no grade 'fine'"):
        review(NEW, "fine", 0)
