"""A class as it comes: every entry is graded or named, and what is derived from the verdicts
follows them.
"""

import csv
import json
import pkgutil
import shutil

import pytest

from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.reports.feedback import feedback_path
from course.cli import main
from tests.autograder.grading.derived import everything

pytestmark = pytest.mark.sandbox
STAND_IN = "90-stand-in"
MOODLE = "Anna Müller_123456_assignsubmission_file_"


def rows_of(summary):
    with summary.grades.open(newline="", encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def put(path, data=b""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def with_output(notebook, text):
    """The notebook after its last cell has printed something, and with an import of chapter 1 in
    its solution.
    """
    made = json.loads(notebook)
    made["cells"][-1]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": ["90.double: 3 of 3 points\n", text]}
    ]
    made["cells"][1]["source"] += "\n# from word2serve_me.c01_static_embeddings import ppmi"
    return json.dumps(made).encode()


@pytest.fixture(scope="module")
def small(books, stand_in, notebook_of, tmp_path_factory):
    """Ada right, bo half right, cy unreadable; and two entries that are nobody's."""
    folder = tmp_path_factory.mktemp("small")
    put(
        folder / "in" / "ada" / STAND_IN / f"{STAND_IN}.ipynb",
        with_output(notebook_of(), "Borrowed from the reference: chapters 01, 03.\n"),
    )
    put(
        folder / "in" / "bo" / STAND_IN / f"{STAND_IN}.ipynb",
        notebook_of("def double(x):\n    return x + abs(x)"),
    )
    put(folder / "in" / "cy.zip", b"PK no zip")
    put(folder / "in" / "notes.txt", b"x")
    put(folder / "in" / "dee" / "other.txt", b"x")
    return folder, grade_class(folder / "in", "90", books.new(folder / "course"), folder / "report")


def test_a_small_class_is_graded_and_every_other_entry_is_named(small):
    folder, summary = small
    rows = rows_of(summary)
    assert {name: row["total"] for name, row in rows.items()} == {"ada": "3", "bo": "1", "cy": ""}
    assert rows["ada"]["maximum"] == "3" and "not a zip" in rows["cy"]["needs_human"]
    assert set(summary.left_out) == {"notes.txt", "dee"}
    assert "notes.txt" in summary.report.read_text() and any(
        "notes.txt" in line for line in summary.lines()
    )


def test_report_table_and_page_say_what_each_student_borrowed(small):
    folder, summary = small
    part = summary.report.read_text().partition("<h2>Borrowed</h2>")[2].partition("<h2>")[0]
    assert ">ada</a>" in part and "01, imported; 03" in part and "bo</a>" not in part
    assert {name: row["borrowed"] for name, row in rows_of(summary).items()} == {
        "ada": "01, imported; 03",
        "bo": "",
        "cy": "",
    }
    pages = {
        name: feedback_path(folder / "course", STAND_IN, name).read_text() for name in ("ada", "bo")
    }
    assert (
        "your own work of chapter 01, imported; 03." in pages["ada"]
        and "Borrowed" not in pages["bo"]
    )


@pytest.fixture
def again(small, books, tmp_path):
    """A copy of the small class and its course root, to be changed at will; `run()` grades it
    again.
    """
    folder, _ = small
    for name in ("in", "report"):
        shutil.copytree(folder / name, tmp_path / name, symlinks=True)
    books.copy(folder / "course", tmp_path / "course")

    def run(where=tmp_path / "in", **options):
        return grade_class(where, "90", tmp_path / "course", tmp_path / "report", **options)

    return tmp_path, run


def state(folder):
    """All that a run leaves."""
    return everything(folder / "course", folder / "report")


def test_a_second_run_judges_nobody_and_changes_nothing(again):
    folder, run = again
    before = state(folder)
    summary = run()
    assert summary.kept == 3 and summary.changed == [] and state(folder) == before


@pytest.mark.parametrize(
    "harm", ["gradebook", "notebook", "half a notebook", "page", "tables", "student"]
)
def test_what_is_derived_is_compared_with_the_verdicts_and_made_again(again, harm):
    folder, run = again
    before = state(folder)
    course, notebook = (
        folder / "course",
        folder / "course" / "autograded" / "bo" / STAND_IN / f"{STAND_IN}.ipynb",
    )
    if harm == "gradebook":
        with open_gradebook(course_config(course)) as gradebook:
            gradebook.find_grade("double-check", STAND_IN, STAND_IN, "bo").auto_score = 3
            gradebook.db.commit()
    elif harm == "notebook":
        shutil.rmtree(notebook.parent)
    elif harm == "half a notebook":
        notebook.chmod(0o644)
        notebook.write_bytes(notebook.read_bytes()[:500])
    elif harm == "page":
        shutil.rmtree(course / "feedback" / "ada")
    elif harm == "tables":
        shutil.rmtree(folder / "report")
    else:
        with open_gradebook(course_config(course)) as gradebook:
            gradebook.remove_student("bo")
        assert "had nothing of 1 of 3 students" in run().anew  # which that run's report says too
    assert run().kept == 3 and state(folder) == before


def test_nothing_handed_in_is_written_to_when_it_lies_in_nbgraders_own_folder(again, books):
    folder, run = again
    shutil.rmtree(folder / "course")
    books.new(folder / "course")
    shutil.copytree(folder / "in", folder / "course" / "submitted")
    original = folder / "course" / "submitted" / "ada" / STAND_IN / f"{STAND_IN}.ipynb"
    put(original, b'{"cells": [], "metadata": {"x": "' + b"x" * 21_000_000 + b'"}}')
    put(folder / "course" / "submitted" / "eve" / "mine.ipynb", b"{")
    files = {
        path: path.read_bytes()
        for path in (folder / "course" / "submitted").rglob("*")
        if path.is_file()
    }
    summary = run(folder / "course" / "submitted")
    assert {
        path: path.read_bytes()
        for path in (folder / "course" / "submitted").rglob("*")
        if path.is_file()
    } == files
    assert (
        rows_of(summary)["bo"]["total"] == "1" and "bytes" in rows_of(summary)["ada"]["needs_human"]
    )


def test_a_resubmission_replaces_our_copy_and_an_original_of_somebody_else_stays(
    again, notebook_of
):
    folder, run = again
    put(folder / "in" / "bo" / STAND_IN / f"{STAND_IN}.ipynb", notebook_of())
    theirs = folder / "course" / "submitted" / "ada" / STAND_IN / f"{STAND_IN}.ipynb"
    put(theirs, notebook_of("def double(x):\n    return 0"))
    put(
        folder / "in" / "ada" / STAND_IN / f"{STAND_IN}.ipynb",
        notebook_of("def double(x):\n    return 2 * x"),
    )
    summary = run()
    rows = rows_of(summary)
    assert rows["bo"]["total"] == "3" and summary.details == [
        "bo 90.double: 1 -> 3 (negative: wrong -> passed)"
    ]
    assert summary.changed == ["bo: 1 -> 3 points (1 exercise changed)"]
    assert (
        folder / "course" / "submitted" / "bo" / STAND_IN / f"{STAND_IN}.ipynb"
    ).read_bytes() == notebook_of()
    assert (
        b"return 0" in theirs.read_bytes()
        and rows["ada"]["total"] == "3"
        and "another notebook" in rows["ada"]["needs_human"]
    )


def test_changed_checks_are_never_mixed_in_silence_and_a_regrade_judges_all(
    again, stand_in, monkeypatch
):
    folder, run = again
    monkeypatch.setitem(stand_in.__dict__, "checks_hash", "f" * 64)
    shutil.rmtree(folder / "in" / "bo")
    summary = run()
    assert (
        summary.stale == ["bo"]
        and "checks that have changed" in rows_of(summary)["bo"]["needs_human"]
    )
    assert (
        any("--regrade" in line and "bo" in line for line in summary.lines()) and summary.kept == 0
    )
    later = run(None, regrade=True)
    assert later.stale == [] and later.submissions == 1 and rows_of(later)["bo"]["total"] == "1"


def test_an_exception_over_one_student_at_any_step_ends_no_batch(again, monkeypatch):
    folder, run = again
    shutil.rmtree(folder / "course" / "verdicts")
    (folder / "course" / "results.sqlite").unlink()
    for module, name in (
        ("autograder.grading.intake.discovery", "_submission"),
        ("autograder.grading.executors.local", "grade_submission"),
        ("autograder.classroom.gradebook.batch_writer.ClassBook", "store"),
        ("autograder.classroom.reports.feedback", "feedback_page"),
    ):
        owner = pkgutil.resolve_name(module)
        monkeypatch.setattr(owner, name, failing_for("bo", getattr(owner, name)))
    rows = rows_of(run())
    assert (
        rows["ada"]["total"] == "3"
        and rows["bo"]["total"] == ""
        and "The grader failed" in rows["bo"]["needs_human"]
    )
    assert "a fault of ours" in (folder / "course" / "grading.log").read_text()
    monkeypatch.undo()
    assert rows_of(run())["bo"]["total"] == "1"


def failing_for(student, function):
    """The same function, which raises for one student."""

    def wrapped(*args, **kwargs):
        if student in [
            getattr(value, "student", value)
            for value in (*args, *kwargs.values())
            if not hasattr(value, "items")
        ]:
            raise LookupError("a fault of ours")
        return function(*args, **kwargs)

    return wrapped


def test_a_course_root_under_a_file_is_said_and_exits_with_2(again, capsys):
    folder, _ = again
    (folder / "file").write_text("x")
    assert (
        main(
            [
                "grade",
                str(folder / "in"),
                "--assignment",
                "90",
                "--course-root",
                str(folder / "file" / "course"),
            ]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert (
        str(folder / "file") in said
        and "A file stands where a folder is needed" in said
        and "Traceback" not in said
    )


def test_a_notebook_of_something_else_waits_for_a_human(again, notebook_of):
    folder, run = again
    other = json.loads(notebook_of())
    other["cells"] = [
        {"cell_type": "code", "source": "x = 1", "metadata": {"nbgrader": {"grade_id": f"task{i}"}}}
        for i in range(5)
    ]
    put(folder / "in" / "ada" / STAND_IN / f"{STAND_IN}.ipynb", json.dumps(other).encode())
    put(
        folder / "in" / "bo" / STAND_IN / f"{STAND_IN}.ipynb",
        json.dumps({"nbformat": 4, "cells": []}).encode(),
    )
    rows = rows_of(run())
    for student in ("ada", "bo"):
        assert (
            rows[student]["total"] == ""
            and "does not look like this assignment" in rows[student]["needs_human"]
        )
