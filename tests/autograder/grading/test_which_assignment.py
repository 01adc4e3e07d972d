"""No command takes an assignment for granted: the only one that there is, or the one that was
named.
"""

import csv
import shutil

import pytest

from autograder.classroom.grade_class import grade_class, rewrite
from autograder.classroom.gradebook.grades import HandGrades, write_csv
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.results_store import save_verdict
from course.cli import main
from course.options.assignment import chosen, chosen_for

NAME, FIRST = "90-stand-in", "01-static-embeddings"


@pytest.fixture
def results_of(stand_in, tmp_path):
    """Makes a course root with a record of each of some assignments."""

    def make(*names):
        for name in names:
            save_verdict(tmp_path / "root", Verdict("ada", name, "", ""))
        return tmp_path / "root"

    return make


def test_the_only_assignment_that_was_graded_is_the_one_that_is_meant(results_of):
    assert chosen("", results_of(NAME)) == NAME
    assert chosen("01", results_of(NAME)) == FIRST


def test_of_several_that_were_graded_none_is_taken_and_the_option_is_named(results_of):
    root = results_of(NAME, FIRST)
    with pytest.raises(
        CourseError, match=f"{FIRST}, {NAME}; say which one is meant, such as --assignment 90"
    ):
        chosen("", root)
    with pytest.raises(CourseError, match='the number "90" as the last argument'):
        chosen("", root, "")


@pytest.mark.parametrize(
    "words",
    [
        ["export", "canvas"],
        ["feedback", "folders"],
        ["regrade"],
        ["verify", "ada"],
        ["similar"],
        ["due"],
    ],
)
def test_a_command_on_a_class_with_several_assignments_stops_and_names_them(
    results_of, words, capsys
):
    assert main([*words, "--course-root", str(results_of(NAME, FIRST))]) == 2
    assert f"{FIRST}, {NAME}; say which one is meant" in capsys.readouterr().err


@pytest.mark.parametrize(
    "layout", ["ada/{}/{}.ipynb", "ada/{}.ipynb", "smithbob_102_9002_{}-1.ipynb"]
)
def test_what_was_handed_in_says_by_its_names_which_assignment_it_is(results_of, tmp_path, layout):
    path = tmp_path / "in" / layout.format(NAME, NAME)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}")
    assert chosen_for(tmp_path / "in", "", results_of(FIRST)) == NAME
    assert chosen_for(tmp_path / "in", "01", tmp_path) == FIRST
    zipped = shutil.make_archive(tmp_path / "download", "zip", tmp_path / "in")
    assert chosen_for(tmp_path / "download.zip", "", tmp_path) == NAME, zipped


def test_what_is_named_after_nothing_is_not_taken_for_the_first_assignment(stand_in, tmp_path):
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / "homework.ipynb").write_bytes(b"{}")
    with pytest.raises(
        CourseError,
        match="nothing here is named after an assignment; say which it is, such as --assignment 05",
    ):
        chosen_for(tmp_path / "in", "", tmp_path / "root")


def test_what_was_collected_says_which_assignment_it_is(stand_in, tmp_path):
    (tmp_path / "submitted" / "ada" / NAME).mkdir(parents=True)
    assert chosen_for(None, "", tmp_path) == NAME
    (tmp_path / "submitted" / "bo" / FIRST).mkdir(parents=True)
    with pytest.raises(CourseError, match="say which one is meant"):
        chosen_for(None, "", tmp_path)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.sandbox
def test_grades_csv_has_every_assignment_whichever_was_graded_last(
    results_of, notebook_of, new_root, tmp_path
):
    root, report = new_root(tmp_path / "root"), tmp_path / "root" / "report"
    path = tmp_path / "in" / "ada" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of())
    grade_class(tmp_path / "in", "90", root, report)
    assert (
        main(["export", "gradescope", "--course-root", str(root)]) == 0
        and (report / f"gradescope-{NAME}" / "ada").is_dir()
    )
    verdict = Verdict(
        "zoe",
        FIRST,
        "",
        "",
        results=[{"exercise": "01.ppmi", "points": 5.0, "earned": 4.0, "stages": []}],
    )
    save_verdict(root, verdict)
    write_csv(report / f"{FIRST}.csv", [(verdict, HandGrades())], load_assignment("01"))
    rewrite(root, report, "90")
    found = {row["student"]: row for row in rows_of(report / "grades.csv")}
    assert {
        student: (row["assignment"], row["01.ppmi"], row["90.double"])
        for student, row in found.items()
    } == {"zoe": (FIRST, "4", ""), "ada": (NAME, "", "3")}
    assert (
        list(found["ada"])[:5] == ["student", "name", "lms_id", "email", "assignment"]
        and list(found["ada"])[-1] == "needs_human"
    )
    assert rows_of(report / f"{NAME}.csv")[0]["total"] == found["ada"]["total"] == "3"
