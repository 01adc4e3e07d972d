"""nbgrader's own commands on a graded course root: they work, they stay safe, and they agree with
`course grade`.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import traceback
from datetime import datetime
from pathlib import Path

import pytest

from autograder.classroom.grade_class import grade_class, rewrite
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.reports.feedback import feedback_path
from autograder.grading.results_store import load_verdict
from tests.autograder.grading import stored

pytestmark = pytest.mark.sandbox
NAME = "01-static-embeddings"


FEW = (
    "broken-json",
    "edited-points",
    "empty",
    "half-done",
    "mistakes-01",
    "mistakes-02",
    "perfect",
)


@pytest.fixture
def whole(graded, tmp_path):
    """A copy of the graded course root, to be changed at will."""
    return Path(shutil.copytree(graded.root, tmp_path / "course", symlinks=True))


@pytest.fixture
def root(whole):
    """The same with the records of a few students: what is derived from a record is made anew for
    each, in every run.
    """
    for student in stored.records(whole, NAME):
        if student not in FEW:
            stored.remove_record(whole, NAME, student)
    return whole


def nbgrader(root, *arguments):
    """One nbgrader command, started in the course root as an instructor would."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def nbgrader_here(root, *arguments):
    """The same in a fork of this process, which has imported already what the command would for
    seconds.
    """
    from nbgrader.apps.nbgraderapp import NbGraderApp

    log = root.parent / "nbgrader.log"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.stdout = sys.stderr = log.open("w", buffering=1)
            os.chdir(root)
            NbGraderApp.launch_instance(list(arguments))
            code = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(code if type(code) is int else 1)
    assert os.waitpid(child, 0)[1] == 0, log.read_text()[-3000:]


def scores(root, student):
    """Automatic points by grade id, None where a person decides."""
    with open_gradebook(course_config(root)) as gradebook:
        (notebook,) = gradebook.find_submission(NAME, student).notebooks
        return {grade.name: grade.auto_score for grade in notebook.grades}


def test_the_gradebook_holds_the_points_of_the_verdicts(graded):
    for student, verdict in graded.verdicts.items():
        held = scores(graded.root, student)
        for result in verdict.results:
            wanted = None if verdict.waits(result["exercise"]) else result["earned"]
            assert held[f"{result['exercise'].split('.')[1]}-check"] == wanted, (
                student,
                result["exercise"],
            )


def test_a_submission_that_cannot_be_read_waits_for_manual_grading_in_the_gradebook(graded):
    with open_gradebook(course_config(graded.root)) as gradebook:
        (notebook,) = gradebook.find_submission(NAME, "broken-json").notebooks
        assert notebook.needs_manual_grade and all(
            grade.auto_score is None for grade in notebook.grades
        )


def test_autograde_takes_the_record_when_it_is_there(root):
    before = stored.times(root, NAME)["mistakes-01"]
    nbgrader_here(root, "autograde", NAME, "--student", "mistakes-01", "--force")
    assert stored.times(root, NAME)["mistakes-01"] == before


def test_autograde_without_a_record_runs_the_sandbox_and_gives_the_same_points(root):
    before = scores(root, "edited-points")
    stored.remove_record(root, NAME, "edited-points")
    nbgrader(root, "autograde", NAME, "--student", "edited-points", "--force")
    assert scores(root, "edited-points") == before and before["ppmi-check"] == 5
    assert load_verdict(root, NAME, "edited-points").tier == "bubblewrap"


def test_autograde_does_not_copy_what_a_link_points_to(root, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("host file")
    (root / "submitted" / "perfect" / NAME / "data.txt").symlink_to(secret)
    nbgrader_here(root, "autograde", NAME, "--student", "perfect", "--force")
    assert (
        not (root / "autograded" / "perfect" / NAME / "data.txt").exists()
        and secret.read_text() == "host file"
    )


def test_the_autograded_notebook_has_our_points_and_no_output_of_the_student(root):
    notebook = json.loads(
        (root / "autograded" / "edited-points" / NAME / f"{NAME}.ipynb").read_text()
    )
    results = {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(output["data"]["text/plain"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    }
    assert results.pop("ppmi-check") == "5.0" and set(results.values()) == {"0.0"}


def test_generate_feedback_writes_our_page(root):
    page = feedback_path(root, NAME, "mistakes-02")
    before = page.read_text()
    page.unlink()
    nbgrader_here(root, "generate_feedback", NAME, "--student", "mistakes-02", "--force")
    assert page.read_text() == before


def test_export_lists_every_student(whole, graded):
    nbgrader_here(whole, "export")
    with (whole / "grades.csv").open(newline="") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert (
        set(exported) == set(graded.expected)
        and exported["perfect"] == 45
        and exported["mistakes-01"] < 45
    )


def test_points_given_by_hand_reach_feedback_and_grades(root, tmp_path):
    with open_gradebook(course_config(root)) as gradebook:
        grade = gradebook.find_grade("bank", NAME, NAME, "perfect")
        grade.manual_score, grade.needs_manual_grade = 4, False
        gradebook.find_comment(
            "bank", NAME, NAME, "perfect"
        ).manual_comment = "Say *who* wins, $x_i$. <b>Why?</b><script>alert(1)</script>"
        gradebook.db.commit()
    grades, _ = rewrite(root, tmp_path / "report", "01")
    row = next(
        row for row in csv.DictReader(grades.open(newline="")) if row["student"] == "perfect"
    )
    assert row["01.bank"] == "4" and row["total"] == "49" and row["needs_human"] == ""
    page = feedback_path(root, NAME, "perfect").read_text()
    assert (
        "<b>49</b> of 50" in page
        and (
            "<p>Say <em>who</em> wins, <math><msub><mi>x</mi><mi>i</mi></msub></math>. "
            "<b>Why?</b>&lt;script&gt;"
        )
        in page
    )


def small_class(graded, folder, *students):
    for student in students:
        shutil.copytree(graded.submitted / student, folder / student, symlinks=True)
    return folder


def test_a_late_submission_is_late_in_the_gradebook_and_in_grades_csv(graded, root, tmp_path):
    submitted = small_class(graded, tmp_path / "in", "perfect", "empty")
    (submitted / "perfect" / NAME / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.update_or_create_assignment(NAME, duedate=datetime(2026, 3, 1, 9))
    summary = grade_class(submitted, "01", root, tmp_path / "report")
    late = {row["student"]: row["late"] for row in csv.DictReader(summary.grades.open(newline=""))}
    assert late["perfect"] == "1 h" and late["empty"] == ""


def test_only_what_changed_is_graded_again(graded, root, tmp_path):
    submitted = small_class(graded, tmp_path / "in", "perfect", "empty")
    notebook = submitted / "empty" / NAME / f"{NAME}.ipynb"
    notebook.write_text(notebook.read_text().replace("\n", "\n ", 1))
    summary = grade_class(submitted, "01", root, tmp_path / "report")
    assert (summary.submissions, summary.kept) == (2, 1)


def test_a_regrade_says_what_it_changed(graded, root, tmp_path):
    submitted = small_class(graded, tmp_path / "in", "half-done")
    record = stored.records(root, NAME)["half-done"]
    changed = record.replace('"earned": 5.0', '"earned": 1.0', 1)
    stored.write_record(root, NAME, "half-done", changed)
    summary = grade_class(submitted, "01", root, tmp_path / "report", regrade=True)
    assert summary.details == ["half-done 01.ppmi: 1 -> 5 ()"] and len(summary.changed) == 1


def test_a_whole_chapter_may_be_graded_into_postgresql(graded, tmp_path, on_postgres):
    submitted, root = (
        small_class(graded, tmp_path / "in", "perfect"),
        on_postgres.new(tmp_path / "course"),
    )
    grade_class(submitted, "01", root, tmp_path / "report")
    assert not (root / "gradebook.db").exists()
    assert scores(root, "perfect")["ppmi-check"] == 5 and scores(root, "perfect")["bank"] is None
