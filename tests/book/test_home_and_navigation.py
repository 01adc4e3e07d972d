"""The home page, the small map, the header's search, marks of what was read, and old addresses."""

import json
import os
import re
import subprocess
from datetime import date

import pytest
import yaml

from tests.book.conftest import ROOT

BROWSER = pytest.mark.browser
PAGE = "04-attention-and-the-transformer/heads"


@pytest.fixture
def extension(monkeypatch):
    """`extension("redirects")` is a Sphinx extension of the book as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))

    def load(name):
        import importlib

        return importlib.import_module(name)

    return load


def test_an_old_page_leads_to_the_new_one_and_its_sections_where_they_went(extension):
    redirects = extension("redirects")
    moved = {"a/old": "b/new", "a/old#one": "a/other#two", "a/live#gone": "b/new"}
    text = redirects.pages(moved, {"b/new": "A & B"})["a/old"]
    assert 'href="../b/new.html"' in text and "A &amp; B" in text
    assert redirects.anchors(moved, "a/old") == {"one": "other.html#two"}
    assert redirects.anchors(moved, "a/live") == {"gone": "../b/new.html"}
    assert redirects.problems(moved, {"b/new", "a/other", "a/live"}) == []


@pytest.mark.parametrize(
    "moved, words",
    [
        ({"old": "nowhere"}, "which is no page"),
        ({"new": "new"}, "is a page of the book again"),
        ({"other#a": "new"}, "neither listed nor there"),
    ],
)
def test_an_address_that_leads_nowhere_is_told(extension, moved, words):
    assert any(words in problem for problem in extension("redirects").problems(moved, {"new"}))


@BROWSER
def test_an_old_address_is_left_at_once_with_its_section(extension, look, tmp_path):
    redirects = extension("redirects")
    moved = {"a/old": "b/new", "a/old#one": "b/new#two"}
    for name, text in redirects.pages(moved, {"b/new": "New"}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.html").write_text(text)
    for folder, file in (("b", "new.html"), ("_static", "redirect.js")):
        (tmp_path / folder).mkdir()
        source = ROOT / "book" / "assets" / file
        text = source.read_text() if source.is_file() else "<!doctype html><title>n</title><p>New"
        (tmp_path / folder / file).write_text(text)
    page = look((tmp_path / "b" / "new.html").as_uri())
    for asked, reached in (("#one", "#two"), ("#three", "#three"), ("", "")):
        page.goto((tmp_path / "a" / "old.html").as_uri() + asked)
        page.wait_for_url((tmp_path / "b" / "new.html").as_uri() + reached)


def test_the_map_knows_the_figure_and_the_pages(extension):
    known = yaml.safe_load((ROOT / "book" / "map.yml").read_text(encoding="utf-8"))
    keys = {part["key"] for part in known["parts"]}
    figure = (ROOT / "book" / "assets" / "figures" / "model-map.js").read_text(encoding="utf-8")
    assert all(f"{key}: [" in figure for key in keys)
    assert all(set(here["parts"]) <= keys for here in known["here"].values())
    assert sorted(known["here"]) == list(range(4, 18))
    pages = {page for part in known["parts"] for page in part["pages"]}
    assert [page for page in pages if not (ROOT / "book" / f"{page}.md").is_file()] == []


def test_chapters_are_numbered_wherever_the_page_lies(extension):
    found = extension("map").numbered(
        '<a class="reference internal" href="../12-llama/index.html">LLaMA</a>'
        '<a aria-current="page" href="#">GPT</a><a class="x" href="tasks.html">Tasks</a>',
        "08-gpt/index",
        {"08-gpt/index": 7},
    )
    assert '<span class="nav-number">12</span>LLaMA' in found
    assert 'data-pages="7" aria-current="page" href="#"><span class="nav-number">8</span>' in found
    assert 'data-page="08-gpt/tasks" class="x" href="tasks.html">Tasks' in found


def test_the_last_change_is_of_the_last_commit_or_else_of_the_newest_file(extension, tmp_path):
    (tmp_path / "book").mkdir()
    page = tmp_path / "book" / "page.md"
    page.write_text("A")
    os.utime(page, (0, 86_400 * 400))
    os.utime(tmp_path / "book", (0, 0))
    home = extension("home")
    assert home.last_change(tmp_path / "book") == date.fromtimestamp(86_400 * 400)
    day = "2020-05-06T12:00:00Z"
    names = {
        f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    settings = {**os.environ, **names, "GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day}
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "A"]):
        subprocess.run(["git", *command], cwd=tmp_path, env=settings, check=True)
    assert home.last_change(tmp_path / "book") == date(2020, 5, 6)


def test_the_request_on_the_home_page_is_the_one_that_was_sent():
    asked = json.loads((ROOT / "bench" / "results" / "first_answer.json").read_text())["command"]
    assert f"```bash\n{asked}\n```" in (ROOT / "book" / "intro.md").read_text(encoding="utf-8")


@BROWSER
@pytest.mark.parametrize("size, height", [("desktop", 900), ("phone", 844)])
def test_the_first_screen_holds_promise_button_cost_and_hero(reader, size, height):
    page = reader("intro", size=size)
    first = page.locator(".w2s-live .w2s-bank-plane").bounding_box()
    assert first["y"] + first["height"] < height
    for words in ("Start reading", "Set up", "chapter 4", "Chapters 12 to 15"):
        assert page.locator(".content").get_by_role("link", name=words).first.is_visible()
    cost = page.locator(".w2s-entries").inner_text()
    assert re.search(r"\d+ hours to read, \d+ hours of exercises. No GPU. Free", cost)


@BROWSER
def test_the_home_page_shows_what_a_check_says_and_leads_to_the_code(reader):
    page = reader("intro")
    said = page.locator(".w2s-feedback").inner_text()
    assert "square root" in said and "expected" in said
    page.locator(".w2s-start").get_by_role("link", name="Set up").click()
    page.wait_for_url("**/set-up.html")
    assert "make course" in page.locator("#content").inner_text()
    assert "<the address" not in page.locator("#content").inner_text()


@BROWSER
def test_the_home_page_starts_reading_and_shows_every_chapter(reader):
    page = reader("intro")
    cards = page.locator(".w2s-chapters li")
    assert cards.count() == 17 and page.locator(".w2s-card-picture").count() == 17
    numbers = [int(n.replace(",", "")) for n in page.locator(".w2s-numbers dd").all_inner_texts()]
    assert len(numbers) == 4 and min(numbers) > 10
    assert page.locator("#content").inner_text().count("Show code") == 0
    hero = page.locator("figure").bounding_box()
    assert hero["y"] < 420
    page.get_by_role("link", name="Start reading").click()
    page.wait_for_url("**/01-static-embeddings/index.html")


@BROWSER
def test_a_chapter_says_where_it_is_on_the_map(reader):
    page = reader("14-paged-attention/index")
    assert page.locator(".w2s-small-map .is-here").all_inner_texts() == ["KV cache"]
    page.locator(".w2s-small-map p a").click()
    page.wait_for_url("**/map.html")


@BROWSER
@pytest.mark.parametrize("keys", ["/", "Control+k"])
def test_a_key_opens_the_search_and_a_suggestion_leads_to_its_page(reader, keys):
    page = reader(PAGE)
    page.keyboard.press(keys)
    assert page.evaluate("document.activeElement.id") == "top-search"
    page.keyboard.type("paged attention")
    page.wait_for_selector("#top-suggestions:not([hidden]) li")
    first = page.locator("#top-suggestions li").first.inner_text()
    assert first.startswith("Paged attention") and "Chapter 14" in first
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#top-search").get_attribute("aria-activedescendant")
    assert page.locator(f"#{chosen}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Escape")
    assert not page.locator("#top-suggestions").is_visible()
    page.keyboard.press("n")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#top-suggestions:not([hidden]) li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/14-paged-attention/index.html")
    assert page.heard.complaints == []


@BROWSER
def test_a_slash_in_a_field_is_a_slash(reader):
    page = reader("search")
    page.locator("#search-input").focus()
    page.keyboard.press("/")
    assert page.locator("#search-input").input_value() == "/"


@BROWSER
def test_the_title_that_is_asked_for_comes_first_with_its_chapter(reader):
    page = reader("search")
    page.locator("#search-input").fill("llama")
    page.wait_for_selector("#search-results li")
    first = page.locator("#search-results li").first
    assert first.locator("a").inner_text() == "LLaMA"
    assert first.locator(".where").inner_text() == "Chapter 12"


@BROWSER
def test_the_contents_are_scrolled_to_the_page_that_is_open(reader):
    page = reader("15-serving-engine/load")
    here = page.locator("#book-nav [aria-current='page']").bounding_box()
    assert 60 < here["y"] < 850
    assert page.evaluate("scrollY") == 0


@BROWSER
def test_a_page_is_marked_as_read_at_its_end_and_the_mark_can_be_taken_back(reader):
    page = reader(PAGE, reduced_motion="reduce")
    button = page.locator("#read-mark")
    assert button.inner_text() == "Mark as read"
    page.locator(".downloads").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('#read-mark').ariaPressed === 'true'")
    chapter = "#book-nav a[data-page='04-attention-and-the-transformer/index'] .nav-read"
    assert page.locator(chapter).inner_text().startswith("1/")
    assert page.locator("#book-nav [aria-current='page'] .nav-read").count() == 1
    button.click()
    assert page.evaluate("localStorage.getItem('w2s-read')") == "[]"
    assert page.locator(".nav-read").count() == 0
