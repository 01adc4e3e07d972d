"""Stills of figures: drawn by the figure's own script, kept, and taken from the repository where no
browser runs.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course.book.build import stills
from course.book.captions import FigureError
from course.book.pages.figures import ASSETS, KEYS, figure
from tests.book.figure_data import DATA

ROOT = Path(__file__).resolve().parents[2]
NAME = "window-counts"
JSON = json.dumps(DATA[NAME])


@pytest.mark.browser
@pytest.mark.parametrize("name", sorted(KEYS))
def test_every_figure_draws_its_still_without_controls_names_and_ids(stills_root, name):
    drawn = stills.FIGURE.search(
        stills.fill(figure(name, DATA[name], "A caption.", "What it shows.").to_html(), stills_root)
    )[4]
    assert len(drawn) > 500
    assert not re.search(
        r"<(button|input|select|title|script)\b|\s(id|role|aria-[a-z]+|data-[a-z]+|tabindex)=",
        drawn,
    )


@pytest.mark.browser
def test_the_still_of_the_counts_shows_the_reference_counts(tmp_path):
    from reference_impl.embeddings.counts import window_counts

    drawn = stills.still(NAME, NAME, JSON, tmp_path)
    words = DATA[NAME]["vocabulary"]
    ids = [[words.index(word) for word in tokens] for tokens in DATA[NAME]["sentences"]]
    shown = [
        int(number or 0)
        for number in re.findall(r'<text [^>]*class="w2s-count[^"]*"[^>]*>(\d*)</text>', drawn)
    ]
    assert (
        shown
        == window_counts(ids, len(words), window=DATA[NAME]["window"]).toarray().flatten().tolist()
    )


@pytest.mark.browser
def test_a_still_is_drawn_once_and_again_when_data_or_script_change(tmp_path, monkeypatch):
    drawn, draw = [], stills.draw
    monkeypatch.setattr(stills, "draw", lambda *given: drawn.append(given) or draw(*given))
    first = stills.still(NAME, NAME, JSON, tmp_path)
    assert stills.still(NAME, NAME, JSON, tmp_path) == first and len(drawn) == 1
    other = json.dumps({**DATA[NAME], "window": 1})
    assert stills.still(NAME, NAME, other, tmp_path) != first and len(drawn) == 2
    shutil.copytree(ASSETS, tmp_path / "assets")
    monkeypatch.setattr(stills, "ASSETS", tmp_path / "assets")
    with (tmp_path / "assets" / "figures" / f"{NAME}.js").open("a") as script:
        script.write("\n// another line\n")
    stills.still(NAME, NAME, JSON, tmp_path)
    assert len(drawn) == 3


@pytest.mark.browser
def test_stills_of_many_pages_are_drawn_by_one_start_of_the_browser_and_are_those_drawn_alone(
    tmp_path, monkeypatch
):
    names, starts, draw = [NAME, "bpe-training", "text-cuts"], [], stills.draw
    monkeypatch.setattr(stills, "draw", lambda *given: starts.append(given) or draw(*given))
    pages = [figure(name, DATA[name], "C", "A").to_html() for name in names]
    assert (
        stills.draw_ahead([pages[0] + pages[1], "<p>no figure</p>", pages[2]], tmp_path) == 3
        and len(starts) == 1
    )
    together = [stills.FIGURE.search(stills.fill(page, tmp_path))[4] for page in pages]
    assert len(starts) == 1 and stills.draw_ahead(pages, tmp_path) == 0
    assert together == [
        draw(stills.find_chromium(), [(name, stills.FIGURE.search(page)[5])])[0]
        for name, page in zip(names, pages)
    ]


@pytest.mark.browser
def test_one_script_that_fails_among_many_is_named_when_its_page_is_written(tmp_path):
    bad = (
        figure("bpe-training", DATA["bpe-training"], "C", "A")
        .to_html()
        .replace('"words"', '"swords"')
    )
    good = figure(NAME, DATA[NAME], "C", "A").to_html()
    assert stills.draw_ahead([good, bad], tmp_path) == 0
    assert len(stills.FIGURE.search(stills.fill(good, tmp_path))[4]) > 500
    with pytest.raises(FigureError, match="figure 'bpe-training': its script failed on this data"):
        stills.fill(bad, tmp_path)


@pytest.mark.browser
def test_a_script_that_fails_on_its_data_is_named(tmp_path):
    with pytest.raises(FigureError, match="'window-counts': its script failed on this data: .*"):
        stills.still(NAME, NAME, "{}", tmp_path)


def test_without_a_browser_the_committed_still_is_taken_and_a_missing_one_is_named(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        FigureError, match="'mine' has no still: there is no .*mine.html, and no Chromium"
    ):
        stills.still(NAME, "mine", JSON, tmp_path)
    (tmp_path / "book" / "stills").mkdir(parents=True)
    (tmp_path / "book" / "stills" / "mine.html").write_text("<p>kept</p>")
    assert stills.still(NAME, "mine", JSON, tmp_path) == "<p>kept</p>"


def test_a_browser_that_does_not_start_counts_as_none(tmp_path, monkeypatch):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    (tmp_path / "book" / "stills").mkdir(parents=True)
    (tmp_path / "book" / "stills" / f"{NAME}.html").write_text("<p>kept</p>")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert stills.find_chromium() == str(broken)
    assert stills.still(NAME, NAME, JSON, tmp_path) == "<p>kept</p>"


def test_a_page_gets_the_still_of_each_of_its_figures(tmp_path, monkeypatch):
    def named(name, id, data, root):
        return f"<b>{id} of {name}: {json.loads(data)['window']}</b>"

    monkeypatch.setattr(stills, "still", named)
    two = [
        figure(NAME, {**DATA[NAME], "window": n}, "C", "A", id=f"figure{n}").to_html()
        for n in (1, 2)
    ]
    filled = stills.fill("<p>before</p>".join(two), tmp_path)
    assert 'aria-label="A"><b>figure1 of window-counts: 1</b></div>' in filled
    assert 'aria-label="A"><b>figure2 of window-counts: 2</b></div>' in filled
    assert stills.FIGURE.findall(filled)[1][3] == "<b>figure2 of window-counts: 2</b>"


def test_every_figure_of_the_books_sources_has_a_committed_still_and_an_id_of_its_own():
    ids = []
    for page in sorted((ROOT / "book").rglob("*.md")):
        for call in re.findall(
            r"^(?:figure|glass_gpu)\((.*?)\n```", page.read_text(encoding="utf-8"), re.S | re.M
        ):
            own = re.search(r'\bid="([\w-]+)"', call) or re.match(r'"([\w-]+)"', call)
            ids.append(own[1] if own else "glass-gpu")
    assert len(ids) >= 4 and len(ids) == len(set(ids)), (
        "an id stands twice in the book: give one figure an id of its own"
    )
    kept = {path.stem for path in (ROOT / "book" / "stills").glob("*.html")}
    assert kept == set(ids), "build the book, then run python -m course.book.build.stills"


def test_importing_figures_imports_neither_torch_nor_widgets_nor_the_drawing_of_stills():
    code = (
        "import sys, course.book.pages.figures; heavy = 'torch', 'anywidget', 'matplotlib',"
        " 'course.book.build.stills'; print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr
