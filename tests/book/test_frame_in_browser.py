"""The frame of the book in a browser that has no network: search, notes, navigation, code,
print.
"""

import re
import shutil

import pytest

from course.book.build import pdf
from tests.book.conftest import FONTS_THERE, violations

pytestmark = pytest.mark.browser
PAGE = "01-static-embeddings/pmi"
WITH_FIGURE = "13-flashattention/tiles"
THREE = [PAGE, WITH_FIGURE, "04-attention-and-the-transformer/attention"]
LOOKS = [("desktop", "light"), ("desktop", "dark"), ("phone", "light"), ("phone", "dark")]


def search(page, words):
    """Search from the header of `page`, as a reader does; the results when they are there."""
    page.locator("#top-search").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    page.wait_for_function("document.getElementById('search-progress').textContent !== ''")
    return page.locator("#search-results > li")


def test_the_search_shows_each_place_once_with_the_words_around(reader):
    page = reader("intro")
    found = search(page, "window")
    links = [link.get_attribute("href") for link in page.locator("#search-results a").all()]
    assert len(links) == found.count() >= 3 and len(set(links)) == len(links)
    assert all(
        "window" in text.lower() for text in page.locator("#search-results li").all_inner_texts()
    )
    assert page.locator("#search-results .excerpt mark").count() >= 3
    boxes = [result.bounding_box() for result in found.all()]
    assert all(one["y"] + one["height"] <= other["y"] + 1 for one, other in zip(boxes, boxes[1:]))
    assert page.heard.complaints == []


def test_a_glossary_term_is_one_result_and_leads_to_its_entry(reader):
    page = reader(PAGE)
    search(page, "alias table")
    entries = [
        link
        for link in page.locator("#search-results a").all()
        if "glossary.html#" in link.get_attribute("href")
    ]
    assert [link.inner_text() for link in entries[:1]] == ["alias table"]
    entries[0].click()
    page.wait_for_url("**/glossary.html#term-*")
    assert page.locator(":target").inner_text().startswith("alias table")


def test_the_search_forgives_a_slip_and_says_when_it_finds_nothing(reader):
    page = reader("search")
    page.locator("#search-input").fill("analagy")
    page.wait_for_selector("#search-results li")
    assert "analog" in page.locator("#search-results").inner_text().lower()
    page.locator("#search-input").fill("zzzzzz")
    page.wait_for_function(
        "document.getElementById('search-progress').textContent.startsWith('Nothing found')"
    )
    assert page.locator("#search-results li").count() == 0


def cited(page):
    """The first citation of the page, in view."""
    link = page.locator("#content a[href*='bibliography.html#']").first
    link.scroll_into_view_if_needed()
    return link


def test_a_citation_shows_its_reference_on_hover_and_escape_closes_it(reader):
    page = reader(PAGE)
    link = cited(page)
    link.hover()
    page.wait_for_selector("#note:not([hidden])")
    year = re.search(r"\d{4}", link.inner_text())[0]
    assert year in page.locator("#note").inner_text()
    assert link.get_attribute("aria-describedby") == "note"
    page.locator("#note").hover()
    page.wait_for_timeout(400)  # longer than the note waits for a pointer that left
    assert page.locator("#note").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#note").is_visible()
    assert page.heard.complaints == []


def test_a_note_comes_with_the_keyboard_and_fits_a_phone(reader):
    page = reader(PAGE, size="phone")
    page.wait_for_function(FONTS_THERE)
    link = cited(page)
    page.keyboard.press("Tab")  # so that focus counts as the keyboard's
    link.focus()
    page.wait_for_selector("#note:not([hidden])")
    box = page.locator("#note").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_touch_screen_the_first_tap_shows_the_note_and_the_second_follows_the_link(reader):
    page = reader(PAGE, size="phone", has_touch=True)
    link = cited(page)
    link.tap()
    page.wait_for_selector("#note:not([hidden])")
    assert "Tap again" in page.locator("#note").inner_text()
    link.tap()
    page.wait_for_url("**/bibliography.html#*")


def test_the_navigation_shows_the_pages_of_the_open_chapter_only(reader):
    inside, outside = reader(PAGE), reader("glossary")
    assert inside.locator("#book-nav a[href='word2vec.html']").count() == 1
    assert outside.locator("#book-nav a[href*='word2vec.html']").count() == 0
    assert outside.locator("#book-nav a[href*='01-static-embeddings/index.html']").count() == 1


def test_the_sections_stand_at_the_right_on_a_wide_screen_and_in_the_contents_on_a_phone(
    browser, html
):
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto((html / f"{PAGE}.html").as_uri())
    text, sections = page.locator("article").bounding_box(), page.locator("#on-page").bounding_box()
    assert sections["x"] > text["x"] + text["width"]
    link = page.locator("#on-page a").nth(2)
    link.click()
    page.wait_for_function("document.querySelector('#on-page a[aria-current]') !== null")
    page.set_viewport_size({"width": 390, "height": 844})
    assert not page.locator("#on-page").is_visible()
    page.locator("#menu-button").click()
    assert page.locator("#on-page").is_visible()
    page.context.close()


def test_a_phone_keeps_its_place_behind_the_contents(reader):
    page = reader(PAGE, size="phone", reduced_motion="reduce")
    page.evaluate("scrollTo(0, 1500)")
    page.wait_for_function("scrollY === 1500")
    box = page.locator("#menu-button").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#book-nav").is_visible()
    panel, header = page.locator("#panels").bounding_box(), page.locator(".top").bounding_box()
    assert panel["y"] >= header["height"] - 1 and panel["y"] + panel["height"] <= 844
    assert (
        844 / 4 < page.locator("#book-nav a[aria-current='page']").bounding_box()["y"] < 844 * 3 / 4
    )
    page.locator("#book-nav a").last.scroll_into_view_if_needed()
    assert page.locator("#book-nav a").last.bounding_box()["y"] < 844
    page.mouse.wheel(0, 300)
    page.keyboard.press("Escape")
    assert page.evaluate("scrollY") == 1500
    assert page.evaluate("document.activeElement.id") == "menu-button"


def test_what_lies_behind_the_contents_is_out_of_reach_and_a_link_closes_them(reader):
    page = reader(PAGE, size="phone")
    page.locator("#menu-button").click()
    assert page.evaluate("document.getElementById('content').inert")
    page.locator("#on-page a").nth(1).click()
    assert not page.locator("#book-nav").is_visible()
    assert not page.evaluate("document.getElementById('content').inert")


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_code_stands_in_line_with_the_text_and_its_copy_button_is_seen(reader, size):
    page = reader(PAGE, size=size)
    code, text = page.evaluate(
        """() => [".cell_input .ln", "article section > p"].map((query) =>
        [...document.querySelectorAll(`${query}`)].filter((one) => one.checkVisibility())
            .map((one) => Math.round(one.getBoundingClientRect().x)))"""
    )
    assert len(set(code)) == 1 and abs(code[0] - min(text)) <= 2
    assert page.locator(".copy").first.evaluate("button => getComputedStyle(button).opacity") == "1"


@pytest.mark.parametrize("size, fits", [("desktop", 88), ("phone", 30)])
def test_a_line_of_code_that_is_too_long_wraps_and_88_columns_fit(reader, size, fits):
    page = reader(PAGE, size=size)
    heights = (
        page.locator(".cell_input .ln")
        .nth(3)
        .evaluate(
            """(line, widths) => widths.map((columns) => {
            line.style.setProperty("--in", 4);
            line.textContent = "x".repeat(columns - 9) + " yyyyyyyy";
            return Math.round(line.getBoundingClientRect().height);
        })""",
            [20, fits, fits + 40],
        )
    )
    assert heights[0] == heights[1] < heights[2]


def test_no_page_has_a_bar_or_shows_plumbing(html):
    bars = []
    for path in html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        shown = re.sub(r"<[^>]*>", "", text)
        if "Show code cell" in text or 'class="admonition hide' in text:
            bars.append(path.name)
        if re.search(r"^from (course\.book\.pages|myst_nb)\b", shown, re.M):
            bars.append(f"{path.name}: plumbing")
    assert bars == []


def test_nearly_every_claim_has_its_mark_and_all_are_listed(html):
    listed, marked = 0, 0
    for path in html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        names = re.findall(r'<li id="(check-\d+)">', text)
        assert len(names) == len(set(names)), path
        if names:
            assert re.search(rf"<summary>{len(names)} results? checked</summary>", text), path
        listed += len(names)
        marked += sum(len(found.split()) for found in re.findall(r'data-checks="([^"]*)"', text))
    assert listed > 1000 and marked > 0.9 * listed


def test_the_list_of_checked_results_opens_by_keyboard_below_the_title(reader):
    page = reader(PAGE)
    head = page.locator(".checks > summary")
    assert head.inner_text() == f"{page.locator('.checks > ol > li').count()} results checked"
    assert head.bounding_box()["y"] < 400
    head.focus()
    page.keyboard.press("Enter")
    assert page.locator("#check-1").is_visible() and page.locator("#check-1 pre").first.is_visible()


@pytest.mark.parametrize("key", [None, "Enter", "Space"])
def test_a_mark_opens_its_own_assertion_and_escape_closes_it(reader, key):
    page = reader(PAGE)
    mark = page.locator(".check-mark").nth(1)
    assert mark.get_attribute("aria-expanded") == "false"
    if key:
        mark.focus()
        page.keyboard.press(key)
    else:
        mark.click()
    box = page.locator(".check-box")
    number = mark.get_attribute("data-checks").split()[0]
    assert box.count() == 1 and mark.get_attribute("aria-expanded") == "true"
    wanted = page.locator(f"#{number} > .highlight pre").text_content()
    assert box.locator("pre").first.text_content() == wanted
    mark.focus()
    page.keyboard.press("Escape")
    assert box.count() == 0 and page.heard.complaints == []


def test_without_scripts_a_mark_leads_to_the_list(reader):
    page = reader(PAGE, java_script_enabled=False)
    mark = page.locator(".check-mark").first
    assert mark.get_attribute("href") == "#check-1"
    mark.click()
    assert page.locator("#check-1").is_visible()


def test_the_code_of_a_figure_opens_at_the_corner_of_its_frame(reader):
    page = reader(WITH_FIGURE)
    corner = page.locator(".is-hidden > summary").first
    code = page.locator(".is-hidden .cell_input").first
    frame = page.locator(".cell:has(> .is-hidden) .cell_output").first.bounding_box()
    link = corner.bounding_box()
    assert not code.is_visible() and abs(link["y"] + link["height"] / 2 - frame["y"]) < 12
    assert frame["x"] < link["x"] and link["x"] + link["width"] <= frame["x"] + frame["width"] + 1
    corner.focus()
    page.keyboard.press("Enter")
    assert code.is_visible() and "figure(" in code.inner_text()


def test_the_code_of_a_prediction_waits_for_the_reader(reader):
    page = reader(PAGE)
    source = page.locator(".is-answer").first
    assert not source.is_visible()
    page.locator(".w2s-peek").first.click()
    assert source.locator(".cell_input").is_visible()
    assert "revealed" not in source.inner_text()


def test_a_link_into_a_lab_opens_it(reader):
    page = reader(PAGE)
    page.evaluate(
        """() => document.querySelector("article").insertAdjacentHTML("beforeend",
        '<details class="lab" id="lab-a"><summary><span class="lab-kind">Lab</span> A</summary>'
        + '<div class="lab-body"><p id="in-lab">Inside.</p></div></details>')"""
    )
    assert not page.locator("#in-lab").is_visible()
    page.evaluate("location.hash = 'in-lab'")
    page.wait_for_function("document.querySelector('#lab-a').open")
    page.locator("#lab-a > summary").click()
    assert not page.locator("#in-lab").is_visible()
    page.evaluate("location.hash = 'lab-a'")
    page.wait_for_function("document.querySelector('#lab-a').open")


@pytest.mark.parametrize(
    "name, size, scheme",
    [(PAGE, *look) for look in LOOKS] + [(name, "phone", "dark") for name in THREE[1:]],
)
def test_an_opened_page_has_no_violation_fits_and_is_silent(reader, name, size, scheme):
    page = reader(name, size=size, scheme=scheme)
    page.wait_for_function(FONTS_THERE)
    page.locator(".checks > summary").click()
    page.locator(".check-mark").first.click()
    if page.locator(".is-hidden > summary").count():
        page.locator(".is-hidden > summary").first.click()
    assert violations(page, "article") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.heard.complaints == []


def test_every_page_ends_with_a_link_to_report_an_error(html):
    for path in [html / "glossary.html", html / f"{PAGE}.html"]:
        assert "Report an error on this page</a>" in path.read_text(encoding="utf-8")


def test_the_exercises_page_offers_the_notebook_that_students_get(html):
    text = (html / "01-static-embeddings" / "exercises.html").read_text(encoding="utf-8")
    address = re.search(r'href="([^"]+01-static-embeddings\.ipynb)"', text)[1]
    given = (html / "01-static-embeddings" / address).resolve().read_bytes()
    assert (
        given
        == (
            html.parents[1] / "exercises" / "01-static-embeddings" / "01-static-embeddings.ipynb"
        ).read_bytes()
    )


def test_print_shows_the_text_without_the_frame(reader):
    page = reader(PAGE)
    page.emulate_media(media="print")
    for part in (".top", "#book-nav", "#on-page", ".prev-next", ".copy"):
        assert not page.locator(part).first.is_visible(), part
    assert page.locator("article h1").is_visible()
    for part in (".checks", ".check-mark", ".is-hidden", ".cell-source > summary"):
        assert not any(one.is_visible() for one in page.locator(part).all()), part
    assert page.locator(".is-answer .cell_input").first.is_visible()


def test_the_joined_book_has_unique_ids_and_only_links_that_lead_somewhere(html):
    from course.book.lint.checks import PageFacts

    root = html.parents[1]
    text = pdf.joined(root, html)
    facts = PageFacts(text)
    names = [name for name, _ in facts.ids]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    lost = [url for url, _ in facts.links if url.startswith("#") and url[1:] not in set(names)]
    lost += [
        url
        for url, _ in facts.links + facts.loads
        if url.startswith("../html/")
        and not (root / "_build" / url.removeprefix("../").split("#")[0]).is_file()
    ]
    assert lost == []
    assert text.count('class="printed-page"') == len(pdf.contents(root / "book" / "_toc.yml"))


def printed_pages(root, html):
    """How many sheets the book has whose contents are those of `root`."""
    data = pdf.print_book(root, html).read_bytes()
    assert data.startswith(b"%PDF") and b"/Outlines" in data
    return max(map(int, re.findall(rb"/Count (\d+)", data)))


@pytest.fixture
def of_its_own(html, tmp_path):
    """A folder that stands for the checkout: its own contents and its own PDF, the pages of the
    built book.
    """
    (tmp_path / "book").mkdir()
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / "html").symlink_to(html)
    return tmp_path


def test_pages_are_printed_into_one_pdf(html, of_its_own):
    """Three pages; the whole book, which takes as many seconds as it has pages, in the sweeps."""
    (of_its_own / "book" / "_toc.yml").write_text(
        f"root: intro\nchapters: [{{file: {PAGE}}}, {{file: set-up}}]\n"
    )
    assert 3 <= printed_pages(of_its_own, html) < 60


@pytest.mark.long
def test_the_book_is_printed_into_one_pdf(html, of_its_own):
    shutil.copy(html.parents[1] / "book" / "_toc.yml", of_its_own / "book")
    assert printed_pages(of_its_own, html) >= len(pdf.contents(of_its_own / "book" / "_toc.yml"))


def test_a_machine_without_a_browser_is_told_what_to_install(html, monkeypatch):
    from autograder.common.errors import CourseError

    monkeypatch.setenv("PATH", "")
    with pytest.raises(CourseError, match="install Chromium"):
        pdf.print_book(html.parents[1], html)
