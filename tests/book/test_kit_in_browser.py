"""The parts of the figure kit, each worked by mouse and keyboard, on a desktop and on a phone,
light and dark.
"""

from pathlib import Path

import pytest

from course.book.pages.figures import ASSETS, KEYS, KIT
from tests.book.conftest import open_page, visit
from tests.book.test_figures_in_browser import assert_same_elements_and_no_pale_colour, faults

pytestmark = pytest.mark.browser
GALLERY = Path(__file__).with_name("kit_gallery.js")


@pytest.fixture(scope="module")
def gallery(browser, tmp_path_factory):
    """`gallery(size, scheme)` opens a page that holds every part of the kit, or loads it again."""
    opened, folder = {}, tmp_path_factory.mktemp("gallery")

    def open_(size="desktop", scheme="light"):
        if size in opened:
            opened[size].emulate_media(color_scheme=scheme)
            return visit(opened[size], opened[size].url)
        scripts = [ASSETS / "figures" / "kit" / f"{part}.js" for part in KIT] + [GALLERY]
        styles = "".join(
            (ASSETS / file).read_text() for file in ("palette.css", "figures/figures.css")
        )
        (folder / "page.html").write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><meta'
            ' name="viewport" content="width=device-width"><link rel="icon"'
            f' href="data:,"><style>{styles} body {{ background: var(--w2s-paper); color:'
            ' var(--w2s-ink); }</style><main><h1>Kit</h1><figure class="w2s-figure"'
            ' data-w2s-figure="kit-gallery"><script'
            ' type="application/json">{}</script><figcaption>Parts.</figcaption></figure></main>'
            + "".join(f"<script>{path.read_text()}</script>" for path in scripts)
        )
        opened[size] = open_page(
            browser,
            (folder / "page.html").as_uri(),
            size=size,
            scheme=scheme,
            reduced_motion="reduce",
        )
        return opened[size]

    yield open_
    for page in opened.values():
        page.context.close()


@pytest.mark.parametrize(
    "size, scheme, other", [("desktop", "light", "dark"), ("phone", "dark", "light")]
)
def test_every_part_answers_to_mouse_and_keyboard_in_silence_without_a_violation(
    gallery, size, scheme, other
):
    page = gallery(size, scheme)
    stage = page.locator(".w2s-stage")
    page.get_by_role("button", name="bank").click()
    assert stage.get_attribute("data-picked") == "bank"
    page.get_by_role("button", name="sat").press("Enter")
    assert stage.get_attribute("data-picked") == "sat"
    assert page.locator(".w2s-token.is-near").all_text_contents() == ["we", "on"]
    page.get_by_role("button", name="block").click()
    assert stage.get_attribute("data-box") == "block"
    page.get_by_role("button", name="head", exact=True).press(" ")
    assert (
        stage.get_attribute("data-box") == "head" and page.locator(".w2s-box.is-lit").count() == 1
    )
    page.get_by_role("slider").press("End")
    assert (
        stage.get_attribute("data-at") == "4"
        and page.get_by_role("button", name="Step").is_disabled()
    )
    page.get_by_label("Your text").fill("river")
    page.get_by_label("Your text").press("Enter")
    assert stage.get_attribute("data-text") == "river"
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert faults(page) == []
    assert_same_elements_and_no_pale_colour(page, other)
    assert page.heard.complaints == []


def test_bars_are_as_long_as_their_shares_and_rows_without_an_item_are_hidden(gallery):
    page = gallery()
    assert page.locator(".w2s-bars li:visible").count() == 1
    page.get_by_role("button", name="Step").click()
    lengths = page.locator(".w2s-bars li:visible").evaluate_all(
        "rows => rows.map(row => row.querySelector('.w2s-bar-fill').offsetWidth /"
        " row.querySelector('.w2s-bar-track').offsetWidth)"
    )
    assert lengths == pytest.approx([0.2, 0.3], abs=0.01)
    assert page.locator(".w2s-bar-value:visible").all_text_contents() == ["0.20", "0.30 nats"]


@pytest.mark.parametrize(
    "domain, many, expected",
    [
        ([0, 1000], 5, [0, 200, 400, 600, 800, 1000]),
        ([1.5, 4.2], 4, [2, 3, 4]),
        ([-0.3, 0.3], 3, [-0.2, 0, 0.2]),
        ([7, 7], 3, [7]),
        ([0, 1e-4], 2, [0, 0.00005, 0.0001]),
    ],
)
def test_ticks_are_round_numbers_within_the_range(gallery, domain, many, expected):
    ticks = gallery().evaluate(
        "([domain, many]) => w2s.kit.scale(domain, [0, 1]).ticks(many)", [domain, many]
    )
    assert ticks == pytest.approx(expected, abs=1e-12)


def test_one_meaning_has_one_hue_and_mark_in_every_company_and_none_is_that_of_what_is_looked_at(
    gallery,
):
    page = gallery()
    meanings = [
        page.evaluate("names => w2s.kit.meanings(names)", names)
        for names in (
            ["river", "money", "other"],
            ["bank", "river", "money", "animal"],
            ["money", "mine", "yours"],
        )
    ]
    assert meanings[0]["money"] == meanings[1]["money"] == meanings[2]["money"]
    assert meanings[0]["river"] == meanings[1]["river"]
    for found in meanings:
        assert len({(one["hue"], one["mark"]) for one in found.values()}) == len(found)
        assert "orange" not in {one["hue"] for one in found.values()}


@pytest.mark.parametrize(
    "word, tokens, pieces",
    [
        ("bank", ["[CLS]", "the", "ba", "##n", "##k", "[SEP]"], [2, 3, 4]),
        ("Bank", ["the", " bank"], [1]),
        ("bank", ["b", "ban", "b", "an", "k"], [2, 3, 4]),
        ("bank", ["banks", "ban", "ked"], None),
    ],
)
def test_the_pieces_of_a_word_are_found_among_tokens(gallery, word, tokens, pieces):
    page = gallery()
    assert page.evaluate("given => w2s.kit.piecesOf(...given)", [word, tokens]) == pieces


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_figure_is_under_eighty_lines_below_its_description(name):
    text = (ASSETS / "figures" / f"{name}.js").read_text(encoding="utf-8")
    assert len(text[text.index("window.w2s.register") :].splitlines()) < 80
