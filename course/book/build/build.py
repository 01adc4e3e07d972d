"""Build the book: execute pages side by side into the cache, run Jupyter Book, check what came out.

`jupyter-book build book -W --keep-going -n` alone gives the same pages, one after another; the
cache is shared.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.common.errors import CourseError
from course.book.build import cache as book_cache
from course.book.build import dependencies as trace
from course.book.build import kernel_pool as kernels
from course.book.lint import checks as book_checks

TIMEOUT = 900  # seconds a cell may take, as in _config.yml
STAMP = "book.json"


def build_book(
    root: Path, jobs: int = 2, strict: bool = True, say: Callable[[str], None] = print
) -> Path:
    """The landing page of the book, built if anything that it depends on has changed.

    strict: warnings are errors. Raises CourseError with what is wrong: a page that failed, a
    warning, a finding.
    """
    from filelock import FileLock

    (root / "_build").mkdir(exist_ok=True)
    with FileLock(
        root / "_build" / "book.lock"
    ):  # tests and a reader may ask for the book at the same moment
        return _build(root, jobs, strict, say)


def _build(root, jobs, strict, say):
    html = root / "_build" / "html"
    landing = html / "index.html"
    stamp = root / "_build" / STAMP
    state = {"inputs": input_hash(root), "strict": strict}
    if landing.exists() and _read(stamp) in (state, {**state, "strict": True}):
        say("book: nothing has changed")
        return landing
    _stop_at(book_checks.check_sources(root), "the book's sources")
    stamp.unlink(missing_ok=True)
    failed = execute_pages(root, jobs, say)
    if strict:
        _stop_at(failed, "the pages' code")
    run_jupyter_book(root, strict, say)
    findings = book_checks.check_output(root, html)
    if strict:
        _stop_at(findings, "the built book")
    for finding in findings:
        say(f"  {finding}")
    if not findings:
        stamp.write_text(json.dumps(state), encoding="utf-8")
    return landing


def input_hash(root: Path) -> str:
    """A hash of all that the book is made from: pages, configuration, code, records, the solutions
    to keep out.
    """
    paths = book_cache.files_below(root, ("book", "exercises", *book_cache.CODE))
    return book_cache.hash_of(
        root,
        [
            *paths,
            *(path for path in (root / "_config.yml", root / "requirements.lock") if path.exists()),
        ],
    )


def execute_pages(root: Path, jobs: int, say: Callable[[str], None]) -> list[str]:
    """Run every page whose output is not in the cache or not true, `jobs` at a time, and put the
    outputs there.

    This is what jupyter-cache's parallel executor does, with a limit on processes, a line for each
    page, and a list of the files that the page read. Returns a line for each page that failed or
    warned: its name and the error of its first failing cell, or the warning.
    """
    from jupyter_cache import get_cache

    os.environ[book_cache.IN_BOOK] = "1"
    # Pages run side by side: threads that wait for each other stall them all
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    untrue = book_cache.drop_untrue(root)
    cache = get_cache(str(book_cache.cache_path(root)))
    waiting = _waiting(root, cache)
    if not waiting:
        return []
    say(f"book: running {len(waiting)} page(s), {jobs} at a time")
    _say_why(root, [path for path, _ in waiting], untrue, say)
    broken = []
    with (
        _kernel_source(len(waiting) > jobs, say) as settings,
        ThreadPoolExecutor(jobs) as pool,
        tempfile.TemporaryDirectory() as notes,
    ):
        runs = {}
        for number, (path, notebook) in enumerate(waiting):
            note = Path(notes, f"{number}.txt")
            run = pool.submit(_run_page, root, path, notebook, note, settings)
            runs[run] = path, notebook
        for number, run in enumerate(as_completed(runs), 1):
            path, notebook = runs[run]
            result, data = run.result()
            said, problems = _store_run(cache, path, notebook, result, data)
            name = path.relative_to(root)
            broken += [f"{name}: {line}" for line in problems]
            say(f"  {number} of {len(runs)}  {name}{said}")
    return broken


def _waiting(root: Path, cache: Any) -> list[tuple[Path, Any]]:
    """The pages that the cache has no output of, each with its notebook."""
    waiting = []
    for path in sorted((root / "book").rglob("*.md")):
        notebook = read_page(path)
        if notebook is None:
            continue
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            waiting.append((path, notebook))
    return waiting


def _say_why(
    root: Path, pages: list[Path], untrue: dict[str, list[str]], say: Callable[[str], None]
) -> None:
    """A line for each page whose output is no longer true: which file changed."""
    for path in pages:
        if why := [name for name in untrue.get(str(path), []) if name != "?"]:
            more = f", and {len(why) - 1} more" if len(why) > 1 else ""
            say(f"  {path.relative_to(root)}: {why[0]} changed{more}")


def _store_run(
    cache: Any, path: Path, notebook: Any, result: Any, data: dict[str, Any]
) -> tuple[str, list[str]]:
    """Put the output of a page into the cache unless it failed or warned: what to say of the page,
    and its problems.
    """
    from jupyter_cache.base import CacheBundleIn

    if result.err is not None:
        return " failed", [_last_line(result.err)]
    if warned := _warnings(notebook):
        return " warned", warned
    cache.cache_notebook_bundle(
        CacheBundleIn(notebook, str(path), data={"execution_seconds": result.time, **data}),
        check_validity=False,
        overwrite=True,
    )
    return f", {result.time:.0f} s ({data['cpu_seconds']:.0f} s of one core)", []


@contextmanager
def _kernel_source(many, say):
    """Settings of nbclient by which kernels start: warm where that is possible and more pages wait
    than run at once.
    """
    if not (many and kernels.POSSIBLE):
        yield {}
        return
    with kernels.Nursery() as nursery:
        say(f"book: libraries loaded once for all pages, {nursery.cpu_seconds:.0f} s of one core")
        yield {"kernel_manager_class": nursery.manager}


def _run_page(root, path, notebook, notes, settings):
    """Run one page in a kernel of its own; what jupyter-cache says of the run, and what is kept
    with its outputs.

    That is the files which it read with their fingerprints, and the CPU seconds of its kernel: with
    the imports of libraries in a kernel that starts cold, without them in one that starts warm.
    """
    from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
    from nbclient.exceptions import DeadKernelError

    arguments = ["--log-level=ERROR", f"--IPKernelApp.exec_lines={trace.kernel_line(notes, root)}"]
    started = time.time()
    try:
        result = single_nb_execution(
            notebook,
            cwd=str(path.parent),
            timeout=TIMEOUT,
            allow_errors=False,
            extra_arguments=arguments,
            **settings,
        )
    except DeadKernelError as error:
        result = ExecutionResult(notebook, str(path.parent), time.time() - started, error)
    join_streams(notebook)
    lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    cpu = [float(line.removeprefix(trace.CPU)) for line in lines if line.startswith(trace.CPU)]
    names = [line for line in lines if not line.startswith(trace.CPU)]
    return result, {
        "read": book_cache.fingerprints(root, names, since=started),
        "cpu_seconds": max(cpu, default=0.0),
    }


def join_streams(notebook) -> None:
    """Put together what a busy kernel sent in pieces: myst-nb would begin a new line at each."""
    for cell in notebook.cells:
        joined = []
        for output in cell.get("outputs", []):
            if (
                joined
                and output.output_type == "stream" == joined[-1].output_type
                and output.name == joined[-1].name
            ):
                joined[-1].text += output.text
            else:
                joined.append(output)
        if "outputs" in cell:
            cell.outputs = joined


def read_page(path: Path):
    """The page as the notebook that myst-nb makes of it, or None if it runs no code."""
    from myst_nb.core.read import read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig

    text = path.read_text(encoding="utf-8")
    if "jupytext:" not in text[:2000] and "file_format: mystnb" not in text[:2000]:
        return None
    return read_myst_markdown_notebook(text, config=MdParserConfig(), path=str(path))


def plain_command(strict: bool) -> list[str]:
    """`jupyter-book build book --keep-going`, with -W -n if `strict`, by this interpreter whatever
    PATH says.
    """
    program = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    return [
        sys.executable,
        "-c",
        program,
        "build",
        "book",
        "--keep-going",
        *(["-W", "-n"] if strict else []),
    ]


def run_jupyter_book(root: Path, strict: bool, say: Callable[[str], None]) -> None:
    """`jupyter-book build book`, with its warnings gathered.

    What Sphinx remembers of the last build is dropped where it may be the cause: a label that has
    moved to another page counts as doubled until both pages are read. Raises CourseError with the
    warnings if `strict`.
    """
    started, remembered = time.monotonic(), root / "_build" / ".doctrees"
    incremental = remembered.exists()
    done = _jupyter_book(root, strict)
    if done.returncode and incremental:
        shutil.rmtree(remembered)
        done = _jupyter_book(root, strict)
    if done.returncode:  # the next build reads every page, and so finds the same again
        shutil.rmtree(remembered, ignore_errors=True)
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + "\n" + done.stderr)
    log = root / "_build" / "book.log"
    log.write_text(output, encoding="utf-8")
    warnings = list(
        dict.fromkeys(
            line for line in output.splitlines() if re.search(r"\b(WARNING|ERROR|CRITICAL):", line)
        )
    )
    say(f"book: pages written in {time.monotonic() - started:.0f} s")
    if done.returncode and (strict or not (root / "_build" / "html" / "index.html").exists()):
        _stop_at(warnings or output.strip().splitlines()[-8:], f"Jupyter Book (all of it: {log})")
    for line in warnings:
        say(f"  {line}")


def _jupyter_book(root: Path, strict: bool) -> subprocess.CompletedProcess:
    return subprocess.run(
        plain_command(strict),
        cwd=root,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"},
    )


def _stop_at(findings, what):
    if findings:
        lines = "\n  ".join(findings[:40]) + (
            f"\n  and {len(findings) - 40} more" if len(findings) > 40 else ""
        )
        raise CourseError(f"{len(findings)} finding(s) in {what}:\n  {lines}")


def _warnings(notebook):
    """What Python warned of while the page ran. Progress on stderr is in order and not shown."""
    text = "".join(
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    )
    return [line.strip()[:200] for line in text.splitlines() if "Warning:" in line]


def _last_line(error):
    lines = [
        line for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip(" -")
    ]
    return lines[-1] if lines else repr(error)


def _read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
