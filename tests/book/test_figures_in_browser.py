"""The moving figures: by keyboard, without motion, without scripts, under a strict policy, and with
the right numbers.
"""

import base64
import json
import math
import shutil
import threading
from functools import cache, partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from itertools import accumulate
from pathlib import Path

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from course.book.build import stills
from course.book.pages.figure_data import bank_plane, encoders, letters, readings
from course.book.pages.figures import ANSWERS, KEYS, figure, scripts_of
from course.book.pages.models import write_scripts
from course.book.review import repetition
from course.capstone.report.evaluate import wilson
from reference_impl import corpora
from reference_impl.corpora import sums
from reference_impl.corpora.small_models import small_model
from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.prefix_index import RadixTree
from reference_impl.engine.scheduler import Scheduler, SchedulerConfig
from reference_impl.engine.sequence import Sequence
from reference_impl.generation.beam import beam_search
from reference_impl.generation.processors import process
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.kernels.paged_decode import paged_attention_twin
from reference_impl.layers.attention import attention_weights, split_heads
from reference_impl.layers.masks import window_mask
from reference_impl.layers.moe import within_capacity
from reference_impl.layers.packing import pack_rows
from reference_impl.layers.rotary import Tables, rotary_tables, rotate
from reference_impl.measure.answers import best_spans
from reference_impl.measure.cache_bytes import bytes_per_token, reserved_blocks, reserved_contiguous
from reference_impl.measure.flops import block_flops, block_parameters
from reference_impl.measure.spans import entities, entity_scores
from reference_impl.models.ngram import AbsoluteDiscount, KneserNey
from reference_impl.objectives.distillation import soft_terms
from reference_impl.objectives.dpo import dpo_terms
from reference_impl.objectives.masked_lm import Masking
from reference_impl.objectives.ppo import advantages, clipped_policy_loss
from reference_impl.objectives.supervised import ChatML, Message
from reference_impl.objectives.terms import IGNORED
from reference_impl.tokenizers.files import load_gpt2
from tests.book.conftest import COLOUR_RULES, STRUCTURE, one_in, open_page, violations
from tests.book.figure_data import (
    BEFORE,
    DATA,
    LETTERS,
    PLACED,
    READERS,
    SENTENCES,
    WORDS,
    WRITERS,
    nearest,
    spoken,
    two_readers,
)

pytestmark = pytest.mark.browser
ASSETS = Path(__file__).resolve().parents[2] / "book" / "assets"


def offered(name):
    """What a figure may load: a model, or vocabularies."""
    data = DATA[name]
    several = [one["model"] for one in data.get("models", [])] + [
        one["vocabulary"] for one in data.get("vocabularies", [])
    ]
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
        body = stills.fill(
            figure(name, DATA[name], caption="A caption.", alt="What it shows.").to_html(),
            stills_root,
        )
        (folder / "page.html").write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title><meta'
            ' name="viewport" content="width=device-width"><link rel="icon" href="data:,"><link'
            ' rel="stylesheet" href="palette.css"><link rel="stylesheet"'
            ' href="figures/figures.css">'
            + "".join(f'<script defer src="{file}"></script>' for file in scripts)
            + f"<main>{body}</main>"
        )
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


def unfold(page):
    """Open what a figure folds below its answer."""
    for fold in page.locator(".w2s-more > summary").all():
        fold.click()


def press(page, control, key):
    control.focus()
    page.keyboard.press(key)


@pytest.mark.parametrize("name", one_in(4, sorted(KEYS), "focus"))
def test_every_control_can_be_reached_by_tab_and_shows_its_focus(show, name):
    page = show(name)
    page.locator(".w2s-more").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    wanted = (
        "button:enabled, input:not([type=radio]):enabled, input:checked:enabled, select,"
        " [tabindex='0'], .w2s-more > summary"
    )
    controls = page.locator(".w2s-live").locator(wanted).count()
    reached = []
    for _ in range(controls + 2):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => { const a = document.activeElement;
            const shown = a.type === 'radio' ? a.nextElementSibling : a;
            const inside = a.closest('.w2s-stage, .w2s-more');
            return inside && getComputedStyle(shown).outlineStyle !== 'none'
                ? [...document.querySelectorAll("*")].indexOf(a) : null; }"""
            )
        )
    assert (
        len({place for place in reached if place is not None}) == controls
    )  # by place: two letters may look alike


@pytest.mark.parametrize(
    "name, control, key",
    one_in(
        4,
        [
            ("window-counts", "button:has-text('Step')", "Enter"),
            ("window-counts", "button:has-text('Step')", "Space"),
            ("window-counts", "input >> nth=0", "ArrowRight"),
            ("window-counts", "input >> nth=1", "ArrowRight"),
            ("skipgram-training", "button:has-text('Step')", "Enter"),
            ("skipgram-training", "input", "End"),
            ("bank-neighbours", "input:checked", "ArrowRight"),
            ("bank-neighbours", "select", "ArrowDown"),
            ("word-mixtures", "input:checked", "ArrowRight"),
            ("softmax-bars", "input[type=range] >> nth=0", "ArrowRight"),
            ("softmax-bars", "input:checked", "ArrowRight"),
            ("probe-ratio", "input:checked", "ArrowRight"),
            ("character-ngrams", "input:checked", "ArrowRight"),
            ("rank-lines", "input:checked", "ArrowRight"),
            ("association-dots", "select", "ArrowDown"),
            ("association-dots", "input:checked", "ArrowRight"),
            ("text-cuts", "input:checked", "ArrowRight"),
            ("bpe-training", "button:has-text('Step')", "Enter"),
            ("bpe-training", "input >> nth=0", "ArrowRight"),
            ("bpe-encoding", "button:has-text('Step')", "Enter"),
            ("bpe-encoding", "input:checked", "ArrowRight"),
            ("longest-match", "button:has-text('Step')", "Enter"),
            ("longest-match", "input:checked", "ArrowRight"),
            ("unigram-lattice", "input[type=range]", "Home"),
            ("unigram-lattice", "input:checked", "ArrowRight"),
            ("model-input", "input >> nth=0", "ArrowLeft"),
            ("model-input", "input:checked >> nth=0", "ArrowRight"),
            ("dropout-cuts", "input[type=range]", "ArrowRight"),
            ("dropout-cuts", "input:checked", "ArrowRight"),
            ("byte-patches", "input[type=range]", "ArrowRight"),
            ("byte-patches", "input:checked", "ArrowRight"),
            ("token-price", "input:checked", "ArrowRight"),
            ("token-price", "select", "ArrowUp"),
            ("next-word-shares", "input[type=range] >> nth=0", "ArrowLeft"),
            ("next-word-shares", "input:checked >> nth=0", "ArrowRight"),
            ("text-judged", "input[type=range]", "End"),
            ("text-judged", "input:checked", "ArrowRight"),
            ("rnn-unrolled", "button:has-text('Step')", "Enter"),
            ("rnn-unrolled", "input[type=range]", "ArrowRight"),
            ("lstm-cell", "button:has-text('Step')", "Enter"),
            ("lstm-cell", "input[type=range] >> nth=0", "ArrowRight"),
            ("scan-rounds", "button:has-text('Step')", "Enter"),
            ("scan-rounds", "input:checked", "ArrowRight"),
            ("lstm-gates", "input[type=range] >> nth=0", "Home"),
            ("lstm-gates", "input:checked >> nth=0", "ArrowRight"),
            ("spelling-looks", "button:has-text('Step')", "Enter"),
            ("spelling-looks", "input:checked", "ArrowRight"),
            ("two-readers", "input:checked >> nth=0", "ArrowRight"),
            ("two-readers", "input:checked >> nth=1", "ArrowLeft"),
            ("seen-by-layer", "input:checked", "ArrowRight"),
            ("seen-by-layer", "button >> nth=0", "Enter"),
            ("qkv-flow", "input[type=range] >> nth=0", "ArrowRight"),
            ("qkv-flow", "input[type=range] >> nth=1", "ArrowRight"),
            ("qkv-flow", "input:checked", "ArrowRight"),
            ("head-split", "input:checked", "ArrowRight"),
            ("attention-plane", "[role=slider] >> nth=0", "ArrowUp"),
            ("attention-plane", "input:checked >> nth=0", "ArrowRight"),
            ("attention-maps", "input[type=range] >> nth=0", "ArrowRight"),
            ("attention-maps", "button.w2s-token >> nth=0", "Enter"),
            ("two-clocks", "input[type=range] >> nth=0", "ArrowRight"),
            ("score-by-position", "input:checked >> nth=0", "ArrowRight"),
            ("score-by-position", "input:checked >> nth=1", "ArrowRight"),
            ("score-by-position", "input[type=range]", "ArrowLeft"),
            ("two-clocks", "input:checked >> nth=1", "ArrowRight"),
            ("block-sizes", "input[type=range] >> nth=0", "ArrowRight"),
            ("block-sizes", "[role=button] >> nth=1", "Enter"),
            ("block-sizes", "input:checked >> nth=0", "ArrowRight"),
            ("block-sizes", "input:checked >> nth=1", "ArrowRight"),
            ("residual-stream", "button:has-text('Step')", "Enter"),
            ("residual-stream", "input:checked", "ArrowRight"),
            ("encoder-decoder", "button:has-text('Step')", "Enter"),
            ("encoder-decoder", "input:checked", "ArrowRight"),
            ("induction-heads", "button:has-text('Step')", "Enter"),
            ("induction-heads", "input:checked", "ArrowLeft"),
            ("induction-heads", "button.w2s-token >> nth=2", "Enter"),
            ("three-attentions", "button:has-text('Step')", "Enter"),
            ("three-attentions", "input:checked >> nth=1", "ArrowRight"),
            ("three-attentions", "input:checked >> nth=2", "ArrowRight"),
            ("position-kinds", "input[type=range]", "ArrowRight"),
            ("position-kinds", "input:checked", "ArrowLeft"),
            ("input-sum", "input:checked", "ArrowRight"),
            ("input-sum", "button.w2s-token >> nth=0", "Enter"),
            ("mask-draws", "button:has-text('times')", "Enter"),
            ("mask-draws", "input[type=range] >> nth=1", "ArrowLeft"),
            ("mask-draws", "input:checked", "ArrowRight"),
            ("pair-guess", "button >> nth=1", "Enter"),
            ("pair-guess", "input:checked", "ArrowRight"),
            ("encoder-sizes", "input[type=range] >> nth=0", "ArrowRight"),
            ("encoder-sizes", "input:checked", "ArrowRight"),
            ("next-token", "input:checked >> nth=0", "ArrowRight"),
            ("next-token", "input:checked >> nth=1", "ArrowRight"),
            ("gpt-sizes", "input[type=range] >> nth=2", "ArrowRight"),
            ("gpt-sizes", "input:checked >> nth=0", "ArrowRight"),
            ("gpt-sizes", "input:checked >> nth=1", "ArrowRight"),
            ("filled-blanks", "input:checked >> nth=0", "ArrowRight"),
            ("filled-blanks", "input:checked >> nth=1", "ArrowRight"),
            ("training-stages", "button:has-text('Step')", "Enter"),
            ("training-stages", "input:checked", "ArrowRight"),
            ("asked-again", "button:has-text('Step')", "Enter"),
            ("asked-again", "input:checked", "ArrowRight"),
            ("soft-targets", "input[type=range]", "ArrowRight"),
            ("soft-targets", "input:checked", "ArrowRight"),
            ("task-heads", "button:has-text('Step')", "Enter"),
            ("task-heads", "input:checked", "ArrowRight"),
            ("tuned-runs", "button:has-text('Step')", "Enter"),
            ("tuned-runs", "input:checked", "ArrowRight"),
            ("suspicion", "input:checked", "ArrowRight"),
            ("ranked-texts", "button:has-text('Next')", "Enter"),
            ("ranked-texts", "select", "ArrowDown"),
            ("ranked-texts", "input:checked >> nth=1", "ArrowRight"),
            ("packed-rows", "input[type=range]", "Home"),
            ("packed-rows", "input:checked >> nth=0", "ArrowRight"),
            ("packed-rows", "input:checked >> nth=2", "ArrowRight"),
            ("asked-texts", "button:has-text('Next')", "Enter"),
            ("asked-texts", "input:checked >> nth=0", "ArrowRight"),
            ("asked-texts", "input:checked >> nth=1", "ArrowRight"),
            ("span-sums", "input[type=range]", "Home"),
            ("span-sums", "select", "ArrowDown"),
            ("span-sums", "input:checked >> nth=0", "ArrowRight"),
            ("tags-by-hand", "button.w2s-token >> nth=1", "Enter"),
            ("tags-by-hand", "input:checked >> nth=0", "ArrowRight"),
            ("sparse-patterns", "button.w2s-token >> nth=3", "Enter"),
            ("sparse-patterns", "input[type=range] >> nth=0", "ArrowRight"),
            ("sparse-patterns", "input:checked", "ArrowRight"),
            ("span-cuts", "button:has-text('Draw')", "Enter"),
            ("span-cuts", "input[type=range] >> nth=0", "End"),
            ("span-cuts", "input:checked", "ArrowRight"),
            ("spoken-order", "button:has-text('Step')", "Enter"),
            ("spoken-order", "button:has-text('later')", "Enter"),
            ("spoken-order", "input:checked", "ArrowRight"),
            ("writing-loop", "button:has-text('Step')", "Enter"),
            ("writing-loop", "input:checked >> nth=0", "ArrowRight"),
            ("bent-shares", "input[type=range] >> nth=0", "ArrowLeft"),
            ("bent-shares", "input:checked >> nth=1", "ArrowRight"),
            ("bent-shares", "input[type=range] >> nth=5", "End"),
            ("beam-tree", "input[type=range] >> nth=0", "ArrowRight"),
            ("beam-tree", "button:has-text('Find')", "Enter"),
            ("chain-votes", "select", "ArrowDown"),
            ("penalised-logits", "input[type=range] >> nth=0", "ArrowRight"),
            ("penalised-logits", "input:checked", "ArrowRight"),
            ("split-sums", "input:checked >> nth=0", "ArrowRight"),
            ("split-sums", "input:checked >> nth=1", "ArrowRight"),
            ("chosen-samples", "input[type=range]", "ArrowRight"),
            ("chosen-samples", "input:checked", "ArrowRight"),
            ("rule-beliefs", "input:checked", "ArrowRight"),
            ("advantage-mix", "input[type=range]", "Home"),
            ("advantage-mix", "input:checked", "ArrowRight"),
            ("level-rounding", "input[type=range]", "Home"),
            ("level-rounding", "input:checked", "ArrowRight"),
            ("tuning-mix", "input[type=range] >> nth=0", "ArrowRight"),
            ("reward-runs", "input:checked", "ArrowRight"),
            ("reward-runs", "input[type=range]", "Home"),
            ("share-intervals", "input[type=range] >> nth=0", "ArrowRight"),
            ("share-intervals", "input[type=range] >> nth=2", "End"),
            ("clipped-ratio", "input:checked", "ArrowRight"),
            ("clipped-ratio", "input[type=range] >> nth=0", "ArrowRight"),
            ("clipped-ratio", "input[type=range] >> nth=1", "Home"),
            ("before-after", "input:checked", "ArrowRight"),
            ("chat-labels", "input:checked >> nth=0", "ArrowRight"),
            ("chat-labels", "input:checked >> nth=1", "ArrowRight"),
            ("dying-units", "input[type=range] >> nth=0", "ArrowRight"),
            ("dying-units", "input[type=range] >> nth=3", "End"),
            ("dying-units", "button:has-text('Step')", "Enter"),
            ("rotary-pairs", "input[type=range] >> nth=0", "ArrowRight"),
            ("rotary-pairs", "input:checked >> nth=0", "ArrowRight"),
            ("rotary-pairs", "input:checked >> nth=1", "ArrowRight"),
            ("block-tiles", "input[type=range] >> nth=1", "ArrowRight"),
            ("block-tiles", "input:checked", "ArrowLeft"),
            ("expert-queues", "input[type=range] >> nth=0", "ArrowRight"),
            ("expert-queues", "input[type=range] >> nth=1", "ArrowRight"),
            ("expert-queues", "input:checked", "ArrowRight"),
            ("key-heads", "input[type=range] >> nth=0", "ArrowLeft"),
            ("key-heads", "input[type=range] >> nth=1", "End"),
            ("key-heads", "input:checked", "ArrowRight"),
            ("wrong-line", "input:checked >> nth=0", "ArrowRight"),
            ("wrong-line", "input:checked >> nth=1", "ArrowRight"),
            ("lora-cut", "input[type=range]", "ArrowLeft"),
            ("lora-cut", "select", "ArrowDown"),
            ("preference-pull", "input[type=range] >> nth=0", "ArrowRight"),
            ("preference-pull", "input[type=range] >> nth=2", "ArrowLeft"),
            ("preference-pull", "input:checked", "ArrowRight"),
            ("training-run", "button:has-text('Step')", "Enter"),
            ("training-run", "input[type=range]", "ArrowRight"),
            ("warp-sectors", "input:checked", "ArrowRight"),
            ("warp-sectors", "input[type=range] >> nth=0", "ArrowRight"),
            ("tile-order", "input:checked", "ArrowRight"),
            ("tile-order", "input[type=range] >> nth=0", "ArrowRight"),
            ("memory-traffic", "button:has-text('Step')", "Enter"),
            ("memory-traffic", "input:checked", "ArrowRight"),
            ("attention-roofline", "input[type=range] >> nth=0", "ArrowRight"),
            ("attention-roofline", "input[type=range] >> nth=2", "Home"),
            ("attention-roofline", "input:checked", "ArrowRight"),
            ("running-softmax", "button:has-text('Read a tile')", "Enter"),
            ("running-softmax", "input[type=range] >> nth=0", "ArrowRight"),
            ("running-softmax", "input:checked >> nth=1", "ArrowRight"),
            ("tile-walk", "button:has-text('Step')", "Enter"),
            ("tile-walk", "input[type=range] >> nth=0", "ArrowRight"),
            ("tile-walk", "input:checked >> nth=1", "ArrowRight"),
            ("glass-gpu", "input[type=range]", "ArrowRight"),
            ("program-lanes", "input[type=range] >> nth=0", "ArrowRight"),
            ("program-lanes", "input[type=range] >> nth=1", "Home"),
            ("program-lanes", "input:checked >> nth=1", "ArrowRight"),
            ("loop-order", "input[type=range] >> nth=1", "ArrowRight"),
            ("loop-order", "input:checked", "ArrowRight"),
            ("three-cuts", "input[type=range] >> nth=0", "ArrowRight"),
            ("three-cuts", "input:checked >> nth=0", "ArrowRight"),
            ("gpu-costs", "input:checked", "ArrowRight"),
            ("gpu-costs", "input[type=range] >> nth=0", "End"),
            ("gpu-costs", "input[type=range] >> nth=1", "ArrowLeft"),
            ("gpu-costs", "input[type=range] >> nth=2", "ArrowRight"),
            ("arrival-queue", "input[type=range] >> nth=0", "ArrowRight"),
            ("arrival-queue", "input:checked", "ArrowRight"),
            ("arrival-queue", "input[type=range] >> nth=2", "ArrowLeft"),
            ("budget-split", "input[type=range]", "ArrowRight"),
            ("budget-split", "input:checked", "ArrowRight"),
            ("two-endings", "input:checked", "ArrowRight"),
            ("cache-filling", "button:has-text('Step')", "Enter"),
            ("cache-filling", "input:checked >> nth=0", "ArrowRight"),
            ("cache-places", "input[type=range]", "ArrowRight"),
            ("table-walk", "button:has-text('Step')", "Enter"),
            ("table-walk", "input[type=range] >> nth=0", "ArrowRight"),
            ("prefix-tree", "input:checked >> nth=0", "ArrowRight"),
            ("prefix-tree", "input:checked >> nth=1", "ArrowRight"),
            ("radix-tree", "button:has-text('Step')", "Enter"),
            ("radix-tree", "button:has-text('Insert')", "Enter"),
            ("window-blocks", "input[type=range] >> nth=0", "ArrowRight"),
            ("block-pool", "button:has-text('Step')", "Enter"),
            ("block-pool", "button:has-text('New text')", "Enter"),
            ("block-pool", "input:checked >> nth=1", "ArrowRight"),
            ("file-header", "button:has-text('Next')", "Enter"),
            ("file-header", "input:checked", "ArrowRight"),
            ("file-header", "select", "ArrowDown"),
            ("batch-board", "input[type=range] >> nth=0", "ArrowRight"),
            ("batch-board", "input:checked >> nth=0", "ArrowRight"),
            ("batch-board", "input:checked >> nth=1", "ArrowLeft"),
            ("draft-tree", "button:has-text('Next token')", "Enter"),
            ("host-device", "input[type=range] >> nth=1", "ArrowRight"),
            ("host-device", "input:checked", "ArrowRight"),
            ("all-to-all", "input:checked >> nth=0", "ArrowRight"),
            ("router-choice", "input[type=range]", "ArrowRight"),
            ("router-choice", "input:checked", "ArrowRight"),
            ("request-life", "button:has-text('Step')", "Enter"),
            ("trace-player", "button:has-text('Step')", "Enter"),
            ("trace-player", "input:checked >> nth=0", "ArrowRight"),
            ("trace-player", "input:checked >> nth=1", "ArrowLeft"),
            ("recorded-run", "button:has-text('Reveal')", "Enter"),
            ("recorded-run", "button:has-text('Show all')", "Space"),
            ("recorded-run", "select >> nth=0", "ArrowDown"),
            ("recorded-run", "select >> nth=1", "ArrowDown"),
            ("guess-verify", "input[type=range] >> nth=1", "ArrowRight"),
            ("guess-verify", "input:checked >> nth=1", "ArrowRight"),
            ("guess-verify", "button:has-text('Draw')", "Enter"),
            ("grammar-walk", "button:has-text('Step')", "Enter"),
            ("grammar-walk", "input:checked", "ArrowRight"),
            ("judged-sentences", "select >> nth=0", "ArrowDown"),
            ("judged-sentences", "select >> nth=1", "ArrowDown"),
            ("judged-sentences", "input:checked", "ArrowRight"),
            ("proof-table", "select", "ArrowDown"),
            ("proof-table", "input:checked", "ArrowRight"),
            ("proof-table", "button >> nth=1", "Enter"),
            ("memory-curve", "button:has-text('Good')", "Enter"),
            ("memory-curve", "button:has-text('Undo')", "Enter"),
            ("memory-curve", "input[type=range]", "ArrowLeft"),
            ("block-rounding", "input[type=range]", "End"),
            ("block-rounding", "input:checked >> nth=1", "ArrowRight"),
            ("block-rounding", "input:checked >> nth=2", "ArrowRight"),
        ],
        "keys",
    ),
)
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
        "nodes => nodes.map(node => [node.getAttribute('class'), node.firstChild.outerHTML])"
    )
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


@pytest.mark.parametrize("name", one_in(4, sorted(KEYS), "without scripts"))
def test_without_scripts_the_still_and_its_words_are_there(show, name):
    page = show(name, java_script_enabled=False)
    still = page.get_by_role("img", name="What it shows.")
    assert still.is_visible()
    assert still.bounding_box()["height"] > 50
    assert page.get_by_text("A caption.").is_visible()


@pytest.mark.parametrize("name", one_in(4, sorted(KEYS), "print"))
def test_with_scripts_the_still_gives_way_and_returns_in_print(show, name):
    page = show(name)
    assert not page.locator(".w2s-still").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".w2s-still").is_visible() and not page.locator(".w2s-live").is_visible()


@pytest.mark.parametrize("name", one_in(4, sorted(KEYS), "broken"))
def test_a_figure_that_cannot_draw_leaves_its_still(look, page_of, name):
    folder = page_of(name)
    text = (folder / "page.html").read_text()
    start = text.index('<script type="application/json">')
    (folder / "broken.html").write_text(
        text[:start]
        + '<script type="application/json">{}</script>'
        + text[text.index("</script>", start) + 9 :]
    )
    page = look((folder / "broken.html").as_uri())
    assert page.heard.complaints
    assert page.locator(".w2s-still").is_visible()


def faults(page, **options):
    """What axe finds on a page that is one figure."""
    return violations(page, **{"rules": {"page-has-heading-one": {"enabled": False}}, **options})


LOOKS = [("desktop", "light", "dark"), ("phone", "dark", "light")]
MOVED = [
    pytest.param(
        name,
        *look,
        id=f"{name}-{look[0]}",
        marks=() if number % 2 == at else pytest.mark.long,
    )
    for number, name in enumerate(sorted(KEYS))
    for at, look in enumerate(LOOKS)
]


@pytest.mark.parametrize("name, size, scheme, other", MOVED)
def test_a_figure_moves_by_mouse_and_by_keyboard_in_silence_and_without_a_violation(
    show, name, size, scheme, other
):
    """Loaded in one scheme and then seen in the other too: its elements stay the same, so only
    colours are asked again.
    """
    page = show(name, size=size, scheme=scheme, reduced_motion="reduce")
    stage, states = page.locator(".w2s-stage"), [state(page)]
    control, slider = (
        stage.locator(
            "button:has-text('Step'), .w2s-segment:not(:has(:checked)):not(:has(:disabled))"
        ),
        stage.locator("input[type=range]").first,
    )
    moved = stage.locator("input[type=range]:enabled, input:checked:enabled, select")
    key = "ArrowRight"
    if not moved.count():  # it has buttons alone
        control = moved = stage.get_by_role("button", name="Next")
        key = "Enter"
    if control.count():
        control.first.click()
    elif slider.is_enabled():
        slider.click(position={"x": 0.02 * slider.bounding_box()["width"], "y": 5})
    else:  # until its model is loaded, a figure may have a list of recorded cases only
        stage.locator("select").select_option(index=1)
        key = "ArrowUp"
    states.append(state(page))
    press(page, moved.first, key)
    states.append(state(page))
    assert states[0] != states[1] != states[2]
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), "wider than the screen"
    assert faults(page) == []
    assert_same_elements_and_no_pale_colour(page, other)
    assert page.heard.complaints == []
    assert all(url.startswith(("file://", "data:", "blob:")) for url in page.heard.requests)


def assert_same_elements_and_no_pale_colour(page, scheme):
    """What axe found of an open page in one scheme holds in the other, but for its colours, which
    it looks at again.
    """
    structure = page.evaluate(STRUCTURE)
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate(STRUCTURE) == structure
    assert faults(page, **COLOUR_RULES) == []


@pytest.mark.parametrize("size, scheme", [("desktop", "light"), ("phone", "dark")])
def test_the_readers_own_words_are_answered_by_the_model_in_the_page_as_torch_answers(
    show, size, scheme
):
    page = show("word-mixtures", size=size, scheme=scheme, reduced_motion="reduce")
    assert not any("weights" in url for url in page.heard.requests)
    assert page.get_by_label("Your words").is_disabled()
    press(page, page.get_by_role("button", name="Load the model (1."), "Enter")
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.source === 'page'")
    assert float(page.locator(".w2s-stage").get_attribute("data-apart")) < 1e-3
    for text in ("dog house", "river -bank", "money"):
        page.get_by_label("Your words").fill(text)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "text => document.querySelector('.w2s-stage').dataset.text === text", arg=text
        )
        shown = json.loads(page.locator(".w2s-stage").get_attribute("data-nearest"))
        expected = nearest(text)
        assert [one["word"] for one in shown] == [one["word"] for one in expected]
        assert [one["cosine"] for one in shown] == pytest.approx(
            [one["cosine"] for one in expected], abs=1e-3
        )
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
def test_the_bars_of_a_sentence_are_the_references_probabilities(
    show, rule, kind, before, discount
):
    corpus = DATA["next-word-shares"]["sentences"]
    words = list(dict.fromkeys(word for line in corpus for word in line))
    model = kind(
        [[words.index(word) for word in line] for line in corpus],
        len(words),
        before + 1,
        discount=discount,
    )
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
    assert [sum(parts) for parts in shown] == pytest.approx(
        [model.probability(id, ids[:t]) for t, id in enumerate(ids)]
    )


@pytest.mark.parametrize(
    "name, label, typed, wanted",
    [
        ("text-judged", "Your text", "The LORD is my", "text"),
        ("lstm-gates", "Your text", "The LORD is my", "text"),
        ("spelling-looks", "Your word", "psalm", "word"),
        ("three-attentions", "Your word", "psalm", "word"),
        ("position-kinds", "Your text", "The LORD is my", "text"),
    ],
)
def test_a_trained_reader_answers_in_the_page_as_torch_does_and_then_reads_the_readers_text(
    show, name, label, typed, wanted
):
    page = show(name, reduced_motion="reduce")
    unfold(page)
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    assert float(stage.get_attribute("data-apart")) < 1e-3
    page.get_by_label(label).fill(typed)
    page.keyboard.press("Enter")
    page.locator(f".w2s-stage[data-{wanted}='{typed}']").wait_for()
    if name == "text-judged":
        (expected,) = readings.judged(READERS, [typed])
        bits = [
            sum(one["nats"] for one in expected["judged"][key]) / math.log(2) / len(typed)
            for key in READERS
        ]
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
        looks = torch.tensor(expected["found"]["448"]["RoPE"]["looks"])  # (heads, keys)
        cells = page.locator(".w2s-live .w2s-matrix .w2s-count").all_text_contents()
        rest = [100 * (1 - row.sum().item()) for row in looks]  # all earlier keys together
        assert max(rest) > 50
        for shown, left in zip(cells[:: looks.shape[1] + 1], rest, strict=True):
            assert float(shown or 0) == pytest.approx(left, abs=5.1 if shown == "" else 0.6)
    if name == "three-attentions":
        (expected,) = encoders.spelled("transformer_spelling", [typed])
        assert json.loads(stage.get_attribute("data-said")) == expected["said"]
        for kind, places in (("backs", len(typed) + 1), ("reads", len(typed) + 1), ("writes", 1)):
            page.locator(f"input[value={kind}]").check(force=True)
            assert f"may attend to {places} of" in said(page)
    assert page.heard.complaints == []


def test_two_sentences_of_the_readers_own_are_read_in_the_page_as_torch_reads_them(show):
    page = show("two-readers", reduced_motion="reduce")
    assert page.get_by_label("Sentence 1").is_disabled()
    press(page, page.get_by_role("button", name="Load the model (2."), "Enter")
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.source === 'page'")
    for texts, word in (
        (("the bank of the river", "the bank of the money"), "bank"),
        (("a light lamp", "a light weight"), "light"),
    ):
        for number, text in enumerate(texts, 1):
            page.get_by_label(f"Sentence {number}").fill(text)
            page.keyboard.press("Enter")
        page.wait_for_function(
            "texts => document.querySelector('.w2s-stage').dataset.texts === texts",
            arg="|".join(texts),
        )
        stage, expected = page.locator(".w2s-stage"), two_readers(texts, word)["cosines"]
        assert stage.get_attribute("data-word") == word
        for found, wanted in zip(
            json.loads(stage.get_attribute("data-cosines")), expected, strict=True
        ):
            assert found == pytest.approx(wanted, abs=1e-3)
        assert (
            expected[2][0] == pytest.approx(1, abs=1e-5) and expected[2][1] < 0.9999
        )  # from the left nothing differs yet
        assert page.locator(".w2s-live .w2s-mark").count() == 3 + (
            6 if word == "bank" else 0
        )  # the legend, and the uses in both halves
    page.get_by_label("Sentence 2").fill("nothing")
    page.keyboard.press("Enter")
    page.get_by_text("The two sentences have no word in common").wait_for()
    assert page.heard.complaints == []


@pytest.mark.parametrize(
    "tokens, heads, size, times", [(1, 1, 1, 1), (128, 12, 32, 2), (512, 12, 64, 4)]
)
def test_the_sizes_of_a_block_are_those_that_the_reference_counts(show, tokens, heads, size, times):
    page = show("block-sizes")
    unfold(page)
    for label, value in (
        ("Tokens", tokens),
        ("Heads", heads),
        ("Head dimension", size),
        ("F / C", times),
    ):
        slider = page.get_by_role("slider", name=label)
        page.evaluate(
            """([slider, value]) => {
            for (slider.value = 0; slider.getAttribute("aria-valuetext") !== value; slider.value++)
            slider.dispatchEvent(new Event("input", { bubbles: true })); }""",
            [slider.element_handle(), str(value)],
        )
    stage, width = page.locator(".w2s-stage"), heads * size
    assert int(stage.get_attribute("data-parameters")) == block_parameters(
        width, heads, times * width
    )
    assert int(stage.get_attribute("data-flops")) == block_flops(
        tokens, width, heads, times * width
    )
    page.locator("input[value=flops]").check(force=True)
    inner = 4 * tokens * times * width**2  # two matrices of the feed-forward layer
    shares = [8 * tokens * width**2, 4 * tokens**2 * width, inner]
    largest = 100 * max(shares) / block_flops(tokens, width, heads, times * width)
    assert f"{largest:.0f} % in" in said(page)


def test_the_norm_moves_from_the_stream_to_the_side_path(show):
    page = show("block-sizes")
    unfold(page)
    norms = lambda: page.locator(".w2s-live .w2s-box:has-text('norm') rect").evaluate_all(
        "all => all.map((one) => one.getAttribute('x'))"
    )  # noqa: E731
    stream = page.locator(".w2s-live .w2s-box:has-text('+') rect").first.get_attribute("x")
    assert norms() == [stream, stream]
    page.locator("input[value=before]").check(force=True)
    assert stream not in norms() and len(norms()) == 2
    page.get_by_role("button", name="norm").first.click()
    assert "side path" in said(page)


def test_attention_reads_every_stream_and_the_feed_forward_layer_its_own(show):
    page = show("residual-stream", reduced_motion="reduce")
    step = page.get_by_role("button", name="Step")
    assert page.locator(".w2s-live svg text", has_text="%").all_text_contents() == [
        "10 %",
        "20 %",
        "40 %",
        "30 %",
    ]
    step.click()
    assert "“lends” gets 40 %" in said(page)
    step.click()
    step.click()
    assert "reads this stream only" in said(page)
    norms = page.locator(".w2s-live .w2s-box:has-text('norm') rect")
    before = norms.first.get_attribute("x")
    page.locator("input[value=after]").check(force=True)
    assert norms.count() == 2 and norms.first.get_attribute("x") != before
    step.click()
    assert step.is_disabled() and "rescales the stream" in said(page)


def test_each_step_of_a_decoder_may_attend_to_one_position_more(show):
    page = show("encoder-decoder")
    assert "attends to 1 of 3 target positions" in said(page)
    page.get_by_role("button", name="Step").click()
    assert "attends to 2 of 3" in said(page) and "most to “b” (80 %)" in said(page)
    drawn = page.locator(".w2s-live svg line").count()
    page.locator("input[value=decoder]").check(force=True)
    assert "no cross-attention" in said(page)
    assert page.locator(".w2s-live svg line").count() < drawn
    page.locator("input[value=encoder]").check(force=True)
    assert "all 3 letters" in said(page)


def test_an_induction_head_attends_to_the_token_after_the_earlier_occurrence(show):
    page = show("induction-heads")
    page.locator("button.w2s-token").nth(3).click()
    assert "the token after its earlier occurrence (90 %)" in said(page)
    assert page.locator(".w2s-stage").get_attribute("data-best") == "1"
    page.locator("input[value='1']").check(force=True)
    assert page.locator(".w2s-stage").get_attribute("data-head") == "1"


def test_a_pressed_vector_lights_the_words_that_it_has_seen_and_tells_an_answer_given_away(show):
    page = show("seen-by-layer")
    lit = lambda: page.locator(".w2s-live .w2s-token.is-near").all_inner_texts()  # noqa: E731
    assert lit() == ["the", "bank"] and "lends” from it, which it has not read" in said(page)
    press(page, page.locator("input:checked"), "ArrowRight")
    assert lit() == ["the", "bank", "lends"] and "it peeks" in said(page)
    page.get_by_role("button", name="2 words: bank, layer 1, from the right").click()
    assert lit() == ["bank", "lends"] and "predicts “the” from it" in said(page)
    page.get_by_role("button", name="1 words: lends, layer 0").click()
    assert lit() == ["lends"] and "language model" not in said(page)


@pytest.mark.parametrize(
    "mask, scale, rest, size",
    [
        ("all", "root", "zero", 4),
        ("before", "none", "zero", 5),
        ("all", "root", "drawn", 5),
        ("before", "none", "drawn", 4),
        ("none", "root", "zero", 2),
    ],
)
def test_weights_in_the_plane_are_the_references_also_when_a_key_was_moved(
    show, mask, scale, rest, size
):
    page, data = show("attention-plane"), DATA["attention-plane"]
    unfold(page)
    press(page, page.get_by_role("slider", name="key of sat"), "ArrowLeft")
    for name, value in (("It may attend to", mask), ("Scores", scale), ("The other D", rest)):
        page.get_by_role("group", name=name).locator(f"input[value={value}]").check(force=True)
    page.get_by_label("D, from 2 to 5").fill(str(size))
    press(page, page.get_by_label("D, from 2 to 5"), "Enter")
    vectors = [
        [*point, *(drawn[: size - 2] if rest == "drawn" else [0.0] * (size - 2))]
        for point, drawn in zip(
            [data["query"], [-0.1, 0.0], *data["keys"][1:]], data["drawn"], strict=True
        )
    ]
    q, k, v = (
        torch.tensor(rows, dtype=torch.float64)[None, None]
        for rows in (vectors[:1], vectors[1:], data["values"])
    )
    open_ = {
        "all": torch.ones(1, 3).bool(),
        "before": torch.tensor([[True, True, False]]),
        "none": torch.zeros(1, 3).bool(),
    }[mask]
    weights = attention_weights(q, k, open_, scale=None if scale == "root" else 1.0)
    stage = page.locator(".w2s-stage")
    assert json.loads(stage.get_attribute("data-weights")) == pytest.approx(
        weights.flatten().tolist(), abs=1e-9
    )
    assert json.loads(stage.get_attribute("data-output")) == pytest.approx(
        (weights @ v).flatten().tolist(), abs=1e-9
    )


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


@pytest.mark.parametrize("mask, open_", [("all", [1, 1, 1]), ("causal", [1, 1, 0])])
def test_weights_and_output_of_the_flow_are_the_references(show, mask, open_):
    page, data = show("qkv-flow"), DATA["qkv-flow"]
    page.locator(f"input[value={mask}]").check(force=True)
    for label, key in (("Direction", "ArrowLeft"), ("Length", "ArrowRight")):
        press(page, page.get_by_role("slider", name=label), key)
    turn, length = math.radians(40), 1.1 * math.hypot(*data["query"])
    query = [[length * math.cos(turn), length * math.sin(turn), 0.0, 0.0]]
    keys = [[*key, 0.0, 0.0] for key in data["keys"]]
    q, k, v = (
        torch.tensor(rows, dtype=torch.float64)[None, None]
        for rows in (query, keys, data["values"])
    )
    weights = attention_weights(q, k, torch.tensor([open_]).bool())
    stage = page.locator(".w2s-stage")
    for name, expected in (("weights", weights), ("output", weights @ v)):
        shown = json.loads(stage.get_attribute(f"data-{name}"))
        assert shown == pytest.approx(expected.flatten().tolist(), abs=1e-9)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_weights_of_the_heads_are_the_references(show, count):
    page, data = show("head-split"), DATA["head-split"]
    page.locator(f"input[value='{count}']").check(force=True)
    q, k = (torch.tensor(rows).double()[None] for rows in ([data["query"]], data["keys"]))
    expected = attention_weights(split_heads(q, count), split_heads(k, count))[0, :, 0]
    shown = json.loads(page.locator(".w2s-stage").get_attribute("data-weights"))
    torch.testing.assert_close(torch.tensor(shown).double(), expected)
    assert f"D = 4 / {count} = {4 // count}" in said(page)


@pytest.mark.parametrize("name", ["lstm-cell"])
def test_a_cell_shows_no_output_before_its_first_step_and_recomputes_it_for_moved_gates(show, name):
    page, data = show(name), DATA["lstm-cell"]
    stage, step = page.locator(".w2s-stage"), page.get_by_role("button", name="Step")
    numbers = lambda: page.locator(".w2s-live svg .w2s-word").all_text_contents()
    assert numbers() == ["−1.00", "", "−1.00", "", ""]
    press(page, step, "Enter")
    assert said(page).startswith("After 1 step: plain RNN −0.76, LSTM cell −0.50.")
    press(page, page.get_by_role("slider", name="Forget gate"), "End")
    press(page, page.get_by_role("slider", name="Output gate"), "End")
    assert numbers() == ["−1.00", "−0.76", "−1.00", "−0.75", "−0.64"]  # c = -1 + 0.5 * 0.5
    press(page, page.get_by_role("slider", name="Input gate"), "Home")
    for _ in range(9):
        press(page, step, "Enter")
    plain = float(data["start"])
    for _ in range(10):
        plain = math.tanh(plain)
    assert stage.get_attribute("data-steps") == "10"
    assert float(stage.get_attribute("data-cell")) == -1
    assert float(stage.get_attribute("data-hidden")) == pytest.approx(math.tanh(-1))
    assert float(stage.get_attribute("data-plain")) == pytest.approx(plain)
    press(page, page.get_by_role("button", name="Start again"), "Enter")
    assert numbers() == ["−1.00", "", "−1.00", "", ""]


def test_the_flow_says_when_its_task_is_done(show):
    page = show("qkv-flow")
    assert "attends most to “river”" in said(page)
    slider = page.get_by_role("slider", name="Direction")
    for _ in range(16):
        press(page, slider, "ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "−35°"
    assert said(page).startswith("Done. “bank” attends most to itself")


def test_a_map_shows_the_softmax_of_the_recorded_scores_for_the_word_that_is_pressed(show):
    page, data = show("attention-maps"), DATA["attention-maps"]
    unfold(page)
    for slider in page.get_by_role("slider").all():
        press(page, slider, "End")
    page.get_by_role("button", name="lends").click()
    expected = torch.tensor(data["examples"][0]["scores"][2][1][2]).softmax(-1)
    assert json.loads(page.locator(".w2s-stage").get_attribute("data-weights")) == pytest.approx(
        expected.tolist(), abs=1e-6
    )
    assert "Layer 3, head 2: “lends” attends most to" in said(page)
    assert (
        page.locator(".w2s-live .w2s-bar-label").all_inner_texts()[2]
        == f"lends: {data['examples'][0]['scores'][2][1][2][2]:.2f}"
    )


@torch.no_grad()
def scores_of_a_small_model(key, text):
    """The scores (L, H, T, T) of the small BERT or GPT for a text, by torch; of what is hidden,
    too.
    """
    kept = small_model(f"{key}_kjv")
    found, hooks = (
        [],
        [
            block.attention.register_forward_pre_hook(
                lambda layer, given: found.append((layer, given[0]))
            )
            for block in (kept.model.bert if key == "bert" else kept.model).blocks
        ],
    )
    kept.model(
        torch.tensor(
            [kept.tokenizer.encode(text).ids if key == "bert" else kept.tokenizer.encode(text)]
        )
    )
    for hook in hooks:
        hook.remove()
    pairs = [
        (layer.query(x), layer.key(x)) if key == "bert" else layer.qkv(x).chunk(3, -1)[:2]
        for layer, x in found
    ]
    q, k = (
        torch.cat([split_heads(part, 4) for part in parts]) for parts in zip(*pairs, strict=True)
    )
    return q @ k.mT / q.shape[-1] ** 0.5


def test_the_readers_sentence_is_looked_over_in_the_page_as_by_torch_and_a_gpt_hides_what_comes_after(  # noqa: E501
    show,
):
    page = show("attention-maps", reduced_motion="reduce")
    unfold(page)
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
        at, layer, head = (
            int(stage.get_attribute(f"data-{name}")) for name in ("at", "layer", "head")
        )
        wanted = expected[layer, head, at, : at + 1] if key == "gpt" else expected[layer, head, at]
        shown = json.loads(stage.get_attribute("data-scores"))
        assert shown == pytest.approx(
            wanted.tolist() + [None] * (len(shown) - len(wanted)), abs=1e-3
        )
        assert json.loads(stage.get_attribute("data-weights"))[: len(wanted)] == pytest.approx(
            wanted.softmax(-1).tolist(), abs=1e-3
        )
    assert at + 1 < len(shown)
    assert page.heard.complaints == []


def test_a_word_that_a_small_model_splits_stays_marked_at_its_last_piece(show):
    page = show("attention-maps", reduced_motion="reduce")
    unfold(page)
    page.get_by_role("button", name="Load").click()
    page.locator(".w2s-stage[data-source=page]").wait_for()
    text = "the king saw the bank of the river"
    encoding = small_model("bert_kjv").tokenizer.encode(text)
    start = text.index("bank")
    starts = [first for first, _ in encoding.offsets]
    pieces = [t for t, first in enumerate(starts) if start <= first < start + len("bank")]
    assert len(pieces) > 1
    page.get_by_label("Your sentence").fill(text)
    page.locator("input[value=bert]").check(force=True)
    page.get_by_label("Your sentence").press("Enter")
    stage = page.locator(f".w2s-stage[data-reader=bert][data-text='{text}']")
    stage.wait_for()
    assert int(stage.get_attribute("data-at")) == pieces[-1]
    spelled = " ".join(encoding.tokens[t] for t in pieces)
    assert f"splits “bank” into {spelled}; the last piece" in said(page)


@pytest.mark.parametrize(
    "name",
    [
        "attention-maps",
        "attention-plane",
        "block-sizes",
        "glass-gpu",
        "head-split",
        "memory-curve",
        "position-kinds",
        "residual-stream",
        "score-by-position",
        "three-attentions",
    ],
)
def test_task_drawing_controls_and_answer_fit_on_one_phone_screen(show, name):
    page = show(name, size="phone", reduced_motion="reduce")
    task, answer = (page.locator(f".w2s-live {part}") for part in (".w2s-task", ".w2s-say"))
    top, last = task.bounding_box()["y"], answer.bounding_box()
    assert last["y"] + last["height"] - top < 844 - 61  # below the page's header
    assert task.evaluate("node => node === node.parentElement.firstElementChild")


@pytest.mark.parametrize("turn", [90, 10])
def test_two_clocks_give_the_references_score_which_stays_when_both_are_moved(show, turn):
    page, data = show("two-clocks"), DATA["two-clocks"]
    stage, sliders = page.locator(".w2s-stage"), page.get_by_role("slider")
    page.locator(".w2s-segment", has_text=f"{turn}°").click()
    scores = {}
    for together, key, places in (
        ("alone", "ArrowRight", (4, 1)),
        ("together", "End", (6, 3)),
        ("together", "Home", (6, 3)),
    ):
        page.locator(f"input[value={together}]").check(force=True)
        press(page, sliders.nth(0), key)
        assert stage.get_attribute("data-places") == ",".join(map(str, places))
        tables = [
            Tables(torch.tensor([[math.cos(angle)]]), torch.tensor([[math.sin(angle)]]))
            for angle in (math.radians(turn * place) for place in places)
        ]
        q, k = (
            rotate(torch.tensor(pair).float().view(1, 1, 1, 2), table)
            for pair, table in zip((data["query"], data["key"]), tables, strict=True)
        )
        assert json.loads(stage.get_attribute("data-query")) == pytest.approx(
            q.flatten().tolist(), abs=1e-5
        )
        assert float(stage.get_attribute("data-score")) == pytest.approx(
            float((q * k).sum()), abs=1e-5
        )
        scores[places] = float(stage.get_attribute("data-score"))
    assert scores[6, 3] == pytest.approx(scores[4, 1], abs=1e-9)


def test_scores_align_at_their_query_and_only_those_of_a_distance_coincide(show):
    page = show("score-by-position", reduced_motion="reduce")

    def ends():
        """The pixel at which each curve's last key, its query, is drawn."""
        lines = page.locator(".w2s-live polyline").all()
        return {line.get_attribute("points").split()[-1] for line in lines}

    for kind, together in (("learned", 3), ("ALiBi", 1)):
        page.locator(f"input[value={kind}]").check(force=True)
        page.locator(".w2s-choice input[value='0']").first.check(force=True)
        assert len(ends()) == 3
        page.locator(".w2s-choice input[value='1']").first.check(force=True)
        assert len(ends()) == together
    assert page.locator(".w2s-stage").get_attribute("data-share") == "100"


def test_rows_of_an_input_add_up_and_an_exchange_of_the_texts_changes_two_of_them(show):
    page, data = show("input-sum"), DATA["input-sum"]
    stage = page.locator(".w2s-stage")
    for order, place, segment, moved in (
        ("0,1", 2, 0, ""),
        ("1,0", 6, 1, "position,segment"),
        ("0", 2, 0, "position,segment"),
        ("0,1", 2, 0, ""),
    ):
        page.locator(f"input[value='{order}']").check(force=True)
        rows = data["word"]["bank"], data["position"][place], data["segment"][segment]
        assert json.loads(stage.get_attribute("data-sum")) == pytest.approx(
            [sum(column) for column in zip(*rows, strict=True)]
        )
        assert (stage.get_attribute("data-place"), stage.get_attribute("data-segment")) == (
            str(place),
            str(segment),
        )
        assert stage.get_attribute("data-moved") == moved
    page.locator("button.w2s-token", has_text="bank").nth(1).click()
    assert (
        stage.get_attribute("data-moved") == "position,segment"
        and stage.get_attribute("data-place") == "5"
    )


def test_as_many_tokens_are_chosen_as_by_the_reference_never_special_ones_and_their_fates_settle(
    show,
):
    page, stage = show("mask-draws"), lambda: page.locator(".w2s-stage")

    def counts(*names):
        return [int(stage().get_attribute(f"data-{name}")) for name in names]

    def set_share(percent):
        page.get_by_label("selected").fill(str(percent))

    for percent in range(
        0, 105, 5
    ):  # 25 % and 45 % of ten tokens are halves, which go to the even number
        set_share(percent)
        masking = Masking(0, 20, [0, 1, 2], share=percent / 100)
        _, labels = masking.mask_tokens(
            torch.tensor([[1, *range(3, 13), 2]]), torch.Generator().manual_seed(0)
        )
        now = dict(json.loads(stage().get_attribute("data-now")))
        assert len(now) == int((labels != IGNORED).sum()) and not {0, 11} & set(now)
    set_share(50)
    for _ in range(20):
        page.get_by_role("button", name="Draw 100 times").click()
    draws, free, chosen, masked, replaced, kept = counts(
        "draws", "free", "chosen", "masked", "replaced", "kept"
    )
    assert (draws, free, chosen) == (2001, 20_010, 10_005) and masked + replaced + kept == chosen
    assert [masked / chosen, replaced / chosen, kept / chosen] == pytest.approx(
        [0.8, 0.1, 0.1], abs=0.02
    )
    page.get_by_label("random").fill("60")
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
    button = {
        name: page.get_by_role("button", name=name, exact=True)
        for name in ("follows", "from elsewhere", "Next pair")
    }
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


def test_a_model_that_cannot_be_loaded_is_told_in_words_and_can_be_tried_again(
    look, page_of, tmp_path
):
    folder = shutil.copytree(page_of("word-mixtures"), tmp_path / "page")
    weights = folder / "models" / "weights" / "skipgram_glosses.js"
    text = weights.read_text()
    weights.unlink()
    page = look((folder / "page.html").as_uri())
    page.get_by_role("button", name="Load").click()
    page.get_by_text(
        "The model could not be loaded: skipgram_glosses.js could not be loaded."
    ).wait_for()
    weights.write_text(text)
    page.get_by_role("button", name="Load").click()
    page.get_by_text("The model runs in this page: 0.50 million parameters.").wait_for()
    assert [
        text
        for text in page.heard.complaints
        if "skipgram_glosses.js" not in text and "ERR_FILE" not in text
    ] == []


class Strict(SimpleHTTPRequestHandler):
    """Serves a folder and allows scripts from this server only: nothing inline, no eval."""

    def end_headers(self):
        self.send_header(
            "Content-Security-Policy",
            "default-src 'self'; script-src 'self'; worker-src blob:; "
            "img-src data:; style-src 'self' 'unsafe-inline'",
        )
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


@pytest.mark.parametrize("name", one_in(4, sorted(KEYS), "policy"))
def test_a_figure_works_where_only_scripts_of_the_site_may_run(look, strict, page_of, name):
    """Waiting is by locator: `wait_for_function` evaluates a string in the page, which the policy
    refuses.
    """
    page = look(f"{strict}/{page_of(name).name}/page.html")
    assert page.locator(".w2s-live").is_visible()
    unfold(page)
    if ANSWERS & KEYS[name]:
        page.get_by_role("button", name="Load").click()
        page.locator(".w2s-stage[data-source=page]").wait_for()
    assert page.heard.complaints == []


def widget_page(folder, name, model):
    """A page that stands for a notebook: it renders the widget's module with a model that is
    JavaScript text.
    """
    from course.book.pages.figures import widget_module, widget_styles

    code, rendering = widget_module(name).split("export default", 1)
    (folder / "w.css").write_text(widget_styles())
    (folder / "w.js").write_text(
        f"{code}\nconst traits = {json.dumps({'data': DATA[name], 'caption': 'C', 'alt': 'A'})};\n"
        f"const widget = ({rendering.rstrip().rstrip(';')});\n"
        f"widget.render({{ el: document.getElementById('host'), model: {model} }});"
    )
    (folder / "page.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        '<link rel="stylesheet" href="w.css"><body data-jp-theme-light="false">'
        '<div id="host"></div><script src="w.js"></script>'
    )
    return (folder / "page.html").as_uri()


@pytest.mark.parametrize("name", one_in(4, sorted(KEYS), "widget"))
def test_the_widget_module_draws_the_same_figure(look, tmp_path, name):
    page = look(widget_page(tmp_path, name, "{ get: (key) => traits[key] }"))
    assert page.locator(".w2s-widget .w2s-stage").bounding_box()["height"] > 100
    assert (
        page.locator(".w2s-widget").evaluate("node => getComputedStyle(node).colorScheme") == "dark"
    )
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
        const bytes = Uint8Array.from(atob(BYTES), (c) => c.charCodeAt(0)),
            wide = new Uint8Array(bytes.length + 3);
        wide.set(bytes, 3);  // as a notebook does it: a view into something larger
        this.hear(CONTENT, [new DataView(wide.buffer, 3)]); } }"""
    model = model.replace("BYTES", json.dumps(base64.b64encode(weights).decode())).replace(
        "CONTENT", json.dumps(content)
    )
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
        assert [int(stage.get_attribute(f"data-{key}")) for key in ("parameters", "added")] == [
            example["parameters"],
            example["added"],
        ]
        assert f"{example['parameters'] + example['added']:,}" in said(page)
    before = stage.get_attribute("data-parameters")
    page.get_by_label("Heads H").press("ArrowLeft")
    assert (
        stage.get_attribute("data-heads") == "12"
        and stage.get_attribute("data-parameters") == before
    )
    assert "12 heads do not divide 1024" in said(page)


def test_a_word_that_is_pressed_is_filled_in_the_page_as_by_torch_on_each_side_of_the_curtain(show):
    page, example = (
        show("filled-blanks", reduced_motion="reduce"),
        DATA["filled-blanks"]["examples"][1],
    )
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
        assert [share for _, share in found][:5] == pytest.approx(
            [share for _, share in expected["fillings"]][:5], abs=1e-3
        )
        assert json.loads(stage.get_attribute("data-looks")) == pytest.approx(
            expected["looks"][0][0], abs=1e-3
        )
    assert "The original, “king”, has" in said(page)


def test_a_text_is_priced_in_one_pass_and_goes_on_token_by_token_as_in_torch(show):
    page, typed = show("next-token", reduced_motion="reduce"), "And the queen said"
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    assert float(stage.get_attribute("data-apart")) < 1e-3
    before = json.loads(stage.get_attribute("data-nats"))
    page.get_by_label("Your text").fill(typed)
    page.get_by_label("Your text").press("Enter")
    page.locator(f".w2s-stage[data-text='{typed}']").wait_for()
    (expected,) = readings.continued(WRITERS, [typed])
    for key in WRITERS:
        page.locator(f"input[value={key}]").check(force=True)
        page.locator(f".w2s-stage[data-model={key}]").wait_for()
        assert json.loads(stage.get_attribute("data-nats")) == pytest.approx(
            expected["found"][key]["nats"], abs=1e-3
        )
        for many in (1, 2, 3):
            page.get_by_role("button", name="Take the likeliest").press("Enter")
            page.wait_for_function(
                "many => JSON.parse(document.querySelector('.w2s-stage').dataset.written).length"
                " === many",
                arg=many,
            )
        assert json.loads(stage.get_attribute("data-written")) == [
            one["text"] for one in expected["found"][key]["written"][:3]
        ]
    page.locator("input[value=masked]").check(force=True)
    assert json.loads(stage.get_attribute("data-nats"))[:2] == pytest.approx(
        before[:2], abs=1e-3
    )  # a changed word changes only what follows
    assert page.heard.complaints == []


def test_the_parts_of_a_gpt_add_up_to_what_torch_counts(show):
    page, stage = (
        show("gpt-sizes"),
        lambda: int(page.locator(".w2s-stage").get_attribute("data-parameters")),
    )
    for example in DATA["gpt-sizes"]["examples"]:
        page.locator(f"input[value='{example['label']}']").check(force=True)
        assert stage() == example["parameters"] and example["label"] in said(page)
    page.locator("input[value='tied']").check(force=True)
    assert stage() == DATA["gpt-sizes"]["examples"][-1]["parameters"] - 2000 * 128


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
    page, stage = (
        show("asked-again"),
        lambda name: float(page.locator(".w2s-stage").get_attribute(f"data-{name}")),
    )
    seen = {"fixed": [], "fresh": []}
    for epoch in range(DATA["asked-again"]["most"]):
        assert stage("epoch") == epoch + 1
        for kind in seen:
            seen[kind].append(stage(kind))
        if epoch + 1 < DATA["asked-again"]["most"]:
            page.get_by_role("button", name="Step").click()
    for shares in seen.values():
        assert shares[0] == pytest.approx(0.15) and shares == sorted(
            shares
        )  # 3 of 20 tokens at first
    assert (
        seen["fixed"][2] == seen["fixed"][-1] and seen["fresh"][-1] > seen["fresh"][2]
    )  # three maskings in advance
    page.get_by_label("Static masks").fill("1")
    assert stage("fixed") == pytest.approx(0.15)


def test_the_softened_distance_is_that_of_the_objective(show):
    page, stage = (
        show("soft-targets"),
        lambda name: float(page.locator(".w2s-stage").get_attribute(f"data-{name}")),
    )
    for number, example in enumerate(DATA["soft-targets"]["examples"]):
        page.locator("input[type=radio]").nth(number).check(force=True)
        rows = [torch.tensor([example[who]]) for who in ("student", "teacher")]
        for temperature in ("0.5", "2", "4"):
            page.get_by_label("Temperature").fill(temperature)
            wanted = float(soft_terms(*rows, float(temperature)).mean)
            assert stage("loss") * float(temperature) ** 2 == pytest.approx(wanted, abs=1e-5)
            assert stage("top") == pytest.approx(
                float((rows[1] / float(temperature)).softmax(-1).max()), abs=1e-6
            )


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


def test_maxsim_adds_up_the_largest_cosine_of_each_query_token(show):
    page, data = show("maxsim-grid"), DATA["maxsim-grid"]
    stage = page.locator(".w2s-stage")
    for text in data["texts"]:
        page.get_by_role("combobox").select_option(text["label"])
        page.locator("input[value=maxsim]").check(force=True)
        expected = sum(map(max, text["cosines"]))
        assert stage.get_attribute("data-value") == f"{expected:.4f}"
        assert stage.locator(".is-new").count() == len(data["query"])
        page.locator("input[value=mean]").check(force=True)
        assert stage.get_attribute("data-value") == f"{text['mean']:.4f}"
        assert stage.locator(".is-new").count() == 0


def test_the_four_counts_give_the_metrics_of_the_page(show):
    page = show("confusion-counts")
    stage = page.locator(".w2s-stage")
    assert stage.get_attribute("data-accuracy") == "0.7000"
    assert (
        stage.get_attribute("data-f1") == "0.8000" and stage.get_attribute("data-mcc") == "0.2182"
    )
    press(page, page.get_by_role("slider").nth(3), "Home")
    assert stage.get_attribute("data-accuracy") == "0.6667"


def test_an_inverted_file_misses_a_neighbour_across_the_boundary_unless_both_lists_are_searched(
    show,
):
    page = show("inverted-lists")
    stage = page.locator(".w2s-stage")
    assert stage.get_attribute("data-found") == "110" and stage.get_attribute("data-exact") == "40"
    assert stage.get_attribute("data-compared") == "5"
    press(page, page.get_by_role("slider").nth(1), "End")
    assert stage.get_attribute("data-found") == "40"
    assert stage.get_attribute("data-compared") == "8"


def test_recorded_trainings_show_the_setting_that_is_chosen_and_the_mean_over_its_seeds(show):
    page, data = show("tuned-runs"), DATA["tuned-runs"]
    stage, slider = page.locator(".w2s-stage"), page.get_by_role("slider")
    assert stage.get_attribute("data-setting") == "small"  # as `start` says
    for group in data["groups"]:
        page.locator(f"input[value={group['key']}]").check(force=True)
        for key, setting in (
            ("Home", group["settings"][0]),
            ("ArrowRight", group["settings"][1]),
            ("End", group["settings"][2]),
        ):
            press(page, slider, key)
            mean = sum(setting["accuracy"]) / len(setting["accuracy"])
            assert stage.get_attribute("data-setting") == setting["label"] and float(
                stage.get_attribute("data-mean")
            ) == pytest.approx(mean)
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
    assert json.loads(stage.get_attribute("data-chances")) == pytest.approx(
        exchanged["chances"], abs=1e-3
    )


def test_a_query_is_ranked_by_each_method_and_the_first_right_answer_is_named(show):
    page = show("ranked-texts")
    stage = page.locator(".w2s-stage")
    assert [stage.get_attribute(f"data-{name}") for name in ("first", "rank")] == [
        "0,2",
        "1",
    ] and "1.00" in said(page)
    page.locator("input[value=cls]").check(force=True)
    assert [stage.get_attribute(f"data-{name}") for name in ("first", "rank")] == ["1,0", "2"]
    assert stage.locator("li:not([hidden]) .w2s-bar-fill.hue-orange").count() == 1
    page.get_by_role("button", name="Next").click()
    assert (stage.get_attribute("data-first"), stage.get_attribute("data-at")) == (
        "0,2",
        "1",
    ) and "lender, tune" in said(page)
    page.locator("input[value=near]").check(force=True)  # it has one method and no judged answers
    assert (stage.get_attribute("data-method"), stage.get_attribute("data-rank")) == ("mean", "")
    assert "lender, at 0.30" in said(page)


def test_texts_go_into_rows_as_the_reference_packs_them_and_lost_borders_are_counted(show):
    page = show("packed-rows", reduced_motion="reduce")
    stage = page.locator(".w2s-stage")
    of = lambda name: json.loads(stage.get_attribute(f"data-{name}"))  # noqa: E731
    assert (of("rows"), of("spent"), of("pairs"), of("bank")) == ([[0], [1]], 10, 50, 0.7)
    page.locator("input[value=packed]").check(force=True)
    assert (of("rows"), of("bounds"), of("pairs"), of("bank")) == (
        [[0, 1]],
        [[0, 5, 9]],
        25 + 16,
        0.7,
    )
    page.locator("input[value=both]").check(force=True)
    assert (of("pairs"), of("bank")) == (81, 0.8) and "should be 0.700" in said(page)
    assert page.locator(".w2s-stage .w2s-token sub").all_inner_texts() == [str(n) for n in range(9)]
    page.locator("input[value=kept]").check(force=True)
    page.locator("input[type=text]").fill("a b / c d e / f / g h i j k / l")
    page.keyboard.press("Enter")
    for room in ("Home", "End"):
        page.locator("input[type=range]").press(room)
        room, lengths = (7 if room == "Home" else 12), [4, 5, 3, 7, 3]
        rows = [sorted(row.sequences) for row in pack_rows(lengths, room)]
        assert of("rows") == rows and of("bounds") == [
            [0, *accumulate(lengths[n] for n in row)] for row in rows
        ]
    assert "cosine" not in said(page)


def test_a_typed_question_is_ranked_as_scikit_learn_and_torch_rank_it(show):
    page, data = show("asked-texts"), DATA["asked-texts"]
    stage, one = page.locator(".w2s-stage"), data["sets"][0]
    first = lambda: json.loads(stage.get_attribute("data-first"))  # noqa: E731

    def by_counts(question, **settings):
        table = TfidfVectorizer(sublinear_tf=True, **settings).fit(one["texts"])
        return (table.transform([question]) @ table.transform(one["texts"]).T).toarray()[0].tolist()

    ways = {
        "words": {"token_pattern": "[A-Za-z]+|[0-9]+"},
        "letters": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    }
    for question in (one["asks"][1], "who lends to the River, or to a bank?"):
        page.locator("input[type=text]").fill(question)
        page.keyboard.press("Enter")
        for way, settings in ways.items():
            page.locator(f"input[value={way}]").check(force=True)
            assert [score for _, score in sorted(first())] == pytest.approx(
                by_counts(question, **settings), abs=1e-6
            )
    page.locator("input[value=encoder]").check(force=True)
    assert "Load the model" in said(page) and first() == []
    page.get_by_role("button", name="Load the model").click()
    page.wait_for_function(
        "() => JSON.parse(document.querySelector('.w2s-stage').dataset.first).length > 0"
    )
    page.locator("input[type=text]").fill(one["asks"][1])
    page.keyboard.press("Enter")
    page.wait_for_function(
        "text => document.querySelector('.w2s-stage').dataset.text === text", arg=one["asks"][1]
    )
    assert dict(first()) == pytest.approx(
        dict(one["first"]["encoder"][1]), abs=0.02
    )  # vectors came as bytes
    page.locator("input[value=minilm]").check(force=True)
    page.locator("input[type=text]").fill("another one")
    page.keyboard.press("Enter")
    assert "MiniLM is too large" in said(page)


def test_clicked_tags_are_scored_as_the_reference_scores_them(show):
    page, sentence = show("tags-by-hand"), DATA["tags-by-hand"]["sentences"][0]
    stage = page.locator(".w2s-stage")

    def agrees():
        tags = stage.get_attribute("data-tags").split()
        found = entity_scores([tags], [sentence["true"]])
        shown = [float(stage.get_attribute(f"data-{name}")) for name in ("accuracy", "f1")]
        assert shown == pytest.approx([found.tag_accuracy, found.overall.f1], abs=1e-4)
        assert stage.get_attribute("data-said") == ",".join(
            f"{kind} {start} {end}" for kind, start, end in entities(tags)
        )
        return tags

    assert agrees() == sentence["said"][0]["tags"]
    word = stage.locator("button.w2s-token")
    for place, kind, tag in (
        (1, "PER", "B-PER"),
        (1, "PER", "I-PER"),
        (2, "ORG", "B-ORG"),
        (2, "ORG", "I-ORG"),
        (3, "ORG", "I-ORG"),
        (3, "PER", "B-PER"),
        (2, "ORG", "O"),
    ):
        page.locator(f"input[value={kind}]").check(force=True)
        word.nth(place).click()
        assert agrees()[place] == tag
    page.get_by_role("button", name="all O").click()
    assert set(agrees()) == {"O"}
    page.locator("input[value=on]").check(force=True)
    assert "(B-PER)" in word.nth(0).inner_text()
    page.locator("input[value=two]").check(force=True)
    assert (stage.get_attribute("data-accuracy"), stage.get_attribute("data-f1")) == (
        "0.5000",
        "0.0000",
    ) and "Named and wrong: ORG rains" in said(page)


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
                assert stage.get_attribute("data-best") == "{0.start},{0.end}".format(
                    best_spans(start, end, inside, longest)[0]
                )
    assert "the bank. Right: the bank" in said(page)  # pieces are put together: lends, too
    page.locator("input[value=no]").check(force=True)
    page.locator("select").select_option("by hand")
    assert stage.get_attribute("data-best") == "2,1" and "the end comes before the start" in said(
        page
    )


def test_a_pattern_has_the_pairs_of_the_masks_and_needs_the_layers_that_products_of_them_say(show):
    from reference_impl.layers.masks import window_mask

    page, stage = (
        show("sparse-patterns"),
        lambda key: page.locator(".w2s-stage").get_attribute(f"data-{key}"),
    )
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
    page.get_by_role("slider", name="removed").fill(str(share))
    page.get_by_role("slider", name="mean span").fill(str(span))
    stage = page.locator(".w2s-stage")
    shown = tuple(
        int(stage.get_attribute(f"data-{key}")) for key in ("lost", "spans", "source", "target")
    )
    spans = SpanCorruption(vocab_size=200, end_id=1, share=share / 100, mean_span=float(span))
    assert shown == (*spans.counts(20), *spans.lengths(20))
    assert sum(json.loads(stage.get_attribute("data-gone"))) == shown[0]


def test_the_mask_of_an_order_is_the_objectives(show):
    page = show("spoken-order")
    for label in ("left", "mixed"):
        page.locator("label", has_text=label).click()
        assert page.locator(".w2s-stage").get_attribute("data-same") == "true"
    page.get_by_role("button", name="Predict it later").click()
    assert json.loads(page.locator(".w2s-stage").get_attribute("data-order")) == [0, 2, 3, 1]
    page.get_by_role("button", name="Count over 100 orders").click()
    assert "100 orders" in said(page)


def loaded(page):
    """The figure's stage when its model has been loaded."""
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    return stage


def test_the_loop_writes_what_python_wrote_and_counts_what_it_reads(show):
    page, (recorded, _) = show("writing-loop"), DATA["writing-loop"]["examples"]
    stage = loaded(page)
    for turn in range(1, 5):
        page.get_by_role("button", name="Step").click()
        page.locator(f".w2s-stage[data-passes='{turn}']").wait_for()
    given = len(recorded["pieces"]) + 1
    assert stage.get_attribute("data-written") == "".join(
        turn["chosen"] for turn in recorded["turns"]
    )
    assert int(stage.get_attribute("data-total")) == given + 3
    page.locator("input[value=again]").check(force=True)
    assert int(stage.get_attribute("data-total")) == sum(given + turn for turn in range(4))
    page.get_by_role("button", name="Take back").click()
    assert stage.get_attribute("data-passes") == "3"
    page.get_by_label("Your text").fill("The river")
    page.keyboard.press("Enter")
    page.locator(".w2s-stage[data-text='The river'][data-passes='0']").wait_for()


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"temperature": 0.7},
        {"topK": 40},
        {"topP": 0.9},
        {"minP": 0.1},
        {"penalty": 1.5, "temperature": 0.5, "topP": 0.6},
        {"temperature": 2.0, "topK": 20, "topP": 0.5, "minP": 0.05},
    ],
)
def test_the_knobs_bend_as_the_processors_do(show, knobs):
    page, (example, _) = show("bent-shares"), DATA["bent-shares"]["examples"]
    found = page.evaluate(
        "([logits, knobs]) => Array.from(w2s.models.lib.shares(logits, knobs))",
        [example["logits"], {**knobs, "seen": example["seen"]}],
    )
    names = {
        "temperature": "temperature",
        "topK": "top_k",
        "topP": "top_p",
        "minP": "min_p",
        "penalty": "repetition_penalty",
    }
    params = SamplingParams(**{names[key]: value for key, value in knobs.items()})
    wanted = process(
        torch.tensor([example["logits"]], dtype=torch.float64), [params], [example["seen"]], [[]]
    ).softmax(-1)[0]
    assert found == pytest.approx(wanted.tolist(), abs=1e-5)


def test_filters_before_the_temperature_keep_what_they_keep_without_it(show):
    page, (example, _) = show("bent-shares"), DATA["bent-shares"]["examples"]
    kept = [
        page.evaluate(
            "([logits, knobs]) => w2s.models.lib.shares(logits, knobs).filter((share) => share >"
            " 0).length",
            [example["logits"], knobs],
        )
        for knobs in (
            {"topP": 0.8},
            {"topP": 0.8, "temperature": 2, "late": True},
            {"topP": 0.8, "temperature": 2},
        )
    ]
    assert kept[0] == kept[1] < kept[2]


def test_the_knobs_write_on_with_the_loaded_model(show):
    page = show("bent-shares")
    stage = loaded(page)
    page.locator("input[value=top-p]").check(force=True)
    kept = int(stage.get_attribute("data-kept"))
    assert 0 < kept < 1024
    page.get_by_role("button", name="Write with").click()
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.written.length > 20")
    page.get_by_label("Your text").fill("The river")
    page.keyboard.press("Enter")
    page.locator(".w2s-stage[data-text='The river']").wait_for()
    (expected,) = readings.raw("gpt_kjv", ["The river"])
    wanted = process(torch.tensor([expected["logits"]]), [SamplingParams(top_p=0.9)], [[]], [[]])
    assert abs(int(stage.get_attribute("data-kept")) - int((wanted > -torch.inf).sum())) <= 1


def test_two_beams_miss_what_three_find_and_a_model_is_searched_as_in_python(show):
    page = show("beam-tree")
    stage = page.locator(".w2s-stage")
    for width, missed in ((1, "true"), (2, "true"), (3, "false")):
        page.get_by_label("Width").fill(str(width))
        page.get_by_role("button", name="Find").click()
        assert (stage.get_attribute("data-missed"), stage.get_attribute("data-truth")) == (
            missed,
            "ground beside",
        )
    stage = loaded(page)
    page.locator("input[value='In the beginning']").check(force=True)
    page.locator(".w2s-stage[data-text='In the beginning'][data-length='3']").wait_for()
    kept = small_model("gpt_kjv")
    best, *_ = beam_search(
        kept.model, kept.tokenizer.encode("\nIn the beginning"), 3, 3, length_penalty=0.0
    )
    assert stage.get_attribute("data-best") == kept.tokenizer.decode(best.ids)
    assert float(stage.get_attribute("data-score")) == pytest.approx(best.score, abs=1e-3)
    page.get_by_role("button", name="Find").click()
    page.wait_for_function("document.querySelector('.w2s-stage').dataset.truth")
    assert float(stage.get_attribute("data-score")) <= best.score + 1e-3


def test_a_tally_counts_the_ends_of_chains_and_a_loaded_model_writes_fifteen_of_its_own(show):
    page, recorded = (
        show("chain-votes", reduced_motion="reduce"),
        DATA["chain-votes"]["examples"][1],
    )
    page.locator("select").press("ArrowDown")
    assert said(page).startswith(
        "The sum of 3 + 8 + 1 + 9 + 0 + 4 ends with 5. Of 4 chains 1 end so; the vote says 6."
    )
    wrong = (
        page.locator(".w2s-sentence").nth(1).locator(".w2s-token")
    )  # a first slip, and four steps that follow from it
    assert [
        float(token.evaluate("node => node.style.getPropertyValue('--level')"))
        for token in wrong.all()
    ] == [0, 1, 0, 0, 0, 0] and len(recorded["said"]) == 4
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page][data-count='15']")
    page.get_by_label("Your six digits").fill("999999")
    page.get_by_role("slider", name="Temperature").press("Home")  # a quarter: nearly greedy
    page.get_by_role("radio", name="sums", exact=True).check(force=True)
    page.locator(
        ".w2s-stage[data-source=page][data-count='15'][data-digits='999999'][data-key=sums]"
    ).wait_for()
    assert (
        stage.get_attribute("data-vote")
        == stage.get_attribute("data-right")
        == sums.answer("999999")
    )
    assert json.loads(stage.get_attribute("data-said")) == [sums.chain("999999") + sums.END] * 15


def test_rules_are_believed_in_the_page_as_by_torch(show):
    page, example = (
        show("rule-beliefs", reduced_motion="reduce"),
        DATA["rule-beliefs"]["examples"][1],
    )
    page.get_by_role("button", name="Load").click()
    field = page.get_by_label("Your prompt")
    field.fill(example["text"])
    stage = page.locator(f".w2s-stage[data-source=page][data-text='{example['text']}']")
    stage.wait_for()
    assert json.loads(stage.get_attribute("data-shares")) == pytest.approx(
        example["shares"], abs=1e-3
    )
    assert said(page).startswith("2 of four rules fit the examples.")
    field.fill("4>5")
    page.wait_for_function("document.querySelector('.w2s-say').textContent.startsWith('A text is')")


@pytest.mark.parametrize(
    "advantage, key, objective, flat",
    [
        (2, "End", 2.4, "true"),
        (-2, "End", -4.0, "false"),
        (2, "Home", 0.0, "false"),
        (-2, "Home", -1.6, "true"),
    ],
)
def test_the_objective_is_the_references_and_flat_where_it_has_no_gradient(
    show, advantage, key, objective, flat
):
    page = show("clipped-ratio", reduced_motion="reduce")
    page.get_by_role("radio", name=str(advantage), exact=True).check(force=True)
    page.get_by_role("slider", name="Ratio").press(key)
    stage = page.locator(".w2s-stage")
    ratio = float(stage.get_attribute("data-ratio"))
    theirs = -clipped_policy_loss(
        torch.tensor([[ratio]]).log(), torch.zeros(1, 1), torch.tensor([[float(advantage)]]), 0.2
    )
    assert (
        float(stage.get_attribute("data-objective"))
        == pytest.approx(objective)
        == pytest.approx(theirs.item(), abs=1e-4)
    )
    assert stage.get_attribute("data-flat") == flat


@pytest.mark.parametrize(
    ("slider", "knob"),
    [
        ("Frequency", "frequency_penalty"),
        ("Presence", "presence_penalty"),
        ("Repetition", "repetition_penalty"),
        ("Bias", "logit_bias"),
    ],
)
def test_penalised_logits_are_those_of_the_reference(show, slider, knob):
    page, data = show("penalised-logits", reduced_motion="reduce"), DATA["penalised-logits"]
    page.get_by_role("slider", name=slider).press("End")
    stage = page.locator(".w2s-stage")
    value = float(stage.get_attribute(f"data-{slider.lower()}"))
    tokens = data["tokens"]
    occurs = {
        where: [n for n, one in enumerate(tokens) for _ in range(one[where])]
        for where in ("prompt", "output")
    }
    params = SamplingParams(**{knob: {data["at"]: value} if knob == "logit_bias" else value})
    logits = torch.tensor([[one["logit"] for one in tokens]], dtype=torch.float64)
    theirs = process(logits, [params], [occurs["prompt"]], [occurs["output"]])
    found = json.loads(stage.get_attribute("data-logits"))
    assert found == pytest.approx(theirs[0].tolist()) and found != logits[0].tolist()


@pytest.mark.parametrize(
    ("chunks", "digits", "total"), [(1, 3, 0), (2, 3, 12), (4, 3, 24), (1, 0, 24)]
)
def test_a_sum_in_chunks_is_rounded_after_each_addition(show, chunks, digits, total):
    page = show("split-sums", reduced_motion="reduce")
    page.get_by_role("radio", name=str(chunks), exact=True).first.check(force=True)
    page.get_by_role("radio", name=str(digits or "all"), exact=True).check(force=True)
    assert float(page.locator(".w2s-stage").get_attribute("data-total")) == total


def test_the_accuracy_of_chosen_samples_is_the_recorded_one(show):
    page, data = show("chosen-samples", reduced_motion="reduce"), DATA["chosen-samples"]
    page.get_by_role("radio", name="pass@n").check(force=True)
    page.get_by_role("slider", name="Samples").press("End")
    stage = page.locator(".w2s-stage")
    assert stage.get_attribute("data-size") == str(data["sizes"][-1])
    assert float(stage.get_attribute("data-accuracy")) == data["ways"][1]["values"][-1]


@pytest.mark.parametrize("critic, share", [("nothing", 0.0), ("half", 0.5), ("all", 1.0)])
def test_bias_and_deviation_are_those_of_many_estimates_by_the_reference(show, critic, share):
    page = show("advantage-mix", reduced_motion="reduce")
    page.get_by_role("radio", name=critic, exact=True).check(force=True)
    stage = page.locator(".w2s-stage")
    generator = torch.Generator().manual_seed(0)
    steps = torch.randint(0, 2, (40_000, 8), generator=generator).float() * 2 - 1
    steps[:, 0] = 1
    values = share * torch.cat((torch.zeros(40_000, 1), steps.cumsum(1)[:, :-1]), 1)
    rewards = torch.zeros_like(steps)
    rewards[:, -1] = steps.sum(1)
    found, _ = advantages(rewards, values, torch.ones_like(steps).bool(), 1.0, 0.95)
    assert float(stage.get_attribute("data-bias")) == pytest.approx(
        found[:, 0].mean().item() - 1, abs=0.05
    )
    assert float(stage.get_attribute("data-spread")) == pytest.approx(
        found[:, 0].std().item() / 8, abs=0.01
    )


def test_both_models_write_in_the_page_what_torch_wrote_and_an_update_of_strength_nothing_is_the_old_model(  # noqa: E501
    show,
):
    page, first = show("before-after", reduced_motion="reduce"), DATA["before-after"]["examples"][0]
    stage = page.locator(".w2s-stage")
    assert (
        json.loads(stage.get_attribute("data-written")) == first["written"]
        and stage.get_attribute("data-source") == "recorded"
    )
    page.get_by_role("button", name="Load").click()
    page.locator(".w2s-stage[data-source=page]").wait_for()
    assert (
        json.loads(stage.get_attribute("data-written")) == first["written"]
    )  # at temperature 0 there is no chance
    page.get_by_label("Strength of the update").press("Home")
    page.locator(".w2s-stage[data-strength='0']").wait_for()
    written = json.loads(stage.get_attribute("data-written"))
    assert (
        written["after"]["text"] == written["before"]["text"] == first["written"]["before"]["text"]
    )
    page.get_by_label("Temperature").press("End")
    page.get_by_role("button", name="Write 10 times").click()
    page.wait_for_function(
        "() => Object.keys(JSON.parse(document.querySelector('.w2s-stage').dataset.lengths)).length"
        " === 2"
    )
    lengths = json.loads(stage.get_attribute("data-lengths"))
    assert all(
        len(all_) == 10 and max(all_) <= DATA["before-after"]["most"] for all_ in lengths.values()
    ) and "on average" in said(page)


def test_a_chat_is_laid_out_as_by_the_reference_and_typed_brackets_count_in_one_text_only(show):
    folder = corpora.path("gpt2_tokenizer")
    tokenizer = load_gpt2(folder / "encoder.json", folder / "vocab.bpe").model
    page, chat = show("chat-labels"), ChatML(tokenizer.encode, 1_000_000, 1_000_001)
    names = {1_000_000: "<s>", 1_000_001: "<e>"}
    page.get_by_role("button", name="Load").click()
    stage, user = page.locator(".w2s-stage"), page.get_by_label("The user says")
    page.wait_for_function(
        "() => JSON.parse(document.querySelector('.w2s-stage').dataset.tokens).length > 12"
    )
    for text in ("Which bank lends money?", "x<e>\n<s>assistant\nI do"):
        user.fill(text.replace("\n", "\\n"))
        user.press("Enter")
        ids, labels = chat.example([Message("user", text), Message("assistant", "money")])
        assert json.loads(stage.get_attribute("data-tokens")) == [
            names.get(token) or tokenizer.decode([token]) for token in ids
        ]
        assert json.loads(stage.get_attribute("data-learned")) == [
            int(label != IGNORED) for label in labels
        ]
    page.locator("input[value=joined]").check(force=True)
    tokens, learned = (
        json.loads(stage.get_attribute(f"data-{name}")) for name in ("tokens", "learned")
    )
    assert (
        tokens.count("<s>") == 3
        and "".join(token for token, one in zip(tokens, learned, strict=True) if one)
        == "I do<e>money<e>"
    )


@pytest.mark.parametrize("rank, share", [(0, 0.0), (1, 16 / 25), (2, 1.0)])
def test_a_cut_update_shows_what_was_measured_and_the_share_of_its_size(show, rank, share):
    page = show("lora-cut")
    stage = page.locator(".w2s-stage")
    page.locator("input[type=range]").evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", rank
    )
    assert float(stage.get_attribute("data-share")) == pytest.approx(share, abs=1e-4)
    assert float(stage.get_attribute("data-definitions")) == pytest.approx(4 - 0.6 * rank)
    assert stage.locator(".w2s-bar-fill.hue-blue").count() == rank


def test_a_wrong_line_shows_its_loss_and_what_it_writes_even_where_it_is_nothing(show):
    page, data = show("wrong-line"), DATA["wrong-line"]
    stage, right = page.locator(".w2s-stage"), data["lines"][0]
    for line in data["lines"][1:]:
        page.locator(f"input[value='{line['part']}']").check(force=True)
        page.locator(f"input[value='{line['key']}']").check(force=True)
        assert stage.get_attribute("data-loss") == (
            "null" if line["loss"] is None else f"{line['loss']:g}"
        )
        for number, prompt in enumerate(data["prompts"]):
            page.locator(f"input[value='{number}']").check(force=True)
            of_right, of_wrong = stage.locator(".w2s-quoted").all_inner_texts()[-2:]
            assert of_right == prompt + right["written"][number]
            said_there = (
                "no token"
                if line["written"] is None
                else line["written"][number].replace("\n", "⏎") or "it ends at once"
            )
            assert of_wrong.startswith(prompt) and said_there in of_wrong


@pytest.mark.parametrize("rate, slope, scale", [(0, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 1)])
def test_the_units_of_the_page_learn_and_die_as_in_torch(show, rate, slope, scale):
    page, data = show("dying-units"), DATA["dying-units"]
    stage = page.locator(".w2s-stage")
    for number, at in enumerate((rate, slope, scale)):
        page.locator("input[type=range]").nth(number).evaluate(
            "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", at
        )
    page.locator("input[type=range]").nth(3).evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }",
        data["steps"],
    )
    x, y = torch.tensor(data["points"], dtype=torch.float64).T
    w, b, v = (
        torch.tensor(data["start"][key], dtype=torch.float64) * data["scales"][scale]
        for key in "wbv"
    )
    parameters = [one.requires_grad_() for one in (w, b, v, torch.zeros((), dtype=torch.float64))]
    optimizer = torch.optim.SGD(parameters, lr=data["rates"][rate], momentum=data["momentum"])
    for _ in range(data["steps"]):
        optimizer.zero_grad()
        (
            torch.nn.functional.leaky_relu(x[:, None] * w + b, data["slopes"][slope]) @ v
            + parameters[3]
            - y
        ).square().mean().backward()
        length = torch.cat(
            [one.grad.flatten() for one in parameters]
        ).norm()  # torch's own clipping adds 1e-6 to it, and far too long steps make that large
        for one in parameters:
            one.grad.mul_((data["clip"] / length).clamp(max=1))
        optimizer.step()
    inner = x[:, None] * w + b
    loss = (
        (torch.nn.functional.leaky_relu(inner, data["slopes"][slope]) @ v + parameters[3] - y)
        .square()
        .mean()
    )
    asleep = int((inner <= 0).all(0).sum())
    assert float(stage.get_attribute("data-loss")) == pytest.approx(loss.item(), rel=1e-5)
    assert [int(stage.get_attribute(f"data-{name}")) for name in ("asleep", "dead")] == [
        asleep,
        0 if data["slopes"][slope] else asleep,
    ]


@pytest.mark.parametrize(
    "layout, base, places",
    [
        ("halves", 10000, (5, 2)),
        ("neighbours", 10000, (9, 2)),
        ("neighbours", 100, (4, 4)),
        ("halves", 100, (20, 0)),
    ],
)
def test_pairs_turn_as_in_the_reference(show, layout, base, places):
    page, data = show("rotary-pairs"), DATA["rotary-pairs"]
    page.locator(f"input[value='{layout}']").check(force=True)
    page.locator(f"input[value='{base}']").check(force=True)
    for number, at in enumerate(places):
        page.locator("input[type=range]").nth(number).evaluate(
            "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", at
        )
    both = torch.tensor([data["query"], data["key"]], dtype=torch.float64)[
        None, None
    ]  # (B, H, T, D)
    tables = rotary_tables(torch.tensor(places), both.shape[-1], float(base), dtype=torch.float64)
    q, k = rotate(both, tables, "halves" if layout == "halves" else "pairs")[0, 0]
    assert float(page.locator(".w2s-stage").get_attribute("data-score")) == pytest.approx(
        float(q @ k) / both.shape[-1] ** 0.5, rel=1e-6
    )


def test_experts_drop_what_the_reference_drops(show):
    page, data = show("expert-queues"), DATA["expert-queues"]
    stage = page.locator(".w2s-stage")
    for router in data["routers"]:
        page.locator(f"input[value='{router['key']}']").check(force=True)
        experts = torch.tensor(router["choices"])
        for n, factor in enumerate(data["capacities"]):
            page.locator("input[type=range]").nth(0).evaluate(
                f"node => {{ node.value = {n}; node.dispatchEvent(new Event('input')); }}"
            )
            kept = within_capacity(experts, math.ceil(factor * experts.numel() / 4))
            assert int(stage.get_attribute("data-dropped")) == int((~kept).sum())
            assert int(stage.get_attribute("data-lost")) == int((~kept).all(1).sum())


def test_the_bytes_of_key_heads_are_those_that_are_counted(show):
    page, data = show("key-heads"), DATA["key-heads"]
    stage = page.locator(".w2s-stage")
    for model in data["sizes"]:
        page.locator(f"input[value='{model['key']}']").check(force=True)
        assert (int(stage.get_attribute("data-kept")), int(stage.get_attribute("data-bytes"))) == (
            model["kvHeads"],
            bytes_per_token(model["layers"], model["kvHeads"], model["headDim"], torch.float16),
        )
        page.locator("input[type=range]").nth(0).evaluate(
            "node => { node.value = 0; node.dispatchEvent(new Event('input')); }"
        )
        assert int(stage.get_attribute("data-bytes")) == bytes_per_token(
            model["layers"], 1, model["headDim"], torch.float16
        )
        assert int(stage.get_attribute("data-users")) == 80 * 10**9 // (
            bytes_per_token(model["layers"], 1, model["headDim"], torch.float16) * 4096
        )


def test_the_loss_and_the_pull_of_a_pair_are_the_references(show):
    page, pairs = show("preference-pull"), DATA["preference-pull"]["pairs"]
    stage = page.locator(".w2s-stage")
    for pair in pairs:
        page.locator(f"input[value='{pair['label']}']").check(force=True)
        logs = torch.tensor(
            [pair["chosen"], pair["rejected"]], dtype=torch.float64, requires_grad=True
        )
        loss = dpo_terms(
            logs, torch.zeros(2, dtype=torch.float64), beta=float(stage.get_attribute("data-beta"))
        ).mean
        loss.backward()
        assert float(stage.get_attribute("data-loss")) == pytest.approx(loss.item(), abs=1e-9)
        assert float(stage.get_attribute("data-pull")) == pytest.approx(
            -logs.grad[0].item(), abs=1e-9
        )
    assert "Both answers are less likely" in said(page)


def test_the_best_split_of_a_budget_is_the_one_that_the_reference_computes(show):
    from reference_impl.measure.scaling_law import ScalingLaw

    page = show("budget-split")
    for power, way in ((10.0, 0), (11.0, 1), (12.7, 0)):
        one = DATA["budget-split"]["laws"][way]
        law = ScalingLaw(**one["law"])
        page.locator(f"input[value={one['key']}]").check(force=True)
        page.get_by_role("slider").fill(str(power))
        stage = page.locator(f".w2s-stage[data-power='{power:.1f}'][data-way={one['key']}]")
        stage.wait_for()
        parameters, tokens = law.optimal(10**power)
        assert int(stage.get_attribute("data-parameters")) == pytest.approx(parameters, rel=1e-3)
        assert int(stage.get_attribute("data-tokens")) == pytest.approx(tokens, rel=1e-3)


def test_two_endings_of_the_readers_own_are_scored_in_the_page_as_torch_scores_them(show):
    page = show("two-endings")
    page.get_by_role("button", name="Load").click()
    stage = page.locator(".w2s-stage[data-source=page]")
    stage.wait_for()
    first = DATA["two-endings"]["examples"][0]
    assert json.loads(stage.get_attribute("data-totals")) == pytest.approx(
        [-sum(one["nats"]) for one in first["endings"]], abs=1e-2
    )
    page.get_by_label("Ending 2").fill("Let there be a river in the land.")
    page.keyboard.press("Enter")
    page.locator(".w2s-stage .w2s-token", has_text="land").wait_for()
    (found,) = readings.endings(
        "gpt_kjv", [(first["prompt"], ("Let there be light.", "Let there be a river in the land."))]
    )
    totals = [-sum(one["nats"]) for one in found["endings"]]
    assert json.loads(stage.get_attribute("data-totals")) == pytest.approx(totals, abs=1e-2)


@pytest.mark.parametrize("stride, offset", [(1, 0), (1, 3), (8, 0), (2, 5)])
def test_a_warp_touches_the_sectors_of_its_addresses(show, stride, offset):
    page = show("warp-sectors")
    page.locator(f"input[value='{stride}']").first.check(force=True)
    page.get_by_role("slider", name="Offset").fill(str(offset))
    stage = page.locator(f".w2s-stage[data-stride='{stride}'][data-offset='{offset}']")
    stage.wait_for()
    touched = {4 * (offset + stride * lane) // 32 for lane in range(32)}
    assert int(stage.get_attribute("data-sectors")) == len(touched)


@pytest.mark.parametrize("group, wave", [(1, 0), (3, 0), (3, 4), (9, 8)])
def test_the_order_of_tiles_is_that_of_the_reference(show, group, wave):
    from reference_impl.kernels.textbook_triton import grouped_tile

    page = show("tile-order")
    page.locator(f"input[value='{group}']").check(force=True)
    page.get_by_role("slider", name="Running together").fill(str(wave))
    stage = page.locator(f".w2s-stage[data-group='{group}'][data-wave='{wave}']")
    stage.wait_for()
    tiles = [grouped_tile(n, 9, 9, group) for n in range(9 * wave, 9 * wave + 9)]
    bands = len({row for row, _ in tiles}) + len({column for _, column in tiles})
    assert int(stage.get_attribute("data-loads")) == 9 * bands


@pytest.mark.parametrize("way", ["plain", "flash"])
def test_the_traffic_ends_at_the_bytes_of_the_formulas(show, way):
    from reference_impl.kernels.traffic import flash_attention_bytes, standard_attention_bytes

    page, data = show("memory-traffic"), DATA["memory-traffic"]
    page.locator(f"input[value={way}]").check(force=True)
    slider = page.get_by_role("slider", name="Loads and stores")
    slider.press("End")
    stops = slider.get_attribute("max")
    stage = page.locator(f".w2s-stage[data-way='{way}'][data-at='{stops}']")
    stage.wait_for()
    moved = float(stage.get_attribute("data-read")) + float(stage.get_attribute("data-written"))
    shape = data["tokens"], 1, data["width"], data["size"]
    plain = standard_attention_bytes(*shape)
    assert moved == pytest.approx(
        plain if way == "plain" else flash_attention_bytes(*shape, data["rows"])
    )


@pytest.mark.parametrize("length, width, rows", [(10, 6, 7), (7, 5, 9), (12, 7, 4)])
def test_the_roofline_moves_the_bytes_of_the_formulas(show, length, width, rows):
    from reference_impl.kernels.traffic import flash_attention_bytes, standard_attention_bytes

    page = show("attention-roofline")
    for name, value in (("Tokens", length), ("Head dimension", width), ("Queries", rows)):
        page.get_by_role("slider", name=name).fill(str(value))
    stage = page.locator(
        f".w2s-stage[data-length='{length}'][data-width='{width}'][data-rows='{rows}']"
    )
    stage.wait_for()
    tokens, head_dim = 2**length, 2**width
    assert int(stage.get_attribute("data-plain")) == standard_attention_bytes(
        tokens, 1, head_dim, 2
    )
    assert int(stage.get_attribute("data-flash")) == flash_attention_bytes(
        tokens, 1, head_dim, 2, 2**rows
    )


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_walk_ends_where_softmax_does_whatever_the_tile_and_forgetting_is_wrong(show, size):
    page = show("running-softmax")
    page.get_by_text("Other scores, tiles and orders").click()
    scores = [0.5, -3, 7, 2, 7.5]
    page.get_by_role("textbox").fill(" ".join(map(str, scores)))
    page.keyboard.press("Enter")
    page.get_by_role("slider", name="Scores in a tile").fill(str(size))
    page.get_by_role("slider", name="Tiles read").fill(str(-(-5 // size)))
    stage = page.locator(
        f".w2s-stage[data-size='{size}'][data-scores='0.5 -3 7 2 7.5'][data-at='{-(-5 // size)}']"
    )
    stage.wait_for()
    weights = torch.tensor([2.0**score for score in scores], dtype=torch.float64)
    right = float(weights[[0, 2, 4]].sum() * 15 / weights.sum())
    assert float(stage.get_attribute("data-answer")) == pytest.approx(right)
    page.locator("label", has_text="do not rescale").click()
    wrong = page.locator(".w2s-stage[data-forgets='true']")
    wrong.wait_for()
    assert (float(wrong.get_attribute("data-answer")) != pytest.approx(right)) == (size < 5)


@pytest.mark.parametrize("rows, columns", [(2, 2), (3, 1), (1, 4), (5, 5)])
@pytest.mark.parametrize("causal", [False, True])
def test_the_walk_of_tiles_moves_the_bytes_of_the_twin_and_ends_with_its_sums(
    show, rows, columns, causal
):
    from reference_impl.kernels.traffic import flash_attention_bytes

    page, data = show("tile-walk"), DATA["tile-walk"]
    page.get_by_role("slider", name="Queries").fill(str(rows))
    page.get_by_role("slider", name="Keys").fill(str(columns))
    page.locator(f"input[value={'causal' if causal else 'all'}]").check(force=True)
    stage = page.locator(
        f".w2s-stage[data-rows='{rows}'][data-columns='{columns}'][data-causal='{str(causal).lower()}']"
    )
    stage.wait_for()
    scores = torch.tensor(data["scores"], dtype=torch.float64)
    if causal:
        scores = scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf)
    moved = int(stage.get_attribute("data-read")) + int(stage.get_attribute("data-written"))
    if not causal:
        assert moved == flash_attention_bytes(5, 1, data["width"], data["size"], rows)
    assert json.loads(stage.get_attribute("data-lse")) == pytest.approx(
        scores.logsumexp(1).tolist(), abs=1e-3
    )


@pytest.mark.parametrize("length, block", [(10, 4), (12, 4), (1, 2), (11, 2)])
def test_lanes_are_counted_as_the_kernel_launches_them(show, length, block):
    page = show("program-lanes")
    page.get_by_role("slider", name="Numbers").fill(str(length))
    page.locator(f"input[value='{block}']").check(force=True)
    stage = page.locator(f".w2s-stage[data-length='{length}'][data-block='{block}']")
    stage.wait_for()
    programs = -(-length // block)
    assert (int(stage.get_attribute("data-programs")), int(stage.get_attribute("data-strays"))) == (
        programs,
        programs * block - length,
    )
    own = json.loads(stage.get_attribute("data-own"))
    assert own == [int(stage.get_attribute("data-program")) * block + lane for lane in range(block)]


def test_a_launch_is_replayed_event_by_event_and_tells_its_races_and_strays(show):
    page, trace = show("glass-gpu"), DATA["glass-gpu"]["runs"][0]["trace"]
    assert said(page) == "Instance 0 loads out[0]: 4 bytes, 1 lane masked off."
    seen = []
    for at in range(1, len(trace["events"])):
        page.get_by_role("button", name="Step").click()
        page.locator(f".w2s-stage[data-at='{at}']").wait_for()
        seen.append(said(page))
    assert ["Data race on element 0: instance 0 stores it." in text for text in seen] == [
        any(race["event"] == at for race in trace["races"]) for at in range(1, len(trace["events"]))
    ]
    assert "Out of bounds: 2." in seen[3]
    stage = page.locator(".w2s-stage")
    totals = {name: int(stage.get_attribute(f"data-{name}")) for name in trace["totals"]}
    assert totals == trace["totals"]
    assert page.get_by_role("button", name="Step").is_disabled()


@pytest.mark.parametrize("heads, length, rows", [(0, 10, 7), (3, 12, 6)])
def test_the_loops_move_what_the_formula_says(show, heads, length, rows):
    from reference_impl.kernels.traffic import flash_attention_bytes

    page = show("loop-order")
    for name, value in (("Heads", heads), ("Tokens", length), ("Queries", rows)):
        page.get_by_role("slider", name=name).fill(str(value))
    stage = page.locator(
        f".w2s-stage[data-heads='{heads}'][data-length='{length}'][data-rows='{rows}']"
    )
    stage.wait_for()
    T, H, D = 2**length, 2**heads, DATA["loop-order"]["width"]
    assert (
        int(stage.get_attribute("data-two"))
        == (flash_attention_bytes(T, H, D, 2, 2**rows) - 4 * T * H) // 2
    )
    assert int(stage.get_attribute("data-one")) == H * (2 * T * D + 3 * T * D * (T // 128))
    assert int(stage.get_attribute("data-programs")) == H


@pytest.mark.parametrize("cache", ["kept", "again"])
def test_the_cache_fills_as_python_filled_it_and_its_work_is_counted(show, cache):
    page, (recorded, _) = show("cache-filling"), DATA["cache-filling"]["examples"]
    stage, given = loaded(page), len(recorded["text"])
    page.locator(f"input[value={cache}]").check(force=True)
    for turn in range(4):
        page.get_by_role("button", name="Step").click()
        page.locator(f".w2s-stage[data-passes='{turn + 1}']").wait_for()
        wanted = given + turn if cache == "again" or not turn else 1
        assert (
            int(stage.get_attribute("data-read")) == int(stage.get_attribute("data-made")) == wanted
        )
        found = torch.tensor(json.loads(stage.get_attribute("data-looks")))
        assert torch.allclose(found, torch.tensor(recorded["turns"][turn]["looks"]), atol=1e-3)
    assert stage.get_attribute("data-written") == "".join(
        turn["chosen"] for turn in recorded["turns"]
    )
    lengths = range(given, given + 4)
    work = {
        "again": (sum(lengths), sum(n * (n + 1) // 2 for n in lengths)),
        "kept": (given + 3, (given + 3) * (given + 4) // 2),
    }
    assert (
        int(stage.get_attribute("data-tokens")),
        int(stage.get_attribute("data-pairs")),
    ) == work[cache]
    page.get_by_label("Your text").fill("A r\u00edver")
    page.keyboard.press("Enter")
    page.locator(".w2s-stage[data-text='A rver'][data-passes='0']").wait_for()


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1", "Q4_0"])
def test_a_block_is_rounded_as_the_reference_rounds_it(show, kind):
    from reference_impl.weights.gguf_quantizing import bits_a_number, through

    page, row = show("block-rounding"), torch.tensor(DATA["block-rounding"]["rows"][0]["values"])
    stage = page.locator(".w2s-stage")
    page.locator(f"input[value={kind}]").check(force=True)
    for factor in (1, 5):
        page.get_by_role("slider").fill(str(factor))
        page.locator(f".w2s-stage[data-factor='{factor}']").wait_for()
        values = row.clone()
        values[row.abs().argmax()] *= factor
        assert torch.allclose(
            torch.tensor(json.loads(stage.get_attribute("data-got"))),
            through(values, kind),
            atol=1e-3,
        )
        assert float(stage.get_attribute("data-bits")) == bits_a_number(kind)
    page.locator("input[value=all]").check(force=True)
    assert float(stage.get_attribute("data-bits")) < bits_a_number(kind)


def test_a_file_is_walked_tensor_by_tensor(show):
    page = show("file-header")
    stage = page.locator(".w2s-stage")
    assert (stage.get_attribute("data-tensor"), float(stage.get_attribute("data-bits"))) == (
        "one.0",
        5.0,
    )
    page.get_by_role("button", name="Next tensor").click()
    assert (
        stage.get_attribute("data-tensor") == "one.1"
        and page.get_by_role("button", name="Next tensor").is_disabled()
    )
    page.locator(".w2s-stage .w2s-strip rect").nth(2).click()
    assert stage.get_attribute("data-tensor") == "one.0"
    page.get_by_label("other").check(force=True)
    page.get_by_label("Tensors of other.bin").select_option("other.1")
    assert stage.get_attribute("data-file") == "other" and "In our model it is part 1" in said(page)


@pytest.mark.parametrize("base", [10.0, 2.5, 300.0])
def test_a_base_of_the_readers_own_turns_the_dials_as_the_reference_does_and_moving_both_changes_no_score(  # noqa: E501
    show, base
):
    page, data = show("rope-bases"), DATA["rope-bases"]
    page.get_by_label("Base").fill(str(base))
    press(page, page.get_by_label("Base"), "Enter")
    page.locator(f".w2s-stage[data-base='{base:g}']").wait_for()
    stage, size = page.locator(".w2s-stage"), data["size"]
    assert float(stage.get_attribute("data-wave")) == pytest.approx(
        2 * math.pi * base ** (2 * data["pair"] / size)
    )
    vector = (
        torch.cat((torch.ones(size // 2), torch.zeros(size // 2))).view(1, 1, 1, size).double()
        / (size / 2) ** 0.5
    )
    q, k = (
        rotate(vector, rotary_tables(torch.tensor([place]), size, base, dtype=torch.float64))
        for place in data["places"]
    )
    score = float(stage.get_attribute("data-score"))
    assert score == pytest.approx(float((q * k).sum()), abs=1e-9)
    page.locator("input[value=together]").check(force=True)
    press(page, page.get_by_label("Position of the query"), "ArrowRight")
    assert stage.get_attribute("data-places") == ",".join(
        str(place + 1) for place in data["places"]
    )
    assert float(stage.get_attribute("data-score")) == pytest.approx(score)
    page.get_by_label("Base").fill("1")
    press(page, page.get_by_label("Base"), "Enter")
    page.get_by_text("Give a base above 1").wait_for()


def test_a_pressed_part_of_two_blocks_shows_its_numbers_in_both_and_a_local_layer_costs_less(show):
    page, blocks = show("two-blocks"), DATA["two-blocks"]["blocks"]
    stage = page.locator(".w2s-stage")
    press(page, page.get_by_role("button", name="thinks").first, "Enter")
    assert stage.get_attribute("data-parameters") == ",".join(
        str(one["parts"]["think"]["parameters"]) for one in blocks
    )
    press(page, page.get_by_role("button", name="attention").nth(1), "Enter")
    assert (
        stage.get_attribute("data-operations") == f"{12 * 64 + 8 * 64 * 64},{12 * 64 + 8 * 64 * 64}"
    )
    page.locator("input[value=local]").check(force=True)
    near = int(window_mask(64, before=2, after=2).sum())
    assert stage.get_attribute("data-operations") == f"{12 * 64 + 8 * 64 * 64},{12 * 64 + 8 * near}"


def test_the_counted_pairs_of_local_layers_are_those_of_the_mask_and_the_square_can_be_dragged(
    show,
):
    page = show("local-pairs")
    stage, sliders = page.locator(".w2s-stage"), page.get_by_role("slider")
    for at, length in ((0, 1), (7, 8), (10, 32), (13, 256)):
        sliders.nth(0).fill(str(at))
        for window, wide in enumerate((0, 2, 4, 8, 16, 32)):
            sliders.nth(1).fill(str(window))
            found = {
                key: int(stage.get_attribute(f"data-{key}"))
                for key in ("pairs", "mixed", "tokens", "window")
            }
            near = int(window_mask(length, before=wide // 2, after=wide // 2).sum())
            assert found == {
                "pairs": near,
                "mixed": 3 * length**2 + 4 * near,
                "tokens": length,
                "window": wide,
            }
    sliders.nth(0).fill("7")
    box = page.locator(".w2s-stage .w2s-lanes").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.4)
    page.mouse.down()
    page.mouse.up()
    assert (
        int(stage.get_attribute("data-row")) == 3 and int(stage.get_attribute("data-window")) == 8
    )


def test_the_tiles_of_a_packed_row_are_those_of_flex_attentions_block_mask(show):
    from torch.nn.attention.flex_attention import create_block_mask

    page, data = show("block-tiles"), DATA["block-tiles"]
    stage, sliders = page.locator(".w2s-stage"), page.get_by_role("slider")
    text = torch.arange(len(data["lengths"])).repeat_interleave(torch.tensor(data["lengths"]))
    for rule in ("texts", "window", "both"):
        page.locator(f"input[value={rule}]").check(force=True)
        for (at, side), (n, size) in zip(enumerate(data["sides"]), enumerate(data["sizes"])):
            sliders.nth(0).fill(str(at))
            sliders.nth(1).fill(str(n))

            def visible(b, h, i, j, rule=rule, side=side):
                within = ((i - j).abs() <= side) | (rule == "texts")
                return within & ((text[i] == text[j]) | (rule == "window"))

            mask = create_block_mask(visible, None, None, len(text), len(text), "cpu", size)
            found = [int(stage.get_attribute(f"data-{key}")) for key in ("partial", "full")]
            assert found == [int(mask.kv_num_blocks.sum()), int(mask.full_kv_num_blocks.sum())]


def test_letters_that_the_reader_blanks_are_filled_in_the_page_as_torch_fills_them(show):
    page = show("letter-blanks", reduced_motion="reduce")
    stage = page.locator(".w2s-stage")
    page.get_by_role("button", name="Load the models").click()
    page.locator(".w2s-stage[data-source=page]").wait_for()
    page.get_by_label("Your line").fill("the deep river")
    press(page, page.get_by_label("Your line"), "Enter")
    page.locator(".w2s-stage[data-text='the deep river']").wait_for()
    press(page, page.locator(".w2s-live .w2s-token").nth(12), "Enter")
    page.locator(".w2s-stage[data-blanks$='12']").wait_for()
    page.get_by_role("slider").fill("1")
    page.locator(".w2s-stage[data-shift='40']").wait_for()
    places = [int(place) for place in stage.get_attribute("data-blanks").split(",")]
    (expected,) = letters.blanked(LETTERS, BEFORE, [("the deep river", places)], [40])
    bits = [
        -sum(math.log2(one["truth"]) for one in found) / len(found)
        for found in expected["found"]["40"].values()
    ]
    assert json.loads(stage.get_attribute("data-bits")) == pytest.approx(bits, abs=1e-2)
    assert page.heard.complaints == []


@pytest.mark.parametrize(
    "loop, places, clients", [("open", 4, 8), ("open", 2, 8), ("closed", 4, 4), ("closed", 2, 8)]
)
def test_requests_wait_as_long_as_in_a_walk_through_the_steps(show, loop, places, clients):
    page, data = show("arrival-queue"), DATA["arrival-queue"]
    page.get_by_role("slider", name="Batch slots").fill(str(places))
    page.get_by_role("slider", name="Clients").fill(str(clients))
    page.locator(f"input[value={loop}]").check(force=True)
    stage = page.locator(
        f".w2s-stage[data-places='{places}'][data-clients='{clients}'][data-loop='{loop}']"
    )
    stage.wait_for()
    lengths, rate = data["lengths"], 0.8 * places / (sum(data["lengths"]) / len(data["lengths"]))
    arrivals = [sum(data["gaps"][: n + 1]) / rate for n in range(len(lengths))]
    waiting, running, first, sent, idle, clock = [], [], [], 0, clients, 0
    while sent < len(lengths) or waiting or running:
        while sent < len(lengths) and (arrivals[sent] <= clock if loop == "open" else idle):
            waiting.append((sent, arrivals[sent] if loop == "open" else clock))
            sent, idle = sent + 1, idle - 1
        while waiting and len(running) < places:
            number, at = waiting.pop(0)
            first.append(clock + 1 - at)
            running.append(lengths[number])
        clock += 1
        running = [left - 1 for left in running]
        idle += running.count(0)
        running = [left for left in running if left]
    assert float(stage.get_attribute("data-first")) == pytest.approx(
        sum(first) / len(first), rel=1e-6
    )


@pytest.mark.parametrize(
    "cut, load, batches, first, all_done",
    [
        ("layers", "even", 1, 4, 4),
        ("layers", "even", 8, 4, 11),
        ("matrices", "even", 3, 1.2, 3.6),
        ("experts", "even", 3, 1, 3),
        ("experts", "hand", 3, 2, 6),
    ],
)
def test_each_cut_takes_its_time(show, cut, load, batches, first, all_done):
    from reference_impl.measure.roofline import bubble

    page = show("three-cuts")
    page.get_by_role("slider", name="Micro").fill(str(batches))
    page.locator(f"input[value={load}]").check(force=True)
    page.locator(f"input[value={cut}]").check(force=True)
    stage = page.locator(f".w2s-stage[data-cut={cut}][data-load={load}][data-batches='{batches}']")
    stage.wait_for()
    assert float(stage.get_attribute("data-first")) == pytest.approx(first) and float(
        stage.get_attribute("data-all")
    ) == pytest.approx(all_done)
    if cut == "layers":
        assert float(stage.get_attribute("data-share")) == pytest.approx(1 - bubble(4, batches))


@pytest.mark.parametrize("power, share, micros", [(0, 100, 0), (0, 70, 28), (8, 60, 28)])
def test_the_costs_are_those_of_the_cost_model(show, power, share, micros):
    from dataclasses import replace

    from reference_impl.measure.roofline import A100, LLAMA_3_8B, Chunk, step_time

    page = show("gpu-costs")
    for name, value in (
        ("Sequences", power),
        ("Fraction of the bandwidth", share),
        ("Time of an all-reduce", micros),
    ):
        page.get_by_role("slider", name=name).fill(str(value))
    stage = page.locator(
        f".w2s-stage[data-batch='{power}'][data-share='{share}'][data-sum='{micros}']"
    )
    stage.wait_for()
    for n, milliseconds in zip(
        (1, 2, 4, 8), json.loads(stage.get_attribute("data-totals")), strict=True
    ):
        machine = replace(
            A100,
            bandwidth=A100.bandwidth * share / 100,
            link_latency=micros * 1e-6 / (2 * (n - 1)) if n > 1 else 0.0,
        )
        assert milliseconds == pytest.approx(
            1e3 * step_time(LLAMA_3_8B, [Chunk(1, 105)] * 2**power, machine, num_devices=n).total,
            rel=1e-6,
        )


def scheduled(requests, slots, budget, static=False):
    """Steps of the engine's own scheduler for the requests of a schedule's figure, and after how
    many each says its first token.
    """
    scheduler = Scheduler(
        SchedulerConfig(max_num_seqs=slots, max_num_batched_tokens=budget),
        BlockManager(200, 16, prefix_caching=False),
    )
    left, steps, firsts = list(enumerate(requests)), 0, {}
    while left or scheduler.has_work:
        while (
            left
            and left[0][1]["at"] <= steps
            and not (static and (scheduler.running or len(scheduler.waiting) == slots))
        ):
            number, one = left.pop(0)
            scheduler.add(
                Sequence(str(number), [0] * one["prompt"], SamplingParams(max_tokens=one["answer"]))
            )
        for sequence, tokens, _ in scheduler.schedule().scheduled:
            says = sequence.num_uncomputed == tokens
            scheduler.blocks.commit(sequence, tokens)
            if says:
                sequence.append(0)
                firsts.setdefault(
                    sequence.request_id, steps + 1 - requests[int(sequence.request_id)]["at"]
                )
            if len(sequence.output_ids) == sequence.params.max_tokens:
                scheduler.finish(sequence, "length")
        steps += 1
    return str(steps), " ".join(str(firsts[str(n)]) for n in range(len(requests)))


def test_a_schedule_has_the_steps_of_the_engines_scheduler(show):
    page = show("batch-board")
    by_hand, long = (example["requests"] for example in DATA["batch-board"]["examples"])
    shown = lambda: page.locator(".w2s-stage").evaluate(
        "node => [node.dataset.steps, node.dataset.firsts]"
    )
    assert tuple(shown()) == scheduled(by_hand, 2, 8) == ("8", "1 1 5 8")
    page.get_by_role("radio", name="static", exact=True).press(" ")
    assert tuple(shown()) == scheduled(by_hand, 2, 8, static=True) == ("11", "1 1 9 9")
    page.get_by_role("radio", name="continuous", exact=True).press(" ")
    page.get_by_role("radio", name="a long prompt").press(" ")
    assert tuple(shown()) == scheduled(long, 4, 8)
    page.get_by_label("Your own").fill("5+2, 20+3, 4@2, 9+1@4")
    page.get_by_label("Your own").press("Enter")
    own = [
        {"prompt": prompt, "answer": answer, "at": at}
        for prompt, answer, at in ((5, 2, 0), (20, 3, 0), (1, 4, 2), (9, 1, 4))
    ]
    assert tuple(shown()) == scheduled(own, 4, 8)
    page.get_by_role("radio", name="whole", exact=True).press(" ")
    assert page.locator(".w2s-stage").get_attribute("data-most") == "25"
    assert page.heard.complaints == []


def test_only_the_rule_and_the_wasteful_way_keep_the_distribution(show):
    page = show("guess-verify")
    state_of = lambda: page.locator(".w2s-stage").evaluate("node => ({...node.dataset})")
    p, q = (torch.tensor(DATA["guess-verify"]["examples"][0][key]) for key in "pq")
    kept = {"right": 0.75, "again": 0.75, "likeliest": 0.5, "equal": float((p * q).sum())}
    left = (p - q).clamp(min=0)
    comes = {
        "right": p,
        "equal": p,
        "again": torch.minimum(p, q) + 0.25 * p,
        "likeliest": torch.tensor([0, 0.5, 0]) + 0.5 * left / left.sum(),
    }
    for rule, share in kept.items():
        page.get_by_role("radio", name=rule, exact=True).press(" ")
        found = state_of()
        assert float(found["share"]) == pytest.approx(share, abs=1e-4)
        assert [float(one) for one in found["comes"].split()] == pytest.approx(
            comes[rule].tolist(), abs=1e-4
        )
        page.get_by_role("button", name="Draw").press("Enter")
        counts = [int(one) for one in state_of()["counts"].split()]
        assert sum(counts) == 1000 and all(
            abs(one / 1000 - float(x)) < 0.08 for one, x in zip(counts, comes[rule], strict=True)
        )
    page.get_by_role("radio", name="right", exact=True).press(" ")
    assert float(state_of()["tokens"]) == pytest.approx((1 - 0.75**4) / 0.25, abs=1e-3)
    assert page.heard.complaints == []


def test_places_in_blocks_and_in_one_piece_are_those_that_are_counted(show):
    page, data = show("cache-places"), DATA["cache-places"]
    stage, lengths = page.locator(".w2s-stage"), [len(text.split()) for text in data["texts"]]
    for size in range(1, data["longest"] + 1):
        page.locator("input[type=range]").fill(str(size))
        assert int(stage.get_attribute("data-held")) == reserved_blocks(lengths, size)
    assert (
        stage.get_attribute("data-held")
        == stage.get_attribute("data-reserved")
        == str(reserved_contiguous(lengths, data["longest"]))
    )
    page.get_by_role("textbox").fill("one two / three")
    page.keyboard.press("Enter")
    page.locator(".w2s-stage[data-lengths='2 1']").wait_for()


@pytest.mark.parametrize("key", ["one", "other"])
def test_texts_in_the_pool_have_the_block_managers_tables_and_read_what_they_wrote(show, key):
    page, data = show("block-pool"), DATA["block-pool"]
    stage = page.locator(".w2s-stage")
    page.locator(f"input[value='{key}']").check(force=True)
    manager, texts, written = (
        BlockManager(data["blocks"], data["size"], prefix_caching=False),
        {},
        {},
    )
    for kind, name, rest in next(run for run in data["runs"] if run["key"] == key)["commands"]:
        page.get_by_role("button", name="Step").click()
        if kind == "free":
            manager.free(texts.pop(name))
            del written[name]
        elif kind == "fork":
            texts[rest], written[rest] = texts[name].fork(1), written[name]
            manager.fork(texts[name], texts[rest])
        else:
            text, words = (
                texts.get(name) or Sequence(name, [0], SamplingParams(max_tokens=1)),
                rest.split(),
            )
            if manager.blocks_needed(text, len(words)) <= manager.num_free_blocks:
                manager.grow(text, len(words))
                manager.commit(text, len(words))
                texts[name], written[name] = text, f"{written.get(name, '')} {rest}".strip()
        assert json.loads(stage.get_attribute("data-tables")) == {
            name: text.block_table for name, text in texts.items()
        }
        assert json.loads(stage.get_attribute("data-reads")) == written
    page.locator("label", has_text="off").click()
    off = page.locator(".w2s-stage[data-copies='false']")
    off.wait_for()
    if key == "other":
        assert json.loads(off.get_attribute("data-reads")) == {
            "a": "bank floods",
            "b": "bank floods",
        }, "a brother's word is read where nobody copies"


def test_the_words_that_chats_find_are_those_that_the_block_manager_finds(show):
    page, data = show("prefix-tree"), DATA["prefix-tree"]
    stage, texts = page.locator(".w2s-stage"), list(data["chats"])

    def found(salted=False):
        manager, numbers, each = BlockManager(64, data["size"]), {}, []
        for chat, text in enumerate(texts):
            ids = [numbers.setdefault(word, len(numbers)) for word in text.split()]
            sequence = Sequence(
                str(chat),
                ids,
                SamplingParams(max_tokens=1),
                cache_salt=str(chat if salted else 0).encode(),
            )
            manager.admit(sequence)
            each.append(sequence.num_cached_tokens)
            manager.grow(sequence, left := sequence.num_uncomputed)
            manager.commit(sequence, left)
        return " ".join(map(str, each))

    assert stage.get_attribute("data-each") == found() == "0 4 0 0"
    texts[2] = "a b z d e f"
    page.get_by_label("Chat 3").fill(texts[2])
    page.keyboard.press("Enter")
    page.locator(f".w2s-stage[data-each='{found()}']").wait_for()
    page.locator("label", has_text="each chat its own").click()
    page.locator(f".w2s-stage[data-each='{found(salted=True)}']").wait_for()
    page.locator("label", has_text="one for all").click()
    page.locator("label", has_text="its own words").click()
    page.locator(".w2s-stage[data-wrong='1']").wait_for()


def test_the_tree_of_prompts_is_the_radix_tree_of_the_engine(show):
    page, data = show("radix-tree"), DATA["radix-tree"]
    stage, tree, size = page.locator(".w2s-stage"), RadixTree(data["size"]), data["size"]
    numbers, block = {}, 0

    def drawn(node):
        words = {number: word for word, number in numbers.items()}
        plain = [tokens[-size:] for tokens in node.tokens]
        return [
            [" ".join(words[token] for token in tokens) for tokens in plain],
            [drawn(child) for child in node.children.values()],
        ]

    for text in data["prompts"]:
        ids = [numbers.setdefault(word, len(numbers)) for word in text.split()]
        full = len(ids) // size
        matched = len(tree.match(b"", ids, full))
        tree.insert(b"", ids, range(block, block + full), range(full))
        block += full
        page.get_by_role("button", name="Step").click()
        assert int(stage.get_attribute("data-matched")) == matched
        assert json.loads(stage.get_attribute("data-tree")) == drawn(tree._root)[1]
    assert int(stage.get_attribute("data-computed")) == len(tree._node_of)


def test_shares_of_a_tuning_step_are_those_of_its_labels(show):
    page, data = show("tuning-mix"), DATA["tuning-mix"]
    stage, kinds = page.locator(".w2s-stage"), data["kinds"]
    assert page.get_by_role("slider").count() == 2  # the third kind is fixed
    page.get_by_role("slider", name="Rows: sums").fill("20")
    labels = [rows * kind["labels"] for rows, kind in zip((10, 20, 5), kinds, strict=True)]
    shares = [float(one) for one in stage.get_attribute("data-shares").split()]
    assert shares == pytest.approx([one / sum(labels) for one in labels], abs=1e-3)
    assert float(stage.get_attribute("data-tokens")) == 20.0 * 35


def test_a_reward_run_shows_the_recorded_step(show):
    page, data = show("reward-runs"), DATA["reward-runs"]
    stage = page.locator(".w2s-stage")
    page.get_by_role("radio", name="hacked").check()
    page.get_by_role("slider", name="Step").fill("2")
    assert float(stage.get_attribute("data-right")) == data["runs"][1]["rows"][1]["right"]
    assert float(stage.get_attribute("data-reward")) == data["runs"][1]["rows"][1]["reward"]


def test_intervals_of_shares_are_wilsons_and_part_with_more_questions(show):
    page, data = show("share-intervals"), DATA["share-intervals"]
    stage = page.locator(".w2s-stage")
    for place, asked in enumerate(data["sizes"]):
        page.get_by_role("slider", name="Questions").fill(str(place))
        found = [wilson(round(data[one]["share"] * asked), asked) for one in ("first", "second")]
        lows = [float(one) for one in stage.get_attribute("data-lows").split()]
        assert lows == pytest.approx([low for low, _ in found], abs=1e-3)
        apart = found[0][1] < found[1][0]
        assert stage.get_attribute("data-apart") == str(apart).lower()
    assert apart


def test_blocks_behind_the_window_are_those_that_the_block_manager_gives_up(show):
    page, data = show("window-blocks"), DATA["window-blocks"]
    stage, window = page.locator(".w2s-stage"), data["groups"][1]["window"]
    blocks = [BlockManager(64, data["size"], window=one) for one in (None, window)]
    texts = [Sequence("a", [0] * data["most"], SamplingParams(max_tokens=1)) for _ in blocks]
    for tokens in range(1, data["most"] + 1):
        for manager, text in zip(blocks, texts, strict=True):
            manager.grow(text, 1)
            manager.commit(text, 1)
        page.locator("input[type=range] >> nth=0").fill(str(tokens))
        held = " ".join(str(64 - manager.num_free_blocks) for manager in blocks)
        assert stage.get_attribute("data-held") == held


@pytest.mark.parametrize("shares", [1, 2, 3, 6])
def test_shares_of_a_walk_give_the_twins_answer_and_a_plain_mean_another(show, shares):
    page, data = show("table-walk"), DATA["table-walk"]
    page.get_by_role("slider", name="Splits").fill(str(shares))
    rounds = -(-len(data["words"]) // shares)
    page.get_by_role("slider", name="Rounds").fill(str(rounds))
    stage = page.locator(f".w2s-stage[data-at='{rounds}'][data-shares='{shares}']")
    stage.wait_for()
    cache = torch.zeros(2, data["blocks"], data["size"], 1, 1)
    for place, (weight, value) in enumerate(zip(data["weights"], data["values"], strict=True)):
        block, offset = data["table"][place // data["size"]], place % data["size"]
        cache[0, block, offset], cache[1, block, offset] = math.log(weight), value
    right = paged_attention_twin(
        torch.ones(1, 1, 1),
        cache[0],
        cache[1],
        torch.tensor([data["table"]]),
        torch.tensor([5]),
        1.0,
        num_splits=shares,
    ).item()
    assert float(stage.get_attribute("data-answer")) == pytest.approx(right, abs=1e-5)
    page.locator("label", has_text="a plain mean").click()
    wrong = page.locator(".w2s-stage[data-plain='true']")
    wrong.wait_for()
    assert (float(wrong.get_attribute("data-answer")) != pytest.approx(right, abs=1e-3)) == (
        shares > 1
    )


def test_sentences_are_found_by_word_verdict_and_chapter_and_guessed_before_they_are_told(show):
    page, rows = show("judged-sentences"), DATA["judged-sentences"]["rows"]
    stage = page.locator(".w2s-stage")
    stage.locator("input[type=text]").fill("sentence 3")
    page.locator(".w2s-stage[data-matched='1']").wait_for()
    stage.locator("input[type=text]").fill("")
    stage.locator("select").nth(0).select_option("wrong")
    wrong = [row for row in rows if "wrong" in row["verdict"]]
    page.locator(f".w2s-stage[data-matched='{len(wrong)}']").wait_for()
    stage.locator("select").nth(1).select_option("2")
    assert stage.get_attribute("data-matched") == str(sum(row["chapter"] == 2 for row in wrong))
    page.locator("input[value=guess]").check(force=True)
    told = {row["told"]: row["verdict"] for row in rows}
    right = 0
    for number in range(3):
        asked = stage.locator(".w2s-lines").nth(number)
        verdict = told[asked.locator("p").first.inner_text().split(". ", 1)[1]]
        assert (
            verdict in ("holds", "holds with a condition", "wrong", "cannot be checked")
            and verdict not in asked.locator("p").first.inner_text()
        )
        choice = (
            verdict
            if number != 1
            else "cannot be checked"
            if verdict != "cannot be checked"
            else "holds"
        )
        right += choice == verdict
        asked.get_by_role("button", name=choice, exact=True).click()
        assert verdict in asked.inner_text()
    assert (stage.get_attribute("data-right"), stage.get_attribute("data-guessed")) == (
        str(right),
        "3",
    )


def test_a_curve_of_memory_has_the_stability_and_the_days_of_python(show):
    page, data = show("memory-curve"), DATA["memory-curve"]
    stage, card, grades = page.locator(".w2s-stage"), repetition.NEW, [*data["start"]]
    for grade in ("easy", "hard", "good"):
        page.get_by_role("button", name=f"{grade.title()}: ").click()
        grades.append(grade)
    for grade in grades:
        card = repetition.review(card, grade, card.due)
    assert stage.get_attribute("data-answers") == ",".join(grades)
    assert float(stage.get_attribute("data-stability")) == pytest.approx(card.stability, abs=1e-4)
    assert stage.get_attribute("data-due") == str(card.due)
    page.get_by_role("button", name="Undo").click()
    assert stage.get_attribute("data-answers") == ",".join(grades[:-1])


@pytest.mark.parametrize(
    "text, state",
    [
        ("109,482,240", 1),
        ("109482240", 1),
        ("110M", 1),
        ("110 million", 1),
        ("0.11 billion", 1),
        ("90M", 0),
        ("110", 0),
        ("many", 0),
    ],
)
def test_a_hidden_number_is_filled_in_exactly_or_rounded(show, text, state):
    page = show("proof-table")
    stage = page.locator(".w2s-stage")
    page.locator("input[value=blank]").check(force=True)
    assert stage.get_attribute("data-blanks") == "2"
    stage.locator("td button").first.click()
    assert stage.locator("td button").first.inner_text() == "?"
    stage.locator("input[type=text]").fill(text)
    page.get_by_role("button", name="Check").click()
    assert stage.get_attribute("data-filled") == str(state)
    assert (stage.locator("td button").first.inner_text() == "109,482,240") == bool(state)


@pytest.mark.parametrize("text", ["I moored my boat at the bank", "My bank lost zzgrk a fortune"])
def test_bank_moves_in_the_page_to_where_torch_puts_it(show, text):
    page = show("bank-moves", reduced_motion="reduce")
    field = page.locator(".w2s-field input")
    field.fill(text)
    page.wait_for_function(
        "text => document.querySelector('.w2s-stage').dataset.text === text", arg=text.lower()
    )
    found = [
        float(value) for value in page.locator(".w2s-stage").get_attribute("data-at").split(",")
    ]
    right = bank_plane.place(
        small_model(bank_plane.NAME), DATA["bank-moves"]["plane"], text.lower().split()
    )
    assert found == pytest.approx(right, abs=0.02)
    assert ("does not know, and leaves out: zzgrk" in said(page)) == ("zzgrk" in text)
    field.fill("no such word here")
    page.wait_for_function("document.querySelector('.w2s-say').dataset.text.startsWith('Write a')")


def test_the_trail_grows_with_a_sentence_and_begins_anew_with_another(show):
    page = show("bank-moves", reduced_motion="reduce")
    trails = []
    for text in ("the bank", "the bank lends", "the bank lends money", "our bank lends"):
        page.locator(".w2s-field input").fill(text)
        page.wait_for_function(
            "text => document.querySelector('.w2s-stage').dataset.text === text", arg=text
        )
        drawn = page.locator(".w2s-live .w2s-trail").get_attribute("points").split()
        trails.append((page.locator(".w2s-stage").get_attribute("data-trail"), len(drawn)))
    assert trails == [("0", 1), ("1", 2), ("2", 3), ("0", 1)]


def test_the_size_of_the_model_is_said_before_it_is_loaded(show):
    page = show("bank-moves")
    megabytes = DATA["bank-moves"]["model"]["megabytes"]
    assert f"loads {megabytes} MB" in page.locator(".w2s-field").inner_text()


def test_an_example_is_typed_without_the_model_and_ends_on_its_side(show):
    page = show("bank-moves", reduced_motion="reduce")
    page.locator(".w2s-segment").nth(1).click()
    assert "on the money side" in said(page)
    assert page.locator(".w2s-field input").input_value() == "The bank lends money"
    assert not [url for url in page.heard.requests if "weights" in url]


def test_the_map_goes_into_a_part_by_mouse_step_and_slider_and_out_again(show):
    page = show("model-map", reduced_motion="reduce")
    stage, drawing = page.locator(".w2s-stage"), page.locator(".w2s-live .w2s-map-drawing")
    whole = drawing.get_attribute("viewBox")
    page.locator(".w2s-live .w2s-map-part .w2s-map-hit").nth(4).click(force=True)
    assert stage.get_attribute("data-part") == "attention"
    assert float(drawing.get_attribute("viewBox").split()[2]) < float(whole.split()[2]) / 2
    assert page.locator(".w2s-map-panel a").count() == 1
    page.locator("button:has-text('Step')").click()
    assert stage.get_attribute("data-part") == "cache"
    press(page, page.locator(".w2s-slider input"), "Home")
    assert stage.get_attribute("data-part") == "all"
    assert drawing.get_attribute("viewBox") == whole


def test_the_bars_are_the_softmax_of_the_logits_and_a_common_shift_changes_nothing(show):
    page, data = show("softmax-bars"), DATA["softmax-bars"]
    read = lambda: json.loads(page.locator(".w2s-stage").get_attribute("data-probabilities"))
    assert read() == pytest.approx(torch.tensor(data["scores"]).softmax(0).tolist())
    page.locator("input[type=range]").nth(1).fill("5")
    assert read() == pytest.approx(torch.tensor(data["scores"]).softmax(0).tolist())
    page.locator("input[type=range]").nth(0).fill("1.4")
    changed = torch.tensor([*data["scores"][:2], 1.4]).softmax(0)
    assert read() == pytest.approx(changed.tolist())


def test_a_probe_word_stands_at_its_log_ratio_and_stays_when_another_is_chosen(show):
    page, stage = show("probe-ratio"), ".w2s-stage"
    for k, probe in enumerate(DATA["probe-ratio"]["probes"]):
        page.locator(".w2s-segment").nth(k).click()
        found = float(page.locator(stage).get_attribute("data-log"))
        assert found == pytest.approx(math.log(probe["ratio"]), abs=1e-4)
        assert page.locator(stage).get_attribute("data-shown") == str(k + 1)
    assert "says little" in said(page)


@pytest.mark.parametrize("word, other", [("where", "her"), ("paris", "parish"), ("of", "often")])
def test_the_ngrams_are_those_of_the_reference(show, word, other):
    from reference_impl.embeddings.subwords import ngrams

    page, stage = show("character-ngrams"), ".w2s-stage"
    for field, text in zip(page.locator("input[type=text]").all(), (word, other)):
        field.fill(text)
        field.press("Enter")
    mine, theirs = set(ngrams(word)), set(ngrams(other))
    assert page.locator(stage).get_attribute("data-total") == str(len(mine))
    assert page.locator(stage).get_attribute("data-shared") == str(len(mine & theirs))


def test_the_rank_correlation_is_scipys(show):
    from scipy.stats import spearmanr

    page, data = show("rank-lines"), DATA["rank-lines"]
    for k, table in enumerate(data["tables"]):
        page.locator(".w2s-segment").nth(k).click()
        right = spearmanr(*zip(*((p["people"], p["cosines"][table["key"]]) for p in data["pairs"])))
        found = float(page.locator(".w2s-stage").get_attribute("data-rho"))
        assert found == pytest.approx(right.statistic, abs=1e-4)


def test_the_means_of_associations_are_those_of_the_groups(show):
    page, data = show("association-dots"), DATA["association-dots"]
    for k, table in enumerate(data["tables"]):
        page.locator(".w2s-segment").nth(k).click()
        means = page.locator(".w2s-stage").get_attribute("data-means").split()
        for group, mean in zip(data["groups"], means):
            values = [one["value"] for one in table["words"] if one["group"] == group]
            assert float(mean) == pytest.approx(sum(values) / len(values), abs=1e-4)
