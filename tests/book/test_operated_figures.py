"""Every figure of the home page, the map and chapters 1 to 4, worked as a reader works it.

Each page is opened on a desktop, where a mouse comes first, and on a phone, where a finger does;
then the colours change and the keyboard has its turn. `make test-slow` opens every page on both,
otherwise each is opened on one of them.
"""

import re

import pytest

from tests.book.conftest import COLOUR_RULES, ROOT, page_names, violations
from tests.book.operated import ask, by_keyboard, by_pointer, figures

pytestmark = pytest.mark.browser
CHAPTERS = ("intro", "map", "01-", "02-", "03-", "04-")
LOOKS = {
    "desktop": {"scheme": "light"},
    "phone": {"scheme": "dark", "has_touch": True, "is_mobile": True},
}
OTHER = {"light": "dark", "dark": "light"}


def with_figures():
    """The pages of these chapters that call `figure`."""
    for name in page_names():
        path = ROOT / "book" / f"{name}.md"
        if name.startswith(CHAPTERS) and path.exists():
            if re.search(r"^figure\(", path.read_text(encoding="utf-8"), re.MULTILINE):
                yield name


VISITS = [
    pytest.param(name, size, marks=() if (number + at) % 2 else pytest.mark.long)
    for number, name in enumerate(with_figures())
    for at, size in enumerate(LOOKS)
]


@pytest.mark.parametrize("name, size", VISITS)
def test_every_control_of_a_page_answers_to_pointer_and_keyboard(look, html, name, size):
    scheme = LOOKS[size]["scheme"]
    page = look((html / f"{name}.html").as_uri(), size, reduced_motion="reduce", **LOOKS[size])
    found, names = [], figures(page)
    assert names
    for n, figure in enumerate(names):
        work = by_pointer(page, n, touch=size == "phone")
        found += [f"{figure}: {line}" for line in work + seen(page, n, size)]
    page.emulate_media(color_scheme=OTHER[scheme])
    for n, figure in enumerate(names):
        found += [f"{figure}: {line}" for line in by_keyboard(page, n) + seen(page, n, size)]
    assert found == []
    assert page.heard.complaints == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in page.heard.requests)


def seen(page, figure, size):
    """What is wrong with how a figure looks now: cut, overlapping or pale text, small targets."""
    found = ask(page, "cut", figure) + ask(page, "overlapping", figure) + ask(page, "pale", figure)
    found += ask(page, "small", figure) if size == "phone" else []
    return found + violations(page, ".w2s-live", **COLOUR_RULES)
