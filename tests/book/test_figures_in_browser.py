"""The moving figures: by keyboard, without motion, without scripts, under a strict policy, and with the right numbers."""
import base64
import json
import math
import shutil
import threading
from functools import cache, partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest
import torch

from course.book import readings, stills
from course.book.figures import ANSWERS, KEYS, figure, scripts_of
from course.book.page_models import write_scripts
from reference_impl.corpora.small_models import small_model
from reference_impl.layers.attention import attention_weights, split_heads
from reference_impl.layers.rotary import Tables, rotate
from reference_impl.measure.answers import best_spans
from reference_impl.measure.flops import block_flops, block_parameters
from reference_impl.measure.spans import entities, entity_scores
from reference_impl.models.ngram import AbsoluteDiscount, KneserNey
from reference_impl.objectives.distillation import soft_terms
from reference_impl.objectives.masked_lm import Masking
from reference_impl.objectives.terms import IGNORED
from tests.book.conftest import COLOUR_RULES, STRUCTURE, open_page, violations
from tests.book.figure_data import DATA, PLACED, READERS, SENTENCES, WORDS, nearest, spoken, two_readers

pytestmark = pytest.mark.browser
ASSETS = Path(__file__).resolve().parents[2] / "book" / "assets"


def offered(name):
    """What a figure may load: a model, or vocabularies."""
    data = DATA[name]
    several = [one["model"] for one in data.get("models", [])] + [one["vocabulary"] for one in data.get("vocabularies", [])]
    return [one["name"] for one in ([data["model"]] if "model" in data else several)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder in which each figure has a folder with its page."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def page_of(site, stills_root):
    """A page that holds one figure, written once; a call returns its folder."""
    @cache
    def write(name):
        folder = site / name
        scripts = scripts_of(name, bool(ANSWERS & KEYS[name]))
        for file in ("palette.css", "figures/figures.css", *scripts):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text((ASSETS / file).read_text())
        if ANSWERS & KEYS[name]:
            write_scripts(folder / "models" / "weights", offered(name))
        body = stills.fill(figure(name, DATA[name], caption="A caption.", alt="What it shows.").to_html(), stills_root)
        (folder / "page.html").write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
            '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
            '<link rel="stylesheet" href="palette.css"><link rel="stylesheet" href="figures/figures.css">'
            + "".join(f'<script defer src="{file}"></script>' for file in scripts) + f"<main>{body}</main>")
        return folder
    return write


@pytest.fixture
def show(look, page_of):
    """`show("window-counts")` loads the figure's page from disk."""
    return lambda name, **settings: look((page_of(name) / "page.html").as_uri(), **settings)


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
    wanted = "button:enabled, input:not([type=radio]):enabled, input:checked, select, [tabindex='0']"
    controls = page.locator(".w2s-stage").locator(wanted).count()
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
    ("word-mixtures", "input:checked", "ArrowRight"), ("text-cuts", "input:checked", "ArrowRight"),
    ("bpe-training", "button:has-text('Step')", "Enter"), ("bpe-training", "input >> nth=0", "ArrowRight"),
    ("bpe-encoding", "button:has-text('Step')", "Enter"), ("bpe-encoding", "input:checked", "ArrowRight"),
    ("longest-match", "button:has-text('Step')", "Enter"), ("longest-match", "input:checked", "ArrowRight"),
    ("unigram-lattice", "input[type=range]", "Home"), ("unigram-lattice", "input:checked", "ArrowRight"),
    ("model-input", "input >> nth=0", "ArrowLeft"), ("model-input", "input:checked >> nth=0", "ArrowRight"),
    ("token-price", "input:checked", "ArrowRight"), ("token-price", "select", "ArrowUp"),
    ("next-word-shares", "input[type=range] >> nth=0", "ArrowLeft"), ("next-word-shares", "input:checked >> nth=0", "ArrowRight"),
    ("text-judged", "input[type=range]", "End"), ("text-judged", "input:checked", "ArrowRight"),
    ("lstm-gates", "input[type=range] >> nth=0", "Home"), ("lstm-gates", "input:checked >> nth=0", "ArrowRight"),
    ("spelling-looks", "button:has-text('Step')", "Enter"), ("spelling-looks", "input:checked", "ArrowRight"),
    ("two-readers", "input:checked >> nth=0", "ArrowRight"), ("two-readers", "input:checked >> nth=1", "ArrowLeft"),
    ("seen-by-layer", "input:checked", "ArrowRight"), ("seen-by-layer", "button >> nth=0", "Enter"),
    ("attention-plane", "[role=slider] >> nth=0", "ArrowUp"), ("attention-plane", "input:checked >> nth=0", "ArrowRight"),
    ("attention-maps", "input[type=range] >> nth=0", "ArrowRight"), ("attention-maps", "button.w2s-token >> nth=0", "Enter"),
    ("two-clocks", "input[type=range] >> nth=0", "ArrowRight"), ("two-clocks", "input:checked >> nth=1", "ArrowRight"),
    ("block-sizes", "input[type=range] >> nth=0", "ArrowRight"), ("block-sizes", "[role=button] >> nth=1", "Enter"),
    ("block-sizes", "input:checked >> nth=1", "ArrowRight"), ("three-attentions", "button:has-text('Step')", "Enter"),
    ("three-attentions", "input:checked >> nth=1", "ArrowRight"), ("three-attentions", "input:checked >> nth=3", "ArrowRight"),
    ("position-kinds", "input[type=range]", "ArrowRight"), ("position-kinds", "input:checked >> nth=1", "ArrowLeft"),
    ("input-sum", "input:checked", "ArrowRight"), ("input-sum", "button.w2s-token >> nth=0", "Enter"),
    ("mask-draws", "button:has-text('times')", "Enter"), ("mask-draws", "input[type=range] >> nth=1", "ArrowLeft"),
    ("mask-draws", "input:checked", "ArrowRight"),
    ("pair-guess", "button >> nth=1", "Enter"), ("pair-guess", "input:checked", "ArrowRight"),
    ("encoder-sizes", "input[type=range] >> nth=0", "ArrowRight"), ("encoder-sizes", "input:checked", "ArrowRight"),
    ("filled-blanks", "input:checked >> nth=0", "ArrowRight"), ("filled-blanks", "input:checked >> nth=1", "ArrowRight"),
    ("training-stages", "button:has-text('Step')", "Enter"), ("training-stages", "input:checked", "ArrowRight"),
    ("asked-again", "button:has-text('Step')", "Enter"), ("asked-again", "input:checked", "ArrowRight"),
    ("soft-targets", "input[type=range]", "ArrowRight"), ("soft-targets", "input:checked", "ArrowRight"),
    ("task-heads", "button:has-text('Step')", "Enter"), ("task-heads", "input:checked", "ArrowRight"),
    ("tuned-runs", "button:has-text('Step')", "Enter"), ("tuned-runs", "input:checked", "ArrowRight"),
    ("suspicion", "input:checked", "ArrowRight"),
    ("ranked-texts", "button:has-text('Next')", "Enter"), ("ranked-texts", "select", "ArrowDown"), ("ranked-texts", "input:checked >> nth=1", "ArrowRight"),
    ("span-sums", "input[type=range]", "Home"), ("span-sums", "select", "ArrowDown"), ("span-sums", "input:checked >> nth=0", "ArrowRight"),
    ("tags-by-hand", "button.w2s-token >> nth=1", "Enter"), ("tags-by-hand", "input:checked >> nth=0", "ArrowRight"),
    ("sparse-patterns", "button.w2s-token >> nth=3", "Enter"), ("sparse-patterns", "input[type=range] >> nth=0", "ArrowRight"),
    ("sparse-patterns", "input:checked", "ArrowRight"), ("span-cuts", "button:has-text('Draw')", "Enter"),
    ("span-cuts", "input[type=range] >> nth=0", "End"), ("span-cuts", "input:checked", "ArrowRight"),
    ("spoken-order", "button:has-text('Step')", "Enter"), ("spoken-order", "button:has-text('later')", "Enter"),
    ("spoken-order", "input:checked", "ArrowRight"),
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


@pytest.fixture
def timed(browser, page_of):
    """`timed(name)` opens a figure's page where time passes when the test says so."""
    pages = []

    def open_(name, **settings):
        pages.append(open_page(browser, "about:blank", **settings))
        pages[-1].clock.install(time=0)
        pages[-1].goto((page_of(name) / "page.html").as_uri())
        pages[-1].clock.pause_at(60_000)
        return pages[-1]
    yield open_
    for page in pages:
        page.context.close()


@pytest.mark.parametrize("name", ["window-counts", "skipgram-training"])
def test_play_runs_until_pause_and_never_starts_by_itself(timed, name):
    page = timed(name)
    first = state(page)
    page.clock.run_for(5_000)
    assert state(page) == first
    press(page, page.get_by_role("button", name="Play"), "Enter")
    begun = state(page)
    page.clock.run_for(1_000)
    assert first != begun != state(page) != first
    press(page, page.get_by_role("button", name="Pause"), "Enter")
    paused = state(page)
    page.clock.run_for(5_000)
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


def test_touch_moves_a_figure(show):
    page = show("window-counts", size="phone", has_touch=True)
    before = state(page)
    page.get_by_role("button", name="Step").tap()
    assert state(page) != before


def test_a_sense_has_a_shape_of_its_own(show):
    page = show("bank-neighbours")
    marks = page.locator(".w2s-mark").evaluate_all(
        "nodes => nodes.map(node => [node.getAttribute('class'), node.firstChild.outerHTML])")
    shapes = {hue: {shape for one, shape in marks if one == hue} for hue, _ in marks}
    assert len(shapes) == 3 and all(len(found) == 1 for found in shapes.values())
    assert len({shape for _, shape in marks}) == 3


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_reduced_motion_moves_at_once_and_else_frame_by_frame(show, motion):
    page = show("skipgram-training", reduced_motion=motion)
    at_once, later = page.evaluate("""async () => {
        const slider = document.querySelector("input[type=range]");
        const place = () => document.querySelector(".w2s-live .w2s-dot").getAttribute("transform");
        slider.value = slider.max;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        const seen = [place()];  // no frame has been painted since
        for (let frame = 0; frame < 60; frame++) await new Promise(requestAnimationFrame);
        return [...seen, place()]; }""")
    assert (later == at_once) == (motion == "reduce")


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
def test_a_figure_that_cannot_draw_leaves_its_still(look, page_of, name):
    folder = page_of(name)
    text = (folder / "page.html").read_text()
    start = text.index('<script type="application/json">')
    (folder / "broken.html").write_text(text[:start] + '<script type="application/json">{}</script>' + text[text.index("</script>", start) + 9:])
    page = look((folder / "broken.html").as_uri())
    assert page.heard.complaints
    assert page.locator(".w2s-still").is_visible()


def faults(page, **options):
    """What axe finds on a page that is one figure."""
    return violations(page, **{"rules": {"page-has-heading-one": {"enabled": False}}, **options})


@pytest.mark.parametrize("name", sorted(KEYS))
@pytest.mark.parametrize("size, scheme, other", [("desktop", "light", "dark"), ("phone", "dark", "light")])
def test_a_figure_moves_by_mouse_and_by_keyboard_in_silence_and_without_a_violation(show, name, size, scheme, other):
    """Loaded in one scheme and then seen in the other too: its elements stay the same, so only colours are asked again."""
    page = show(name, size=size, scheme=scheme, reduced_motion="reduce")
    stage, states = page.locator(".w2s-stage"), [state(page)]
    control = stage.locator("button:has-text('Step'), .w2s-segment:not(:has(:checked))").first
    control.click()
    states.append(state(page))
    press(page, stage.locator("input[type=range], input:checked").first, "ArrowRight")
    states.append(state(page))
    assert states[0] != states[1] != states[2]
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), "wider than the screen"
    assert faults(page) == []
    assert_same_elements_and_no_pale_colour(page, other)
    assert page.heard.complaints == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in page.heard.requests)


def assert_same_elements_and_no_pale_colour(page, scheme):
    """What axe found of an open page in one scheme holds in the other, but for its colours, which it looks at again."""
    structure = page.evaluate(STRUCTURE)
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate(STRUCTURE) == structure
    assert faults(page, **COLOUR_RULES) == []


@pytest.mark.parametrize("size, scheme", [("desktop", "light"), ("phone", "dark")])
def test_the_readers_own_words_are_answered_by_the_model_in_the_page_as_torch_answers(show, size, scheme):
    page = show("word-mixtures", size=size, scheme=scheme, reduced_motion="reduce")
    assert not any("weights" in url for url in page.heard.requests)
    assert page.get_by_label("Your words").is_disabled()
    press(page, page.get_by_role("button", name="Load the model (1."), "Enter")
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.source === 'page'")
    assert float(page.locator(".w2s-stage").get_attribute("data-apart")) < 1e-3
    for text in ("dog house", "river -bank", "money"):
        page.get_by_label("Your words").fill(text)
        page.keyboard.press("Enter")
        page.wait_for_function("text => document.querySelector('.w2s-stage').dataset.text === text", arg=text)
        shown = json.loads(page.locator(".w2s-stage").get_attribute("data-nearest"))
        expected = nearest(text)
        assert [one["word"] for one in shown] == [one["word"] for one in expected]
        assert [one["cosine"] for one in shown] == pytest.approx([one["cosine"] for one in expected], abs=1e-3)
    assert page.locator(".w2s-bars li:visible").count() == 8
    page.get_by_label("Your words").fill("zzgrk river")
    page.get_by_text("Not among the 5,000 words: zzgrk.").wait_for()
    page.locator(".w2s-segment", has_text="bank -money").click()
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.text === 'bank -money'")
    assert faults(page) == []
    assert page.heard.complaints == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in page.heard.requests)


@pytest.mark.parametrize("rule, kind", [("occurrences", AbsoluteDiscount), ("company", KneserNey)])
@pytest.mark.parametrize("before, discount", [(0, 0.5), (1, 0.25), (2, 0.75), (2, 1.0)])
def test_the_bars_of_a_sentence_are_the_references_probabilities(show, rule, kind, before, discount):
    corpus = DATA["next-word-shares"]["sentences"]
    words = list(dict.fromkeys(word for line in corpus for word in line))
    model = kind([[words.index(word) for word in line] for line in corpus], len(words), before + 1, discount=discount)
    page = show("next-word-shares")
    page.locator(f"input[value={rule}]").check(force=True)
    sliders = page.get_by_role("slider")
    sliders.nth(0).fill(str(discount))
    sliders.nth(1).fill(str(before))
    page.get_by_label("Your sentence").fill("the river lends safe bank the")
    press(page, page.get_by_label("Your sentence"), "Enter")
    shown = json.loads(page.locator(".w2s-stage").get_attribute("data-shares"))
    ids = [words.index(word) for word in "the river lends safe bank the".split()]
    assert [len(parts) for parts in shown] == [before + 2] * len(ids)
    assert [sum(parts) for parts in shown] == pytest.approx([model.probability(id, ids[:t]) for t, id in enumerate(ids)])


@pytest.mark.parametrize("name, label, typed, wanted", [
    ("text-judged", "Your text", "The LORD is my", "text"), ("lstm-gates", "Your text", "The LORD is my", "text"),
    ("spelling-looks", "Your word", "psalm", "word"), ("three-attentions", "Your word", "psalm", "word"),
    ("position-kinds", "Your text", "The LORD is my", "text")])
def test_a_trained_reader_answers_in_the_page_as_torch_does_and_then_reads_the_readers_text(show, name, label, typed, wanted):
    page = show(name, reduced_motion="reduce")
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    assert float(stage.get_attribute("data-apart")) < 1e-3
    page.get_by_label(label).fill(typed)
    page.keyboard.press("Enter")
    page.locator(f".w2s-stage[data-{wanted}='{typed}']").wait_for()
    if name == "text-judged":
        (expected,) = readings.judged(READERS, [typed])
        bits = [sum(one["nats"] for one in expected["judged"][key]) / math.log(2) / len(typed) for key in READERS]
        assert json.loads(stage.get_attribute("data-bits")) == pytest.approx(bits, abs=1e-3)
        page.get_by_role("button", name="Write on").click()
        page.locator(".w2s-live .w2s-quoted").nth(1).wait_for()
    if name == "lstm-gates":
        free = float(stage.get_attribute("data-bits"))
        assert free == pytest.approx(readings.gates("lstm_kjv", [typed])[0]["bits"], abs=1e-3)
        page.locator("input[value=keep]").check(force=True)
        page.locator(".w2s-stage[data-held=keep]").wait_for()
        assert float(stage.get_attribute("data-bits")) > free
    if name == "spelling-looks":
        assert json.loads(stage.get_attribute("data-said")) == spoken(typed)["said"]
    if name == "position-kinds":
        page.get_by_role("slider").fill("2")
        page.locator(".w2s-stage[data-shift='448']").wait_for()
        (expected,) = readings.placed("positions_kjv", PLACED, [typed], [448])
        costs = [sum(one["nats"]) / len(one["nats"]) for one in expected["found"]["448"].values()]
        assert json.loads(stage.get_attribute("data-costs")) == pytest.approx(costs, abs=1e-3)
    if name == "three-attentions":
        (expected,) = readings.spelled("transformer_spelling", [typed])
        assert json.loads(stage.get_attribute("data-said")) == expected["said"]
        for kind, places in (("backs", len(typed) + 1), ("reads", len(typed) + 1), ("writes", 1)):
            page.locator(f"input[value={kind}]").check(force=True)
            page.get_by_role("slider").fill("0")
            assert f"may look at {places} of" in said(page)
    assert page.heard.complaints == []


def test_two_sentences_of_the_readers_own_are_read_in_the_page_as_torch_reads_them(show):
    page = show("two-readers", reduced_motion="reduce")
    assert page.get_by_label("Sentence 1").is_disabled()
    press(page, page.get_by_role("button", name="Load the model (2."), "Enter")
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.source === 'page'")
    for texts, word in ((("the bank of the river", "the bank of the money"), "bank"), (("a light lamp", "a light weight"), "light")):
        for number, text in enumerate(texts, 1):
            page.get_by_label(f"Sentence {number}").fill(text)
            page.keyboard.press("Enter")
        page.wait_for_function("texts => document.querySelector('.w2s-stage').dataset.texts === texts", arg="|".join(texts))
        stage, expected = page.locator(".w2s-stage"), two_readers(texts, word)["cosines"]
        assert stage.get_attribute("data-word") == word
        for found, wanted in zip(json.loads(stage.get_attribute("data-cosines")), expected, strict=True):
            assert found == pytest.approx(wanted, abs=1e-3)
        assert expected[2][0] == pytest.approx(1, abs=1e-5) and expected[2][1] < 0.9999  # from the left nothing differs yet
        assert page.locator(".w2s-live .w2s-mark").count() == 3 + (6 if word == "bank" else 0)  # the legend, and the uses in both halves
    page.get_by_label("Sentence 2").fill("nothing")
    page.keyboard.press("Enter")
    page.get_by_text("The two sentences have no word in common").wait_for()
    assert page.heard.complaints == []


@pytest.mark.parametrize("tokens, heads, size, times", [(1, 1, 1, 1), (128, 12, 32, 2), (512, 12, 64, 4)])
def test_the_sizes_of_a_block_are_those_that_the_reference_counts(show, tokens, heads, size, times):
    page = show("block-sizes")
    for label, value in (("Tokens", tokens), ("Heads", heads), ("Numbers a head", size), ("F / C", times)):
        slider = page.get_by_role("slider", name=label)
        page.evaluate("""([slider, value]) => { for (slider.value = 0; slider.getAttribute("aria-valuetext") !== value; slider.value++)
            slider.dispatchEvent(new Event("input", { bubbles: true })); }""", [slider.element_handle(), str(value)])
    stage, width = page.locator(".w2s-stage"), heads * size
    assert int(stage.get_attribute("data-parameters")) == block_parameters(width, heads, times * width)
    assert int(stage.get_attribute("data-operations")) == block_flops(tokens, width, heads, times * width)


def test_the_norm_moves_from_the_stream_to_the_side_path(show):
    page = show("block-sizes")
    norms = lambda: page.locator(".w2s-live .w2s-box:has-text('norm') rect").evaluate_all("all => all.map((one) => one.getAttribute('x'))")  # noqa: E731
    stream = page.locator(".w2s-live .w2s-box:has-text('+') rect").first.get_attribute("x")
    assert norms() == [stream, stream]
    page.locator("input[value=before]").check(force=True)
    assert stream not in norms() and len(norms()) == 2
    page.get_by_role("button", name="norm").first.click()
    assert "side path" in said(page)


def test_a_pressed_vector_lights_the_words_that_it_has_seen_and_tells_an_answer_given_away(show):
    page = show("seen-by-layer")
    lit = lambda: page.locator(".w2s-live .w2s-token.is-near").all_inner_texts()  # noqa: E731
    assert lit() == ["the", "bank"] and "lends”, and that it has not read" in said(page)
    press(page, page.locator("input:checked"), "ArrowRight")
    assert lit() == ["the", "bank", "lends"] and "the answer is given away" in said(page)
    page.get_by_role("button", name="2 words: bank, layer 1, from the right").click()
    assert lit() == ["bank", "lends"] and "asks it for “the”" in said(page)
    page.get_by_role("button", name="1 words: lends, layer 0").click()
    assert lit() == ["lends"] and "language model" not in said(page)


@pytest.mark.parametrize("mask, scale, rest, size", [("all", "root", "zero", 4), ("before", "none", "zero", 5), ("all", "root", "drawn", 5),
                                                     ("before", "none", "drawn", 4), ("none", "root", "zero", 2)])
def test_weights_in_the_plane_are_the_references_also_when_a_key_was_moved(show, mask, scale, rest, size):
    page, data = show("attention-plane"), DATA["attention-plane"]
    press(page, page.get_by_role("slider", name="key of sat"), "ArrowLeft")
    for name, value in (("It sees", mask), ("Scores", scale), ("The other D", rest)):
        page.get_by_role("group", name=name).locator(f"input[value={value}]").check(force=True)
    page.get_by_label("D, from 2 to 5").fill(str(size))
    press(page, page.get_by_label("D, from 2 to 5"), "Enter")
    vectors = [[*point, *(drawn[:size - 2] if rest == "drawn" else [0.0] * (size - 2))]
               for point, drawn in zip([data["query"], [-0.1, 0.0], *data["keys"][1:]], data["drawn"], strict=True)]
    q, k, v = (torch.tensor(rows, dtype=torch.float64)[None, None] for rows in (vectors[:1], vectors[1:], data["values"]))
    open_ = {"all": torch.ones(1, 3).bool(), "before": torch.tensor([[True, True, False]]), "none": torch.zeros(1, 3).bool()}[mask]
    weights = attention_weights(q, k, open_, scale=None if scale == "root" else 1.0)
    stage = page.locator(".w2s-stage")
    assert json.loads(stage.get_attribute("data-weights")) == pytest.approx(weights.flatten().tolist(), abs=1e-9)
    assert json.loads(stage.get_attribute("data-output")) == pytest.approx((weights @ v).flatten().tolist(), abs=1e-9)


def test_a_key_in_the_plane_follows_the_pointer(show):
    page = show("attention-plane")
    key = page.get_by_role("slider", name="key of bank")
    box = key.locator("circle").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] - 60)
    page.mouse.up()
    page.mouse.move(0, 0)
    x, y = map(float, key.get_attribute("aria-valuetext").split(", "))
    assert x == 1.0 and y > 1.3


def test_a_map_shows_the_softmax_of_the_recorded_scores_for_the_word_that_is_pressed(show):
    page, data = show("attention-maps"), DATA["attention-maps"]
    for slider in page.get_by_role("slider").all():
        press(page, slider, "End")
    page.get_by_role("button", name="lends").click()
    expected = torch.tensor(data["examples"][0]["scores"][2][1][2]).softmax(-1)
    assert json.loads(page.locator(".w2s-stage").get_attribute("data-weights")) == pytest.approx(expected.tolist(), abs=1e-6)
    assert "Layer 3, head 2: “lends” looks most at" in said(page)
    assert page.locator(".w2s-live .w2s-bar-label").all_inner_texts()[2] == f"lends: {data['examples'][0]['scores'][2][1][2][2]:.2f}"


@torch.no_grad()
def scores_of_a_small_model(key, text):
    """The scores (L, H, T, T) of the small BERT or GPT for a text, by torch; of what is hidden, too."""
    kept = small_model(f"{key}_kjv")
    found, hooks = [], [block.attention.register_forward_pre_hook(lambda layer, given: found.append((layer, given[0]))) for block in
                        (kept.model.bert if key == "bert" else kept.model).blocks]
    kept.model(torch.tensor([kept.tokenizer.encode(text).ids if key == "bert" else kept.tokenizer.encode(text)]))
    for hook in hooks:
        hook.remove()
    pairs = [(layer.query(x), layer.key(x)) if key == "bert" else layer.qkv(x).chunk(3, -1)[:2] for layer, x in found]
    q, k = (torch.cat([split_heads(part, 4) for part in parts]) for parts in zip(*pairs, strict=True))
    return q @ k.mT / q.shape[-1] ** 0.5


def test_the_readers_sentence_is_looked_over_in_the_page_as_by_torch_and_a_gpt_hides_what_comes_after(show):
    page = show("attention-maps", reduced_motion="reduce")
    page.get_by_role("button", name="Load").click()
    stage, text = page.locator(".w2s-stage[data-source=page]"), "And the king lent money"
    stage.wait_for()
    page.get_by_label("Your sentence").fill(text)
    for key in ("bert", "gpt"):
        page.locator(f"input[value={key}]").check(force=True)
        page.locator(f".w2s-stage[data-reader={key}][data-source=page]").wait_for()
        page.get_by_label("Your sentence").press("Enter")
        page.locator(f".w2s-stage[data-reader={key}][data-text='{text}']").wait_for()
        expected = scores_of_a_small_model(key, text)
        at, layer, head = (int(stage.get_attribute(f"data-{name}")) for name in ("at", "layer", "head"))
        wanted = expected[layer, head, at, :at + 1] if key == "gpt" else expected[layer, head, at]
        shown = json.loads(stage.get_attribute("data-scores"))
        assert shown == pytest.approx(wanted.tolist() + [None] * (len(shown) - len(wanted)), abs=1e-3)
        assert json.loads(stage.get_attribute("data-weights"))[:len(wanted)] == pytest.approx(wanted.softmax(-1).tolist(), abs=1e-3)
    assert at + 1 < len(shown)
    assert page.heard.complaints == []


@pytest.mark.parametrize("turn", [90, 10])
def test_two_clocks_give_the_references_score_which_stays_when_both_are_moved(show, turn):
    page, data = show("two-clocks"), DATA["two-clocks"]
    stage, sliders = page.locator(".w2s-stage"), page.get_by_role("slider")
    page.locator(".w2s-segment", has_text=f"{turn}°").click()
    scores = {}
    for together, key, places in (("alone", "ArrowRight", (4, 1)), ("together", "End", (6, 3)), ("together", "Home", (6, 3))):
        page.locator(f"input[value={together}]").check(force=True)
        press(page, sliders.nth(0), key)
        assert stage.get_attribute("data-places") == ",".join(map(str, places))
        tables = [Tables(torch.tensor([[math.cos(angle)]]), torch.tensor([[math.sin(angle)]])) for angle in (math.radians(turn * place) for place in places)]
        q, k = (rotate(torch.tensor(pair).float().view(1, 1, 1, 2), table) for pair, table in zip((data["query"], data["key"]), tables, strict=True))
        assert json.loads(stage.get_attribute("data-query")) == pytest.approx(q.flatten().tolist(), abs=1e-5)
        assert float(stage.get_attribute("data-score")) == pytest.approx(float((q * k).sum()), abs=1e-5)
        scores[places] = float(stage.get_attribute("data-score"))
    assert scores[6, 3] == pytest.approx(scores[4, 1], abs=1e-9)


def test_rows_of_an_input_add_up_and_an_exchange_of_the_texts_changes_two_of_them(show):
    page, data = show("input-sum"), DATA["input-sum"]
    stage = page.locator(".w2s-stage")
    for order, place, segment, moved in (("0,1", 2, 0, ""), ("1,0", 6, 1, "position,segment"), ("0", 2, 0, "position,segment"), ("0,1", 2, 0, "")):
        page.locator(f"input[value='{order}']").check(force=True)
        rows = data["word"]["bank"], data["position"][place], data["segment"][segment]
        assert json.loads(stage.get_attribute("data-sum")) == pytest.approx([sum(column) for column in zip(*rows, strict=True)])
        assert (stage.get_attribute("data-place"), stage.get_attribute("data-segment")) == (str(place), str(segment))
        assert stage.get_attribute("data-moved") == moved
    page.locator("button.w2s-token", has_text="bank").nth(1).click()
    assert stage.get_attribute("data-moved") == "position,segment" and stage.get_attribute("data-place") == "5"


def test_as_many_tokens_are_chosen_as_by_the_reference_never_special_ones_and_their_fates_settle(show):
    page, stage = show("mask-draws"), lambda: page.locator(".w2s-stage")
    def counts(*names):
        return [int(stage().get_attribute(f"data-{name}")) for name in names]
    def set_share(percent):
        page.get_by_label("chosen").fill(str(percent))
    for percent in range(0, 105, 5):  # 25 % and 45 % of ten tokens are halves, which go to the even number
        set_share(percent)
        masking = Masking(0, 20, [0, 1, 2], share=percent / 100)
        _, labels = masking.mask_tokens(torch.tensor([[1, *range(3, 13), 2]]), torch.Generator().manual_seed(0))
        now = dict(json.loads(stage().get_attribute("data-now")))
        assert len(now) == int((labels != IGNORED).sum()) and not {0, 11} & set(now)
    set_share(50)
    for _ in range(20):
        page.get_by_role("button", name="Draw 100 times").click()
    draws, free, chosen, masked, replaced, kept = counts("draws", "free", "chosen", "masked", "replaced", "kept")
    assert (draws, free, chosen) == (2001, 20_010, 10_005) and masked + replaced + kept == chosen
    assert [masked / chosen, replaced / chosen, kept / chosen] == pytest.approx([0.8, 0.1, 0.1], abs=0.02)
    page.get_by_label("another").fill("60")
    assert page.get_by_label("[MASK]").input_value() == "40" and counts("draws", "kept") == [1, 0]
    page.locator("input[value=two]").check(force=True)
    assert counts("free", "chosen") == [1, 1]
    page.get_by_role("button", name="Load").click()
    field = page.get_by_label("Your text")
    field.fill("the bank lends")
    field.press("Enter")
    assert counts("draws", "free") == [1, 4]  # lends is two tokens


def test_guesses_about_pairs_are_counted_once_beside_those_of_the_rule(show):
    page = show("pair-guess")
    stage = page.locator(".w2s-stage")
    button = {name: page.get_by_role("button", name=name, exact=True) for name in ("follows", "from elsewhere", "Next pair")}
    shared = []
    for answer, you, rule in (("follows", "1", "1"), ("follows", "2", "1"), ("follows", "2", "1")):
        assert stage.get_attribute("data-guess") == ""
        shared.append(stage.get_attribute("data-shared"))
        button[answer].click()
        button["from elsewhere"].click()  # a second answer to the same pair counts for nothing
        assert (stage.get_attribute("data-you"), stage.get_attribute("data-rule")) == (you, rule)
        button["Next pair"].click()
    assert shared == ["the,bank", "", "sat"] and stage.get_attribute("data-at") == "0"
    page.locator("input[value=order]").check(force=True)
    assert (stage.get_attribute("data-you"), stage.get_attribute("data-guess")) == ("0", "")


def test_a_model_that_cannot_be_loaded_is_told_in_words_and_can_be_tried_again(look, page_of, tmp_path):
    folder = shutil.copytree(page_of("word-mixtures"), tmp_path / "page")
    weights = folder / "models" / "weights" / "skipgram_glosses.js"
    text = weights.read_text()
    weights.unlink()
    page = look((folder / "page.html").as_uri())
    page.get_by_role("button", name="Load").click()
    page.get_by_text("The model could not be loaded: skipgram_glosses.js could not be loaded.").wait_for()
    weights.write_text(text)
    page.get_by_role("button", name="Load").click()
    page.get_by_text("The model runs in this page: 0.50 million numbers.").wait_for()
    assert [text for text in page.heard.complaints if "skipgram_glosses.js" not in text and "ERR_FILE" not in text] == []


class Strict(SimpleHTTPRequestHandler):
    """Serves a folder and allows scripts from this server only: nothing inline, no eval."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", "default-src 'self'; script-src 'self'; worker-src blob:; "
                         "img-src data:; style-src 'self' 'unsafe-inline'")
        super().end_headers()

    def log_message(self, *args):
        """Say nothing: the test reads the browser's console."""


@pytest.fixture(scope="module")
def strict(site):
    """The address at which a strict server has every figure's page."""
    server = HTTPServer(("127.0.0.1", 0), partial(Strict, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_figure_works_where_only_scripts_of_the_site_may_run(look, strict, page_of, name):
    """Waiting is by locator: `wait_for_function` evaluates a string in the page, which the policy refuses."""
    page = look(f"{strict}/{page_of(name).name}/page.html")
    assert page.locator(".w2s-live").is_visible()
    if ANSWERS & KEYS[name]:
        page.get_by_role("button", name="Load").click()
        page.locator(".w2s-stage[data-source=page]").wait_for()
    assert page.heard.complaints == []


def widget_page(folder, name, model):
    """A page that stands for a notebook: it renders the widget's module with a model that is JavaScript text."""
    from course.book.figures import widget_module, widget_styles
    code, rendering = widget_module(name).split("export default", 1)
    (folder / "w.css").write_text(widget_styles())
    (folder / "w.js").write_text(f"{code}\nconst traits = {json.dumps({'data': DATA[name], 'caption': 'C', 'alt': 'A'})};\n"
                                 f"const widget = ({rendering.rstrip().rstrip(';')});\n"
                                 f"widget.render({{ el: document.getElementById('host'), model: {model} }});")
    (folder / "page.html").write_text('<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
                                      '<link rel="stylesheet" href="w.css"><body data-jp-theme-light="false">'
                                      '<div id="host"></div><script src="w.js"></script>')
    return (folder / "page.html").as_uri()


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_widget_module_draws_the_same_figure(look, tmp_path, name):
    page = look(widget_page(tmp_path, name, "{ get: (key) => traits[key] }"))
    assert page.locator(".w2s-widget .w2s-stage").bounding_box()["height"] > 100
    assert page.locator(".w2s-widget").evaluate("node => getComputedStyle(node).colorScheme") == "dark"
    assert page.heard.complaints == []


def test_in_a_notebook_the_kernel_brings_the_model(look, tmp_path):
    made = figure("word-mixtures", DATA["word-mixtures"], caption="C", alt="A").to_widget()
    sent = []
    made.send = lambda content, buffers=(): sent.append((content, buffers))
    made._handle_custom_msg({"model": "skipgram_glosses"}, [])
    made._handle_custom_msg({"model": "absent"}, [])
    (content, (weights,)), (refused, _) = sent
    assert "no small model 'absent'" in refused["error"]
    model = """{ get: (key) => traits[key], on(event, hear) { this.hear = hear; }, send({ model }) {
        const bytes = Uint8Array.from(atob(BYTES), (c) => c.charCodeAt(0)), wide = new Uint8Array(bytes.length + 3);
        wide.set(bytes, 3);  // as a notebook does it: a view into something larger
        this.hear(CONTENT, [new DataView(wide.buffer, 3)]); } }"""
    model = model.replace("BYTES", json.dumps(base64.b64encode(weights).decode())).replace("CONTENT", json.dumps(content))
    page = look(widget_page(tmp_path, "word-mixtures", model))
    page.get_by_role("button", name="Load").click()
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.source === 'page'")
    assert float(page.locator(".w2s-stage").get_attribute("data-apart")) < 1e-3
    assert page.heard.complaints == []


def test_areas_of_an_encoder_add_up_to_what_torch_counts_and_heads_cost_nothing(show):
    page = show("encoder-sizes")
    stage = page.locator(".w2s-stage")
    for example in DATA["encoder-sizes"]["examples"]:
        page.locator(f"input[value='{example['label']}']").check(force=True)
        assert [int(stage.get_attribute(f"data-{key}")) for key in ("parameters", "added")] == [example["parameters"], example["added"]]
        assert f"{example['parameters'] + example['added']:,}" in said(page)
    before = stage.get_attribute("data-parameters")
    page.get_by_label("Heads H").press("ArrowLeft")
    assert stage.get_attribute("data-heads") == "12" and stage.get_attribute("data-parameters") == before
    assert "12 heads do not divide 1024" in said(page)


def test_a_word_that_is_pressed_is_filled_in_the_page_as_by_torch_on_each_side_of_the_curtain(show):
    page, example = show("filled-blanks", reduced_motion="reduce"), DATA["filled-blanks"]["examples"][1]
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    page.get_by_label("Your text").fill(example["text"].replace("[MASK]", "king"))
    page.get_by_label("Your text").press("Enter")
    page.locator(".w2s-stage[data-text*=king]").wait_for()
    page.get_by_role("button", name="sat").press("Enter")
    page.get_by_role("button", name="king").press("Enter")
    for side, expected in example["sides"].items():
        page.locator(f"input[value={side}]").check(force=True)
        page.locator(f".w2s-stage[data-side={side}][data-at='{example['at']}']").wait_for()
        found = json.loads(stage.get_attribute("data-fillings"))
        assert [token for token, _ in found][:5] == [token for token, _ in expected["fillings"]][:5]
        assert [share for _, share in found][:5] == pytest.approx([share for _, share in expected["fillings"]][:5], abs=1e-3)
        assert json.loads(stage.get_attribute("data-looks")) == pytest.approx(expected["looks"][0][0], abs=1e-3)
    assert "“king”, which stood there, has" in said(page)


def test_a_training_shows_what_it_fills_in_at_each_stop_and_which_counts_it_has_passed(show):
    page, data = show("training-stages"), DATA["training-stages"]
    assert "no better than counting words" in said(page)
    press(page, page.get_by_role("button", name="Step"), "Enter")
    assert "below unigram." in said(page) and "4.50 nats" in said(page)
    press(page, page.get_by_role("button", name="Step"), "Enter")
    assert "below unigram, bigram" in said(page)
    shown = json.loads(page.locator(".w2s-stage").get_attribute("data-fillings"))
    assert shown == data["stages"][2]["filled"][0]["fillings"]


def test_maskings_in_advance_ask_for_what_they_have_and_fresh_ones_for_ever_more(show):
    page, stage = show("asked-again"), lambda name: float(page.locator(".w2s-stage").get_attribute(f"data-{name}"))
    seen = {"fixed": [], "fresh": []}
    for epoch in range(DATA["asked-again"]["most"]):
        assert stage("epoch") == epoch + 1
        for kind in seen:
            seen[kind].append(stage(kind))
        if epoch + 1 < DATA["asked-again"]["most"]:
            page.get_by_role("button", name="Step").click()
    for shares in seen.values():
        assert shares[0] == pytest.approx(0.15) and shares == sorted(shares)  # 3 of 20 tokens at first
    assert seen["fixed"][2] == seen["fixed"][-1] and seen["fresh"][-1] > seen["fresh"][2]  # three maskings in advance
    page.get_by_label("Maskings in advance").fill("1")
    assert stage("fixed") == pytest.approx(0.15)


def test_the_softened_distance_is_that_of_the_objective(show):
    page, stage = show("soft-targets"), lambda name: float(page.locator(".w2s-stage").get_attribute(f"data-{name}"))
    for number, example in enumerate(DATA["soft-targets"]["examples"]):
        page.locator("input[type=radio]").nth(number).check(force=True)
        rows = [torch.tensor([example[who]]) for who in ("student", "teacher")]
        for temperature in ("0.5", "2", "4"):
            page.get_by_label("Temperature").fill(temperature)
            wanted = float(soft_terms(*rows, float(temperature)).mean)
            assert stage("loss") * float(temperature) ** 2 == pytest.approx(wanted, abs=1e-5)
            assert stage("top") == pytest.approx(float((rows[1] / float(temperature)).softmax(-1).max()), abs=1e-6)


def test_the_vectors_that_enter_a_head_are_those_of_the_task(show):
    page, data = show("task-heads"), DATA["task-heads"]
    stage = page.locator(".w2s-stage")
    for task in data["tasks"]:
        page.locator(f"input[value={task['key']}]").check(force=True)
        rows = sorted({row for head in task["heads"] for row in head["rows"]})
        assert stage.get_attribute("data-read") == ",".join(map(str, rows))
        assert stage.locator("line").count() == sum(len(head["rows"]) for head in task["heads"])
        press(page, page.get_by_role("slider"), "End")
        assert task["why"][-1] in said(page) and stage.get_attribute("data-place") == "3"


def test_recorded_trainings_show_the_setting_that_is_chosen_and_the_mean_over_its_seeds(show):
    page, data = show("tuned-runs"), DATA["tuned-runs"]
    stage, slider = page.locator(".w2s-stage"), page.get_by_role("slider")
    assert stage.get_attribute("data-setting") == "small"  # as `start` says
    for group in data["groups"]:
        page.locator(f"input[value={group['key']}]").check(force=True)
        for key, setting in (("Home", group["settings"][0]), ("ArrowRight", group["settings"][1]), ("End", group["settings"][2])):
            press(page, slider, key)
            mean = sum(setting["accuracy"]) / len(setting["accuracy"])
            assert stage.get_attribute("data-setting") == setting["label"] and float(stage.get_attribute("data-mean")) == pytest.approx(mean)
            assert stage.locator("polyline").count() == 1 + len(setting["loss"])
            assert f"{100 * mean:.1f} %" in said(page)


def test_an_exchanged_word_is_suspected_in_the_page_as_torch_suspects_it(show):
    page, exchanged = show("suspicion", reduced_motion="reduce"), DATA["suspicion"]["examples"][1]
    page.get_by_role("button", name="lord").press("Enter")
    assert said(page).startswith("Load the model")
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    page.get_by_role("button", name="lord").press("Enter")  # for "river", the first of the tries
    page.locator(f".w2s-stage[data-text='{exchanged['text']}']").wait_for()
    assert json.loads(stage.get_attribute("data-tokens")) == exchanged["tokens"]
    assert json.loads(stage.get_attribute("data-chances")) == pytest.approx(exchanged["chances"], abs=1e-3)


def test_a_query_is_ranked_by_each_method_and_the_first_right_answer_is_named(show):
    page = show("ranked-texts")
    stage = page.locator(".w2s-stage")
    assert [stage.get_attribute(f"data-{name}") for name in ("first", "rank")] == ["0,2", "1"] and "1.00" in said(page)
    page.locator("input[value=cls]").check(force=True)
    assert [stage.get_attribute(f"data-{name}") for name in ("first", "rank")] == ["1,0", "2"]
    assert stage.locator("li:not([hidden]) .w2s-bar-fill.hue-orange").count() == 1
    page.get_by_role("button", name="Next").click()
    assert (stage.get_attribute("data-first"), stage.get_attribute("data-at")) == ("0,2", "1") and "lender, tune" in said(page)
    page.locator("input[value=near]").check(force=True)  # it has one method and no judged answers
    assert (stage.get_attribute("data-method"), stage.get_attribute("data-rank")) == ("mean", "")
    assert "lender, at 0.30" in said(page)


def test_clicked_tags_are_scored_as_the_reference_scores_them(show):
    page, sentence = show("tags-by-hand"), DATA["tags-by-hand"]["sentences"][0]
    stage = page.locator(".w2s-stage")
    def agrees():
        tags = stage.get_attribute("data-tags").split()
        found = entity_scores([tags], [sentence["true"]])
        shown = [float(stage.get_attribute(f"data-{name}")) for name in ("accuracy", "f1")]
        assert shown == pytest.approx([found.tag_accuracy, found.overall.f1], abs=1e-4)
        assert stage.get_attribute("data-said") == ",".join(f"{kind} {start} {end}" for kind, start, end in entities(tags))
        return tags
    assert agrees() == sentence["said"][0]["tags"]
    word = stage.locator("button.w2s-token")
    for place, kind, tag in ((1, "PER", "B-PER"), (1, "PER", "I-PER"), (2, "ORG", "B-ORG"), (2, "ORG", "I-ORG"), (3, "ORG", "I-ORG"), (3, "PER", "B-PER"), (2, "ORG", "O")):
        page.locator(f"input[value={kind}]").check(force=True)
        word.nth(place).click()
        assert agrees()[place] == tag
    page.get_by_role("button", name="all O").click()
    assert set(agrees()) == {"O"}
    page.locator("input[value=on]").check(force=True)
    assert "(B-PER)" in word.nth(0).inner_text()
    page.locator("input[value=two]").check(force=True)
    assert (stage.get_attribute("data-accuracy"), stage.get_attribute("data-f1")) == ("0.5000", "0.0000") and "Named and wrong: ORG rains" in said(page)


def test_the_best_span_is_the_references_under_each_rule(show):
    page = show("span-sums")
    stage = page.locator(".w2s-stage")
    for question in DATA["span-sums"]["questions"]:
        page.locator("select").select_option(question["label"])
        start, end = torch.tensor(question["start"]).float(), torch.tensor(question["end"]).float()
        assert stage.get_attribute("data-apart") == f"{int(start.argmax())},{int(end.argmax())}"
        for only, inside in (("all", None), ("text", torch.tensor(question["inside"]))):
            page.locator(f"input[value={only}]").check(force=True)
            for longest in (1, 2, 30):
                page.get_by_label("Longest").fill(str(longest))
                assert stage.get_attribute("data-best") == "{0.start},{0.end}".format(best_spans(start, end, inside, longest)[0])
    assert "the bank. Right: the bank" in said(page)  # pieces are put together: lends, too
    page.locator("input[value=no]").check(force=True)
    page.locator("select").select_option("by hand")
    assert stage.get_attribute("data-best") == "2,1" and "the end comes before the start" in said(page)
def test_a_pattern_has_the_pairs_of_the_masks_and_needs_the_layers_that_products_of_them_say(show):
    from reference_impl.layers.masks import window_mask
    page, stage = show("sparse-patterns"), lambda key: page.locator(".w2s-stage").get_attribute(f"data-{key}")
    page.locator("button.w2s-token").nth(3).click()
    is_global = torch.arange(8) == 3
    mask = window_mask(8, before=2, after=2) | is_global | is_global[:, None]
    reach, needed = mask, 1
    while not reach.all():
        reach, needed = (reach.float() @ mask.float()) > 0, needed + 1
    assert (int(stage("pairs")), int(stage("all"))) == (int(mask.sum()), needed)
    page.get_by_role("slider", name="layers").fill("2")
    assert int(stage("met")) == int(((mask.float() @ mask.float()) > 0).sum())


@pytest.mark.parametrize("share, span", [(15, 3), (50, 1), (90, 2), (5, 10), (35, 4)])
def test_spans_are_counted_as_the_objective_counts_them(show, share, span):
    from reference_impl.objectives.span_corruption import SpanCorruption
    page = show("span-cuts")
    page.locator("label", has_text="b").last.click()
    page.get_by_role("slider", name="lost").fill(str(share))
    page.get_by_role("slider", name="mean span").fill(str(span))
    stage = page.locator(".w2s-stage")
    shown = tuple(int(stage.get_attribute(f"data-{key}")) for key in ("lost", "spans", "source", "target"))
    spans = SpanCorruption(vocab_size=200, end_id=1, share=share / 100, mean_span=float(span))
    assert shown == (*spans.counts(20), *spans.lengths(20))
    assert sum(json.loads(stage.get_attribute("data-gone"))) == shown[0]


def test_the_mask_of_an_order_is_the_objectives(show):
    page = show("spoken-order")
    for label in ("left", "mixed"):
        page.locator("label", has_text=label).click()
        assert page.locator(".w2s-stage").get_attribute("data-same") == "true"
    page.get_by_role("button", name="Say it later").click()
    assert json.loads(page.locator(".w2s-stage").get_attribute("data-order")) == [0, 2, 3, 1]
    page.get_by_role("button", name="Count over 100 orders").click()
    assert "100 orders" in said(page)
