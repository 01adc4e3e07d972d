"""After checks have changed: what would change is shown first, and what people gave by
hand stays.
"""

import csv
import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from autograder.checks.protocol import expect
from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
)
from autograder.course_layout import REGRADE
from autograder.grading.grade import SCHEMA
from autograder.grading.results_store import load_verdict, save_verdict
from course.cli import main
from tests.autograder.grading import stored
from tests.autograder.grading.conftest import fingerprints

pytestmark = pytest.mark.sandbox
NAME = "90-stand-in"
A_SHARE = """c.AssignLatePenalties.plugin_class = "autograder.classroom.late.ShareEachDay"
c.ShareEachDay.share = 0.25
"""
HALF = "def double(x):\n    return x + abs(x)"


@contextmanager
def the_checks_of_last_week(assignment):
    """One stage asks for something else, as before it was mended."""
    one = assignment.exercises["90.double"]
    stages, today = list(one.stages), assignment.checks_hash

    def too_strict(student):
        expect(student.double(-1)).equals(-3, cause="It does not double a negative number.")

    one.stages[1] = replace(stages[1], function=too_strict)
    assignment.checks_hash = "of-last-week"
    try:
        yield
    finally:
        one.stages[:], assignment.checks_hash = stages, today


@pytest.fixture(scope="module")
def root(books, stand_in, notebook_of, tmp_path_factory):
    """Ada, bo and dan were graded before a check was mended, cy after it.

    Dan has points by hand, and all have a comment.
    """
    folder = tmp_path_factory.mktemp("regrade")
    root = books.new(folder / "root")

    def hand_in(student, source=None):
        path = folder / student / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook_of(source) if source else notebook_of())
        grade_class(folder / student, "90", root, root / "report")

    with the_checks_of_last_week(stand_in):
        hand_in("ada")
        hand_in("bo", HALF)
        hand_in("dan")
    hand_in("cy")
    with gradebook(root) as book:
        book.find_grade("double-check", NAME, NAME, "dan").manual_score = 1.5
        for student in ("ada", "dan"):
            book.find_comment(
                "double", NAME, NAME, student
            ).manual_comment = f"Well tried, {student}."
        book.db.commit()
    return root


def gradebook(root):
    return open_gradebook(course_config(root))


def course(root, *words):
    return main(["regrade", "90", "--course-root", str(root), *words])


def test_what_changes_is_shown_and_nothing_is_written_until_it_is_asked_for(root, capsys):
    before = fingerprints(root, REGRADE)
    assert course(root) == 1
    said = capsys.readouterr().out
    assert (
        "affected   3 verdicts" in said
        and "same       1 come out as before: bo" in said
        and "cy" not in said
    )
    assert (
        "changes    ada: 1 -> 3 points (1 exercise changed)" in said
        and "nothing is written" in said
    )
    assert (
        "90.double: 1 -> 3" not in said
    )  # a class has a line for each student, and details if it asks
    assert "by hand    dan 90.double: 1.5 points stay" in said
    assert fingerprints(root, REGRADE) == before
    judged = stored.times(root / REGRADE, NAME)["ada"]
    assert (
        course(root, "--details") == 1
        and "ada 90.double: 1 -> 3 (negative: wrong -> passed)" in capsys.readouterr().out
    )
    assert course(root, "--json") == 1  # what was judged is taken up again
    assert stored.times(root / REGRADE, NAME)["ada"] == judged
    changes = {
        one["student"]: (one["before"], one["after"])
        for one in json.loads(capsys.readouterr().out)["changes"]
    }
    assert changes == {"ada": (1, 3), "dan": (1.5, 1.5)}
    assert course(root, "--apply") == 0
    with gradebook(root) as book:
        grades = {
            student: book.find_grade("double-check", NAME, NAME, student)
            for student in ("ada", "bo", "cy", "dan")
        }
        assert {
            student: (one.auto_score, one.manual_score, one.needs_manual_grade)
            for student, one in grades.items()
        } == {
            "ada": (3, None, False),
            "bo": (1, None, False),
            "cy": (3, None, False),
            "dan": (3, 1.5, True),
        }
        assert book.find_comment("double", NAME, NAME, "dan").manual_comment == "Well tried, dan."
    assert not (root / REGRADE).exists()
    capsys.readouterr()
    assert course(root) == 0 and "affected   0 verdicts" in capsys.readouterr().out


@pytest.fixture
def late_root(new_root, stand_in, notebook_of, tmp_path):
    """Ada handed in a day and a half late, at a quarter of the points a day, and was graded before
    a check was mended.
    """
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT + A_SHARE)
    folder = tmp_path / "in" / "ada" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_bytes(notebook_of())
    (folder / "timestamp.txt").write_text("2026-03-03 12:00:00 UTC")
    assert main(["due", "90", "--date", "2026-03-02 00:00 UTC", "--course-root", str(root)]) == 0
    with the_checks_of_last_week(stand_in):
        grade_class(tmp_path / "in", "90", root, root / "report")
    return root


def total(root):
    with (root / "report" / "grades.csv").open(newline="") as file:
        return [float(row["total"]) for row in csv.DictReader(file)]


def test_the_sum_that_a_regrade_shows_is_the_one_it_writes_under_a_late_penalty(late_root, capsys):
    assert total(late_root) == [0.5]  # 1 point, less two quarters of it
    assert course(late_root) == 1 and "changes    ada: 0.5 -> 1.5 points" in capsys.readouterr().out
    assert course(late_root, "--apply") == 0 and total(late_root) == [1.5]


def test_grading_again_says_one_line_for_a_student_with_the_sums_of_grades_csv(late_root):
    summary = grade_class(None, "90", late_root, late_root / "report", regrade=True)
    assert summary.changed == ["ada: 0.5 -> 1.5 points (1 exercise changed)"] and total(
        late_root
    ) == [1.5]
    assert summary.details == ["ada 90.double: 1 -> 3 (negative: wrong -> passed)"]


def test_a_copy_that_is_no_longer_what_was_graded_is_named(root, capsys):
    verdict = load_verdict(root, NAME, "cy")
    verdict.checks = "of-last-week"
    save_verdict(root, verdict)
    (root / "submitted" / "cy" / NAME / f"{NAME}.ipynb").write_bytes(b"another one")
    assert course(root) == 1
    assert (
        "cannot     cy: the notebook that was graded is not in submitted/"
        in capsys.readouterr().out
    )


def test_a_record_of_an_earlier_release_is_judged_again_once_and_said_to_be(root, capsys):
    verdict = load_verdict(root, NAME, "ada")
    verdict.checks, verdict.schema = "worked out otherwise", 2
    save_verdict(root, verdict)
    assert course(root, "--apply") in (0, 1)  # 1: cy's copy was changed above
    said = capsys.readouterr().out
    assert (
        "checks     1 of them are from an earlier release" in said and "judged again, once" in said
    )
    assert "same       1 come out as before: ada" in said
    assert json.loads(stored.records(root, NAME)["ada"])["schema"] == SCHEMA
    course(root)
    assert "earlier release" not in capsys.readouterr().out
