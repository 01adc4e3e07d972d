"""Due dates, extensions and late work, through nbgrader's gradebook and its own plugin."""

import csv
import json
from datetime import datetime, timedelta

import pytest
from nbgrader.utils import parse_utc

from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
)
from autograder.classroom.gradebook.deadlines import ShareEachDay, moment, span
from autograder.common.errors import CourseError
from autograder.grading.intake import timestamps as moments
from course.cli import main

NAME = "90-stand-in"
DAY = 86_400
A_SHARE = """c.AssignLatePenalties.plugin_class = "autograder.classroom.late.ShareEachDay"
c.ShareEachDay.share = 0.25
c.ShareEachDay.most = 0.5
"""


@pytest.mark.parametrize(("seconds", "off"), [(1, 1), (DAY, 1), (DAY + 1, 2), (30 * DAY, 5)])
def test_each_day_or_part_of_one_costs_a_share_up_to_a_most(seconds, off):
    assert ShareEachDay(share=0.1, most=0.5).late_submission_penalty(
        "ada", 10, seconds
    ) == pytest.approx(off)


def test_the_grace_costs_nothing_and_shortens_no_later_day():
    plugin = ShareEachDay(share=0.1, grace_minutes=15)
    assert plugin.late_submission_penalty("ada", 10, 900) is None
    assert plugin.late_submission_penalty("ada", 10, DAY + 600) == pytest.approx(2)


def test_dates_and_spans_are_read_and_slips_are_named():
    assert moment("2026-03-01 23:59 +0100") == datetime(2026, 3, 1, 22, 59)
    assert (span("36h"), span("0d")) == (timedelta(hours=36), timedelta())
    for slip, reader in (("yesterday noon", moment), ("2 days", span)):
        with pytest.raises(CourseError, match=slip):
            reader(slip)


@pytest.fixture
def root(books, stand_in, notebook_of, tmp_path):
    """A course root with a policy, and a class of two of whom one is late by a day and a half."""
    root = books.new(tmp_path / "root")
    config = root / CONFIG_FILE
    config.write_text((config.read_text() if config.exists() else CONFIG_TEXT) + A_SHARE)
    for student, stamp in (("ada", "2026-03-01 10:00:00 UTC"), ("bo", "2026-03-03 12:00:00 UTC")):
        folder = tmp_path / "in" / student / NAME
        folder.mkdir(parents=True)
        (folder / f"{NAME}.ipynb").write_bytes(notebook_of())
        (folder / "timestamp.txt").write_text(stamp)
    return root


def course(root, *words):
    return main([*words, "--course-root", str(root)])


def totals(root):
    """Points and lateness by student, as grades.csv says after `course report`."""
    assert course(root, "report", "--assignment", "90") == 0
    with (root / "report" / "grades.csv").open(newline="") as file:
        return {row["student"]: (float(row["total"]), row["late"]) for row in csv.DictReader(file)}


@pytest.mark.sandbox
def test_what_is_taken_off_follows_the_due_date_extensions_and_points_given_by_hand(
    root, tmp_path, capsys
):
    assert course(root, "due", "90", "--date", "2026-03-02 00:00 UTC", "--extend", "cy=2d") == 0
    grade_class(tmp_path / "in", "90", root, root / "report")
    assert totals(root) == {"ada": (3, ""), "bo": (1.5, "1 d 12 h")}  # two days, at a quarter each
    with open_gradebook(course_config(root)) as gradebook:
        assert (
            gradebook.find_submission(NAME, "bo").late_submission_penalty == 1.5
        )  # nbgrader's own gradebook says it
        gradebook.find_grade("double-check", NAME, NAME, "bo").manual_score = 2
        gradebook.db.commit()
    assert totals(root)["bo"] == (1, "1 d 12 h")
    assert course(root, "due", "90", "--extend", "bo=1d") == 0
    assert totals(root)["bo"] == (1.5, "12 h")  # one day of the two points
    capsys.readouterr()
    assert course(root, "due", "90", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "assignment": NAME,
        "due": "2026-03-02T00:00:00+00:00",
        "extensions": {"bo": DAY},
        "waiting": {"cy": 2 * DAY},
    }
    assert course(root, "due", "90", "--date", "none") == 0
    assert totals(root) == {"ada": (3, ""), "bo": (2, "")}


@pytest.mark.sandbox
def test_an_extension_that_was_given_before_the_hand_in_holds_when_it_comes(root, tmp_path, capsys):
    course(root, "due", "90", "--date", "2026-03-02 00:00 UTC", "--extend", "bo=2d")
    assert "waits      bo: 2 days, 0:00:00; nothing is handed in yet" in capsys.readouterr().out
    grade_class(tmp_path / "in", "90", root, root / "report")
    assert totals(root)["bo"] == (3, "")
    capsys.readouterr()
    course(root, "due", "90")
    assert "longer     bo: 2 days, 0:00:00" in capsys.readouterr().out


@pytest.mark.sandbox
def test_extensions_outlive_a_due_date_that_is_taken_away_and_set_again(root, tmp_path, capsys):
    course(
        root,
        "due",
        "90",
        "--date",
        "2026-03-02 00:00 UTC",
        "--extend",
        "bo=2d",
        "--extend",
        "cy=1w",
    )
    grade_class(tmp_path / "in", "90", root, root / "report")
    assert totals(root)["bo"] == (3, "")
    capsys.readouterr()
    assert course(root, "due", "90", "--date", "none") == 0
    said = capsys.readouterr().out
    assert (
        "no date is set" in said
        and "waits      bo: 2 days, 0:00:00; it counts from the date that is set next" in said
        and "waits      cy: 7 days" in said
    )
    assert totals(root) == {
        "ada": (3, ""),
        "bo": (3, ""),
    }  # nbgrader reckons with no extension that counts from nothing
    capsys.readouterr()
    assert course(root, "due", "90", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "assignment": NAME,
        "due": None,
        "extensions": {},
        "waiting": {"bo": 2 * DAY, "cy": 7 * DAY},
    }
    assert course(root, "due", "90", "--date", "2026-03-01 12:00 UTC", "--extend", "cy=0d") == 0
    assert "longer     bo: 2 days, 0:00:00" in capsys.readouterr().out
    assert (
        totals(root)["bo"] == (3, "")
        and course(root, "due", "90", "--extend", "bo=0d") == 0
        and totals(root)["bo"] == (1.5, "2 d")
    )


def test_an_extension_without_a_due_date_is_refused_with_the_remedy(root, capsys):
    assert course(root, "due", "90", "--extend", "bo=2d") == 2
    assert (
        "has no due date that could be extended: give one with --date first"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-07-01 23:00 CEST", "2026-07-01 21:00:00"),
        ("2026-07-01 23:00 CET", "2026-07-01 22:00:00"),
        ("2026-07-01 18:30 EDT", "2026-07-01 22:30:00"),
        ("2026-03-01 15:00 PST", "2026-03-01 23:00:00"),
        ("2026-03-01 23:58 +0100", "2026-03-01 22:58:00"),
        ("2026-03-01 17:30 +0545", "2026-03-01 11:45:00"),
        ("2026-03-01 08:30 -03", "2026-03-01 11:30:00"),
        ("2026-03-01 10:00:00.123456 UTC", "2026-03-01 10:00:00.123456"),
        ("2026-03-01 10:00", "2026-03-01 10:00:00"),
        ("2026-03-01T10:00:00+01:00", "2026-03-01 09:00:00"),
    ],
)
def test_a_time_is_read_in_its_own_zone_and_nbgrader_reads_the_same(text, utc):
    assert str(moments.in_utc(text)) == utc == str(parse_utc(moments.as_nbgrader_reads(text)))


@pytest.mark.parametrize(
    "text", ["2026-03-01 10:00 XYZ", "soon", "12", "", "0000-01-01 00:00", "2026-13-01 10:00"]
)
def test_a_text_that_says_no_time_is_refused(text):
    with pytest.raises((ValueError, OverflowError)):
        moments.as_nbgrader_reads(text)


@pytest.mark.parametrize(
    "text", ["03/04/2026 10:00", "", "2026-07-01 23:59 XYZ", "2026", "23:59", "March 2026"]
)
def test_a_due_date_that_may_mean_two_things_or_none_is_refused(text):
    with pytest.raises(CourseError, match="write it as"):
        moment(text)
