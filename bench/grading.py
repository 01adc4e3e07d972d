"""Submissions per minute: `course grade` against stock `nbgrader autograde`, on the same honest submissions.

Both grade the same class into a gradebook of their own, from the command line, start-up included. Stock nbgrader runs
with its own sanitising and executing preprocessors and no setting of ours; its check cells call the same `check`. It
does not have to run the training and figure cells: they are taken out of its notebooks, in its favour. `course grade`
also isolates, writes feedback, grades.csv and the report. The runs alternate, so that a busy machine slows both.

    python bench/grading.py [--rounds 3] [--students 12]
"""
import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from record import compare, save

from autograder.authoring.notebooks import interpreter_on_path, source_notebook, write_notebook
from autograder.classroom.gradebook import prepare_course_root
from autograder.grading.assignment import load_assignment
from course.sample_class.handed_in import Notebook

MUST = 2.0
STOCK, ONE, TWO = "stock nbgrader autograde", "course grade --jobs 1", "course grade --jobs 2"
STOCK_CONFIG = "c = get_config()\nc.CourseDirectory.course_id = 'stock'\n"
POINTS = "SELECT sum(auto_score) FROM grade"


def main() -> None:
    """Prepare once, then time every contestant in every round, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--students", type=int, default=12)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    assignment = load_assignment("01")
    with tempfile.TemporaryDirectory(prefix="w2s-bench-") as folder, interpreter_on_path():
        stock, ours = Path(folder, "stock"), Path(folder, "ours")
        prepare_stock(stock, assignment)
        prepare_course_root(ours, assignment)
        submitted = Path(folder, "submitted")
        hand_in(submitted, assignment, args.students)
        contestants = {STOCK: lambda root: run_stock(stock, root, submitted, assignment),
                       ONE: lambda root: run_ours(ours, root, submitted, 1),
                       TWO: lambda root: run_ours(ours, root, submitted, 2)}
        full = args.students * sum(one.points for one in assignment.exercises.values() if one.stages)
        rates = {name: [] for name in contestants}
        for number in range(args.rounds):
            for place, (name, contest) in enumerate(contestants.items()):
                seconds, points = contest(Path(folder, f"run-{number}-{place}"))
                if points != full:
                    raise SystemExit(f"{name} gave {points} points, not {full}: nothing was compared")
                rates[name].append(60 * args.students / seconds)
                print(f"round {number + 1}  {name:<25} {rates[name][-1]:6.1f} submissions a minute", flush=True)
    save("grading", [compare(name, STOCK, "submissions/minute", rates[name], rates[STOCK], must)
                     for name, must in ((ONE, MUST), (TWO, None))], versions=("torch", "nbgrader", "ipykernel"),
         students=args.students)


def prepare_stock(root: Path, assignment) -> None:
    """A course root with nbgrader's own configuration; cells that grading does not need are left out."""
    root.mkdir()
    (root / "nbgrader_config.py").write_text(STOCK_CONFIG)
    notebook = source_notebook(assignment.entry)
    notebook.cells = [cell for cell in notebook.cells if wanted(cell)]
    write_notebook(notebook, root / "source" / assignment.name / f"{assignment.name}.ipynb")
    nbgrader(root, "generate_assignment", assignment.name)


def wanted(cell) -> bool:
    """Whether stock nbgrader must run or keep this cell to give the same points."""
    mark = cell.metadata.get("nbgrader", {})
    return (cell.cell_type == "markdown" or mark.get("solution") or mark.get("grade")
            or str(mark.get("grade_id", "")).startswith("setup"))


def hand_in(submitted: Path, assignment, students: int) -> None:
    """The same right notebook from every student, with a comment that differs."""
    for number in range(students):
        notebook = Notebook(assignment).solve()
        notebook.cell("ppmi").source += f"\n# student {number}"
        target = submitted / f"student-{number}" / assignment.name / f"{assignment.name}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_bytes(notebook.data())


def run_stock(prepared: Path, root: Path, submitted: Path, assignment) -> tuple[float, float]:
    """Seconds and points of `nbgrader autograde` on a fresh copy of its course root."""
    shutil.copytree(prepared, root)
    shutil.copytree(submitted, root / "submitted")
    for path in (root / "submitted").rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = [cell for cell in notebook.cells if wanted(cell)]
        nbformat.write(notebook, path)
    started = time.perf_counter()
    nbgrader(root, "autograde", assignment.name)
    return time.perf_counter() - started, points_in(root)


def run_ours(prepared: Path, root: Path, submitted: Path, jobs: int) -> tuple[float, float]:
    """Seconds and points of `course grade` on a fresh copy of its course root."""
    shutil.copytree(prepared, root)
    command = [sys.executable, "-m", "course.cli", "grade", str(submitted), "--jobs", str(jobs),
               "--course-root", str(root), "--report", str(root / "report")]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started, points_in(root)


def nbgrader(root: Path, *arguments: str) -> None:
    """One nbgrader command in a course root."""
    subprocess.run([sys.executable, "-m", "nbgrader", *arguments], cwd=root, check=True, stderr=subprocess.DEVNULL)


def points_in(root: Path) -> float:
    """All automatic points in the gradebook."""
    with sqlite3.connect(root / "gradebook.db") as database:
        return database.execute(POINTS).fetchone()[0]


if __name__ == "__main__":
    main()
