"""A student opens the notebook of chapter 1 in a browser, fails, reads why, mends it, and sees the
points.
"""

import shutil
from pathlib import Path

import pytest

from autograder.checks.mistakes.registry import mistakes_of

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "exercises" / "01-static-embeddings" / "01-static-embeddings.ipynb"
WRONG = """
def ppmi(counts):
    joint = counts / counts.sum()
    by_chance = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
    return torch.where(joint > 0, (joint / by_chance).log2(), 0.0).clamp(min=0).float()
"""
RIGHT = WRONG.replace("log2", "log")


class Page:
    """One open notebook: finds code cells by their text, types into them and runs them."""

    def __init__(self, page):
        self.page = page

    def code_cell(self, beginning: str):
        """The code cell whose source begins so, scrolled into view (cells far away are not in the
        page yet).
        """
        cell = (
            self.page.locator(".jp-CodeCell")
            .filter(has=self.page.locator(".cm-content", has_text=beginning))
            .first
        )
        for _ in range(60):
            if cell.count():
                break
            self.page.mouse.wheel(0, 1500)
            self.page.wait_for_timeout(150)
        cell.scroll_into_view_if_needed()
        return cell

    def run(self, beginning: str, source: str | None = None):
        """Type `source` over the cell, if given, and run it; returns the text below it once the
        kernel is done.
        """
        cell = self.code_cell(beginning)
        cell.locator(".cm-content").click()
        if source is not None:
            self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(source.strip())
        prompt = cell.locator(".jp-InputPrompt").first
        before = prompt.inner_text()
        for attempt in range(600):
            text = prompt.inner_text()
            if text != before and "*" not in text:
                break
            if text == before and attempt % 50 == 0:
                # Again after five seconds: JupyterLab drops the key while it lays the page out.
                cell.locator(".cm-content").click()
                self.page.keyboard.press("Control+Enter")
            self.page.wait_for_timeout(100)
        self.page.wait_for_timeout(200)
        return cell.locator(".jp-OutputArea").first.inner_text()


@pytest.fixture
def notebook(browser, jupyter_server, tmp_path):
    """The student notebook of chapter 1, open in a browser with a live kernel."""
    shutil.copy(NOTEBOOK, tmp_path)
    with jupyter_server(tmp_path) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        page = context.new_page()
        page.goto(url(f"notebooks/{NOTEBOOK.name}"))
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        # Until the kernel is idle for the first time, a cell that is run is silently not sent.
        page.wait_for_selector(
            '.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=60_000
        )
        yield Page(page)
        context.close()


@pytest.mark.browser
def test_a_student_is_told_what_is_wrong_and_where_and_sees_the_points_when_it_is_right(
    notebook, tmp_path
):
    notebook.run("import math")
    notebook.run("def ppmi")
    untouched = notebook.run("check(ppmi)")
    assert "0 of 5 points" in untouched and "not written yet" in untouched

    notebook.run("def ppmi", WRONG)
    failing = notebook.run("check(ppmi)")
    misconception = next(m.misconception for m in mistakes_of("01.ppmi") if m.name == "log-base-2")
    assert "start here" in failing and misconception in failing
    assert "Traceback" not in failing
    notebook.page.screenshot(path=tmp_path / "failing.png")

    notebook.run("def ppmi", RIGHT)
    passing = notebook.run("check(ppmi)")
    assert "5 of 5 points" in passing and "start here" not in passing
    notebook.page.screenshot(path=tmp_path / "passing.png")

    notebook.run(
        "def ppmi", "def ppmi(counts):\n    total = counts.sum()\n    return total.no_such_method()"
    )
    raising = notebook.run("check(ppmi)")
    assert "return total.no_such_method()" in raising and "AttributeError" in raising
    assert "autograder" not in raising and "runner.py" not in raising
