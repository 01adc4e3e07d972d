"""The scheduler that runs in a page against the engine's own, step by step; and the figure of a
recorded run: predictions, a reader's own file, damaged and hostile files.
"""

import json
import random
from pathlib import Path

import pytest
import torch

from course.book.pages.figures import figure, scripts_of
from course.book.pages.records import record
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.step_records import StepRecorder
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.llama import Llama, LlamaConfig
from tests.book.conftest import open_page

pytestmark = pytest.mark.browser
ASSETS = Path(__file__).resolve().parents[2] / "book" / "assets" / "figures"
POLICIES = ("fcfs", "sjf", "lpm")
TINY = LlamaConfig(
    61, 16, 20, num_layers=1, num_heads=2, num_kv_heads=1, max_position_embeddings=64
)
COMPARED = ("tokens", "cached", "preempted", "finished", "waiting", "blocks", "free")
SAMPLE = record("served_load")["lines"]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Llama(TINY)


@pytest.fixture(scope="module")
def page(browser):
    """A page with the scheduler and nothing else."""
    page = browser.new_page()
    page.set_content("<!doctype html><title>t</title>")
    page.evaluate("() => { window.w2s = {}; }")
    page.add_script_tag(path=ASSETS / "parts" / "replay.js")
    yield page
    page.close()


def draw_load(seed):
    """Requests that share prefixes and come while others run: (step, prompt, answer, priority)."""
    rng = random.Random(seed)
    starts = [[rng.randrange(61) for _ in range(rng.randrange(0, 13))] for _ in range(3)]
    requests = []
    for _ in range(rng.randrange(6, 14)):
        prompt = [*rng.choice(starts), *(rng.randrange(61) for _ in range(rng.randrange(1, 14)))]
        priority = rng.choice([0, 0, 0, -1]) if seed % 3 == 0 else 0
        requests.append((rng.randrange(12), prompt, rng.randrange(1, 12), priority))
    return sorted(requests, key=lambda one: one[0])


def draw_config(seed, **changes):
    """Limits so tight that some runs preempt."""
    rng = random.Random(1000 + seed)
    size = rng.choice([2, 4])
    limits = {
        "max_num_seqs": rng.randrange(2, 6),
        "max_num_batched_tokens": rng.randrange(6, 17),
        "max_model_len": 40,
        "patience": rng.choice([2, 5, 200]),
        "policy": POLICIES[seed % 3],
    }
    return EngineConfig(
        rng.randrange(40 // size, 80 // size),
        size,
        prefix_caching=seed % 7 != 0,
        watermark=rng.choice([0.01, 0.1]),
        scheduler=SchedulerConfig(**{**limits, **changes}),
        prefix_index=rng.choice(["hash_chain", "radix_tree"]),
    )


def serve(model, requests, config):
    """The engine's own run, recorded."""
    engine, clock, left = Engine(model, config), 0, list(requests)
    recorder = StepRecorder(engine)
    while left or engine.has_work:
        while left and left[0][0] <= clock:
            _, prompt, count, priority = left.pop(0)
            params = SamplingParams(temperature=0, max_tokens=count, ignore_eos=True)
            engine.add_request(prompt, params, priority=priority)
        if engine.has_work:
            recorder.after_step(engine, engine.step())
        clock += 1
    return list(recorder.lines())


def steps_of(lines):
    """The engine's steps in the shape that the page's scheduler gives."""
    steps = []
    for line in lines:
        if line["kind"] == "step":
            named = {
                key: {one[0]: one[1] for one in line[key]} for key in ("tokens", "cached", "blocks")
            }
            steps.append({**{key: line[key] for key in COMPARED}, **named})
    return steps


def replayed(page, lines, **changes):
    found = page.evaluate(
        "([lines, changes]) => w2s.replay.serve(w2s.replay.read(lines), changes)", [lines, changes]
    )
    return [{key: step[key] for key in COMPARED} for step in found]


@pytest.mark.parametrize("seed", range(24))
def test_a_replay_is_the_engines_run_step_by_step(page, model, seed):
    lines = serve(model, draw_load(seed), draw_config(seed))
    assert replayed(page, lines) == steps_of(lines)


@pytest.mark.parametrize("seed", range(24))
def test_under_another_policy_and_budget_it_is_the_run_that_the_engine_would_have_made(
    page, model, seed
):
    requests, config = draw_load(seed), draw_config(seed)
    policy = POLICIES[(seed + 1 + seed // 3 % 2) % 3]
    budget = config.scheduler.max_num_seqs + 1 + seed % 9
    changed = draw_config(seed, policy=policy, max_num_batched_tokens=budget)
    lines = serve(model, requests, config)
    again = replayed(page, lines, policy=policy, max_num_batched_tokens=budget)
    expected = steps_of(serve(model, requests, changed))
    assert len(again) == len(expected) and again == expected


def test_of_a_prompt_that_is_all_in_the_cache_the_last_block_is_computed_again(page, model):
    prompt = list(range(8))  # two whole blocks
    limits = SchedulerConfig(max_num_seqs=2, max_num_batched_tokens=8, max_model_len=40)
    lines = serve(
        model, [(0, prompt, 2, 0), (3, prompt, 2, 0)], EngineConfig(20, 4, scheduler=limits)
    )
    steps = replayed(page, lines)
    assert steps == steps_of(lines) and [step["cached"] for step in steps if step["cached"]] == [
        {"0": 0},
        {"1": 4},
    ]


def test_the_loads_preempt_find_prefixes_and_differ_by_policy(model):
    steps = [steps_of(serve(model, draw_load(seed), draw_config(seed))) for seed in range(24)]
    assert sum(any(step["preempted"] for step in run) for run in steps) >= 5
    assert sum(any(any(step["cached"].values()) for step in run) for run in steps) >= 10
    differ = 0
    for seed in range(24):
        runs = [
            serve(model, draw_load(seed), draw_config(seed, policy=policy)) for policy in POLICIES
        ]
        differ += len({json.dumps(steps_of(run)) for run in runs}) == 3
    assert differ >= 5


def test_the_measures_are_those_of_a_run_by_hand(page):
    """Two requests, one batch slot: the second waits for the three steps of the first."""
    engine = {**SAMPLE[0], "max_num_seqs": 1}
    asks = [
        {"kind": "request", "id": str(n), "arrived": 0, "prompt": 2, "answer": 3, "keys": []}
        for n in range(2)
    ]
    lines = [engine, *asks, SAMPLE[-1]]
    found = page.evaluate(
        """(lines) => { const run = w2s.replay.read(lines);
        return w2s.replay.measure(run, w2s.replay.serve(run)); }""",
        lines,
    )
    assert found == {
        "steps": 6,
        "tokens": 8,
        "cached": 0,
        "preempted": 0,
        "gap": 1,
        "mean": 2.5,
        "most": 4,
    }


def test_what_was_recorded_and_what_is_replayed_are_measured_alike(page):
    found = page.evaluate(
        """(lines) => { const { read, serve, measure } = w2s.replay, run = read(lines);
        return [measure(run, run.steps), measure(run, serve(run))]; }""",
        SAMPLE,
    )
    assert found[0] == found[1] and found[0]["preempted"] == 1


def changed(number, **fields):
    return [{**line, **(fields if n == number else {})} for n, line in enumerate(SAMPLE)]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "Line 1: there is no engine"),
        ([None], "Line 1: there is no engine"),
        (SAMPLE[1:], "Line 1: there is no engine"),
        (SAMPLE[:1], "no steps: send the server a request"),
        (changed(0, version=2), "the version is 2, and this page reads 1"),
        (changed(0, policy="<b>"), "the policy is <b>"),
        (changed(0, num_blocks=1e300), "Line 1: num_blocks is 1e+300"),
        (changed(0, block_size=0), "Line 1: block_size is 0"),
        (changed(0, max_num_seqs=99), "do not go together"),
        (changed(2, id="__proto__"), "Line 3: the request has no number"),
        (changed(2, prompt=-1), "Line 3: the lengths"),
        (changed(2, keys="a"), "Line 3: keys is no list"),
        (changed(12, tokens=[[{}, 1]]), "Line 13: a request has no count"),
        (changed(12, waiting=None), "Line 13: waiting is no list"),
        ([*SAMPLE, {"kind": "other"}], f"Line {len(SAMPLE) + 1}: it is neither"),
    ],
)
def test_a_file_that_is_no_recorded_run_is_refused_with_its_line(page, lines, says):
    said = page.evaluate(
        "(lines) => { try { w2s.replay.read(lines); return ''; } catch (e) { return e.message; } }",
        lines,
    )
    assert says in said


def test_a_budget_below_the_batch_slots_is_refused(page):
    said = page.evaluate(
        """(lines) => { try { w2s.replay.serve(w2s.replay.read(lines), {max_num_batched_tokens: 3});
        } catch (e) { return e.message; } }""",
        SAMPLE,
    )
    assert "3 tokens are fewer than 4 slots" in said


@pytest.fixture
def figure_page(browser, tmp_path):
    """The figure alone on a page."""
    data = {"task": "What next?", "lines": SAMPLE, "budgets": [8, 12, 24]}
    made = figure("recorded-run", data, caption="C", alt="A").to_html()
    scripts = "".join(
        f'<script defer src="{(ASSETS.parent / file).as_uri()}"></script>'
        for file in scripts_of("recorded-run", False)
    )
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><html lang="en"><title>t</title>{scripts}<main>{made}</main>')
    page = open_page(browser, path.as_uri())
    yield page
    assert page.heard.complaints == []
    page.context.close()


def stage(page, key):
    return page.locator(".w2s-stage").evaluate(f"node => node.dataset.{key}")


def said(page):
    return page.locator(".w2s-say").get_attribute("data-text")


def test_a_step_is_shown_only_after_the_reader_has_predicted_it(figure_page):
    fields = figure_page.locator(".w2s-predicted input")
    assert fields.count() == 2 and figure_page.locator(".w2s-stretch").count() == 0
    fields.nth(0).fill("12")
    figure_page.click("button:has-text('Reveal')")
    assert said(figure_page).startswith("Right. ") and stage(figure_page, "right") == "1"
    assert figure_page.locator(".w2s-stretch").count() == 2
    figure_page.click("button:has-text('Reveal')")
    assert "#0 gets 2, #1 gets 3, #2 gets 7" in said(figure_page)
    assert (stage(figure_page, "right"), stage(figure_page, "asked")) == ("1", "2")


def test_the_same_requests_are_served_under_another_policy(figure_page):
    figure_page.select_option("select >> nth=0", "shortest prompt")
    assert stage(figure_page, "policy") == "sjf" and stage(figure_page, "at") == "0"
    columns = figure_page.locator("thead th")
    assert columns.count() == 2 and "shortest prompt, 12" in columns.nth(1).inner_text()
    assert float(stage(figure_page, "mean")) < 5.5
    figure_page.select_option("select >> nth=1", "24")
    assert int(stage(figure_page, "steps")) < 21


def open_file(page, path):
    page.locator(".w2s-more > summary").click()
    page.locator("input[type=file]").set_input_files(path)


def test_a_readers_own_file_is_opened_and_replayed(figure_page, model, tmp_path):
    lines = serve(model, draw_load(4), draw_config(4))
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    open_file(figure_page, path)
    figure_page.wait_for_function(
        f"document.querySelector('.w2s-stage').dataset.steps === '{len(steps_of(lines))}'"
    )
    assert "run.jsonl" in figure_page.locator(".w2s-more").inner_text()
    figure_page.select_option("select >> nth=0", "first come")
    assert stage(figure_page, "policy") == "fcfs"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json", "Line 1 is no JSON"),
        ("", "there is no engine"),
        (json.dumps(SAMPLE[0] | {"policy": "<img src=x onerror=alert(1)>"}), "the policy is <img"),
    ],
)
def test_a_damaged_or_hostile_file_is_refused_and_the_run_before_stays(
    figure_page, tmp_path, text, says
):
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    open_file(figure_page, path)
    figure_page.wait_for_function(
        f"document.querySelector('.w2s-say').dataset.text.includes({json.dumps(says)})"
    )
    assert stage(figure_page, "steps") == "21"
    assert figure_page.locator(".w2s-live img").count() == 0
