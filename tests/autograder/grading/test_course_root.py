"""A course root: the assignment in its gradebook, and what happens when the exercises change."""

import copy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.authoring.catalogue import Assignment as Solutions
from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    course_config,
    open_gradebook,
    prepare_course_root,
)
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from course.cli import main
from course.sample_class.graded import SAMPLE_MARK, forget_older_sample


@pytest.fixture
def changed(tmp_path):
    """Assignment 01 with its manual exercise gone."""
    loaded = load_assignment("01")
    cells = loaded.entry.path.read_text().split("\n# %%")
    kept = [cell for cell in cells if '"grade_id": "bank"' not in cell]
    assert len(kept) == len(cells) - 1
    path = tmp_path / loaded.entry.path.name
    path.write_text("\n# %%".join(kept))
    other = copy.copy(loaded)
    other.entry = Solutions(path)
    return other


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A course root made from nothing, alembic included."""
    root = tmp_path_factory.mktemp("prepared") / "course"
    prepare_course_root(root, load_assignment("01"))
    return root


@pytest.fixture
def copied(prepared, tmp_path):
    """Makes copies of it, to be changed at will."""
    return lambda name: Path(shutil.copytree(prepared, tmp_path / name))


def test_a_course_root_has_the_assignment_with_its_points_in_the_gradebook(prepared):
    with open_gradebook(course_config(prepared)) as gradebook:
        assert gradebook.find_assignment("01-static-embeddings").max_score == 50


def test_cells_cannot_change_under_graded_submissions_and_the_remedy_is_named(copied, changed):
    root = copied("course")
    with open_gradebook(prepare_course_root(root, load_assignment("01"))) as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission("01-static-embeddings", "ada")
    with pytest.raises(CourseError, match="with other cells than now; keep a copy of .*course"):
        prepare_course_root(root, changed)


def test_the_sample_class_starts_anew_when_the_exercises_change_and_a_real_class_never_does(
    copied, changed
):
    sample, real = copied("sample"), copied("real")
    (sample / SAMPLE_MARK).touch()
    forget_older_sample(sample, load_assignment("01"))
    assert course_config(sample)
    for root in (sample, real):
        forget_older_sample(root, changed)
    assert not sample.exists() and Path(real, "gradebook.db").exists()


def test_the_sample_class_starts_anew_without_the_secret_that_it_was_judged_with(copied):
    sample = copied("sample")
    (sample / SAMPLE_MARK).touch()
    (sample / "verdicts" / "01-static-embeddings").mkdir(parents=True)
    forget_older_sample(sample, load_assignment("01"))
    assert sample.exists()
    (sample / "verdicts" / "01-static-embeddings" / "ada.json").write_text("{}")
    forget_older_sample(sample, load_assignment("01"))
    assert not sample.exists()


@pytest.mark.parametrize("name", ["Q?1", "My%20Class", "100%", "a#b c;d=e&f@g:h", "$ and ~", "{x}"])
def test_the_gradebook_lies_in_the_class_whatever_its_path_and_nbgrader_opens_the_same(
    new_root, tmp_path, name
):
    root = new_root(tmp_path / "classes" / name)
    shutil.copytree(root, root.with_name("another"))
    assert main(["due", "01", "--date", "2026-01-01", "--course-root", str(root)]) == 0
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.add_student("ada")
    assert sorted(path.name for path in root.parent.iterdir()) == sorted([name, "another"])
    said = subprocess.run(
        [sys.executable, "-m", "nbgrader", "db", "student", "list"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ada" in said.stdout
    assert (
        main(["due", "01", "--db", "sqlite", "--course-root", str(root)]) == 0
        and "db_url=" not in (root / CONFIG_FILE).read_text()
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("$HOME", "names a variable of the environment"),
        ("a${HOME}b", "names a variable"),
        ("[2026] class", "for a pattern"),
        ("Q?1", "for a pattern"),
        ("Q*", "for a pattern"),
    ],
)
@pytest.mark.parametrize(
    "words", [["due", "01", "--date", "2026-01-01"], ["grade", "in"], ["collect", "in"], ["report"]]
)
def test_a_path_that_nbgrader_would_take_for_another_is_refused_before_anything_is_made(
    tmp_path, monkeypatch, capsys, words, name, said
):
    monkeypatch.chdir(tmp_path)
    for folder in (name, "Q11", "in"):
        (tmp_path / folder).mkdir()
    assert main([*words, "--course-root", name]) == 2
    assert (
        said in (found := capsys.readouterr().err) and "give --course-root a path without" in found
    )
    assert not list((tmp_path / name).iterdir()) and len(list(tmp_path.iterdir())) == 3


def test_points_that_the_students_notebook_does_not_have_are_said_before_grading(monkeypatch):
    assignment = load_assignment("01")
    assignment.check_points()
    monkeypatch.setattr(assignment.exercises["01.ppmi"], "points", 7)
    with pytest.raises(
        CourseError,
        match="gives 5 points for 01.ppmi, the checks give 7; build the exercises again",
    ):
        assignment.check_points()


def test_ctrl_c_while_nbgrader_makes_the_release_is_no_failure_of_nbgrader(tmp_path, monkeypatch):
    said = {"success": False, "error": "Traceback ...\nKeyboardInterrupt\n", "log": ""}
    monkeypatch.setattr("nbgrader.apps.NbGraderAPI.generate_assignment", lambda *_: said)
    with pytest.raises(KeyboardInterrupt):
        prepare_course_root(tmp_path / "class", load_assignment("01"))
