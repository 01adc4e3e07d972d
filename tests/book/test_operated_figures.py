"""Every figure of the home page, the map and chapters 1 to 4, worked as a reader works it.

Each page is opened on a desktop, where a mouse comes first, and on a phone, where a finger does;
then the colours change and the keyboard has its turn. `make test-slow` opens every page on both,
otherwise every other page is opened on one of them.
"""

import re

import pytest

from tests.book.conftest import ROOT, page_names
from tests.book.operated import ask, by_keyboard, by_pointer, figures

pytestmark = pytest.mark.browser
CHAPTERS = ("intro", "map", "01-", "02-", "03-", "04-")
LOOKS = {
    "desktop": {"scheme": "light"},
    "phone": {"scheme": "dark", "has_touch": True, "is_mobile": True},
}
OTHER = {"light": "dark", "dark": "light"}
# These choose how many sliders the next move changes, so nothing is to be seen yet.
SILENT = ("two-clocks: radio one", "two-clocks: radio both")


def with_figures():
    """The pages of these chapters that call `figure`."""
    for name in page_names():
        path = ROOT / "book" / f"{name}.md"
        if not name.startswith(CHAPTERS) or not path.exists():
            continue
        if re.search(r"^figure\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield name


VISITS = [
    pytest.param(name, size, marks=() if number % 4 == 2 * at else pytest.mark.long)
    for number, name in enumerate(with_figures())
    for at, size in enumerate(LOOKS)
]


@pytest.mark.parametrize("name, size", VISITS)
def test_every_control_of_a_page_answers_to_pointer_and_keyboard(look, html, name, size):
    address, scheme = (html / f"{name}.html").as_uri(), LOOKS[size]["scheme"]
    page = look(address, size, reduced_motion="reduce", **LOOKS[size])
    names, found = figures(page), []
    assert names
    for n, figure in enumerate(names):
        work = by_pointer(page, n, touch=size == "phone")
        found += [f"{figure}: {line}" for line in work + ill_seen(page, n, size)]
    page.emulate_media(color_scheme=OTHER[scheme])
    page.goto(address)  # the keyboard finds the figures as they begin
    figures(page)
    for n, figure in enumerate(names):
        work = by_keyboard(page, n)
        found += [f"{figure}: {line}" for line in work + ill_seen(page, n, size)]
    assert [line for line in found if not line.startswith(SILENT)] == []
    assert page.heard.complaints == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in page.heard.requests)


def ill_seen(page, figure, size):
    """What is wrong with how a figure looks now: text that is cut, pale or under other text, and on
    a phone targets that a finger misses.
    """
    asked = ("cut", "overlapping", "pale", *(["small"] if size == "phone" else []))
    return [line for question in asked for line in ask(page, question, figure)]


def test_what_is_wrong_with_a_figure_would_be_seen(look, tmp_path):
    """A figure with one fault of each kind."""
    (tmp_path / "page.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        "<style>button:focus { outline: none } i { display: block; width: 20px; overflow: hidden }"
        '</style><body style="background: #fff"><figure id="figure-x"><div class="w2s-live">'
        '<div class="w2s-stage"><div class="w2s-bar"><button aria-label="small"'
        ' style="width: 9px; height: 9px; padding: 0"></button></div><i>unbreakable</i>'
        '<p style="color: #ccc">pale</p><svg width="300" height="40"><text y="20">one word</text>'
        '<text y="22">another</text><text y="20" x="200" fill="#ddd">faint</text></svg></div>'
        '<p class="w2s-say" data-text="">said</p></div></figure>'
    )
    page = look((tmp_path / "page.html").as_uri())
    found = "\n".join(
        ill_seen(page, 0, "phone") + by_keyboard(page, 0) + by_pointer(page, 0, False)
    )
    for fault in (
        "cut: “unbreakable”",
        "“one word” on “another”",
        "“pale” has a contrast of 1.6",
        "“faint” has a contrast of 1.3",
        "button “small” is 9 × 9 pixels",
        "button small shows no focus ring",
        "button small changes nothing by its keys",
        "button small changes nothing",
    ):
        assert fault in found
