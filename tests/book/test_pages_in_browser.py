"""Every page, on a desktop and a phone, light and dark: what only a browser can see."""
from itertools import product

import pytest

from tests.book.conftest import SIZES, open_page, page_names

pytestmark = pytest.mark.browser
AXE = {"resultTypes": ["violations"], "preload": False}
LOOKS = list(product(SIZES, ("light", "dark")))


@pytest.mark.parametrize("name", page_names())
def test_a_page_breaks_no_rule_complains_of_nothing_asks_nobody_and_fits(browser, html, name):
    """axe, the console, requests and sideways scrolling: one visit a look answers all four."""
    from axe_playwright_python.sync_playwright import Axe
    found = []
    for size, scheme in LOOKS:
        page = open_page(browser, (html / f"{name}.html").as_uri(), size=size, scheme=scheme, reduced_motion="reduce")
        page.wait_for_function("!window.MathJax || !window.MathJax.startup || window.MathJax.startup.promise.then(() => true)")
        seen = [f"console: {text}" for text in page.heard.complaints]  # before axe runs
        seen += [f"asked for {url}" for url in page.heard.requests if not url.startswith(("file://", "data:"))]
        seen += [f"{rule['id']} at {node['target']}: {node['failureSummary'][:200]}"
                 for rule in Axe().run(page, options=AXE).response["violations"] for node in rule["nodes"]]
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        seen += [f"{wide} pixels too wide"] if wide > 0 else []
        found += [f"{size}, {scheme}: {what}" for what in seen]
        page.context.close()
    assert found == []


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
    from axe_playwright_python.sync_playwright import Axe
    page = open_page(browser, _written(tmp_path, '<p style="color:#bbb">pale</p><button></button>'))
    assert {"color-contrast", "button-name"} <= {rule["id"] for rule in Axe().run(page).response["violations"]}
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
