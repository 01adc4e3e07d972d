"""The moving figures: by keyboard, without motion, without scripts, under a strict policy, and with the right numbers."""
import json
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from course.book.figures import KEYS, figure
from tests.book.conftest import open_page

pytestmark = pytest.mark.browser
ASSETS = Path(__file__).resolve().parents[2] / "book" / "assets"
SENTENCES = [["we", "sat", "on", "the", "bank", "of", "the", "river"], ["the", "bank", "lends", "money"]]
WORDS = list(dict.fromkeys(word for tokens in SENTENCES for word in tokens))
DATA = {
    "window-counts": {"sentences": SENTENCES, "vocabulary": WORDS, "window": 2},
    "skipgram-training": {"words": ["bank", "river", "money"], "groups": ["both", "water", "finance"], "snapshots": [
        {"step": 1000 * k, "loss": 4 - k, "positions": [[k, 0], [0, k], [1, 2]], "center": "bank", "contexts": ["river"],
         "negatives": ["money", "seven"]} for k in range(4)]},
    "bank-neighbours": {"words": ["bank", "light"], "senses": {"bank": ["river", "money"], "light": ["bright"]},
                        "methods": [{"key": "svd", "label": "Counts + SVD"}, {"key": "glove", "label": "GloVe"}],
                        "neighbours": {"bank": {"svd": [{"word": "shore", "cosine": 0.7, "sense": "river"},
                                                        {"word": "loan", "cosine": 0.6, "sense": "money"}],
                                                "glove": [{"word": "banks", "cosine": 0.8, "sense": "other"}]},
                                       "light": {"svd": [{"word": "lamp", "cosine": 0.5, "sense": "bright"}]}}},
}


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    """A page that holds one figure; each call writes it anew and returns its folder."""
    def write(name):
        folder = tmp_path_factory.mktemp(name)
        for file in ("palette.css", "figures/figures.css", "figures/w2s.js", f"figures/{name}.js"):
            (folder / Path(file).name).write_text((ASSETS / file).read_text())
        body = figure(name, DATA[name], caption="A caption.", alt="What it shows.").to_html()
        (folder / "page.html").write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
            '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
            f'<link rel="stylesheet" href="palette.css"><link rel="stylesheet" href="figures.css">'
            f'<script defer src="w2s.js"></script><script defer src="{name}.js"></script><main>{body}</main>')
        return folder
    return write


@pytest.fixture
def show(browser, page_of):
    """`show("window-counts")` opens the figure's page from disk."""
    pages = []

    def open_(name, **settings):
        pages.append(open_page(browser, (page_of(name) / "page.html").as_uri(), **settings))
        return pages[-1]
    yield open_
    for page in pages:
        page.context.close()


def state(page):
    return page.locator(".w2s-stage").evaluate("node => JSON.stringify(node.dataset)")


def said(page):
    return page.locator(".w2s-say").get_attribute("data-text")


def press(page, control, key):
    control.focus()
    page.keyboard.press(key)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_every_control_can_be_reached_by_tab_and_shows_its_focus(show, name):
    page = show(name)
    controls = page.locator(".w2s-stage").locator("button:enabled, input:not([type=radio]), input:checked, select").count()
    reached = []
    for _ in range(controls + 2):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("""() => { const a = document.activeElement; const shown = a.type === 'radio' ? a.nextElementSibling : a;
            return a.closest('.w2s-stage') && getComputedStyle(shown).outlineStyle !== 'none' ? a.outerHTML : null; }"""))
    assert len({html for html in reached if html}) == controls


@pytest.mark.parametrize("name, control, key", [
    ("window-counts", "button:has-text('Step')", "Enter"), ("window-counts", "button:has-text('Step')", "Space"),
    ("window-counts", "input >> nth=0", "ArrowRight"), ("window-counts", "input >> nth=1", "ArrowRight"),
    ("skipgram-training", "button:has-text('Step')", "Enter"), ("skipgram-training", "input", "End"),
    ("bank-neighbours", "input:checked", "ArrowRight"), ("bank-neighbours", "select", "ArrowDown"),
])
def test_a_key_changes_the_figure_and_what_is_said(show, name, control, key):
    page = show(name)
    before = state(page), said(page)
    press(page, page.locator(".w2s-stage").locator(control), key)
    assert said(page) != before[1]
    assert state(page) != before[0]


def test_back_undoes_step(show):
    page = show("window-counts")
    first = state(page)
    press(page, page.get_by_role("button", name="Step"), "Enter")
    press(page, page.get_by_role("button", name="Back"), "Enter")
    assert state(page) == first


@pytest.mark.parametrize("name", ["window-counts", "skipgram-training"])
def test_play_runs_until_pause_and_never_starts_by_itself(show, name):
    page = show(name)
    first = state(page)
    page.wait_for_timeout(1300)
    assert state(page) == first
    press(page, page.get_by_role("button", name="Play"), "Enter")
    page.wait_for_function("first => JSON.stringify(document.querySelector('.w2s-stage').dataset) !== first", arg=first)
    press(page, page.get_by_role("button", name="Pause"), "Enter")
    paused = state(page)
    page.wait_for_timeout(1300)
    assert state(page) == paused


@pytest.mark.parametrize("window", [1, 2, 4])
def test_the_full_matrix_is_the_reference_count(show, window):
    from reference_impl.embeddings.counts import window_counts
    page = show("window-counts")
    sliders = page.get_by_role("slider")
    sliders.nth(1).fill(str(window))
    press(page, sliders.nth(0), "End")
    shown = json.loads(page.locator(".w2s-stage").get_attribute("data-counts"))
    ids = [[WORDS.index(word) for word in tokens] for tokens in SENTENCES]
    assert shown == window_counts(ids, len(WORDS), window=window).toarray().tolist()


def test_touch_moves_a_figure(browser, page_of):
    page = open_page(browser, (page_of("window-counts") / "page.html").as_uri(), size="phone", has_touch=True)
    before = state(page)
    page.get_by_role("button", name="Step").tap()
    assert state(page) != before
    page.context.close()


def test_a_sense_has_a_shape_of_its_own(show):
    page = show("bank-neighbours")
    marks = page.locator(".w2s-mark").evaluate_all("nodes => nodes.map(node => node.firstChild.outerHTML)")
    assert len(marks) == 3 and len(set(marks)) == 3


def test_reduced_motion_moves_at_once(show):
    page = show("skipgram-training", reduced_motion="reduce")
    press(page, page.get_by_role("slider"), "End")
    at = page.locator(".w2s-dot").first.get_attribute("transform")
    page.wait_for_timeout(400)
    assert page.locator(".w2s-dot").first.get_attribute("transform") == at


@pytest.mark.parametrize("name", sorted(KEYS))
def test_without_scripts_the_still_and_its_words_are_there(show, name):
    page = show(name, java_script_enabled=False)
    still = page.get_by_role("img", name="What it shows.")
    assert still.is_visible()
    assert still.bounding_box()["height"] > 50
    assert page.get_by_text("A caption.").is_visible()


@pytest.mark.parametrize("name", sorted(KEYS))
def test_with_scripts_the_still_gives_way_and_returns_in_print(show, name):
    page = show(name)
    assert not page.locator(".w2s-still").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".w2s-still").is_visible() and not page.locator(".w2s-live").is_visible()


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_figure_that_cannot_draw_leaves_its_still(browser, page_of, name):
    folder = page_of(name)
    text = (folder / "page.html").read_text()
    start = text.index('<script type="application/json">')
    (folder / "page.html").write_text(text[:start] + '<script type="application/json">{}</script>' + text[text.index("</script>", start) + 9:])
    page = open_page(browser, (folder / "page.html").as_uri())
    assert page.heard.complaints
    assert page.locator(".w2s-still").is_visible()
    page.context.close()


@pytest.mark.parametrize("name", sorted(KEYS))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_figure_in_use_has_no_axe_violation(show, name, scheme):
    from axe_playwright_python.sync_playwright import Axe
    page = show(name, scheme=scheme, reduced_motion="reduce")
    control = page.locator(".w2s-stage").locator("button:enabled, input:checked").last
    press(page, control, "ArrowRight" if name == "bank-neighbours" else "Enter")
    rules = Axe().run(page, options={"preload": False, "rules": {"page-has-heading-one": {"enabled": False}}}).response["violations"]
    assert [(rule["id"], node["target"]) for rule in rules for node in rule["nodes"]] == []


class Strict(SimpleHTTPRequestHandler):
    """Serves a folder and allows scripts from this server only: nothing inline, no eval."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", "default-src 'self'; script-src 'self'; img-src data:; style-src 'self' 'unsafe-inline'")
        super().end_headers()

    def log_message(self, *args):
        """Say nothing: the test reads the browser's console."""


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_figure_works_where_only_scripts_of_the_site_may_run(browser, page_of, name):
    server = HTTPServer(("127.0.0.1", 0), partial(Strict, directory=str(page_of(name))))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = open_page(browser, f"http://127.0.0.1:{server.server_port}/page.html")
    assert page.locator(".w2s-live").is_visible()
    assert page.heard.complaints == []
    page.context.close()
    server.shutdown()


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_widget_module_draws_the_same_figure(browser, tmp_path, name):
    from course.book.figures import widget_module, widget_styles
    module = widget_module(name)
    (tmp_path / "w.css").write_text(widget_styles())
    start = ("const widget = (" + module.split("export default", 1)[1].rstrip().rstrip(";") + ");\n"
             f"widget.render({{el: document.getElementById('host'), model: {{get: key => ({json.dumps({'data': DATA[name], 'caption': 'C', 'alt': 'A'})})[key]}}}});")
    (tmp_path / "w.js").write_text(module.split("export default", 1)[0] + start)
    (tmp_path / "page.html").write_text('<!doctype html><html lang="en"><title>t</title><link rel="stylesheet" href="w.css">'
                                        '<body data-jp-theme-light="false"><div id="host"></div><script src="w.js"></script>')
    page = open_page(browser, (tmp_path / "page.html").as_uri())
    assert page.locator(".w2s-widget .w2s-live svg").first.is_visible()
    assert page.locator(".w2s-widget").evaluate("node => getComputedStyle(node).colorScheme") == "dark"
    assert page.heard.complaints == []
    page.context.close()
