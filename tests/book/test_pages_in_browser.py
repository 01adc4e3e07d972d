"""Every page, on a desktop and a phone, light and dark: what only a browser can see."""
import pytest

from tests.book.conftest import open_page, page_names

pytestmark = pytest.mark.browser
AXE = {"resultTypes": ["violations"], "preload": False}
COLOUR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}
LOOKS = [("desktop", "light", "dark"), ("phone", "dark", "light")]
"""A width, the colours in which a page is loaded, and those to which it changes while it is open."""


@pytest.mark.parametrize("name", page_names())
def test_a_page_breaks_no_rule_complains_of_nothing_asks_nobody_and_fits(browser, html, name):
    """axe, the console, requests and sideways scrolling: one visit a width answers all four.

    In the colours to which an open page changes axe asks its rules of colour again: its text and structure are the same.
    """
    found = []
    for size, loaded, changed in LOOKS:
        page = open_page(browser, (html / f"{name}.html").as_uri(), size=size, scheme=loaded, reduced_motion="reduce")
        page.wait_for_function("!window.MathJax || !window.MathJax.startup || window.MathJax.startup.promise.then(() => true)")
        seen = [f"console: {text}" for text in page.heard.complaints]  # before axe runs
        structure = page.evaluate(STRUCTURE)
        seen += violations(page, AXE)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        seen += [f"{wide} pixels too wide"] if wide > 0 else []
        quiet = len(page.heard.complaints)
        page.emulate_media(color_scheme=changed)
        seen += ["its elements depend on the colours: load it in both"] if page.evaluate(STRUCTURE) != structure else []
        seen += [f"in {changed}: {text}" for text in violations(page, {**AXE, **COLOUR_RULES}) + page.heard.complaints[quiet:]]
        seen += [f"asked for {url}" for url in page.heard.requests if not url.startswith(("file://", "data:"))]
        found += [f"{size}, {loaded}: {what}" for what in seen]
        page.context.close()
    assert found == []


STRUCTURE = """[...document.querySelectorAll('body *')].map((one) => one.tagName + one.id + one.getAttribute('role')
    + one.getAttribute('aria-hidden') + one.hidden + (one.checkVisibility ? one.checkVisibility() : '')).join('|')"""


def violations(page, options):
    """A line for each element at which axe finds a rule broken."""
    from axe_playwright_python.sync_playwright import Axe
    return [f"{rule['id']} at {node['target']}: {node['failureSummary'][:200]}"
            for rule in Axe().run(page, options=options).response["violations"] for node in rule["nodes"]]


def test_a_page_that_is_too_wide_would_be_seen(browser, tmp_path):
    page = open_page(browser, _written(tmp_path, '<div style="width:2000px">wide</div>'), size="phone")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") > 0
    page.context.close()


def test_an_image_from_another_machine_would_be_seen(browser, tmp_path):
    page = open_page(browser, _written(tmp_path, '<img alt="x" src="https://example.invalid/x.png">'))
    assert "https://example.invalid/x.png" in page.heard.requests
    assert page.heard.complaints
    page.context.close()


def test_a_violation_would_be_seen(browser, tmp_path):
    page = open_page(browser, _written(tmp_path, '<p style="color:#bbb">pale</p><button></button>'))
    assert {"color-contrast", "button-name"} <= {line.split()[0] for line in violations(page, AXE)}
    page.context.close()


def test_a_colour_that_is_pale_only_after_the_colours_change_would_be_seen(browser, tmp_path):
    page = open_page(browser, _written(tmp_path, "<style>@media (prefers-color-scheme: dark) { p { color: #bbb } }</style><p>pale</p>"))
    before = page.evaluate(STRUCTURE)
    assert violations(page, {**AXE, **COLOUR_RULES}) == []
    page.emulate_media(color_scheme="dark")
    assert {line.split()[0] for line in violations(page, {**AXE, **COLOUR_RULES})} == {"color-contrast"}
    assert page.evaluate(STRUCTURE) == before
    page.context.close()


def test_an_element_that_only_dark_colours_show_would_be_seen(browser, tmp_path):
    page = open_page(browser, _written(tmp_path, "<style>@media (prefers-color-scheme: dark) { p { display: none } }</style><p>x</p>"))
    before = page.evaluate(STRUCTURE)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(STRUCTURE) != before
    page.context.close()


def _written(folder, body):
    path = folder / "page.html"
    path.write_text(f'<!doctype html><html lang="en"><title>t</title><body style="background:#fff">{body}</body></html>')
    return path.as_uri()


def test_the_chosen_colours_are_kept_from_page_to_page(reader):
    page = reader("intro")
    page.locator("#theme-button").click()
    page.locator("#theme-button").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.goto(page.url.replace("intro", "set-up"))
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_the_contents_open_and_close_by_keyboard_on_a_phone(reader):
    page = reader("intro", size="phone")
    assert not page.locator("#book-nav").is_visible()
    page.locator("#menu-button").focus()
    page.keyboard.press("Enter")
    assert page.locator("#book-nav").is_visible()
    assert page.locator("#menu-button").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert not page.locator("#book-nav").is_visible()
    assert page.evaluate("document.activeElement.id") == "menu-button"


def test_the_first_tab_stop_skips_to_the_text(reader):
    page = reader("intro")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the text"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_without_scripts_the_contents_are_reachable_on_a_phone(reader):
    page = reader("intro", size="phone", java_script_enabled=False)
    page.get_by_role("link", name="Contents").click()
    assert page.get_by_role("navigation", name="Book").is_visible()
