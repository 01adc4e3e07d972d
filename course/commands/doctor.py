"""`course doctor`: what this machine can isolate, shown by trying to break out."""

import argparse
import json
from typing import Any

TOPICS = {
    "filter": "System calls",
    "privileges": "Privileges",
    "groups": "Control groups",
    "limits": "Memory and processes",
}
SUMMARY = "say what this machine can isolate, and prove it with escape attempts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`--json`, `--backend NAME`, `--cold`, `--time`."""
    parser.description = (
        "Start the sandbox that grading would use, say which filter of system calls, which user and"
        " which limits hold student code in it, try to break out of it in every way that is known"
        " here, and print what came of each. Then grade two notebooks of assignment 01 whose points"
        " are known. Exit codes: 0 everything held and was graded right; 1 something escaped or was"
        " graded wrong; 2 nothing here can isolate."
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of the table"
    )
    parser.add_argument(
        "--backend",
        choices=("bubblewrap", "container", "process"),
        help=(
            "examine this one. `process` isolates nothing and shows what the attempts do then; "
            "it is harmless, but run it only where you would run your own code"
        ),
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="examine bubblewrap as `course grade --cold` uses it: every sandbox a fresh start",
    )
    parser.add_argument("--time", action="store_true", help="measure a start as well")


def run(args: argparse.Namespace) -> int:
    """Examine and report; returns the exit code described in `--help`."""
    from autograder.grading.known_notebooks import graded_wrong, lacked_time
    from autograder.sandbox.selftest.doctor import Diagnosis, cold_start, examine, find_backend
    from autograder.sandbox.selftest.surroundings import surroundings

    backend, reason = find_backend(args.backend, args.cold)
    outcomes, held_by = [], surroundings(backend)
    if not args.json:
        _print_surroundings(backend, held_by)
    for outcome in examine(backend) if backend is not None else ():
        outcomes.append(outcome)
        if not args.json:
            _print_outcome(outcome)
    wrong = graded_wrong(backend) if backend is not None else []
    if backend is not None and not args.json:
        lines = [f"{'WRONG':9}  {line}" for line in wrong]
        print("\n".join(lines) or f"{'right':9}  known notebooks of 01: perfect and wrong")
    diagnosis = Diagnosis(
        backend.name if backend else "none",
        backend.tier if backend else "none",
        reason,
        outcomes,
        held_by,
        wrong,
        bool(wrong) and lacked_time(wrong),
    )
    times = cold_start(backend) if args.time and backend is not None else {}
    if args.json:
        print(
            json.dumps(diagnosis.to_json() | ({"cold_start_ms": times} if times else {}), indent=1)
        )
        return diagnosis.exit_code
    if times:
        print(
            f"\nStart, median of 5: {times['empty']:.0f} ms empty, {times['torch']:.0f} ms with"
            " torch."
        )
    print(f"\n{diagnosis.verdict}")
    return diagnosis.exit_code


def _print_outcome(outcome: Any) -> None:
    line = f"{outcome.state:9}  {outcome.name:21}  {outcome.tries}"
    print(f"{line}\n{'':11}{outcome.happened[:160]}", flush=True)


def _print_surroundings(backend: Any, held_by: dict[str, str]) -> None:
    print(f"Sandbox: {backend.name}. Tier: {backend.tier}." if backend else "Sandbox: none.")
    for topic, words in held_by.items():
        print(f"{TOPICS[topic]}: {words}")
    print(flush=True)
