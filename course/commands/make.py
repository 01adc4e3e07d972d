"""`course make`: the whole course, step by step; each step does only what changed since the last
run.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.common.errors import CourseError

SUMMARY = "do everything that `make course` does: data, vectors, exercises, book, sample class"
ROOT = Path(__file__).resolve().parents[2]
Results = list[tuple[str, object]]  # what was made, and where it is


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--jobs for the steps that run side by side."""
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes side by side (default: the machine's cores)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print what was made as JSON; progress goes to stderr",
    )


def run(args: argparse.Namespace) -> int:
    """Run every step in order, print what each made and where; stop at the first that fails."""
    # A process a core, a thread a process: torch's own threads would fight each other for the
    # cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if args.json:
        with contextlib.redirect_stdout(sys.stderr):
            results = [one for _, step in steps(args.jobs) for one in step()]
        print(json.dumps([{"made": what, "path": str(where)} for what, where in results], indent=1))
        return 0
    begun = time.monotonic()
    results: Results = []
    for title, step in steps(args.jobs):
        started = time.monotonic()
        print(f"\n{title}", flush=True)
        results += step()
        print(f"  done in {time.monotonic() - started:.1f} s", flush=True)
    width = max(len(what) for what, _ in results)
    print(f"\nReady, in {time.monotonic() - begun:.0f} s:")
    for what, where in results:
        print(f"  {what:<{width}}  {where}")
    return 0


def steps(jobs: int) -> list[tuple[str, Callable[[], Results]]]:
    """(title, function), each after what it needs."""
    return [
        ("1/5 corpora, vectors and pretrained models", fetch_data),
        ("2/5 vectors trained here", lambda: train_vectors(jobs)),
        ("3/5 exercise notebooks", build_exercises),
        ("4/5 book", lambda: make_book(jobs)),
        ("5/5 sample class", lambda: grade_sample(jobs)),
    ]


def fetch_data() -> Results:
    """Fetch what is not in the cache yet, with hashes checked."""
    from reference_impl import corpora

    try:
        corpora.fetch()
    except corpora.CorpusError as error:
        raise CourseError(str(error)) from error
    return [("data", corpora.cache_dir())]


def train_vectors(jobs: int) -> Results:
    """Train each method whose vectors are not in the cache, each in a process of its own."""
    from reference_impl.embeddings.trained import SETTINGS, trained_path

    missing = [method for method in SETTINGS if not trained_path(method).is_file()]
    program = (
        "import sys; from reference_impl.embeddings.trained import trained; trained(sys.argv[1])"
    )
    with ThreadPoolExecutor(jobs) as pool:
        for method, done in zip(
            missing,
            pool.map(
                lambda method: subprocess.run([sys.executable, "-c", program, method]), missing
            ),
        ):
            if done.returncode != 0:
                raise CourseError(
                    f"training {method} failed with exit code {done.returncode}; what it said is"
                    " above"
                )
    return [("trained vectors", trained_path("skipgram").parent)]


def build_exercises() -> Results:
    """The student notebooks from their sources."""
    from autograder.authoring.catalogue import assignments
    from autograder.authoring.notebooks import build

    return [("exercise", build(one)) for one in assignments()]


def make_book(jobs: int) -> Results:
    """The book, strictly: a warning or a finding of our own checks stops here."""
    from course.book.build.build import build_book

    return [("book", build_book(ROOT, jobs=jobs, say=lambda line: print(f"  {line}", flush=True)))]


def grade_sample(jobs: int) -> Results:
    """Grade the sample class.

    It is ours, so a machine without isolation may grade it, with a warning.
    """
    from autograder.grading.progress_lines import Telling
    from course.sample_class.graded import grade_sample_class

    summary = grade_sample_class(jobs=jobs, allow_unsafe=True, progress=Telling())
    if summary.isolation == "process":
        print(
            "  WARNING: nothing here can isolate submissions. The sample class is ours and was"
            " graded without a sandbox, less the submissions that do harm.\n  `course grade`"
            " refuses other people's work on this machine; `course doctor` says what is missing.",
            flush=True,
        )
    return [
        ("gradebook", summary.gradebook),
        ("feedback", summary.feedback),
        ("grades", summary.grades),
        ("class report", summary.report),
    ]
