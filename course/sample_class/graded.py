"""The sample class graded: what `course make` and `course grade --sample` do, and the tests look
at.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat

from autograder import course_layout
from autograder.authoring.catalogue import ROOT
from autograder.authoring.notebooks import source_notebook
from autograder.classroom.grade_class import COURSE_ROOT, REPORT, grade_class
from autograder.classroom.reports.run_summary import Summary
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment, load_assignment, secret_is_lost
from autograder.grading.executors.local import Here
from autograder.grading.grade import Verdict
from autograder.sandbox import choose_backend
from course.sample_class import EXPECTED, make_sample_class
from course.sample_class.deserved import refuse_if_undeserved

SAMPLE = ROOT / "_build" / "sample_class"
SAMPLE_BUDGET = 600.0  # seconds a submission: its points are known, and a machine may be busy
ROUNDS = 3  # a busy machine may leave exercises undecided: these submissions are graded again
SAMPLE_MARK = "sample-class"  # a file in a course root that holds the sample class and nothing else


def grade_sample_class(
    course_root: Path = COURSE_ROOT,
    jobs: int = 1,
    allow_unsafe: bool = False,
    report: Path = REPORT,
    progress: Callable[[int, int, Verdict], None] | None = None,
) -> Summary:
    """Make the sample class and grade it.

    Raises CourseError unless each submission gets what it deserves.

    allow_unsafe: where nothing can isolate, grade it as a plain process, without the submissions
    that would do harm.
    """
    try:
        backend = choose_backend()
    except CourseError:
        if not allow_unsafe:
            raise
        backend = choose_backend("process", allow_unsafe=True)
    submitted = make_sample_class(SAMPLE, harmless_only=not backend.isolates)
    forget_older_sample(course_root, load_assignment("01"))
    course_root.mkdir(parents=True, exist_ok=True)
    (course_root / SAMPLE_MARK).touch()
    crew = Here(jobs, backend, SAMPLE_BUDGET)
    for _ in range(ROUNDS):
        summary = grade_class(submitted, "01", course_root, report, progress=progress, crew=crew)
        if not summary.failed:
            break
    refuse_if_undeserved(submitted.parent / EXPECTED, course_root, summary)
    return summary


def forget_older_sample(course_root: Path, assignment: Assignment) -> None:
    """Remove the course root of a sample class if the exercises have changed since, or its secret
    is lost; nothing else is ever removed.

    nbgrader keeps the cells of an assignment as they are once there are submissions. For a real
    class that is right; the sample class is made anew.
    """
    source = course_layout.source_notebook(course_root, assignment.name)
    if not (course_root / SAMPLE_MARK).exists() or not source.exists():
        return
    is_old = nbformat.read(source, as_version=4) != source_notebook(assignment.entry)
    if is_old or secret_is_lost(course_root):
        shutil.rmtree(course_root)
