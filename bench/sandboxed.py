"""The sandboxed part of grading alone, for `bench/grading.py`: from a notebook's bytes to results,
without gradebook and pages.
"""

import time
from pathlib import Path

import nbformat
import six_questions
from nbgrader.preprocessors import Execute

from autograder.authoring.student_notebook import Notebook
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.grading.assignment import Assignment, load_assignment
from autograder.grading.grade import grade_submission, sandboxes
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.read import reading

SECRET = b"the bench's secret, of any bytes"


def stock_alone(notebook: str) -> float:
    """Seconds of nbgrader's Execute on one notebook: a kernel, its imports, its cells."""
    read = nbformat.reads(notebook, as_version=4)
    started = time.perf_counter()
    Execute().preprocess(read, {})
    return time.perf_counter() - started


def ours_alone(known: Path, folder: Path, count: int) -> list[float]:
    """Seconds for each of `count` submissions in a warm worker: read, transplanted, run and judged
    twice, with a fresh sandbox.

    The next sandbox starts meanwhile, as in a class.
    """
    six_questions.enter(known)
    paths = []
    for number in range(count + 1):
        paths.append(folder / f"{number}.ipynb")
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(six_questions.handed_in(number, checked=False), encoding="utf-8")
    took = _took(load_assignment(six_questions.NUMBER), paths)
    return took[1:]  # the first waits for torch to be imported


def chapter_share(assignment: Assignment, folder: Path) -> dict:
    """Of a chapter's notebook: seconds in a warm worker, and of the same checks on the same
    functions in this process, without walls.

    What the checks themselves take is paid by every grader that runs them.
    """
    notebook = Notebook(assignment).solve()
    paths = [folder / f"{number}.ipynb" for number in range(4)]
    folder.mkdir(parents=True)
    for path in paths:
        path.write_bytes(notebook.data())
    took = sorted(_took(assignment, paths)[1:])
    namespace: dict[str, object] = {}
    for cell in notebook.nb.cells:
        mark = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and (
            mark.get("solution") or str(mark.get("grade_id", "")).startswith("setup")
        ):
            exec(cell.source, namespace)  # the course's own solutions
    started = time.perf_counter()
    for one in assignment.exercises.values():
        if one.stages:
            for _ in range(2):  # as in grading: with the visible seed and with the hidden one
                run_exercise(one, LocalStudent(namespace), mistakes=[])
    checks = time.perf_counter() - started
    judged = took[len(took) // 2]
    return {
        "judged_s": round(judged, 3),
        "checks_own_s": round(checks, 3),
        "share": round(checks / judged, 2),
    }


def _took(assignment: Assignment, paths: list[Path]) -> list[float]:
    assignment.load()
    took = []
    with sandboxes(assignment) as pool, reading() as child:
        pool.prepare()
        for place, path in enumerate(paths):
            pool.ahead = int(place + 1 < len(paths))
            started = time.perf_counter()
            verdict = grade_submission(
                Submission(f"student-{place}", path), assignment, SECRET, pool, child
            )
            took.append(time.perf_counter() - started)
            if not verdict.readable or any(
                one["earned"] < one["points"] for one in verdict.results
            ):
                raise SystemExit(f"{path}: not all points: nothing was compared")
    return took
