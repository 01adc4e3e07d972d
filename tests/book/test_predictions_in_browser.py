"""Predictions as a reader meets them: by keyboard, remembered, without storage, without scripts, in
print, wrong input.
"""

import pytest

from tests.book.conftest import open_page, visit

pytestmark = pytest.mark.browser
PAGE, NAME = "01-static-embeddings/pmi", "pairs-at-width-one"
LAST = "01-static-embeddings/polysemy"


def parts(page, name=NAME):
    host = page.locator(f"#predict-{name}")
    output = page.locator(f'.cell_output:has([data-w2s-revealed="{name}"])')
    return host, output


def answer(page, text, name=NAME):
    host, output = parts(page, name)
    host.get_by_label("Your prediction").fill(text)
    page.keyboard.press("Enter")
    return host.locator(".w2s-said"), output


def test_the_output_waits_until_the_reader_has_answered(reader):
    page = reader(PAGE)
    host, output = parts(page)
    assert not output.is_visible() and host.get_by_role("button", name="Compare").is_visible()
    said, output = answer(page, "20")
    assert output.is_visible() and output.inner_text().startswith("Computed: 16 pairs")
    assert said.inner_text() == "You said 20. It is 16: you are 4 above, 25 %."
    assert page.evaluate("document.activeElement.className").startswith("w2s-said")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("16", "You said 16. Exactly right."),
        (" 16.0 ", "You said 16. Exactly right."),
        ("15", "You said 15. It is 16: you are 1 below, 6 %. Close enough."),
    ],
)
def test_a_number_is_read_as_people_write_it_and_judged(reader, typed, told):
    assert answer(reader(PAGE), typed)[0].inner_text() == told


@pytest.mark.parametrize("typed", ["many", "Infinity", "--3"])
def test_what_is_no_number_is_asked_again(reader, typed):
    page = reader(PAGE)
    said, output = answer(page, typed)
    assert said.inner_text().startswith("Type a number") and not output.is_visible()
    assert page.get_by_label("Your prediction").first.get_attribute("aria-invalid") == "true"


def test_the_answer_is_kept_in_this_browser(reader):
    page = reader(PAGE)
    answer(page, "12")
    page.reload()
    host, output = parts(page)
    assert output.is_visible() and host.locator(".w2s-said").inner_text().startswith("You said 12.")


def test_the_output_can_be_shown_without_predicting_and_is_not_counted(reader):
    page = reader(PAGE)
    host, output = parts(page)
    host.get_by_role("button", name="Show without predicting").focus()
    page.keyboard.press("Enter")
    assert output.is_visible()
    assert page.evaluate("localStorage.getItem('w2s-predictions')") is None


def test_where_storage_is_refused_it_works_until_the_page_is_left(browser, html):
    page = open_page(browser, "about:blank")
    page.context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no',"
        " 'SecurityError'); }})"
    )
    visit(page, (html / f"{PAGE}.html").as_uri())
    said, output = answer(page, "20")
    assert output.is_visible() and said.inner_text().startswith("You said 20.")
    page.context.close()


def test_without_scripts_question_and_output_are_both_there(reader):
    page = reader(PAGE, java_script_enabled=False)
    host, output = parts(page)
    assert "width 1" in host.inner_text() and output.is_visible()
    assert not host.get_by_role("button").first.is_visible()


def test_in_print_there_is_no_curtain(reader):
    page = reader(PAGE)
    page.emulate_media(media="print")
    host, output = parts(page)
    assert output.is_visible() and not host.get_by_role("button").first.is_visible()


def test_a_choice_is_made_by_arrow_keys_and_judged(reader):
    page = reader("01-static-embeddings/evaluation")
    host, output = parts(page, "cosine-of-doubled")
    host.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    host.get_by_role("button", name="Compare").click()
    assert (
        output.is_visible()
        and host.locator(".w2s-said").inner_text()
        == 'You chose "it stays the same". That is right.'
    )


def test_the_last_page_shows_how_well_the_reader_predicts(reader):
    page = reader(PAGE)
    parts(page)[0].get_by_label("This is").select_option("sure")
    answer(page, "16")
    page.goto(page.url.replace(PAGE, LAST))
    shown = page.locator(".w2s-calibration")
    total = shown.locator("li").count()
    assert total >= 4
    assert (
        shown.get_by_role("status").inner_text().startswith(f"You predicted 1 of {total}; 1 right")
    )
    assert 'Of 1 you called "sure", 1 was right' in shown.get_by_role("status").inner_text()
    shown.get_by_role("button", name="Forget my predictions").click()
    assert "not predicted anything yet" in shown.get_by_role("status").inner_text()


def test_a_screen_reader_hears_the_question_as_the_name_of_the_region_and_the_result_as_a_status(
    reader,
):
    page = reader(PAGE)
    region = page.get_by_role("region", name="Predict. How many")
    assert region.count() == 1
    assert region.get_by_role("status").count() == 1
