"""What every test shares: what this machine can run, and a plain word at the end on what it could not."""
import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                      "--disable-background-networking", "--disable-component-update", "--disable-sync"]

# One torch thread a process: the suite runs a process a core, and idle spinning threads would steal them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def find_chromium() -> str | None:
    """The first Chromium or Chrome on PATH, or None."""
    return next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Skip, with the remedy in the reason, what needs a program that this machine lacks; keep folders together.

    A folder shares what its fixtures make (a graded class, an open browser), so one process runs all of it.
    """
    needs = {"browser": (find_chromium(), "no Chromium on PATH: install chromium to test pages in a browser"),
             "sandbox": (shutil.which("bwrap"), "no bwrap on PATH: install bubblewrap to test isolation")}
    known = dict(line.split(" | ", 1) for line in (ROOT / "tests" / "known_failures.txt").read_text().splitlines()
                 if not line.startswith("#"))
    for item in items:
        if item.nodeid in known:
            item.add_marker(pytest.mark.xfail(reason=known[item.nodeid], strict=False))
        item.add_marker(pytest.mark.xdist_group("/".join(item.path.relative_to(ROOT).parts[1:3])))
        for marker, (found, reason) in needs.items():
            if item.get_closest_marker(marker) and not found:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter):
    """Name what was not tested, and why, as the last thing a reader sees."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("not tested on this machine")
        reasons = {}
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reasons.setdefault(reason.removeprefix("Skipped: "), []).append(report.nodeid)
        for reason, tests in reasons.items():
            terminalreporter.write_line(f"{len(tests)} tests: {reason}")


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for the session; each test opens its own context."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()
