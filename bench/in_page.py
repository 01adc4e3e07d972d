"""How fast the small GPT writes in a browser's page, in JavaScript on one core, beside torch on the
same core.

    python bench/in_page.py [--runs 5]        needs Chromium; a minute

Both go on from the same prompts by 100 greedy tokens with a cache of keys and values; the page from
a file on disk, in a worker, weights in float16 expanded to float32. A run is paired: first one,
then the other. The second row holds the page's rate against the 50 tokens a second that are
promised. Writes bench/results/in_page.json.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402

from course.book.build.stills import find_chromium  # noqa: E402
from course.book.pages.figures import ASSETS, RUNTIME  # noqa: E402
from course.book.pages.models import write_scripts  # noqa: E402
from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402

NAME, TOKENS, MUST = "gpt_kjv", 100, 50
PROMPTS = ("And the king said unto", "In the beginning", "The river")
NO_BROWSER = 77  # this record is not made here: as the benches of a GPU say it
WRITE = """async ([name, prompt, most]) => {
    const model = await w2s.models.open(name), ids = model.tokenizer.ids(prompt),
        started = performance.now();
    const answer = await model.call("generate", ids, { most, temperature: 0 });
    return [answer.ids, (performance.now() - started) / 1000];
}"""


def page_with_runtime(folder: Path) -> str:
    """The address of a page on disk that holds the runtime and the model."""
    for part in RUNTIME:
        shutil.copy(ASSETS / "models" / f"{part}.js", folder)
    write_scripts(folder / "weights", [NAME])
    scripts = "".join(f'<script src="{part}.js"></script>' for part in RUNTIME)
    (folder / "page.html").write_text(
        f'<!doctype html><meta charset="utf-8">{scripts}', encoding="utf-8"
    )
    return (folder / "page.html").as_uri()


def main() -> int:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    runs, chromium = parser.parse_args().runs, find_chromium()
    if chromium is None:
        print("there is no Chromium on PATH: nothing measured", file=sys.stderr)
        return NO_BROWSER
    from playwright.sync_api import sync_playwright

    torch.set_num_threads(1)
    kept, params = small_model(NAME), SamplingParams(temperature=0.0, max_tokens=TOKENS)
    ours, theirs, same = [], [], []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto(page_with_runtime(Path(folder)))
        for run in range(runs + 1):  # the first warms both up
            prompt = PROMPTS[run % len(PROMPTS)]
            in_page, seconds = page.evaluate(WRITE, [NAME, prompt, TOKENS])
            started = time.perf_counter()
            by_torch = list(generate(kept.model, [kept.tokenizer.encode(prompt)], params)[0].ids)
            if run:
                ours.append(len(in_page) / seconds)
                theirs.append(len(by_torch) / (time.perf_counter() - started))
                same.append(in_page == by_torch)
        version = browser.version
        browser.close()
    what = "the 0.94M GPT writing in a page"
    rows = [
        compare(what, "torch, one thread", "tokens/s", ours, theirs),
        compare(what, f"{MUST} tokens/s", "tokens/s", ours, [MUST] * runs, must=1.0),
    ]
    save(
        "in_page",
        rows,
        versions=("torch", "playwright"),
        browser=f"Chromium {version}",
        tokens=TOKENS,
        tokens_per_second={
            "page": [round(rate) for rate in ours],
            "torch": [round(rate) for rate in theirs],
        },
        same_tokens_as_torch=f"{sum(same)} of {len(same)} runs",
    )
    return 0 if rows[1]["median"] >= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
