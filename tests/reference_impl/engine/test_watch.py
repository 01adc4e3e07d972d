"""The page at `/` and its stream: what they hold, who may read them, what they cost; and the page
in Chromium while twenty clients load the server.
"""

import contextlib
import json
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reference_impl.engine.limits import Limits
from reference_impl.engine.watch import FILES, FOLDER, MOST_WATCHERS
from tests.book.conftest import open_page, violations

HOSTILE = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
BODY = {"model": "tiny", "max_tokens": 6, "temperature": 0, "ignore_eos": True}


@contextlib.contextmanager
def watching(running, **headers):
    """The events of one who watches."""
    with running.http.stream("GET", running.url + "/watch", headers=headers) as response:
        assert response.status_code == 200, response.read()
        lines = response.iter_lines()
        yield (json.loads(line[6:]) for line in lines if line)


def steps_until(events, condition):
    """The steps of the stream up to the event for which `condition` holds."""
    steps = []
    for event in events:
        steps += event["steps"]
        if condition(steps, event):
            return steps, event
    raise AssertionError("the stream ended")


@pytest.fixture(scope="module")
def watched(start):
    with start(page=True, trace_steps=0) as running:
        yield running


def test_every_file_of_the_page_forbids_what_is_not_this_servers(watched):
    for path in FILES:
        answer = watched.get(path)
        assert answer.status_code == 200 and answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "http" not in policy.replace("'self'", "")
    assert {name for name, _ in FILES.values()} == {file.name for file in FOLDER.iterdir()}
    for file in FOLDER.iterdir():
        assert not re.search(r"https?:|[\"'(]//|\burl\(|@import", file.read_text()), file.name


def test_a_server_without_the_page_has_neither_page_nor_stream(start):
    with start() as running:
        assert [running.get(path).status_code for path in ("/", "/page.js", "/watch")] == [404] * 3


def test_the_stream_says_what_each_step_computed_and_nothing_of_a_text(watched):
    with watching(watched) as events:
        about = next(events)["about"]
        assert about["models"] == ["tiny"] and about["chat"] and about["num_blocks"] == 600
        watched.post("/v1/completions", json={**BODY, "prompt": "secret " * 30})
        steps, last = steps_until(events, lambda steps, _: steps and steps[-1]["finished"])
    computed = [item for step in steps for item in step["tokens"]]
    assert [(count, phase) for _, count, _, phase in computed] == [
        (128, "prefill"),
        (82, "prefill"),
        *[(1, "decode")] * 5,
    ]
    label = computed[0][0]
    assert [dict(step["blocks"]).get(label) for step in steps[:-1]] == [8, *[14] * 5]
    assert last["running"] == 0 and last["free"] == 600 and last["generated"] >= 6
    assert "secret" not in json.dumps([steps, last])


def test_the_block_tables_are_those_of_the_requests_that_run(watched):
    with watching(watched) as events:
        next(events)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(
                watched.post,
                "/v1/completions",
                json={**BODY, "prompt": "tables " * 9, "max_tokens": 200},
            )
            _, event = steps_until(events, lambda _, event: event["tables"])
            (table,) = event["tables"].values()
            assert len(set(table)) == len(table) == 600 - event["free"] >= 4
            assert asked.result().status_code == 200


def test_a_step_that_nobody_watches_makes_no_record(start):
    calls = Counter()

    def count(frame, event, _):
        if event == "call" and threading.current_thread().name == "engine":
            calls[Path(frame.f_code.co_filename).name, frame.f_code.co_name] += 1

    threading.setprofile(count)
    try:
        with start(page=True, trace_steps=0) as running:
            running.post("/v1/completions", json={**BODY, "prompt": "hi", "max_tokens": 20})
            running.wait_until_idle()
            steps = running.engine.trace.num_steps
    finally:
        threading.setprofile(None)
    ours = {key: n for key, n in calls.items() if key[0] in ("watch.py", "step_records.py")}
    assert ours == {("watch.py", "after_step"): steps} and steps >= 20
    assert calls["trace.py", "record"] == steps and calls["trace.py", "wasted_slots"] == 0


def test_an_abort_is_seen_although_it_makes_no_step(watched):
    with watching(watched) as events:
        next(events)
        body = {**BODY, "prompt": "gone", "max_tokens": 3000, "stream": True}
        with watched.http.stream("POST", watched.url + "/v1/completions", json=body) as answer:
            lines = answer.iter_lines()  # kept: the stream closes with its iterator
            next(lines)
            steps_until(events, lambda _, event: event["running"] == 1)
        _, event = steps_until(events, lambda _, event: event["running"] == 0)
        assert event["free"] == 600 and event["tables"] == {}


def test_the_stream_asks_for_the_key_and_the_page_does_not(start):
    with start(page=True, api_key="secret") as running:
        assert running.get("/").status_code == 200
        assert running.get("/watch").status_code == 401
        with watching(running, authorization="Bearer secret") as events:
            assert "about" in next(events)


@pytest.mark.parametrize("path", ["/", "/watch"])
def test_a_page_on_the_web_that_took_this_machines_name_gets_neither(watched, path):
    answer = watched.get(path, headers={"Host": "evil.example"})
    assert answer.status_code == 403 and answer.json()["error"]["code"] == "invalid_host"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_can_not_fill_the_seats(watched, site):
    answer = watched.get("/watch", headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403 and "own page" in answer.json()["error"]["message"]


def test_a_seat_that_was_left_is_free_again(watched, eventually):
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_WATCHERS):
            next(stack.enter_context(watching(watched)))
        answer = watched.get("/watch")
        assert answer.status_code == 429 and "close one" in answer.json()["error"]["message"]

    def free():
        try:
            with watching(watched) as events:
                return "about" in next(events)
        except AssertionError:
            return False

    eventually(free, "a seat is free")


def test_a_page_that_watches_does_not_hold_up_the_servers_end(start):
    with (
        start(page=True, limits=Limits(shutdown_seconds=1000.0)) as running,
        watching(running) as events,
    ):
        next(events)
        running.server.should_exit = True
        assert [event for event in events if "steps" not in event] == [], "it ends"


def counter(page, name):
    return page.locator(f'dd[data-counter="{name}"]').inner_text()


def load(running, count, tokens):
    """Answers of `tokens` tokens to that many clients at once, through OpenAI's client."""

    def ask(number):
        with running.client() as client:
            answer = client.chat.completions.create(
                model="tiny",
                messages=[{"role": "user", "content": f"{number % 4} " * 40}],
                max_tokens=tokens,
                temperature=0,
                extra_body={"ignore_eos": True},
            )
        return answer.usage.completion_tokens

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(ask, range(count)))


@pytest.mark.browser
def test_the_page_shows_twenty_clients_and_chats_meanwhile(start, browser):
    with start(page=True, num_blocks=40, max_num_seqs=8) as running:
        page = open_page(browser, running.url + "/")
        page.wait_for_selector('dd[data-counter="Running"]')
        with ThreadPoolExecutor(1) as pool:
            answers = pool.submit(load, running, 20, 60)
            page.fill("#limit", "30")
            page.fill("#prompt", HOSTILE)
            page.press("#prompt", "Enter")
            page.wait_for_function(
                "() => document.querySelector('#said').textContent.includes('pieces')"
            )
            assert answers.result() == 20 * 60
        page.wait_for_function(
            "() => document.querySelector('[data-counter=Running]').textContent === '0 of 8'"
        )
        assert int(counter(page, "Tokens generated")) >= 20 * 60 + 1
        assert int(counter(page, "Preemptions")) == running.engine.num_preemptions > 0
        assert counter(page, "TTFT, mean").endswith(" ms")
        assert counter(page, "TPOT, mean").endswith(" ms")
        assert counter(page, "Blocks held") == "0 of 40"
        assert "% of" in counter(page, "Cache hits")
        last = running.engine.trace.num_steps - 1
        assert page.locator("#step").get_attribute("data-step") == str(last)
        for times, key in ((2, "Enter"), (1, "Space")):
            for _ in range(times):
                page.press("#back", key)
        page.press("#next", "Enter")
        page.wait_for_function(
            f"() => document.querySelector('#step').dataset.step === '{last - 2}'"
        )
        # the words of the reader and of the model are text
        assert page.locator("#turns .user span").nth(1).inner_text() == HOSTILE
        assert page.locator("#turns img, #turns script").count() == 0
        assert page.title() == "Watch your server"
        assert all(url.startswith((running.url, "data:")) for url in page.heard.requests)
        assert page.heard.complaints == []
        page.context.close()


@pytest.mark.browser
def test_the_steps_table_is_what_the_engine_did(start, browser):
    with start(page=True) as running:
        page = open_page(browser, running.url + "/")
        page.wait_for_selector('dd[data-counter="Running"]')
        running.post("/v1/completions", json={**BODY, "prompt": "a" * 200})
        page.wait_for_function(
            "() => document.querySelector('#rows').textContent.includes('finished')"
        )
        seen = []
        for row in reversed(running.engine.trace.rows):
            page.wait_for_function(
                f"() => document.querySelector('#step').dataset.step === '{row['step']}'"
            )
            seen.append(page.locator("#rows tr").first.locator("td").nth(2).inner_text())
            page.click("#back", force=True) if row["step"] else None
        assert seen == [str(row["num_tokens"]) for row in reversed(running.engine.trace.rows)]
        assert seen == ["1"] * 5 + ["72", "128"]
        page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits(watched, browser, size, scheme):
    page = open_page(browser, watched.url + "/", size, scheme)
    page.wait_for_selector('dd[data-counter="Running"]')
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.context.close()


@pytest.mark.browser
def test_the_page_says_that_a_key_is_wanted_and_takes_it(start, browser):
    with start(page=True, api_key="secret") as running:
        page = open_page(browser, running.url + "/")
        page.wait_for_selector("#key-fold[open]")
        assert "API key" in page.locator("#about").inner_text()
        page.fill("#key", "secret")
        page.wait_for_selector('dd[data-counter="Running"]')
        page.context.close()


@pytest.mark.browser
def test_a_hostile_model_name_is_text(start, browser):
    with start(page=True, name=HOSTILE) as running:
        page = open_page(browser, running.url + "/")
        page.wait_for_selector('dd[data-counter="Running"]')
        assert page.locator("#about").inner_text().startswith(HOSTILE)
        assert page.locator("#about *").count() == 0 and page.heard.complaints == []
        page.context.close()
