"""The review chapter as a reader works it: the exam against a clock that the test sets, cards over
days, what can't be done yet.
"""

import json
import re
from dataclasses import asdict

import pytest

from course.book.review import exam
from course.book.review import flashcards as deck
from course.book.review import repetition as spacing
from tests.book.conftest import COLOUR_RULES, ROOT, open_page, violations

pytestmark = pytest.mark.browser
EXAM, CARDS, NEXT = (f"16-review/{name}" for name in ("exam", "cards", "what-next"))
START = 1_800_000_000_000


@pytest.fixture
def timed(browser, html):
    """`timed(name)` opens a page in a browser of its own whose clock stands at START until the test
    moves it.
    """
    pages = []

    def load(name, **settings):
        page = open_page(browser, "about:blank", timezone_id="Europe/Berlin", **settings)
        pages.append(page)
        page.clock.install(time=START / 1000)
        page.clock.pause_at(START / 1000 + 1)
        page.goto((html / f"{name}.html").as_uri())
        return page

    yield load
    for page in pages:
        page.context.close()


def bank(page):
    return page.evaluate("window.w2sBank")


def begin(page, number=4711):
    page.get_by_label("Exam number").fill(str(number))
    page.get_by_role("button", name="Begin").click()


def flaws(page, **options):
    """What axe finds; its own timers need a clock that runs."""
    page.clock.resume()
    return violations(page, ".w2s-review", **options)


def stored(page, key="w2s-exam"):
    return page.evaluate(f"JSON.parse(localStorage.getItem('{key}'))")


def answer(page, rightly=lambda n: True):
    """Answer every question of the running exam, those that `rightly` names as they should be."""
    items = {item["key"]: item for item in bank(page)["items"]}
    sheet = {
        one["key"]: one for one in page.evaluate(f"window.w2sExam.draw({stored(page)['seed']})")
    }
    for n, field in enumerate(page.locator(".w2s-review .w2s-question").all()):
        item = items[field.get_attribute("data-key")]
        if item.get("variants"):
            value = item["variants"][sheet[item["key"]]["variant"]]["answer"][0]
            field.locator("input").fill(repr(value) if rightly(n) else repr(2 * value + 1))
        else:
            right = next(k for k, option in enumerate(item["options"]) if option["right"])
            field.locator(
                f"input[value='{right if rightly(n) else (right + 1) % len(item['options'])}']"
            ).check()


def test_the_browser_draws_the_sheets_that_python_draws(reader):
    page = reader(EXAM)
    shown = [one["key"] for one in bank(page)["items"]]
    items = [
        one for one in exam.exam_bank(ROOT / "book") if one.key in shown
    ]  # a question that no page shows yet cannot be asked
    assert shown == [one.key for one in items] and len(items) > 190
    for seed in (0, 1, 4711, 123_456_789):
        ours = [
            {**asdict(one), "order": list(one.order)}
            for one in exam.draw_exam(items, exam.blueprint(items), seed)
        ]
        assert page.evaluate(f"window.w2sExam.draw({seed})") == ours


def test_typed_numbers_are_read_as_people_write_them(reader):
    page = reader(EXAM)
    read = {
        "1,200": 1200,
        "1 200": 1200,
        "0.5": 0.5,
        "0,5": 0.5,
        "12,5": 12.5,
        "1,234,567.5": 1234567.5,
        "3/4": 0.75,
        "25 %": 0.25,
        "6.7B": 6.7e9,
        "2k": 2000,
        "1.2e3": 1200,
        "−3": -3,
        "0,125": 0.125,
    }
    for text, value in read.items():
        assert page.evaluate("(text) => window.w2sReview.typed(text)", text) == pytest.approx(
            value
        ), text
    for text in ("", "twelve", "1/2/3", "..", "5 apples"):
        assert page.evaluate("(text) => Number.isNaN(window.w2sReview.typed(text))", text), text


def test_a_whole_exam_by_the_clock(timed):
    page = timed(EXAM)
    begin(page)
    assert page.locator(".w2s-review .w2s-question").count() == 30 and page.url.endswith(
        "#exam=4711"
    )
    assert page.locator(".w2s-clock").inner_text() == "45:00"
    answer(page, rightly=lambda n: n % 3 > 0)
    page.clock.run_for(20 * 60_000)
    assert (
        page.locator(".w2s-clock").inner_text() == "25:00"
        and page.locator(".w2s-count").inner_text() == "30 of 30 answered"
    )
    page.get_by_role("button", name="Hand in").click()
    assert page.locator("h3", has_text="20 of 30: passed").evaluate(
        "node => node === document.activeElement"
    )
    rows = page.locator(".w2s-review .w2s-bars tbody tr")
    told = [
        tuple(map(int, re.findall(r"\d+", cell)))
        for cell in rows.locator("td:last-child").all_inner_texts()
    ]
    assert sum(right for right, _ in told) == 20 and sum(of for _, of in told) == 30
    assert page.locator(".w2s-review .w2s-verdict.is-wrong").count() == 10
    for question in page.locator(".w2s-review section.w2s-question").all():
        options = question.locator(".w2s-option").count()
        assert question.locator(".w2s-why").count() == options and (
            options or question.locator(".w2s-worked").count() == 1
        )
        assert question.locator(".w2s-again-at a").get_attribute("href").endswith(".html")
    result = stored(page, "w2s-exam-results")[-1]
    assert (result["right"], result["of"], result["minutes"], len(result["wrong"])) == (
        20,
        30,
        20,
        10,
    )
    assert page.heard.complaints == [] and all(
        url.startswith(("file:", "about:")) for url in page.heard.requests
    )


def test_a_reload_goes_on_where_it_was(timed):
    page = timed(EXAM)
    begin(page, 12)
    keys = page.locator(".w2s-review .w2s-question").evaluate_all(
        "nodes => nodes.map(node => node.dataset.key)"
    )
    page.locator(".w2s-review .w2s-question input[type=radio]").first.check()
    page.clock.run_for(10 * 60_000)
    page.reload()
    assert (
        page.locator(".w2s-review .w2s-question").evaluate_all(
            "nodes => nodes.map(node => node.dataset.key)"
        )
        == keys
    )
    assert (
        page.locator(".w2s-review .w2s-question input:checked").count() == 1
        and page.locator(".w2s-count").inner_text() == "1 of 30 answered"
    )
    assert int(page.locator(".w2s-clock").inner_text().split(":")[0]) in (34, 35)


def test_time_that_has_passed_hands_in_what_is_there(timed):
    page = timed(EXAM)
    begin(page)
    said = page.locator(".w2s-exam-bar [role=status]")
    page.clock.run_for(31 * 60_000)
    assert said.inner_text() == "Fifteen minutes or less left."
    page.clock.run_for(14 * 60_000)
    assert page.locator("h3", has_text="0 of 30: not passed yet").count() == 1
    assert page.locator(".w2s-review .w2s-verdict", has_text="Not answered.").count() == 30
    page.reload()
    assert (
        page.locator("h3", has_text="0 of 30").count() == 1
        and len(stored(page, "w2s-exam-results")) == 1
    )


def test_an_address_gives_its_exam_and_open_questions_are_asked_about_once(timed):
    page = timed(EXAM)
    page.goto(page.url.split("#")[0] + "#exam=99")
    page.reload()
    assert page.get_by_label("Exam number").input_value() == "99"
    page.get_by_label("Exam number").press("Enter")
    page.get_by_role("button", name="Hand in").click()
    assert "30 are not answered yet" in page.locator(".w2s-exam-bar [role=status]").inner_text()
    page.get_by_role("button", name="Hand in all the same").click()
    page.get_by_role("button", name="Another exam").click()
    page.get_by_label("Exam number").fill("many")
    page.get_by_role("button", name="Begin").click()
    assert "whole number" in page.locator(".w2s-exam-said").inner_text()


def test_the_exam_has_no_axe_violation_before_during_and_after(timed):
    page = timed(EXAM, size="phone")
    assert flaws(page) == []
    begin(page)
    assert flaws(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390
    answer(page, rightly=lambda n: n % 2 == 0)
    page.get_by_role("button", name="Hand in").click()
    assert flaws(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(color_scheme="dark")
    assert flaws(page, **COLOUR_RULES) == []


def test_without_scripts_each_written_question_has_its_worked_answer(reader):
    page = reader(EXAM, java_script_enabled=False)
    page.locator(".w2s-written > summary").click()
    questions = page.locator(".w2s-written .w2s-question")
    assert (
        questions.count() >= 26 and "needs JavaScript" in page.locator(".w2s-review").inner_text()
    )
    questions.first.locator("summary").click()
    assert (
        questions.first.locator(".w2s-worked").is_visible()
        and "{" not in questions.first.inner_text()
    )


# Cards


def test_the_browser_spaces_cards_as_python_does(reader):
    page = reader(CARDS)
    kept = json.loads((ROOT / "book" / "16-review" / "fsrs6.json").read_text(encoding="utf-8"))
    for rows in kept["cards"][:10]:
        card, theirs = spacing.NEW, page.evaluate("window.w2sRepeat.fresh()")
        for day, rating, *_ in rows:
            grade = spacing.GRADES[rating - 1]
            card = spacing.review(card, grade, day)
            theirs = page.evaluate(
                "([card, grade, day]) => window.w2sRepeat.review(card, grade, day)",
                [theirs, grade, day],
            )
            assert theirs == pytest.approx(asdict(card), rel=1e-9)


def test_a_card_of_the_first_edition_keeps_its_interval(reader):
    page = reader(CARDS)
    convert = "(card) => window.w2sRepeat.converted(card)"
    old = {"interval": 15.625, "ease": 2.5, "due": 40, "answers": 4, "lapses": 0}
    new = page.evaluate(convert, old)
    assert (new["stability"], new["last"], new["due"], new["answers"]) == (15.625, 24, 40, 4)
    assert page.evaluate(convert, new) == new
    lost = page.evaluate(convert, {**old, "interval": 0, "due": 30, "lapses": 1})
    assert (lost["stability"], lost["last"], lost["lapses"]) == (spacing.W[0], 30, 1)


def test_cards_come_again_on_their_days(timed):
    page = timed(CARDS)
    status = page.locator(".w2s-repeat [role=status]")
    assert "0 due, 10 new today." in status.inner_text()
    first = page.locator(".w2s-repeat-card").get_attribute("data-key")
    seen = []
    for n in range(11):
        seen.append(page.locator(".w2s-repeat-card").get_attribute("data-key"))
        page.get_by_role("button", name="Show the answer").click()
        assert page.locator(".w2s-repeat-card .w2s-back").is_visible()
        page.keyboard.press("1" if n == 0 else "3")
    assert (
        seen[2] == first and len(set(seen)) == 10
    )  # what did not come is asked again, after another card
    assert (
        "Nothing is due. The next card comes in 1 day." in status.inner_text()
        and page.locator(".w2s-repeat-card").count() == 0
    )
    page.clock.run_for(48 * 3_600_000)
    page.reload()
    assert "10 due, 10 new today." in status.inner_text()
    assert page.locator(".w2s-repeat-card").get_attribute("data-key") == first  # due yesterday
    page.get_by_role("button", name="Show the answer").click()
    card = spacing.NEW
    for grade, day in (("again", 0), ("good", 0), ("good", 2)):
        card = spacing.review(card, grade, day)
    days = card.due - 2
    name = f"Good: {days} day{'s' * (days > 1)}"
    assert page.get_by_role("button", name=name).is_visible()
    assert (
        stored(page, "w2s-repeat")["cards"][first]["answers"] == 2
        and stored(page, "w2s-repeat")["met"] == 10
    )


def test_one_chapter_s_cards_and_forgetting_all(timed):
    page = timed(CARDS)
    page.get_by_label("Cards of").select_option("5")
    page.get_by_role("button", name="Show the answer").click()
    assert "Chapter 5" in page.locator(".w2s-repeat-card .w2s-card-chapter").inner_text()
    page.get_by_role("button", name="4 Easy").click()
    page.get_by_role("button", name="Forget all my answers").click()
    assert len(stored(page, "w2s-repeat")["cards"]) == 1
    page.get_by_role("button", name="Forget them for good").click()
    assert stored(page, "w2s-repeat")["cards"] == {} and flaws(page) == []


def test_the_files_lie_in_the_book(reader, html):
    page = reader(CARDS)
    for link in page.locator(".w2s-files a").all():
        file = (html / "16-review" / link.get_attribute("href")).resolve()
        assert (
            file.is_file()
            and file.stat().st_size > 10_000
            and link.get_attribute("download") is not None
        )
    cards = deck.all_cards(ROOT / "book")
    assert (html / "cards" / "word2serve-cards.md").read_text() == deck.as_notes(cards)
    assert {one["key"] for one in bank(page)["cards"]} <= {card.key for card in cards} and len(
        bank(page)["cards"]
    ) > 250


# Self-assessment


def test_answers_of_all_pages_come_together(timed, tmp_path):
    page = timed(NEXT)
    assert "remembers no answers yet" in page.locator(".w2s-next-first").inner_text()
    chapters = {chapter["number"]: chapter for chapter in bank(page)["chapters"]}
    asked, other = (
        next(one for one in chapters[number]["pages"] if len(one["quiz"]) > 2) for number in (2, 4)
    )
    predicted = next(one for one in chapters[1]["pages"] if one["predictions"])
    name = next(iter(predicted["predictions"]))
    page.evaluate(
        "([pages, said]) => { for (const [page, first] of pages) localStorage.setItem('w2s-quiz:' +"
        " page.replaceAll('/', '-'), JSON.stringify(first));"
        " localStorage.setItem('w2s-predictions', JSON.stringify(said)); }",
        [
            [
                [asked["page"], dict.fromkeys(asked["quiz"][:3], False)],
                [other["page"], {other["quiz"][0]: True}],
            ],
            {
                f"{predicted['page']}#{name}": {
                    "kind": "number",
                    "said": 105,
                    "value": "100",
                    "sure": 0.8,
                }
            },
        ],
    )
    exercise = chapters[1]["exercises"][0]
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "metadata": {"nbgrader": {"grade_id": exercise["id"].split(".")[1] + "-check"}},
                "outputs": [
                    {
                        "output_type": "execute_result",
                        "data": {"text/plain": [f"{exercise['points']:.1f}"]},
                    }
                ],
            }
        ]
    }
    (tmp_path / "01-static-embeddings.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "holiday.ipynb").write_text("{")
    page.reload()
    lines = page.locator(".w2s-next-first li").all_inner_texts()
    assert (
        lines[0].startswith("2. ")
        and "0 of 3 right; expect 20 % of the next ones" in lines[0]
        and asked["title"] in lines[0]
    )
    assert any(line.startswith("4. ") and "expect 67 %" in line for line in lines)
    assert "1 predictions, 100 % right" in page.locator(".w2s-review").inner_text()
    open_before = int(
        re.search(r"(\d+) open exercises", page.locator(".w2s-review").inner_text())[1]
    )
    page.get_by_label("Your notebooks").set_input_files(
        [tmp_path / "01-static-embeddings.ipynb", tmp_path / "holiday.ipynb"]
    )
    page.get_by_text(f"{open_before - 1} open exercises").wait_for()
    assert (
        "Read 1 results. Nothing was found in holiday.ipynb"
        in page.locator(".w2s-review [role=status]").inner_text()
    )
    assert flaws(page) == [] and page.heard.complaints == []


def test_what_the_exam_missed_counts(timed):
    page = timed(EXAM)
    begin(page)
    page.clock.run_for(46 * 60_000)
    page.goto(page.url.replace("exam.html", "what-next.html").split("#")[0])
    lines = page.locator(".w2s-next-first li").all_inner_texts()
    assert len(lines) == 3 and all(
        re.search("0 of [23] right; expect 2[05] %", line) for line in lines
    )
