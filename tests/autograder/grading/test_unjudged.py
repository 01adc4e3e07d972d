"""Newer work that waits to be judged, and answers that only another hand-in has: what goes out says
so.
"""

import csv
import errno
import json
import os
import zipfile

import pytest

from autograder.authoring.student_notebook import ANSWER, Notebook
from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.grading.results_store import load_verdict
from course.cli import main
from tests.autograder.grading import stored

pytestmark = pytest.mark.sandbox
NAME, FIRST = "90-stand-in", "01-static-embeddings"
HALF = "def double(x):\n    return x + abs(x)"
NEWER = "What was handed in since is not judged yet"


def handed_in(folder, file=f"{NAME}.ipynb", **by_student):
    for student, data in by_student.items():
        (folder / student).mkdir(parents=True)
        (folder / student / file).write_bytes(data)
    return folder


def course(root, *words, assignment="90"):
    return main([*map(str, words), "--assignment", assignment, "--course-root", str(root)])


def rows(root):
    with (root / "report" / "grades.csv").open(newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.fixture
def root(stand_in, new_root, notebook_of, tmp_path):
    """A class of two that was graded; one of them has handed in something better since, which was
    collected.
    """
    root = new_root(tmp_path / "root")
    course(root, "grade", handed_in(tmp_path / "in", ada=notebook_of(HALF), bo=notebook_of(HALF)))
    course(root, "collect", handed_in(tmp_path / "since", ada=notebook_of(), bo=notebook_of(HALF)))
    return root


def test_what_goes_out_leaves_out_whose_newer_hand_in_is_not_judged(root, tmp_path, capsys):
    assert (
        course(root, "report") == 0
        and NEWER in rows(root)["ada"]["needs_human"]
        and rows(root)["bo"]["needs_human"] == ""
    )
    assert NEWER in (root / "report" / f"{NAME}.html").read_text()
    said = capsys.readouterr().out
    assert f"newer      {NAME}: ada handed in work that is not judged yet" in said
    assert course(root, "export", "gradescope") == 1 and course(root, "feedback", "folders") == 1
    assert capsys.readouterr().out.count(f"left out   ada: {NEWER}") == 2
    assert sorted(path.name for path in (root / "report" / f"gradescope-{NAME}").iterdir()) == [
        "bo"
    ]
    assert zipfile.ZipFile(root / "report" / f"feedback-folders-{NAME}.zip").namelist() == [
        f"bo/{NAME}.html"
    ]
    assert (
        course(root, "export", "gradescope", "--so-far") == 1
        and "left out   ada" in capsys.readouterr().out
    )
    course(root, "grade")
    assert (
        course(root, "export", "gradescope") == 0
        and rows(root)["ada"]["total"] == "3"
        and rows(root)["ada"]["needs_human"] == ""
    )
    assert course(root, "report") == 0 and "newer" not in capsys.readouterr().out


def test_under_best_a_hand_in_that_is_not_judged_may_be_the_best(root):
    course(root, "grade", "--attempts", "best")
    assert rows(root)["ada"]["total"] == "3"
    stored.remove_record(root, NAME, "ada", attempt=1)
    course(root, "report")
    assert (
        "Another hand-in is not judged yet, and the best one counts"
        in rows(root)["ada"]["needs_human"]
    )


def test_verify_judges_what_the_record_is_about_though_newer_work_lies_in_its_place(root, capsys):
    assert main(["verify", "ada", "90", "--course-root", str(root)]) == 0
    said = capsys.readouterr().out
    assert (
        f"newer      {NEWER}" in said
        and "90.double  1 of 3" in said
        and "the same   every behaviour" in said
    )
    assert (
        main(["verify", "bo", "90", "--course-root", str(root)]) == 0
        and NEWER not in capsys.readouterr().out
    )


def test_who_was_collected_and_never_judged_is_named_where_grades_go_out(
    root, notebook_of, tmp_path, capsys
):
    course(root, "collect", handed_in(tmp_path / "late", fay=notebook_of()))
    capsys.readouterr()
    assert course(root, "export", "gradescope") == 1 and course(root, "feedback", "folders") == 1
    assert (
        capsys.readouterr().out.count("left out   fay: it is in submitted/ and was not judged yet")
        == 2
    )
    assert (
        main(["verify", "fay", "90", "--course-root", str(root)]) == 2
        and "was not judged yet; `course grade" in capsys.readouterr().err
    )


def test_an_export_that_cannot_be_written_does_not_say_written_when_nobody_is_in_it(
    stand_in, new_root, tmp_path, capsys
):
    root = new_root(tmp_path / "root")
    course(root, "grade", handed_in(tmp_path / "in", ada=b"no notebook"))
    (root / "report" / "a-file").write_text("")
    assert course(root, "export", "gradescope", "--out", root / "report" / "a-file") == 2
    assert "written" not in capsys.readouterr().out
    assert (
        course(root, "export", "gradescope") == 1
        and (root / "report" / f"gradescope-{NAME}").is_dir()
    )


def test_an_answer_that_only_another_hand_in_has_waits_for_a_person_who_is_told_where_it_is(
    new_root, tmp_path
):
    from autograder.grading.assignment import load_assignment

    root, assignment, file = new_root(tmp_path / "root"), load_assignment("01"), f"{FIRST}.ipynb"
    written = Notebook(assignment).solve("predict_pairs").write("bank", ANSWER).data()
    course(root, "collect", handed_in(tmp_path / "one", file, ada=written), assignment="01")
    course(
        root,
        "collect",
        handed_in(
            tmp_path / "two",
            file,
            ada=Notebook(assignment).solve("predict_pairs", "predict_sizes").data(),
        ),
        assignment="01",
    )
    course(root, "grade", "--attempts", "best", assignment="01")
    assert (
        f"hand-in 1 has one: read it in hand-ins/1/notebooks/{FIRST}/ada.ipynb."
        in rows(root)["ada"]["needs_human"]
        and rows(root)["ada"]["01.bank"] == ""
    )
    assert [row["counts"] for row in load_verdict(root, FIRST, "ada").hand_ins] == [False, True]
    with open_gradebook(course_config(root)) as gradebook:
        grade = gradebook.find_grade("bank", FIRST, FIRST, "ada")
        assert grade.needs_manual_grade and grade.auto_score is None
        grade.manual_score, grade.needs_manual_grade = 4, False
        gradebook.db.commit()
    course(root, "report", assignment="01")
    assert rows(root)["ada"]["01.bank"] == "4" and rows(root)["ada"]["needs_human"] == ""
    course(root, "grade", assignment="01")
    assert rows(root)["ada"]["01.bank"] == "4" and rows(root)["ada"]["needs_human"] == ""


def test_what_became_of_points_is_told_by_the_next_run_where_the_first_was_stopped(
    root, notebook_of, tmp_path
):
    def stop(done, total, verdict):
        raise KeyboardInterrupt

    course(root, "grade")
    worse = handed_in(
        tmp_path / "worse",
        ada=notebook_of(f"{HALF} + 0"),
        bo=notebook_of("def double(x):\n    return 0"),
    )
    with pytest.raises(KeyboardInterrupt):
        grade_class(worse, "90", root, root / "report", progress=stop)
    told = grade_class(worse, "90", root, root / "report").changed
    assert [line.partition(" (")[0] for line in told] == ["ada: 3 -> 1 points", "bo: 1 -> 0 points"]
    assert grade_class(worse, "90", root, root / "report").changed == []


def test_more_points_by_hand_than_an_exercise_has_are_told(root, capsys):
    course(root, "grade")
    with open_gradebook(course_config(root)) as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "bo").manual_score = 30
        gradebook.db.commit()
    course(root, "report")
    assert (
        "90.double: 30 points were given by hand, of 3" in rows(root)["bo"]["needs_human"]
        and rows(root)["ada"]["needs_human"] == ""
    )


@pytest.mark.parametrize(
    ("said", "number"),
    [
        (f"OSError: {os.strerror(errno.ENOSPC)}", "Make room on that disk"),
        ("sqlite3.OperationalError: database or disk is full", "Make room on that disk"),
        (f"OSError: {os.strerror(errno.EDQUOT)}", "Make room within your quota"),
    ],
)
def test_a_disk_that_is_full_when_nbgrader_makes_the_assignment_is_told_as_such(
    stand_in, new_root, notebook_of, tmp_path, monkeypatch, capsys, said, number
):
    import nbgrader.apps

    root = new_root(tmp_path / "root")
    monkeypatch.setattr(
        nbgrader.apps.NbGraderAPI,
        "generate_assignment",
        lambda self, name: {"success": False, "log": f"Traceback\n{said}\n"},
    )
    assert course(root, "grade", handed_in(tmp_path / "in", ada=notebook_of())) == 2
    told = capsys.readouterr().err
    assert f"{root} cannot be written" in told and number in told and "Traceback" not in told


def test_the_json_of_verify_has_what_is_newer(root, capsys):
    assert main(["verify", "ada", "90", "--course-root", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["newer"].startswith(NEWER)
