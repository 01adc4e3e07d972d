"""A class is killed at random moments, on SQLite and on a PostgreSQL server: what a rerun gives,
and what it costs.

Each time a new course root is graded in a process of its own, which is killed with its workers and
their sandboxes at a moment drawn evenly from the length of an undisturbed run; then the class is
graded again. Compared with the undisturbed run are all rows that nbgrader keeps and all files of
course root and report (see tests/autograder/grading/derived.py). The class is three students with a
cheap exercise, one of them unreadable: what is tested is what lies between the writes. Ctrl-C ends
it with what it has by then; `--only` keeps what the record has of the other database.

    python bench/kills.py [--kills 100] [--seed 16] [--only SQLite]
"""

import argparse
import json
import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from record import RESULTS, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from autograder.grading.results_store import students_with_results  # noqa: E402
from tests.autograder.grading.conftest import (
    STAND_IN,
    make_stand_in,
    stand_in_notebook,
    stand_in_there,
)  # noqa: E402
from tests.autograder.grading.derived import differences  # noqa: E402
from tests.autograder.grading.killing import Disturbed, killed_run  # noqa: E402
from tests.gradebooks import OnPostgres, OnSqlite, Server, server_programs  # noqa: E402

CLASS = {
    "ada": stand_in_notebook(),
    "bo": stand_in_notebook("def double(x):\n    return x + abs(x)"),
    "cy": b"no notebook",
}
DATABASES = ("SQLite", "PostgreSQL")


def main() -> None:
    """Kill on one database after the other, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--only", choices=DATABASES)
    args = parser.parse_args()
    if server_programs() is None:
        print("no PostgreSQL server here: install postgresql")
        raise SystemExit(77)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which a shell's background has ignored
    found = {}
    if args.only and (RESULTS / "kills.json").exists():
        found = json.loads((RESULTS / "kills.json").read_text())["databases"]
    with tempfile.TemporaryDirectory(prefix="w2s-kills-") as folder:
        (Path(folder) / "stand-in").mkdir()
        with stand_in_there(make_stand_in(Path(folder) / "stand-in")) as assignment:
            for name in [args.only] if args.only else DATABASES:
                place = Path(folder) / name
                place.mkdir()
                server = Server() if name == "PostgreSQL" else None
                try:
                    books = OnPostgres(server) if server else OnSqlite(place)
                    found[name] = kills(
                        Disturbed(books, place, assignment, CLASS, jobs=2),
                        args.kills,
                        args.seed,
                        name,
                    )
                finally:
                    if server:
                        server.remove()
    save(
        "kills",
        versions=("nbgrader", "sqlalchemy", "psycopg2-binary"),
        databases=found,
        seed=args.seed,
        students=len(CLASS),
    )
    if any(one["reruns_exactly_as_undisturbed"] != one["kills"] for one in found.values()):
        raise SystemExit("a rerun gave something else than the undisturbed run")


def kills(graded: Disturbed, count: int, seed: int, name: str) -> dict:
    """Kill and run again `count` times; moments and seconds, and how many reruns gave exactly the
    undisturbed run's state.
    """
    whole, drawn, moments, reruns, wrong = [], random.Random(seed), [], [], []
    for _ in range(3):
        graded.reset()
        begun = time.monotonic()
        killed_run(graded.run)
        whole.append(time.monotonic() - begun)
    length = statistics.median(whole)
    try:
        for number in range(count):
            graded.reset()
            moment = round(drawn.uniform(0, length), 3)
            killed_run(graded.run, after=moment)
            judged = len(students_with_results(graded.root, STAND_IN))
            begun = time.monotonic()
            graded.run()
            seconds, lines = time.monotonic() - begun, differences(graded.wanted, graded.found())
            moments.append(moment)
            reruns.append((seconds, judged))
            if lines:
                wrong.append({"moment": moment, "differences": lines})
            print(
                f"{name} {number + 1:>3}: killed after {moment:.2f} of {length:.2f} s with {judged}"
                f" verdicts, again {seconds:.2f} s{', WRONG' if lines else ''}",
                flush=True,
            )
    except KeyboardInterrupt:
        print(f"{name}: ended after {len(moments)} kills", flush=True)
    count = len(moments)
    by_verdicts = {
        str(judged): round(
            statistics.median(seconds for seconds, had in reruns if had == judged), 2
        )
        for judged in sorted({had for _, had in reruns})
    }
    return {
        "kills": count,
        "reruns_exactly_as_undisturbed": count - len(wrong),
        "wrong": wrong,
        "undisturbed_seconds": round(length, 2),
        "rerun_seconds_median": round(statistics.median(seconds for seconds, _ in reruns), 2),
        "rerun_seconds_by_verdicts_kept": by_verdicts,
        "kills_by_verdicts_kept": {
            judged: sum(str(had) == judged for _, had in reruns) for judged in by_verdicts
        },
        "moments": moments,
    }


if __name__ == "__main__":
    main()
