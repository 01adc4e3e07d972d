"""A reader's journey: from the landing page through chapter 1, its figures, quiz and flashcards,
with the network cut.
"""

from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
TOC = ROOT / "book" / "_toc.yml"
FIGURES = {
    "window-counts": "button:has-text('Step')",
    "skipgram-training": "button:has-text('Back')",
    "softmax-bars": ".w2s-segment input:not(:checked)",
    "probe-ratio": ".w2s-segment input:not(:checked)",
    "character-ngrams": ".w2s-segment input:not(:checked)",
    "rank-lines": ".w2s-segment input:not(:checked)",
    "association-dots": ".w2s-segment input:not(:checked)",
    "bank-neighbours": ".w2s-segment input:not(:checked)",
    "word-mixtures": ".w2s-segment input:not(:checked)",
}


@pytest.fixture
def page(browser):
    """A browser that may open files and nothing else; at the end it must have asked for and
    complained of nothing.
    """
    from course.book.build.build import build_book

    landing = build_book(ROOT, jobs=2)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_offline(True)
    asked, complaints = [], []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(landing.as_uri())
    page.wait_for_url("**/intro.html")
    yield page
    context.close()
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert complaints == []


def test_a_reader_goes_from_the_landing_page_to_the_end_of_chapter_1(page):
    assert page.get_by_role("heading", level=1).first.is_visible()
    page.get_by_role("main").get_by_role("link", name="Static embeddings").first.click()
    page.wait_for_url("**/01-static-embeddings/index.html")
    moved, answered, cards, pages = set(), 0, 0, []
    while "01-static-embeddings" in page.url:
        pages.append(Path(page.url).stem)
        moved |= move_figures(page)
        answered += answer_quiz(page)
        cards += open_first_card(page)
        page.locator(".prev-next .next").click()
        page.wait_for_load_state()
    chapter = next(
        one
        for part in yaml.safe_load(TOC.read_text())["parts"]
        for one in part["chapters"]
        if one["file"] == "01-static-embeddings/index"
    )
    assert pages == ["index", *(Path(section["file"]).name for section in chapter["sections"])]
    assert moved == set(FIGURES)
    assert answered >= 8
    assert cards == 1


def move_figures(page):
    """Use each figure on the page once; the names of those that answered."""
    moved = set()
    for figure in page.locator("figure[data-w2s-figure]").all():
        name = figure.get_attribute("data-w2s-figure")
        before = figure.locator(".w2s-say").get_attribute("data-text")
        figure.locator(FIGURES[name]).first.click()
        assert figure.locator(".w2s-say").get_attribute("data-text") != before, name
        moved.add(name)
    return moved


def answer_quiz(page):
    """Answer every question of the page rightly; how many there were."""
    questions = page.locator(".w2s-question").all()
    for question in questions:
        question.locator(".w2s-option[data-correct] input").check()
        assert question.locator(".w2s-verdict").inner_text().startswith("Right.")
    if questions:
        assert (
            f"{len(questions)} right at the first try"
            in page.locator(".w2s-score-text").inner_text()
        )
    return len(questions)


def open_first_card(page):
    """Turn the first flashcard of the page over; 1 if there was one."""
    deck = page.locator(".w2s-deck")
    if deck.count() == 0:
        return 0
    deck.locator("summary").first.click()
    assert deck.locator(".w2s-back").first.is_visible()
    return 1
