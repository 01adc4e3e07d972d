"""`course worker`: grade on this machine for `course grade --dask` on another."""

import argparse
import json
import os
import sys

SUMMARY = "grade on this machine for `course grade --dask` on another"
EPILOG = """\
On one machine `dask scheduler`, on each that shall grade `course worker ADDRESS --jobs N`, where
the class lies `course grade ... --dask ADDRESS`. All need this course from the same commit, with
the same environment.

It is Dask's own worker with one thread per process, so `dask worker ADDRESS --nthreads 1
--nworkers N` works as well, with DASK_DISTRIBUTED__WORKER__DAEMON=False in its environment. What
follows `--` goes to Dask, such as --tls-ca-file, --tls-cert and --tls-key for an ADDRESS with
tls://.

Anyone who can reach scheduler or worker can run code here as you: keep both in a network of your
own, or use tls://. Student code runs in sandboxes as with `course grade`; where nothing here can
isolate, this refuses to start."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The scheduler, and how many at a time."""
    parser.add_argument(
        "scheduler", metavar="ADDRESS", help="the scheduler: tcp://HOST:PORT or tls://HOST:PORT"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="submissions at the same time, one process each (default: 1)",
    )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="bubblewrap or container: what to look for (default: the strongest)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="say in one line of JSON, before it begins, how it isolates and for whom it grades",
    )
    parser.add_argument("dask", nargs="*", metavar="-- OPTIONS", help="options of `dask worker`")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Become Dask's worker; never returns unless something is missing."""
    from importlib.util import find_spec

    from autograder.common.errors import CourseError
    from autograder.grading.executors.dask import MISSING
    from autograder.sandbox import choose_backend

    if args.jobs < 1:
        raise CourseError(f"--jobs {args.jobs}: give 1 or more")
    if find_spec("distributed") is None:
        raise CourseError(MISSING.replace("--dask", "`course worker`"))
    backend = choose_backend(args.backend)
    said = {"isolation": backend.name, "jobs": args.jobs, "scheduler": args.scheduler}
    print(
        (
            json.dumps(said)
            if args.json
            else f"isolation {backend.name}; {args.jobs} at a time for {args.scheduler}"
        ),
        flush=True,
    )
    # Dask's limit on memory would pause a worker for what its grading process takes, which has a
    # limit of its own. A nanny's worker may have such a process only if it is no daemon.
    options = f"--nthreads 1 --nworkers {args.jobs} --memory-limit 0 --no-dashboard".split()
    command = [sys.executable, "-m", "dask", "worker", args.scheduler, *options, *args.dask]
    os.execve(sys.executable, command, os.environ | {"DASK_DISTRIBUTED__WORKER__DAEMON": "False"})
