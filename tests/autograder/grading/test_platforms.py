"""Grades and feedback go back to the platform that the notebooks came from, and one verdict can be
judged again.
"""

import csv
import io
import json
import shutil
import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.grades import AGAIN, HandGrades, reasons
from autograder.classroom.reports.feedback import feedback_path
from autograder.classroom.reports.lms_export import zip_feedback
from autograder.classroom.verify import _find
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.results_store import load_verdict, save_verdict
from course.cli import main

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"
HALF = "def double(x):\n    return x + abs(x)"
MOODLE = {
    "Anna Müller_123456_assignsubmission_file_/work.ipynb": None,
    "Bo_77_assignsubmission_file_/work.ipynb": HALF,
    "Cy_88_assignsubmission_file_/work.ipynb": b"no notebook",
}
CANVAS = {
    "mulleranna_102_9002_90-stand-in.ipynb": None,
    "bo_LATE_103_9003_90-stand-in-1.ipynb": HALF,
    "anon_Xy9_9004_90-stand-in.ipynb": None,
    "LATE_anon_41_9005_90-stand-in.ipynb": None,
    "o_neil_LATE_106_9006_90-stand-in.ipynb": None,
}


@pytest.fixture(scope="module")
def graded(stand_in, notebook_of, new_root, tmp_path_factory):
    """Course roots by platform: a class as it comes from there."""
    folder, roots = tmp_path_factory.mktemp("platforms"), {}
    for platform, files in (("moodle", MOODLE), ("canvas", CANVAS)):
        for name, source in files.items():
            path = folder / platform / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(
                source
                if isinstance(source, bytes)
                else notebook_of(source)
                if source
                else notebook_of()
            )
        roots[platform] = new_root(folder / f"{platform}-root")
        grade_class(folder / platform, "90", roots[platform], roots[platform] / "report")
    return roots


def course(*words, root):
    return main([*words, "--assignment", "90", "--course-root", str(root)])


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_moodles_worksheet_has_its_own_columns_and_a_row_a_participant(graded, capsys):
    root = graded["moodle"]
    assert course("export", "moodle", root=root) == 1
    heading, *rows = table(root / "report" / f"moodle-{NAME}.csv")
    at = [
        heading.index(name) for name in ("Identifier", "Grade", "Last modified (grade)")
    ]  # what Moodle's importer looks for
    assert [[row[place] for place in at] for row in rows] == [
        ["Participant 123456", "3", "-"],
        ["Participant 77", "1", "-"],
    ]
    assert "left out   Cy: The submission could not be graded" in capsys.readouterr().out


def test_canvas_finds_students_by_their_number_under_a_heading_of_its_own(graded, capsys):
    root = graded["canvas"]
    assert course("export", "canvas", "--column", "Double (4711)", root=root) == 1
    rows = table(root / "report" / f"canvas-{NAME}.csv")
    assert rows[0] == ["Student", "ID", "SIS Login ID", "Section", "Double (4711)"]
    assert rows[1] == ["    Points Possible", "", "", "", "3"]
    assert [[row[1], row[4]] for row in rows[2:]] == [["103", "1"], ["102", "3"], ["106", "3"]]
    assert (
        "left out   anon_41, anon_Xy9: the platform's number is not known"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("words", "came_from"),
    [
        (("export", "canvas"), "moodle"),
        (("export", "moodle"), "canvas"),
        (("feedback", "moodle"), "canvas"),
    ],
)
def test_a_number_of_another_platform_is_nobodys_here(graded, words, came_from, capsys):
    course(*words, root=graded[came_from])
    said = capsys.readouterr().out
    assert "(0 students)" in said and "the platform's number is not known" in said, said


@pytest.mark.parametrize(
    ("name", "written"), [("=1+cmd()", "'=1+cmd()"), ("Ana " + "de " * 60 + "Souza",) * 2]
)
def test_a_name_comes_whole_and_is_text_where_a_spreadsheet_would_run_it(
    name, written, graded, notebook_of, new_root, tmp_path
):
    path = tmp_path / "in" / f"{name}_5_assignsubmission_file_" / "x.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of())
    root = new_root(tmp_path / "root")
    grade_class(tmp_path / "in", "90", root, root / "report")
    assert course("export", "moodle", root=root) == 0
    assert (
        table(root / "report" / f"moodle-{NAME}.csv")[1][1]
        == table(root / "report" / "grades.csv")[1][1]
        == written
    )


def test_gradescope_gets_a_result_a_student_whose_tests_add_up(graded):
    root = graded["canvas"]
    assert course("export", "gradescope", root=root) == 0
    made = {
        path.parent.name: json.loads(path.read_text())
        for path in (root / "report" / f"gradescope-{NAME}").glob("*/results.json")
    }
    assert {student: one["score"] for student, one in made.items()} == {
        "mulleranna": 3,
        "bo": 1,
        "anon_Xy9": 3,
        "anon_41": 3,
        "o_neil": 3,
    }
    (test,) = made["bo"]["tests"]
    assert (test["score"], test["max_score"], test["status"]) == (1, 3, "failed")
    assert test["output"].startswith("It does not double a negative number.")


def test_what_a_person_decides_by_hand_is_exported_and_ends_the_waiting(graded, capsys):
    root = graded["moodle"]
    with Gradebook(f"sqlite:///{root}/gradebook.db", "word2serve") as gradebook:
        grade = gradebook.find_grade("double-check", NAME, NAME, "Cy")
        grade.manual_score, grade.needs_manual_grade = 2, False  # as formgrader saves it
        gradebook.db.commit()
    assert course("export", "moodle", root=root) == 0
    assert ["Participant 88", "2"] in [
        [row[0], row[2]] for row in table(root / "report" / f"moodle-{NAME}.csv")
    ]
    with Gradebook(f"sqlite:///{root}/gradebook.db", "word2serve") as gradebook:
        grade = gradebook.find_grade("double-check", NAME, NAME, "Cy")
        grade.manual_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()


def test_feedback_for_moodle_is_called_as_its_importer_splits_names(graded):
    root = graded["moodle"]
    assert course("feedback", "moodle", root=root) == 0
    with zipfile.ZipFile(root / "report" / f"feedback-moodle-{NAME}.zip") as archive:
        parts = [name.split("_", 4) for name in archive.namelist()]
        assert sorted(part[1:] for part in parts) == [
            [number, "assignsubmission", "file", f"{NAME}.html"]
            for number in ("123456", "77", "88")
        ]
        text = archive.read(
            next(name for name in archive.namelist() if name.split("_")[1] == "77")
        ).decode()
    assert "It does not double a negative number." in text and "<script" not in text


def test_feedback_for_canvas_keeps_the_numbers_of_student_and_file(graded):
    root = graded["canvas"]
    assert course("feedback", "canvas", root=root) == 0
    path = root / "report" / f"feedback-canvas-{NAME}.zip"
    first = path.read_bytes()
    assert sorted(zipfile.ZipFile(io.BytesIO(first)).namelist()) == [
        f"LATE_anon_41_9005_{NAME}.html",
        f"anon_Xy9_9004_{NAME}.html",
        f"bo_LATE_103_9003_{NAME}.html",
        f"mulleranna_102_9002_{NAME}.html",
        f"o_neil_LATE_106_9006_{NAME}.html",
    ]
    course("feedback", "canvas", root=root)
    assert path.read_bytes() == first  # the same pages, the same zip


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("o'neilsean_107_9009_90-stand-in.ipynb", "oneilsean_107_9009_"),
        ("'7_'8_107_9009_a.ipynb", None),
        ("x_/../_107_9009_a.ipynb", "x_.._107_9009_"),
        ("bo_LATE_109_text.html", None),
        ("anon_41_text.html", None),
    ],
)
def test_a_page_for_canvas_says_what_is_missing_of_what_canvas_needs(
    entry, name, stand_in, tmp_path
):
    verdict = Verdict("bo", NAME, "", "", name="bo", lms_id="107", entry=entry)
    page = feedback_path(tmp_path, NAME, "bo")
    page.parent.mkdir(parents=True)
    page.write_text("page")
    made = zip_feedback(
        "canvas", [(verdict, HandGrades())], stand_in, tmp_path, tmp_path / "all.zip"
    )
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.namelist() == ([f"{name}{NAME}.html"] if name else [])
    if name is None:
        assert (
            "the platform's number is not known" not in made.left_out["bo"]
            and "by hand" in made.left_out["bo"]
        )
        assert ("number of the file" in made.left_out["bo"]) == entry.endswith("text.html")


def test_a_verdict_comes_out_the_same_when_it_is_judged_again(graded, capsys):
    root = graded["moodle"]
    assert main(["verify", "77", "90", "--course-root", str(root)]) == 0
    said = capsys.readouterr().out
    assert (
        "negative         wrong         0 of 2  It does not double a negative number." in said
        and "the same" in said
    )


def test_a_record_that_was_written_over_differs_from_what_is_judged_again(graded, capsys):
    root = graded["moodle"]
    kept = load_verdict(root, NAME, "Bo")
    forged = load_verdict(root, NAME, "Bo")
    forged.results[0]["earned"], forged.results[0]["stages"][1]["status"] = 3.0, "passed"
    save_verdict(root, forged)
    assert main(["verify", "Bo", "90", "--course-root", str(root)]) == 1
    assert "differs    Bo 90.double: 3 -> 1 (negative: passed -> wrong)" in capsys.readouterr().out
    save_verdict(root, kept)


def test_a_notebook_that_is_gone_cannot_be_judged_again(graded, tmp_path, capsys):
    root = shutil.copytree(graded["moodle"], tmp_path / "root")
    shutil.rmtree(root / "submitted" / "Bo")
    assert main(["verify", "Bo", "90", "--course-root", str(root)]) == 2
    assert "is not there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "why"),
    [("notes.txt", "there is no notebook"), (f"{NAME}.ipynb", "it does not start as JSON does")],
)
def test_who_was_never_judged_cannot_be_judged_again_and_the_reason_is_the_records(
    graded, tmp_path, file, why, capsys
):
    root = shutil.copytree(graded["moodle"], tmp_path / "root")
    path = tmp_path / "in" / "tom" / NAME / file
    path.parent.mkdir(parents=True)
    path.write_text("hi")
    main(["grade", str(tmp_path / "in"), "--assignment", "90", "--course-root", str(root)])
    if file != "notes.txt":  # else it is read again, and refused again
        shutil.rmtree(root / "submitted" / "tom")
    capsys.readouterr()
    assert main(["verify", "tom", "90", "--course-root", str(root)]) == 2
    said = capsys.readouterr().err
    assert (
        "tom: no notebook was ever judged. The record says: The submission could not be graded"
        in said
        and why in said
    )
    assert "is not there; hand it" not in said


@pytest.mark.parametrize(
    ("student", "said"), [("Bob", "did you mean Bo?"), ("", "no record of ''")]
)
def test_who_cannot_be_judged_again_is_said_with_the_remedy(graded, student, said, capsys):
    assert main(["verify", student, "90", "--course-root", str(graded["moodle"])]) == 2
    assert said in capsys.readouterr().err


def test_points_by_hand_for_an_earlier_hand_in_wait_for_another_look_everywhere(
    graded, notebook_of, new_root, tmp_path, capsys
):
    path = tmp_path / "in" / "Ada_5_assignsubmission_file_" / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of())
    root = new_root(tmp_path / "root")
    grade_class(tmp_path / "in", "90", root, root / "report")
    with Gradebook(f"sqlite:///{root}/gradebook.db", "word2serve") as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "Ada").manual_score = 2
        gradebook.db.commit()
    assert course("export", "moodle", root=root) == 0
    path.write_bytes(notebook_of("def double(x):\n    return 7"))
    summary = grade_class(tmp_path / "in", "90", root, root / "report")
    assert summary.people == 1
    with (root / "report" / "grades.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["90.double"] == "2" and row["needs_human"].startswith(
        "90.double: Points given by hand are older"
    )
    assert "Points given by hand are older" in (root / "report" / f"{NAME}.html").read_text()
    assert (
        "A person will look at it again."
        in (root / "feedback" / "Ada" / NAME / f"{NAME}.html").read_text()
    )
    capsys.readouterr()
    for platform in ("moodle", "gradescope"):
        assert course("export", platform, root=root) == 1
        assert (
            "left out   Ada: 90.double: Points given by hand are older" in capsys.readouterr().out
        )
    assert course("export", "moodle", "--so-far", root=root) == 0
    with Gradebook(f"sqlite:///{root}/gradebook.db", "word2serve") as gradebook:
        gradebook.find_grade("double-check", NAME, NAME, "Ada").needs_manual_grade = False
        gradebook.db.commit()
    assert course("export", "moodle", root=root) == 0


def test_an_old_score_of_a_written_answer_waits_as_well():
    row = Verdict("ada", "01-x", "", ""), {"01.bank": 5.0, "01.ppmi": 3.0}
    assert reasons(*row, HandGrades(points={"bank": 5.0})) == []
    assert reasons(*row, HandGrades(points={"bank": 5.0}, again={"bank"})) == [f"01.bank: {AGAIN}"]


def test_students_whose_names_differ_in_case_only_have_folders_of_their_own(graded, tmp_path):
    rows = [
        (Verdict(student, NAME, "", ""), HandGrades())
        for student in ("SAM", "Sam", "sam", "sam (2)")
    ]
    for verdict, _ in rows:
        page = feedback_path(tmp_path, NAME, verdict.student)
        page.parent.mkdir(parents=True)
        page.write_text(verdict.student)
    assert (
        zip_feedback(
            "folders", rows, load_assignment("90"), tmp_path, tmp_path / "all.zip"
        ).students
        == 4
    )
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        names = archive.namelist()
        assert len({name.casefold() for name in names}) == 4 and sorted(
            archive.read(name).decode() for name in names
        ) == ["SAM", "Sam", "sam", "sam (2)"]


def test_a_key_as_grades_csv_spells_it_finds_its_student():
    records = {
        "=f0": Verdict("=f0", NAME, "", "", name="e"),
        "'x": Verdict("'x", NAME, "", ""),
        "x": Verdict("x", NAME, "", ""),
    }
    assert [_find(records, said, "root", NAME).student for said in ("'=f0", "=f0", "'x", "x")] == [
        "=f0",
        "=f0",
        "'x",
        "x",
    ]


def test_an_error_is_json_where_json_was_asked_for(tmp_path, capsys):
    assert main(["report", "--course-root", str(tmp_path / "none"), "--json"]) == 2
    assert "there is no such course root" in json.loads(capsys.readouterr().out)["error"]
