"""What every test shares: what this machine can run, and a plain word at the end on what it could
not.
"""

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

import psutil
import pytest

import course  # noqa: F401  before a test imports nbformat: see autograder/common/iri.py
from tests import signatures

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]  # no way out

LEFT = []  # the command lines of processes that tests left running

# One torch thread a process: the suite runs a process a core, and idle spinning threads would steal
# them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
signatures.install()


def find_chromium() -> str | None:
    """The first Chromium or Chrome on PATH, or None."""
    return next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)


def shares_fixtures(nodeid: str) -> bool:
    """Whether the files of the test's folder share what is dear to make: a graded class, a built
    book, a browser.
    """
    return nodeid.startswith(("tests/autograder/grading/", "tests/book/", "tests/journeys/"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Three processes on two cores: for a third of its time a process waits for a browser, a
    sandbox or a server.
    """
    return max(1, (os.cpu_count() or 1) * 3 // 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a process whole folders where their fixtures are shared, elsewhere whole files or a
    chapter's exercises in them.

    In the order of collection.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Folders(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            chapter = re.search(r"\b(\d\d)\.[a-z]", test) or re.search(r"\[(\d\d)[-\]]", test)
            return (
                file.rpartition("/")[0]
                if shares_fixtures(nodeid)
                else f"{file} {chapter[1]}"
                if chapter
                else file
            )

    config.option.loadscopereorder = False
    return Folders(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Skip, with the remedy in the reason, what needs a program that this machine lacks; what takes
    longest goes first.
    """
    items.sort(key=lambda item: not shares_fixtures(item.nodeid))
    needs = {
        "browser": (
            find_chromium(),
            "no Chromium on PATH: install chromium to test pages in a browser",
        ),
        "sandbox": (
            shutil.which("bwrap"),
            "no bwrap on PATH: install bubblewrap to test isolation",
        ),
    }
    for item in items:
        for marker, (found, reason) in needs.items():
            if item.get_closest_marker(marker) and not found:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_sessionfinish(session):
    """End what the tests left running: it would keep this run's output open, and whoever reads that
    would wait for ever.
    """
    if getattr(session.config.option, "numprocesses", None):
        return  # the processes of this one are xdist's workers, and end by themselves
    if "autograder.sandbox.backends.warm" in sys.modules:
        sys.modules[
            "autograder.sandbox.backends.warm"
        ].end_all()  # they stay as long as whoever forks workers from them
    left = psutil.Process().children(recursive=True)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            command = " ".join(process.cmdline())[:200]
            if (
                "word2serve-stage-" not in command
            ):  # that one waits for our end, to clear a sandbox's files away
                LEFT.append(command)
                process.kill()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = LEFT


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take over what a worker of xdist has to say about processes that it ended."""
    LEFT.extend(getattr(node, "workeroutput", {}).get("left", []))


def pytest_runtest_logreport(report):
    """Name a failed test at once: a run that is stopped before its end prints no summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid}", file=sys.__stderr__, flush=True)


def pytest_terminal_summary(terminalreporter):
    """Name what was left running, and what was not tested and why, as the last thing a
    reader sees.
    """
    if LEFT:
        terminalreporter.section("left running by tests, and ended")
        for command in LEFT:
            terminalreporter.write_line(command)
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("not tested on this machine")
        reasons = {}
        for report in skipped:
            reason = (
                report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            )
            reasons.setdefault(reason.removeprefix("Skipped: "), []).append(report.nodeid)
        for reason, tests in reasons.items():
            terminalreporter.write_line(f"{len(tests)} tests: {reason}")


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for the session; each test opens its own context."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS
        )
        yield chromium
        chromium.close()
