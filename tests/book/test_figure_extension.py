"""The Sphinx extension `figures` by itself, with a plain theme: stills, scripts in their order, and
models.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from course.book.pages.figures import figure, scripts_of
from tests.book.figure_data import DATA

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of two pages: one with two figures, one of them live, and one without any."""
    source = tmp_path_factory.mktemp("source")
    (source / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'book' / '_ext')!r}]\nextensions ="
        " ['figures']\nhtml_theme = 'basic'\nhtml_static_path ="
        f" [{str(ROOT / 'book' / 'assets')!r}]\nhtml_copy_source = False\n"
    )

    def raw(name):
        html = figure(name, DATA[name], caption="C", alt="A").to_html()
        return f".. raw:: html\n\n   {html}\n\n"

    (source / "index.rst").write_text(
        f"Figures\n=======\n\n{raw('window-counts')}{raw('word-mixtures')}.. toctree::\n\n  "
        " plain\n"
    )
    (source / "plain.rst").write_text("Plain\n=====\n\nNo figure.\n")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", str(source), str(source / "out")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return source / "out"


def scripts(page):
    return re.findall(r'<script[^>]* src="_static/((?:figures|models)/[^"?]+)', page.read_text())


def test_a_page_asks_for_the_scripts_of_its_figures_in_order_and_others_for_none(site):
    asked = scripts(site / "index.html")
    for name in ("window-counts", "word-mixtures"):
        places = [asked.index(file) for file in scripts_of(name, name == "word-mixtures")]
        assert places == sorted(places)
    assert len(asked) == len(set(asked))
    assert scripts(site / "plain.html") == []
    assert all((site / "_static" / file).is_file() for file in asked)


def test_every_figure_of_a_page_has_its_still(site):
    stills = re.findall(
        r'<div class="w2s-still" role="img" aria-label="A">(.*?)</div><script',
        (site / "index.html").read_text(),
        re.S,
    )
    assert len(stills) == 2
    assert "w2s-matrix" in stills[0] and "w2s-bars" in stills[1]


def test_only_the_models_that_pages_offer_are_beside_the_runtime(site):
    assert [path.name for path in (site / "_static" / "models" / "weights").iterdir()] == [
        "skipgram_glosses.js"
    ]
