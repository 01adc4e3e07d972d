"""`course make`: the whole course, step by step; each step does only what changed since the last run."""
import time
from collections.abc import Callable
from pathlib import Path

from autograder.errors import CourseError

SUMMARY = "do everything that `make course` does: data, vectors, exercises, book, sample class"
ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser) -> None:
    """--jobs for the steps that run side by side."""
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="processes side by side (default: the cores)")


def run(args) -> int:
    """Run every step in order; print what each made and where; stop at the first that fails."""
    from autograder.schedule import default_jobs

    jobs = args.jobs or default_jobs()
    results: list[tuple[str, str]] = []
    for title, step in steps(jobs):
        started = time.monotonic()
        print(f"\n== {title}", flush=True)
        results += step()
        print(f"   {title}: {time.monotonic() - started:.1f} s", flush=True)
    width = max(len(what) for what, _ in results)
    print("\nReady:")
    for what, where in results:
        print(f"  {what:<{width}}  {where}")
    return 0


def steps(jobs: int) -> list[tuple[str, Callable[[], list[tuple[str, str]]]]]:
    """(title, function) in the order in which one needs the other."""
    return [
        ("corpora and pretrained vectors", fetch_data),
        ("vectors trained here", train_vectors),
        ("exercise notebooks", build_exercises),
        ("book", lambda: build_book(jobs)),
        ("sample class", lambda: grade_sample(jobs)),
    ]


def fetch_data() -> list[tuple[str, str]]:
    """Fetch what is not in the cache yet, with hashes checked."""
    from reference_impl import corpora

    try:
        corpora.fetch()
    except corpora.CorpusError as error:
        raise CourseError(str(error)) from error
    return [("data", str(corpora.cache_folder()))]
