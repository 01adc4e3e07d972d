"""The quiz and the flashcards as they stand in the book: by keyboard, without scripts, remembered
in this browser.
"""

import pytest

from course.book.review.questions import load_questions
from tests.book.conftest import COLOUR_RULES, ROOT, open_page, violations, visit

pytestmark = pytest.mark.browser
QUIZ, CARDS = "01-static-embeddings/pmi", "01-static-embeddings/polysemy"
SCORE = ".w2s-score-text"


def choose(page, number, right):
    """Answer question `number` by keyboard, rightly or wrongly."""
    question = page.locator(".w2s-question").nth(number)
    wanted = question.locator(
        ".w2s-option[data-correct]" if right else ".w2s-option:not([data-correct])"
    ).first
    wanted.locator("input").focus()
    page.keyboard.press("Space")
    return question, wanted


def test_a_wrong_choice_is_explained_beside_the_option(reader):
    question, option = choose(reader(QUIZ), 0, right=False)
    assert question.locator(".w2s-verdict").inner_text().startswith("Not this one.")
    assert option.locator(".w2s-why").is_visible()
    assert question.locator(".w2s-why:visible").count() == 1


def test_a_screen_reader_hears_the_verdict_with_its_reason(reader):
    question, option = choose(reader(QUIZ), 0, right=True)
    status = question.get_by_role("status")
    assert status.inner_text().startswith("Right.")
    assert status.text_content() == "Right." + option.locator(".w2s-why").text_content()


def test_the_score_counts_first_choices_in_words(reader):
    page = reader(QUIZ)
    total = page.locator(".w2s-question").count()
    choose(page, 0, right=False)
    choose(page, 0, right=True)
    assert page.locator(SCORE).inner_text() == f"1 of {total} answered, 0 right at the first try."
    choose(page, 1, right=True)
    assert page.locator(SCORE).inner_text() == f"2 of {total} answered, 1 right at the first try."


def test_arrow_keys_move_between_the_options_of_one_question(reader):
    page = reader(QUIZ)
    first = page.locator(".w2s-question").first
    first.locator("input").first.focus()
    page.keyboard.press("ArrowDown")
    assert first.locator("input").nth(1).is_checked()
    assert page.locator(".w2s-question").nth(1).locator("input:checked").count() == 0


def test_progress_is_kept_and_can_be_thrown_away(reader):
    page = reader(QUIZ)
    choose(page, 0, right=True)
    page.reload()
    assert page.locator(SCORE).inner_text().startswith("1 of ")
    page.get_by_role("button", name="Start again").click()
    assert not page.locator(SCORE).is_visible()
    page.reload()
    assert not page.locator(SCORE).is_visible()


def test_the_quiz_works_where_nothing_may_be_remembered(browser, html):
    page = open_page(browser, "about:blank")
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {configurable: true, get() { throw new"
        " Error('switched off'); }})"
    )
    visit(page, (html / f"{QUIZ}.html").as_uri())
    choose(page, 0, right=True)
    assert page.locator(SCORE).inner_text().startswith("1 of ")
    assert page.heard.complaints == []
    page.context.close()


def test_the_right_option_is_not_always_the_first(reader):
    page = reader(QUIZ)
    places = [
        page.locator(".w2s-question")
        .nth(k)
        .locator(".w2s-option")
        .evaluate_all("nodes => nodes.findIndex(node => node.dataset.correct)")
        for k in range(page.locator(".w2s-question").count())
    ]
    everywhere = load_questions(ROOT / "book" / "01-static-embeddings" / "questions.yml")
    assert all(place >= 0 for place in places) and len(everywhere.quiz) >= 8
    assert set(places) != {0}


def test_an_answered_quiz_has_no_axe_violation(reader):
    """The rest of the page is as test_pages_in_browser.py sees it."""
    page = reader(QUIZ)
    choose(page, 0, right=True)
    choose(page, 1, right=False)
    assert violations(page, ".w2s-quiz") == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, ".w2s-quiz", **COLOUR_RULES) == []
    page.evaluate(
        "[...document.querySelectorAll('.w2s-why')].find((one) => one.offsetParent)"
        ".style.color = '#777'"
    )
    assert {line.split()[0] for line in violations(page, ".w2s-quiz", **COLOUR_RULES)} == {
        "color-contrast"
    }


def test_without_scripts_every_answer_can_be_opened(reader):
    page = reader(QUIZ, java_script_enabled=False)
    answers = page.locator(".w2s-answer")
    assert answers.count() == page.locator(".w2s-question").count()
    answers.first.locator("summary").click()
    assert answers.first.locator("strong").is_visible()


def test_a_card_opens_by_keyboard_and_can_be_marked_as_known(reader):
    page = reader(CARDS)
    card = page.locator(".w2s-card").first
    card.locator("summary").focus()
    page.keyboard.press("Enter")
    assert card.locator(".w2s-back").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert card.get_by_role("button", name="I knew it").get_attribute("aria-pressed") == "true"
    assert page.locator(".w2s-cards-text").inner_text().startswith("1 of ")
    page.reload()
    assert page.locator(".w2s-cards-text").inner_text().startswith("1 of ")


def test_shuffling_keeps_every_card_and_puts_known_ones_last(reader):
    page = reader(CARDS)
    ids = page.locator(".w2s-deck > li").evaluate_all("nodes => nodes.map(node => node.dataset.id)")
    page.locator(".w2s-card summary").first.click()
    page.locator(".w2s-known button").first.click()
    page.get_by_role("button", name="Shuffle").click()
    after = page.locator(".w2s-deck > li").evaluate_all(
        "nodes => nodes.map(node => node.dataset.id)"
    )
    assert sorted(after) == sorted(ids) and len(ids) >= 12
    assert after[-1] == ids[0] and after != ids
    assert page.locator(".w2s-card[open]").count() == 0


def test_without_scripts_a_card_still_opens(reader):
    page = reader(CARDS, java_script_enabled=False)
    card = page.locator(".w2s-card").first
    card.locator("summary").click()
    assert card.locator(".w2s-back").is_visible()
    assert not page.get_by_role("button", name="Shuffle").is_visible()
