"""One sum for every table, page and export: nbgrader's own score, less what late work costs."""

import csv
import json
import re

import pytest

from autograder.classroom.grade_class import class_rows
from autograder.classroom.gradebook.batch_writer import open_class_book
from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
    prepare_course_root,
)
from autograder.classroom.gradebook.grades import HandGrades, exercise_points, total_points
from autograder.common.error_boundary import Guard
from autograder.grading.assignment import course_secret, load_assignment
from autograder.grading.grade import Verdict
from autograder.grading.results_store import save_verdict
from course.cli import main

NAME = "01-static-embeddings"
WRITTEN, CHECKED, OTHER = "01.bank", "01.ppmi", "01.analogy"
LATE = """c.AssignLatePenalties.plugin_class = "autograder.classroom.late.ShareEachDay"
c.ShareEachDay.share = 0.25
"""
# By student: what a person gives, by grade id, as points (None: those of the checks stand) and as
# extra credit.
GIVEN = {
    "automatic": {},
    "by-hand": {"bank": (3, None), "ppmi-check": (1, None)},
    "extra": {"bank": (3, 2), "ppmi-check": (None, 0.5)},
    "late": {"bank": (2, 1), "ppmi-check": (None, 1.5)},
    "undecided": {"bank": (None, 2)},
    "waits": {"ppmi-check": (None, 4)},
}


def verdict_of(student, assignment, number):
    """A record of a class, as the sandbox would have left it: everything right but for one
    exercise.
    """
    checked = [(id, one.points) for id, one in assignment.exercises.items() if one.kind != "manual"]
    stages = [{"name": "all", "status": "passed", "cause": "", "detail": "", "misconception": ""}]
    results = [
        {
            "exercise": id,
            "points": points,
            "earned": earned,
            "stages": [stages[0] | {"points": points, "earned": earned}],
        }
        for id, points in checked
        for earned in [0.0 if id == OTHER else float(points)]
    ]
    human = [{"exercise": CHECKED, "reason": "Why?"}] if student == "waits" else []
    return Verdict(
        student,
        NAME,
        student.ljust(64, "0"),
        assignment.checks_hash,
        results=results,
        own={"bank": "An answer."},
        human=human,
        name=student,
        lms_id=str(number),
        entry=f"{student}_{number}_assignsubmission_file_",
        timestamp="2026-03-03 12:00:00 UTC" if student == "late" else "2026-03-01 10:00:00 UTC",
    )


@pytest.fixture(scope="module")
def graded(new_root, tmp_path_factory):
    """A course root in which every kind of points was given; the report is written."""
    root, assignment = new_root(tmp_path_factory.mktemp("totals") / "root"), load_assignment("01")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT + LATE)
    config = prepare_course_root(root, assignment)
    course_secret(root)  # a class has one before it has a verdict
    assert main(["due", "01", "--date", "2026-03-02 00:00 UTC", "--course-root", str(root)]) == 0
    with open_class_book(config, root, assignment) as book:
        for number, student in enumerate(GIVEN, 1):
            verdict = verdict_of(student, assignment, number)
            save_verdict(root, verdict)
            book.store(verdict)
    with open_gradebook(config) as gradebook:
        for student, cells in GIVEN.items():
            for cell, (points, extra) in cells.items():
                grade = gradebook.find_grade(cell, NAME, NAME, student)
                grade.manual_score, grade.extra_credit = points, extra
                grade.needs_manual_grade = (
                    points is None and grade.auto_score is None
                )  # as formgrader saves it
        gradebook.db.commit()
    assert main(["report", "--assignment", "01", "--course-root", str(root)]) == 0
    return root


def by_nbgrader(root):
    """What nbgrader's own export says: the score, less what late work costs."""
    with open_gradebook(course_config(root)) as gradebook:
        return {
            one.student.id: max(0.0, one.score - (one.late_submission_penalty or 0))
            for one in gradebook.assignment_submissions(NAME)
        }


def write_again(root):
    """grades.csv after `course report`."""
    assert main(["report", "--assignment", "01", "--course-root", str(root)]) == 0
    return root / "report" / "grades.csv"


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_total_is_the_score_that_nbgrader_itself_has(graded):
    expected = by_nbgrader(graded)
    assert (
        expected["extra"] - expected["automatic"] == 5.5 and expected["late"] < expected["extra"]
    ), "the class shows what it is about"
    rows, assignment = (
        class_rows(graded, load_assignment("01"), course_config(graded), Guard(graded)),
        load_assignment("01"),
    )
    assert {
        verdict.student: total_points(exercise_points(verdict, given, assignment), given)
        for verdict, given in rows
    } == expected
    assert {
        row["student"]: float(row["total"]) for row in table(graded / "report" / "grades.csv")
    } == expected


def test_a_total_has_no_digits_that_only_binary_fractions_have():
    assert (
        total_points({"01.a": 13.0, "01.b": 9.0}, HandGrades(penalty=2.2)) == 19.8
        and total_points({"01.a": None}, HandGrades(penalty=2.2)) is None
    )


def test_a_row_of_grades_csv_adds_up(graded):
    for row in table(graded / "report" / "grades.csv"):
        parts = [
            float(value or 0)
            for name, value in row.items()
            if name.startswith("01.") or name == "extra_credit"
        ]
        assert sum(parts) - float(row["taken_off"] or 0) == pytest.approx(float(row["total"])), row
    extra = {row["student"]: row["extra_credit"] for row in table(graded / "report" / "grades.csv")}
    assert extra == {
        "automatic": "",
        "by-hand": "",
        "extra": "2.5",
        "late": "2.5",
        "undecided": "",
        "waits": "",
    }, "nothing for what is not decided"


def test_the_page_shows_extra_credit_beside_its_exercise_and_in_the_total(graded):
    text = (graded / "feedback" / "extra" / NAME / f"{NAME}.html").read_text()
    assert f"<b>{by_nbgrader(graded)['extra']:g}</b> of" in text
    rows = {short: re.search(rf'href="#{short}">.*?</tr>', text)[0] for short in ("bank", "ppmi")}
    assert "3 of 5 + 2 extra" in rows["bank"] and "+ 0.5 extra" in rows["ppmi"]
    assert (
        "extra"
        not in (graded / "feedback" / "by-hand" / NAME / f"{NAME}.html")
        .read_text()
        .split("<main>")[1]
    )


def test_the_report_shows_extra_credit_beside_its_exercise(graded, capsys):
    row = re.search(
        r"<tr><th[^>]*><a[^>]*>extra</a>.*?</tr>", (graded / "report" / f"{NAME}.html").read_text()
    )[0]
    assert "3 + 2" in row and "+ 0.5" in row and f">{by_nbgrader(graded)['extra']:g}<" in row
    capsys.readouterr()
    assert main(["report", "--assignment", "01", "--course-root", str(graded), "--json"]) == 0
    said = {one["student"]: one for one in json.loads(capsys.readouterr().out)["students"]}
    assert (
        said["extra"]["extra_credit"] == {WRITTEN: 2, CHECKED: 0.5}
        and said["undecided"]["extra_credit"] == {}
    )
    assert {student: one["total"] for student, one in said.items()} == by_nbgrader(graded)


@pytest.mark.parametrize(
    ("platform", "key", "value"), [("moodle", "Full name", "Grade"), ("gradescope", "", "")]
)
def test_an_export_has_nbgraders_score(graded, platform, key, value):
    main(["export", platform, "--so-far", "--assignment", "01", "--course-root", str(graded)])
    path = graded / "report" / f"{platform}-{NAME}"
    if platform == "moodle":
        found = {row[key]: float(row[value]) for row in table(path.with_suffix(".csv"))}
    else:
        records = {
            one.parent.name: json.loads(one.read_text()) for one in path.glob("*/results.json")
        }
        found = {student: record["score"] for student, record in records.items()}
        assert sum(test["score"] for test in records["extra"]["tests"]) == found["extra"]
    assert found == by_nbgrader(graded)


def test_extra_credit_for_other_work_waits_for_another_look(graded):
    assignment, config = load_assignment("01"), course_config(graded)
    changed = verdict_of("extra", assignment, 3)
    changed.own["ppmi"], changed.submission = "def ppmi(counts):\n    return counts", "f" * 64
    save_verdict(graded, changed)
    with open_class_book(config, graded, assignment) as book:
        book.store(changed)
    with open_gradebook(config) as gradebook:
        assert gradebook.find_grade("ppmi-check", NAME, NAME, "extra").needs_manual_grade
    row = next(row for row in table(write_again(graded)) if row["student"] == "extra")
    assert (
        row["needs_human"].startswith(f"{CHECKED}: Points given by hand are older")
        and row["extra_credit"] == "2.5"
    )
