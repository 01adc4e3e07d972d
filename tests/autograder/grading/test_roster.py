"""A roster says who submitted nothing, and when the others submitted."""

import csv
import json
import os
import time

import pytest

from autograder.classroom.grade_class import grade_class
from autograder.classroom.submissions.roster import Enrolled, read_roster
from autograder.common.errors import CourseError
from tests.autograder.grading import stored

WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    "Participant 11,Ada Lovelace,ada@example.org,Submitted,,3,Yes,"
    '"Sunday, 1 March 2026, 11:30 PM",-,\n'
    "Participant 12,Bo Ek,bo@example.org,No submission,,3,Yes,-,-,\n"
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,90 (7)\n"
    "    Points Possible,,,,,3.00\n"
    '"Lovelace, Ada",11,u11,ada,A,\n'
    '"Student, Test",99,,,A,\n'
)


@pytest.fixture(autouse=True)
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def written(folder, text, **options):
    path = folder / "roster.csv"
    path.write_bytes(text.encode(**options))
    return path


def test_moodles_worksheet_gives_numbers_mail_and_times_in_utc(tmp_path):
    assert read_roster(written(tmp_path, WORKSHEET, encoding="utf-8-sig")) == [
        Enrolled("11", "Ada Lovelace", "ada@example.org", "2026-03-01 22:30:00 UTC"),
        Enrolled("12", "Bo Ek", "bo@example.org"),
    ]


def test_canvass_export_gives_students_without_its_rows_that_are_none(tmp_path):
    assert read_roster(written(tmp_path, CANVAS)) == [Enrolled("11", "Lovelace, Ada", "ada")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column with the students' numbers and names"),
        ("Name,Mail\nAda,a@b\n", "no column with the students' numbers and names"),
        ("id,name\n", "nobody is on this list"),
        ("id,name,submitted\n1,Ada,soon\n", "line 2: 'soon' is no time"),
        ("id,name\n1,\ud800\n", "no CSV in UTF-8"),
    ],
)
def test_what_is_no_roster_is_named_with_the_remedy(tmp_path, text, said):
    with pytest.raises(CourseError, match=said) as error:
        read_roster(written(tmp_path, text, encoding="utf-8", errors="surrogatepass"))
    assert str(tmp_path / "roster.csv") in str(error.value)


def test_who_submitted_nothing_is_named_and_who_did_has_the_platforms_time(
    stand_in, notebook_of, new_root, tmp_path
):
    path = tmp_path / "in" / "Ada Lovelace_11_assignsubmission_file_" / f"{stand_in.name}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook_of())
    root, report = new_root(tmp_path / "root"), tmp_path / "report"
    roster = read_roster(written(tmp_path, WORKSHEET))

    summary = grade_class(tmp_path / "in", "90", root, report, roster=roster)

    assert "absent     1 on the roster submitted nothing: Bo Ek" in summary.lines()
    [kept] = stored.records(root, stand_in.name).values()
    assert json.loads(kept)["timestamp"] == "2026-03-01 22:30:00 UTC"
    rows = list(csv.DictReader((report / "grades.csv").open()))
    assert [(row["name"], row["total"], row["needs_human"]) for row in rows] == [
        ("Ada Lovelace", "3", ""),
        ("Bo Ek", "", "Nothing was submitted."),
    ]
    assert os.stat(root / "verdicts" / f"{stand_in.name}.roster.json").st_mode & 0o077 == 0

    again = grade_class(tmp_path / "in", "90", root, report)
    assert again.absent == ["Bo Ek"] and again.kept == 1
