"""All assignments of a class in one command, `course grade IN --assignment all`: interrupted with
Ctrl-C, and then what it gave and what it cost.

    python bench/whole_course.py [--students 300] [--assignments 01 02 ...]
        [--interrupts 3] [--small 6] [--full] [--folder DIR] [--no-record]

Nearly all hand-ins are cheap (see cheap_class.py): what is measured is the grader with 300 students
x 16 assignments, and not the checks, which take one to forty seconds of a whole reference notebook.
4,800 of those would be about five hours on two cores; `--full` grades one of each assignment, and
the record says what the class would take at that pace. Without it the record keeps those figures.

Interrupted at so many random places, and started again, it must have judged nothing twice, end with
130 and then 0 or 1, and leave for each hand-in the record and nbgrader's scores that it deserves. A
class of the first few of the same students, with the same secret, graded without interrupts, must
get exactly the same. Exit code 1 if not. Other work on the machine slows it: `load` is in the
record.
"""

import argparse
import json
import random
import shutil
import signal
import sqlite3
import statistics
import tempfile
from pathlib import Path

from cheap_class import HandIn, all_numbers, full_notebooks, make_class
from record import RESULTS, save
from watched_course import Ran, Told, course

from autograder.authoring.catalogue import assignment
from autograder.course_layout import SECRET_FILE
from autograder.grading.results_store import all_verdicts, graded_assignments, load_verdict

SECRET = b"the same hidden inputs each time"
JOBS = 2
LOOKED_AT = (10, 100, 200)  # hand-ins after which the estimate is compared with what it took
STRETCH = 100  # hand-ins at the beginning and at the end of an assignment
SCORES = """SELECT submitted_assignment.student_id, assignment.name, base_cell.name,
    grade.auto_score FROM grade
    JOIN submitted_notebook ON grade.notebook_id = submitted_notebook.id
    JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
    JOIN assignment ON submitted_assignment.assignment_id = assignment.id
    JOIN base_cell ON grade.cell_id = base_cell.id"""


def main() -> int:
    """Make, grade, look, record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--assignments", nargs="+", default=all_numbers(), metavar="NN")
    parser.add_argument("--interrupts", type=int, default=3)
    parser.add_argument(
        "--small", type=int, default=6, help="students of the undisturbed class; 0: none"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="one whole reference notebook of each assignment too: minutes",
    )
    parser.add_argument("--seed", type=int, default=300)
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the class is made and stays (default: a temporary folder)",
    )
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which a shell's background has ignored, and a child would
    with tempfile.TemporaryDirectory(prefix="w2s-whole-") as name:
        folder = args.folder or Path(name)
        handed_in = make_class(folder / "in", args.students, args.assignments, args.seed, SECRET)
        print(
            f"made: {len(handed_in)} hand-ins of {args.students} students to"
            f" {len(args.assignments)} assignments",
            flush=True,
        )
        found = {
            "students": args.students,
            "assignments": len(args.assignments),
            "hand_ins": len(handed_in),
            "jobs": JOBS,
            "seed": args.seed,
        }
        runs, stops = graded(folder, handed_in, args)
        wrong = interrupted_rightly(runs, stops, len(handed_in)) + judged_rightly(
            folder / "root", handed_in
        )
        if args.small:
            wrong += same_undisturbed(folder, args)
        found |= (
            {"wrong": wrong}
            | costs(runs, len(handed_in))
            | estimates(runs)
            | sizes(folder / "root")
            | commands(folder / "root", args.assignments)
        )
        if args.full:
            found["full_notebooks"] = full(folder, args)
    earlier = RESULTS / "whole_course.json"
    if (
        not args.full
        and earlier.exists()
        and (kept := json.loads(earlier.read_text(encoding="utf-8")).get("full_notebooks"))
    ):
        found["full_notebooks"] = kept
    print(json.dumps(found, indent=1))
    if not args.no_record:
        save("whole_course", versions=("torch", "nbgrader", "sqlalchemy"), **found)
    return 1 if wrong else 0


def new_root(root: Path) -> Path:
    """A course root with the secret in it and nothing else."""
    root.mkdir(parents=True)
    (root / SECRET_FILE).write_bytes(SECRET)
    (root / SECRET_FILE).chmod(0o600)
    return root


def graded(
    folder: Path, handed_in: list[HandIn], args: argparse.Namespace
) -> tuple[list[Ran], list[dict[str, str]]]:
    """The one command, stopped and started again; and the records that were there after
    each stop.
    """
    root, draw = new_root(folder / "root"), random.Random(args.seed)
    places = sorted(draw.sample(range(1, len(handed_in)), args.interrupts))
    runs, stops, told = [], [], 0
    for place in [*places, None]:
        stop_at = None if place is None else max(1, place - told)
        ran = course(
            "grade",
            folder / "in",
            "--assignment",
            "all",
            "--jobs",
            JOBS,
            "--course-root",
            root,
            stop_at=stop_at,
            delay=draw.uniform(0, 2),
        )
        runs.append(ran)
        told += len(ran.told)
        if place is not None:
            stops.append(records(root))
        print(
            f"run {len(runs)}: exit code {ran.code}, {ran.seconds:.0f} s, {len(ran.told)} judged,"
            f" {len(records(root))} records"
            + (f", {ran.stop:.1f} s from Ctrl-C to the end" if ran.stop is not None else ""),
            flush=True,
        )
    (folder / "said.txt").write_text(
        "".join(
            f"{at:9.2f}  {line}\n"
            for ran in runs
            for at, line in [*ran.lines, (ran.seconds, f"exit code {ran.code}")]
        )
    )
    return runs, stops


def records(root: Path) -> dict[str, str]:
    """The hash of every result, by "ASSIGNMENT/STUDENT"."""
    return {
        f"{name}/{student}": verdict.digest()
        for name in graded_assignments(root)
        for student, verdict in all_verdicts(root, name).items()
        if verdict
    }


def interrupted_rightly(runs: list[Ran], stops: list[dict[str, str]], count: int) -> list[str]:
    """What is not as promised of stopping and going on, a sentence each.

    An interrupt that meets the last tables may be too late.
    """
    wrong = [
        f"run {number}: there stayed {one}"
        for number, ran in enumerate(runs, 1)
        for one in ran.stayed
    ]
    wrong += [
        f"run {number} said: {line}"
        for number, ran in enumerate(runs, 1)
        for _, line in ran.lines
        if "Traceback" in line
    ]
    for number, ran in enumerate(runs, 1):
        promised = int(
            any(
                line.startswith(("people ", "not graded ", "stale ", "lost "))
                for _, line in ran.lines
            )
        )
        allowed = (
            {130}
            if ran.stop is not None and len(stops[number - 1]) < count
            else {130, promised}
            if ran.stop is not None
            else {promised}
        )
        wrong += (
            [f"run {number}: exit code {ran.code}, not {' or '.join(map(str, sorted(allowed)))}"]
            if ran.code not in allowed
            else []
        )
    for number, there in enumerate(stops, 1):
        again = [
            one
            for ran in runs[number:]
            for one in ran.told
            if f"{one.assignment}/{one.student}" in there
        ]
        wrong += [
            f"after interrupt {number}, {one.student} was judged again in {one.assignment}"
            for one in again
        ]
    return wrong


def judged_rightly(root: Path, handed_in: list[HandIn]) -> list[str]:
    """Of each hand-in the record, and in nbgrader's gradebook the points that it deserves; what is
    otherwise, a sentence each.
    """
    wrong, held, kept = [], scores(root), records(root)
    for one in handed_in:
        key = f"{one.assignment}/{one.student}"
        verdict = json.loads(kept.pop(key, b"{}"))
        rows = held.pop((one.student, one.assignment), None)
        if not verdict or verdict["human"] or verdict["fault"]:
            wrong.append(f"{key}: {verdict.get('human') or 'no verdict'}")
        elif rows is None or not one.deserves(
            stored := sum(score or 0.0 for score in rows.values())
        ):
            wrong.append(
                f"{key}, {one.exercise} {one.mistake}:"
                f" {'no rows' if rows is None else f'{stored:g} points'} in the gradebook, not"
                f" {one.points:g}"
            )
        elif {name: score for name, score in rows.items() if name.endswith("-check")} != {
            f"{result['exercise'].split('.', 1)[1]}-check": result["earned"]
            for result in verdict["results"]
        }:
            wrong.append(f"{key}: the gradebook has other scores than the record")
    return wrong + [f"{key}: nobody handed that in" for key in [*kept, *held]]


def scores(root: Path) -> dict[tuple[str, str], dict[str, float | None]]:
    """nbgrader's automatic scores by student and assignment, from its database."""
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    with sqlite3.connect(f"file:{root / 'gradebook.db'}?mode=ro", uri=True) as database:
        for student, name, cell, score in database.execute(SCORES):
            found.setdefault((student, name), {})[cell] = score
    return found


def same_undisturbed(folder: Path, args: argparse.Namespace) -> list[str]:
    """Grade the first few students' bytes once more, by themselves and undisturbed; where the
    gradebook differs, a sentence each.
    """
    few = sorted((folder / "in").iterdir())[: args.small]
    for path in few:
        shutil.copytree(path, folder / "few" / path.name)
    ran = course(
        "grade",
        folder / "few",
        "--assignment",
        "all",
        "--jobs",
        JOBS,
        "--course-root",
        new_root(folder / "few-root"),
    )
    print(
        f"undisturbed: {len(few)} students, exit code {ran.code}, {ran.seconds:.0f} s", flush=True
    )
    whole, alone = scores(folder / "root"), scores(folder / "few-root")
    there = {key: whole[key] for key in whole if key[0] in {path.name for path in few}}
    return [
        f"{student} in {name}: {there.get((student, name))}, undisturbed"
        f" {alone.get((student, name))}"
        for student, name in sorted(there.keys() | alone.keys())
        if there.get((student, name)) != alone.get((student, name))
    ]


def costs(runs: list[Ran], count: int) -> dict:
    """Seconds, memory, and how even the pace is."""
    seconds, pace = sum(ran.seconds for ran in runs), []
    told_of = [(one.assignment, one.student) for ran in runs for one in ran.told]
    cpu = None if any(ran.cpu is None for ran in runs) else sum(ran.cpu for ran in runs)
    for told in whole_stretches(runs):
        if len(told) >= 2 * STRETCH and told[0].done <= 2:
            pace.append(
                (
                    (told[STRETCH].at - told[0].at) / STRETCH,
                    (told[-1].at - told[-1 - STRETCH].at) / STRETCH,
                )
            )
    starts, ends = between(runs)
    return {
        "runs": [
            {
                "exit_code": ran.code,
                "seconds": round(ran.seconds),
                "judged": len(ran.told),
                "cpu_seconds": ran.cpu and round(ran.cpu),
                "load": round(statistics.mean(ran.load or [0]), 1),
                "seconds_from_interrupt_to_end": ran.stop and round(ran.stop, 2),
                "peak_mib": round(ran.own_mib),
                "peak_mib_workers": round(ran.workers_mib),
                "processes_below": ran.workers,
            }
            for ran in runs
        ],
        "judged_twice": len(told_of) - len(set(told_of)),
        "seconds": round(seconds),
        "hand_ins_a_minute": round(60 * count / seconds, 1),
        "cpu_seconds_a_hand_in": cpu and round(cpu / count, 3),
        "seconds_a_hand_in_first_and_last_hundred": [
            [round(first, 3), round(last, 3)] for first, last in pace
        ],
        "last_hundred_over_first": (
            round(statistics.median(last / first for first, last in pace), 2) if pace else None
        ),
        "seconds_before_an_assignments_first_verdict": starts,
        "seconds_after_its_last": ends,
    }


def whole_stretches(runs: list[Ran]) -> list[list[Told]]:
    """The lines of each assignment in each run that came to its end."""
    found = []
    for ran in runs:
        by_name: dict[str, list[Told]] = {}
        for one in ran.told:
            by_name.setdefault(one.assignment, []).append(one)
        found += [told for told in by_name.values() if told[-1].done == told[-1].total]
    return found


def between(runs: list[Ran]) -> tuple[dict, dict]:
    """Median and most of the seconds from an assignment's beginning to its first verdict, and from
    its last to what is said of it.
    """
    starts, ends = [], []
    for ran in runs:
        said = [at for at, line in ran.lines if line.startswith("graded ")]
        for told in whole_stretches([ran]):
            starts += [
                told[0].at - before
                for before in [max((at for at in said if at < told[0].at), default=None)]
                if before is not None
            ]
            ends += (
                [min(at for at in said if at > told[-1].at) - told[-1].at]
                if any(at > told[-1].at for at in said)
                else []
            )
    return tuple(
        {"median": round(statistics.median(some), 1), "most": round(max(some), 1)} if some else {}
        for some in (starts, ends)
    )


def estimates(runs: list[Ran]) -> dict:
    """How the time left that was told compares with what it took, as a share of that: by hand-ins
    done, of an assignment and of all.
    """
    errors: dict[int, list[float]] = {place: [] for place in LOOKED_AT}
    for told in whole_stretches(runs):
        for one in told:
            if one.done in errors and one.left is not None and told[-1].at - one.at > 0:
                errors[one.done].append(one.left / (told[-1].at - one.at) - 1)
    whole = []
    for ran in runs:
        ends = {told[-1].assignment: told[-1].at for told in whole_stretches([ran])}
        whole += [
            one.whole / (max(ends.values()) - one.at) - 1
            for one in ran.told
            if one.done in errors and one.whole and ran.code != 130
        ]
    found = {
        f"after {place}": {
            "median_error": round(statistics.median(map(abs, some)), 3),
            "most": round(max(map(abs, some)), 3),
            "median_signed": round(statistics.median(some), 3),
            "count": len(some),
        }
        for place, some in errors.items()
        if some
    }
    return {
        "estimate": found,
        "estimate_of_all": (
            {
                "median_error": round(statistics.median(map(abs, whole)), 3),
                "most": round(max(map(abs, whole)), 3),
                "median_signed": round(statistics.median(whole), 3),
                "count": len(whole),
            }
            if whole
            else {}
        ),
    }


def sizes(root: Path) -> dict:
    """What lies in the course root, in MB."""

    def megabytes(paths: list[Path]) -> float:
        return round(sum(path.stat().st_size for path in paths) / 1e6, 2)

    files = [path for path in root.rglob("*") if path.is_file()]
    pages = sorted((root / "report").glob("*.html"), key=lambda path: path.stat().st_size)
    feedback = sorted((root / "feedback").rglob("*.html"), key=lambda path: path.stat().st_size)
    return {
        "gradebook_mb": megabytes([root / "gradebook.db"]),
        "course_root_mb": megabytes(files),
        "course_root_files": len(files),
        "largest_report_page": {"name": pages[-1].name, "mb": megabytes(pages[-1:])},
        "largest_feedback_page_mb": megabytes(feedback[-1:]),
    }


def commands(root: Path, numbers: list[str]) -> dict:
    """Seconds of what follows a grading, over the whole class; export and feedback are one command
    for each assignment.
    """

    def seconds(*several: tuple) -> float:
        return round(sum(course(*one, "--course-root", root).seconds for one in several), 1)

    return {
        "seconds_of_commands": {
            "course grade, nothing changed": seconds(
                ("grade", root.parent / "in", "--assignment", "all", "--jobs", JOBS)
            ),
            "course report": seconds(("report",)),
            "course export --to gradescope, each assignment": seconds(
                *(("export", "gradescope", "--assignment", one, "--so-far") for one in numbers)
            ),
            "course release-feedback --lms folders, each assignment": seconds(
                *(("feedback", "folders", "--assignment", one) for one in numbers)
            ),
        }
    }


def full(folder: Path, args: argparse.Namespace) -> dict:
    """What a whole reference notebook of each assignment takes, one at a time, and by arithmetic a
    class of them.
    """
    root, spent, clock = new_root(folder / "full-root"), {}, {}
    for number, path in zip(
        args.assignments, full_notebooks(folder / "full-in", args.assignments, SECRET)
    ):
        ran, name = (
            course("grade", folder / "full-in", "--assignment", number, "--course-root", root),
            assignment(number).name,
        )
        verdict = load_verdict(root, name, "full").to_json()
        spent[number], clock[number] = ran.cpu and round(ran.cpu, 1), verdict["seconds"]
        print(
            f"{path.name}: {clock[number]} s, {spent[number]} s of processor with the start",
            flush=True,
        )
    whole = sum(clock.values())
    return {
        "judging_seconds": clock,
        "cpu_seconds_with_start": spent,
        "arithmetic": (
            f"{whole:.0f} s for one of each; x {args.students} students "
            f"/ {JOBS} jobs: {whole * args.students / JOBS / 3600:.1f} h"
        ),
    }


if __name__ == "__main__":
    raise SystemExit(main())
