"""How fast a class is graded: `course grade` against stock `nbgrader autograde` and otter-grader,
on the same honest submissions.

Two notebooks: six small questions (`six_questions`), where a grader's own time is what counts, and
a chapter's own, where much of the time is the checks'. Each contestant is run from the command line
into a gradebook of its own; the runs alternate, so that a busy machine slows all. The rivals grade
the first few of a class, and what they take to start counts once for the whole class, in their
favour; `course grade` also isolates, writes feedback, grades.csv and the report, and grades all of
it. Seconds are by the clock, start-up included, divided by submissions. In stock nbgrader's chapter
the cells that grading does not need are left out.

    python bench/grading.py [--rounds 2] [--students 60] [--rivals 6] [--chapter-students 16]
        [--many 100 2000] [--only PART ...]

Parts: six, sandbox, chapter, many. A part that is not run keeps its rows of the last record.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import record
import six_questions
from rival_graders import OtterGrader, StockNbgrader
from sandboxed import chapter_share, ours_alone, stock_alone

from autograder.authoring.notebooks import interpreter_on_path, source_notebook
from autograder.authoring.student_notebook import Notebook
from autograder.classroom.gradebook.course import prepare_course_root
from autograder.grading.assignment import load_assignment
from autograder.grading.results_store import all_verdicts, graded_assignments

PARTS = ("six", "sandbox", "chapter", "many")
CHAPTER = "01"
HERE = Path(__file__).resolve().parent
SIX = "six questions"


def main() -> None:
    """Run the parts that are asked for, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--students", type=int, default=60, help="of the six questions, a class")
    parser.add_argument(
        "--rivals", type=int, default=6, help="submissions that a rival grades in a round"
    )
    parser.add_argument("--chapter-students", type=int, default=16)
    parser.add_argument("--many", type=int, nargs=2, default=(100, 2000), metavar=("FEW", "MANY"))
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        default=PARTS[:3],
        help="default: all but many, which takes minutes",
    )
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    rows, extra = (
        {},
        {"students": args.students, "load_before": [round(one, 1) for one in os.getloadavg()]},
    )
    with tempfile.TemporaryDirectory(prefix="w2s-bench-") as name, interpreter_on_path():
        folder = Path(name)
        six_questions.prepare(folder / "six")
        for part in args.only:
            rows[part] = {"six": six, "sandbox": sandbox, "chapter": chapter, "many": many}[part](
                folder, args, extra
            )
            print(f"{part}: done, load {os.getloadavg()[0]:.1f}", flush=True)
    keep(rows, extra)


def keep(rows: dict[str, list[dict]], extra: dict) -> None:
    """Write the record; parts that were not run stay as they were."""
    path = record.RESULTS / "grading.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    old = {
        part: [row for row in before.get("rows", []) if row.get("part") == part] for part in PARTS
    }
    kept = {
        name: value
        for name, value in before.items()
        if name in ("table", "flat", "chapter_share", "otter")
    }
    every = [row | {"part": part} for part in PARTS for row in rows.get(part, old[part])]
    record.save(
        "grading", every, versions=("torch", "nbgrader", "ipykernel", "sqlalchemy"), **kept | extra
    )


def six(folder: Path, args: argparse.Namespace, extra: dict) -> list[dict]:
    """The six questions end to end, and where the time goes."""
    submitted, checked = folder / "six-in", folder / "six-in-checked"
    for number in range(args.students):
        put(submitted, number, six_questions.NAME, six_questions.handed_in(number, checked=False))
    for number in range(args.rivals):
        put(checked, number, six_questions.NAME, six_questions.handed_in(number, checked=True))
    stock = StockNbgrader(
        folder / "six-stock",
        six_questions.NAME,
        nbformat.reads(six_questions.source(), as_version=4),
    )
    otter = otter_or_reason(folder / "otter", extra)
    few = folder / "six-few"
    for path in sorted(submitted.iterdir())[: args.rivals]:
        shutil.copytree(path, few / path.name)
    took: dict[str, list[float]] = {
        name: [] for name in ("stock", "otter", "one", "two", "judging one", "judging two")
    }
    for number in range(args.rounds):
        took["stock"].append(of_a_class(stock, folder / f"six-stock-{number}", checked, args))
        if otter:
            took["otter"].append(
                checked_points(otter.grade(folder / f"six-otter-{number}", few), args.rivals)[0]
                / args.rivals
            )
        for jobs, name in ((1, "one"), (2, "two")):
            found = run_ours(
                folder / f"six-ours-{jobs}-{number}",
                submitted,
                jobs,
                folder / "six",
                six_questions.NUMBER,
            )
            took[name].append(found["seconds"] / args.students)
            took[f"judging {name}"].append(judging(found) / args.students)
            extra["table"] = table(found, args.students) if jobs == 1 else extra["table"]
    rows = [
        record.compare(
            f"{SIX}, course grade --jobs 1",
            StockNbgrader.name,
            "s/submission",
            took["one"],
            took["stock"],
            10,
            20,
            False,
        ),
        record.compare(
            f"{SIX}, course grade --jobs 2",
            StockNbgrader.name,
            "s/submission",
            took["two"],
            took["stock"],
            10,
            20,
            False,
        ),
        record.compare(
            f"{SIX}, course grade --jobs 2",
            "--jobs 1",
            "s/submission",
            took["two"],
            took["one"],
            larger_is_better=False,
        ),
        record.compare(
            f"{SIX}, --jobs 2, once all have started",
            "--jobs 1",
            "s/submission",
            took["judging two"],
            took["judging one"],
            larger_is_better=False,
        ),
    ]
    if otter:
        rows.append(
            record.compare(
                f"{SIX}, course grade --jobs 1",
                f"{OtterGrader.name} {otter.version}",
                "s/submission",
                took["one"],
                took["otter"],
                larger_is_better=False,
            )
        )
    return rows


def otter_or_reason(root: Path, extra: dict) -> OtterGrader | None:
    """otter-grader in its own environment, or None with the reason in the record."""
    try:
        otter = OtterGrader(root)
        extra["otter"] = otter.version
        return otter
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        extra["otter"] = f"not measured: {said.decode(errors='replace').strip()[-300:]}"
        return None


def of_a_class(
    stock: StockNbgrader, root: Path, submitted: Path, args: argparse.Namespace
) -> float:
    """Stock nbgrader's seconds for each submission of a class, its start-up shared by all
    of them.
    """
    seconds, _ = checked_points(stock.grade(root, submitted), args.rivals)
    once = stock.start_up(root)
    return max(0.0, seconds - once) / args.rivals + once / args.students


def checked_points(found: tuple[float, float], submissions: int) -> tuple[float, float]:
    """What a rival took; SystemExit where honest work did not get all points, so that nothing false
    is compared.
    """
    if found[1] != submissions * six_questions.POINTS:
        raise SystemExit(
            f"{found[1]} points, not {submissions * six_questions.POINTS}: nothing was compared"
        )
    return found


def sandbox(folder: Path, args: argparse.Namespace, extra: dict) -> list[dict]:
    """The sandboxed part alone, from bytes to results, against what nbgrader does in its place:
    executing the notebook.
    """
    theirs = [stock_alone(six_questions.handed_in(0, checked=True)) for _ in range(3 * args.rounds)]
    ours = ours_alone(folder / "six", folder / "sandbox", len(theirs))
    return [
        record.compare(
            f"{SIX}, judged in a warm sandbox",
            "nbgrader's Execute",
            "s/submission",
            ours,
            theirs,
            40,
            90,
            False,
        )
    ]


def chapter(folder: Path, args: argparse.Namespace, extra: dict) -> list[dict]:
    """A chapter's own notebook, end to end, with the share of the time that is the checks' own."""
    assignment = load_assignment(CHAPTER)
    submitted, cut = folder / "chapter-in", folder / "chapter-in-cut"
    for number in range(args.chapter_students):
        notebook = Notebook(assignment).solve()
        notebook.cell("ppmi").source += f"\n# student {number}"
        put(submitted, number, assignment.name, notebook.data().decode())
        if number < args.rivals:
            notebook.nb.cells = [cell for cell in notebook.nb.cells if wanted(cell)]
            put(cut, number, assignment.name, nbformat.writes(notebook.nb))
    source = source_notebook(assignment.entry)
    source.cells = [cell for cell in source.cells if wanted(cell)]
    stock = StockNbgrader(folder / "chapter-stock", assignment.name, source)
    full = sum(one.points for one in assignment.exercises.values() if one.stages)
    took: dict[str, list[float]] = {
        name: [] for name in ("stock", "one", "two", "judging one", "judging two")
    }
    for number in range(args.rounds):
        seconds, points = stock.grade(folder / f"chapter-stock-{number}", cut)
        if points != args.rivals * full:
            raise SystemExit(
                f"stock nbgrader gave {points} points, not {args.rivals * full}: nothing was"
                " compared"
            )
        took["stock"].append(seconds / args.rivals)
        for jobs, name in ((1, "one"), (2, "two")):
            found = run_ours(
                folder / f"chapter-ours-{jobs}-{number}", submitted, jobs, None, CHAPTER
            )
            took[name].append(found["seconds"] / args.chapter_students)
            took[f"judging {name}"].append(judging(found) / args.chapter_students)
    extra["chapter_share"] = chapter_share(assignment, folder / "chapter-share")
    title = f"chapter {CHAPTER}"
    return [
        record.compare(
            f"{title}, course grade --jobs 1",
            StockNbgrader.name,
            "s/submission",
            took["one"],
            took["stock"],
            larger_is_better=False,
        ),
        record.compare(
            f"{title}, course grade --jobs 2",
            "--jobs 1",
            "s/submission",
            took["two"],
            took["one"],
            larger_is_better=False,
        ),
        record.compare(
            f"{title}, --jobs 2, once all have started",
            "--jobs 1",
            "s/submission",
            took["judging two"],
            took["judging one"],
            1.8,
            None,
            False,
        ),
    ]


def wanted(cell) -> bool:
    """Whether stock nbgrader must run or keep this cell to give the same points."""
    mark = cell.metadata.get("nbgrader", {})
    return (
        cell.cell_type == "markdown"
        or mark.get("solution")
        or mark.get("grade")
        or str(mark.get("grade_id", "")).startswith("setup")
    )


def many(folder: Path, args: argparse.Namespace, extra: dict) -> list[dict]:
    """Time for each submission and the main process's memory, of a class of few and of many.

    Flat: at least 0.9.
    """
    extra["flat"] = []
    for students in args.many:
        submitted = folder / f"many-in-{students}"
        for number in range(students):
            put(
                submitted,
                number,
                six_questions.NAME,
                six_questions.handed_in(number, checked=False),
            )
        found = run_ours(
            folder / f"many-{students}", submitted, 2, folder / "six", six_questions.NUMBER
        )
        once = (
            found["imports"] + found["parts"]["getting the course root ready"][0] + started(found)
        )
        extra["flat"].append(
            {
                "students": students,
                "seconds": round(found["seconds"], 1),
                "once": round(once, 1),
                "peak_mib": round(found["peak_mib"]),
                "s_per_submission": round((found["seconds"] - once) / students, 4),
            }
        )
        print(extra["flat"][-1], flush=True)
    few, more = extra["flat"]
    return [
        record.compare(
            f"{SIX}, a class of {more['students']}, without start-up",
            f"a class of {few['students']}",
            "s/submission",
            [more["s_per_submission"]],
            [few["s_per_submission"]],
            0.9,
            None,
            False,
        ),
        record.compare(
            f"{SIX}, the main process of a class of {more['students']}",
            f"a class of {few['students']}",
            "MiB",
            [more["peak_mib"]],
            [few["peak_mib"]],
            0.9,
            None,
            False,
        ),
    ]


def put(folder: Path, student: int, assignment: str, notebook: str) -> None:
    """One hand-in, as nbgrader lays it out."""
    path = folder / f"student-{student:04}" / assignment / f"{assignment}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(notebook, encoding="utf-8")


def run_ours(root: Path, submitted: Path, jobs: int, known: Path | None, assignment: str) -> dict:
    """What `course grade` measured of itself (see measured_course), with the seconds of the whole
    process by our clock.
    """
    prepared, out = root.parent / f"prepared-{assignment}", root.with_suffix(".json")
    if not prepared.exists():  # as the rival's: a new database starts alembic, once for a course
        prepare_course_root(prepared, load_assignment(assignment))
    shutil.copytree(prepared, root)
    command = [
        sys.executable,
        str(HERE / "measured_course.py"),
        str(out),
        str(known or "-"),
        "grade",
        str(submitted),
        "--assignment",
        assignment,
        "--jobs",
        str(jobs),
        "--course-root",
        str(root),
        "--report",
        str(root / "report"),
    ]
    begun = time.perf_counter()
    code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    seconds = time.perf_counter() - begun
    if code not in ((0,) if known else (0, 1)):  # a chapter's written answer waits for a person
        raise SystemExit(f"course grade ended with {code}: nothing was compared")
    full = (
        six_questions.POINTS
        if known
        else sum(one.points for one in load_assignment(assignment).exercises.values() if one.stages)
    )
    for name in graded_assignments(root):
        for student, verdict in all_verdicts(root, name).items():
            if verdict is None or sum(one["earned"] for one in verdict.results) != full:
                raise SystemExit(f"{name} {student}: not all points: nothing was compared")
    return json.loads(out.read_text()) | {"seconds": seconds}


def started(found: dict) -> float:
    """Seconds until workers and what imports torch for them were ready."""
    return found["parts"]["starting workers and what imports torch for them"][0]


def judging(found: dict) -> float:
    """Seconds from then on until the last verdict was stored."""
    return found["parts"]["judging, and storing meanwhile"][0] - started(found)


def table(found: dict, students: int) -> list[dict]:
    """Where the time of one run goes, in milliseconds for each submission: by the clock, and of the
    main process's processor time.
    """
    rows = [
        {
            "part": name,
            "clock_ms": round(1000 * clock / students, 1),
            "cpu_ms": round(1000 * processor / students, 1),
            "calls": calls,
        }
        for name, (clock, processor, calls) in found["parts"].items()
    ]
    whole = {"imports of the command": found["imports"], "the whole run": found["seconds"]}
    rows += [
        {"part": name, "clock_ms": round(1000 * seconds / students, 1)}
        for name, seconds in whole.items()
    ]
    return [
        *rows,
        {"part": "main process", "cpu_ms": round(1000 * found["own_cpu"] / students, 1)},
        {
            "part": "workers and children",
            "cpu_ms": round(1000 * found["children_cpu"] / students, 1),
        },
    ]


if __name__ == "__main__":
    main()
