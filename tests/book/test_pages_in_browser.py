"""Every page, on a desktop and a phone, light and dark: what only a browser can see.

axe takes longer than all else together. Each page is loaded once, every other one on a phone in the
dark, and seen at both widths. One page in twelve is asked axe's rules in all four looks, and
another one in six those that are not about colour, in one look. `make test-slow` asks all rules of
every page in all four, loaded at both widths.
"""

import pytest

from tests.book.conftest import (
    COLOUR_RULES,
    DRAWN,
    FONTS_THERE,
    SIZES,
    STRUCTURE,
    page_names,
    violations,
)

pytestmark = pytest.mark.browser
LOADED = [("desktop", "light"), ("phone", "dark")]
OTHER = {"light": "dark", "dark": "light", "desktop": "phone", "phone": "desktop"}
NO_COLOURS = {"rules": {rule: {"enabled": False} for rule in COLOUR_RULES["runOnly"]}}
PAGES = page_names()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_breaks_no_rule_complains_of_nothing_asks_nobody_and_fits(look, html, name):
    """axe, the console, requests and sideways scrolling: one visit answers all four."""
    number = PAGES.index(name)
    colours = number % 12 == 0
    asked = colours or number % 6 == 1
    assert faults(look, html, name, *LOADED[number % 2], colours, asked) == []


@pytest.mark.long
@pytest.mark.parametrize("size, scheme", LOADED)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_breaks_no_rule_in_any_look(look, html, name, size, scheme):
    assert faults(look, html, name, size, scheme, colours=True) == []


def faults(look, html, name, size, scheme, colours, asked=True):
    """What is wrong with a page that is loaded in one look, and then changed to the others while it
    is open.

    Its text and structure must not depend on the scheme; so in the other one axe asks its rules of
    colour alone.
    """
    page = look((html / f"{name}.html").as_uri(), size=size, scheme=scheme, reduced_motion="reduce")
    page.wait_for_function(FONTS_THERE)
    found = [f"console: {text}" for text in page.heard.complaints]  # before axe runs
    structure = page.evaluate(STRUCTURE)
    found += too_wide(page)
    found += violations(page, **({} if colours else NO_COLOURS)) if asked else []
    quiet = len(page.heard.complaints)
    page.emulate_media(color_scheme=OTHER[scheme])
    if page.evaluate(STRUCTURE) != structure:
        found.append("its elements depend on the colours: load it in both")
    found += violations(page, **COLOUR_RULES) if colours else []
    page.set_viewport_size(SIZES[OTHER[size]])
    page.evaluate(DRAWN)
    found += [f"{OTHER[size]}: {text}" for text in too_wide(page)]
    if colours:
        found += [f"{OTHER[size]}, {OTHER[scheme]}: {text}" for text in violations(page)]
        page.emulate_media(color_scheme=scheme)
        found += [f"{OTHER[size]}, {scheme}: {text}" for text in violations(page, **COLOUR_RULES)]
    found += [f"console, when its look changed: {text}" for text in page.heard.complaints[quiet:]]
    return found + [
        f"asked for {url}"
        for url in page.heard.requests
        if not url.startswith(("file://", "data:"))
    ]


def too_wide(page):
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [f"{wide} pixels too wide"] if wide > 0 else []


def test_a_page_that_is_too_wide_would_be_seen(look, tmp_path):
    page = look(_written(tmp_path, '<div style="width:2000px">wide</div>'), size="phone")
    assert len(too_wide(page)) == 1


def test_an_image_from_another_machine_would_be_seen(look, tmp_path):
    page = look(_written(tmp_path, '<img alt="x" src="https://example.invalid/x.png">'))
    assert "https://example.invalid/x.png" in page.heard.requests
    assert page.heard.complaints


def test_a_violation_would_be_seen(look, tmp_path):
    page = look(_written(tmp_path, '<p style="color:#bbb">pale</p><button></button>'))
    assert {"color-contrast", "button-name"} <= {line.split()[0] for line in violations(page)}


def test_a_colour_that_is_pale_only_after_the_colours_change_would_be_seen(look, tmp_path):
    page = look(
        _written(
            tmp_path,
            "<style>@media (prefers-color-scheme: dark) { p { color: #bbb } }</style><p>pale</p>",
        )
    )
    before = page.evaluate(STRUCTURE)
    assert violations(page, **COLOUR_RULES) == []
    page.emulate_media(color_scheme="dark")
    assert {line.split()[0] for line in violations(page, **COLOUR_RULES)} == {"color-contrast"}
    assert page.evaluate(STRUCTURE) == before


def test_an_element_that_only_dark_colours_show_would_be_seen(look, tmp_path):
    page = look(
        _written(
            tmp_path,
            "<style>@media (prefers-color-scheme: dark) { p { display: none } }</style><p>x</p>",
        )
    )
    before = page.evaluate(STRUCTURE)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(STRUCTURE) != before


def _written(folder, body):
    path = folder / "page.html"
    path.write_text(
        '<!doctype html><html lang="en"><title>t</title><body'
        f' style="background:#fff">{body}</body></html>'
    )
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
