"""A platform's number says who somebody is, whatever the name beside it; and a platform gets each
number once.
"""

import csv
import zipfile
from dataclasses import replace

import pytest

from autograder.classroom.grade_class import grade_class
from autograder.grading.intake.discovery import find_submissions
from autograder.grading.results_store import load_verdict, save_verdict
from course.cli import main

NAME = "90-stand-in"
HALF = "def double(x):\n    return x + abs(x)"
MEIER, SCHMIDT = "Anna Meier_1_assignsubmission_file_", "Anna Schmidt_1_assignsubmission_file_"
OF_CANVAS = {
    "meieranna_102_9002_90-stand-in.ipynb": "meieranna",
    "schmidtanna_102_9003_90-stand-in-1.ipynb": "schmidtanna",
}


@pytest.fixture
def root(stand_in, new_root, tmp_path):
    return new_root(tmp_path / "root")


@pytest.fixture
def given(notebook_of, tmp_path):
    """Makes a download: by entry, the source of the notebook in it (None: the right one)."""

    def make(name, entries):
        for entry, source in entries.items():
            path = tmp_path / name / (entry if entry.endswith(".ipynb") else f"{entry}/work.ipynb")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(notebook_of(source) if source else notebook_of())
        return tmp_path / name

    return make


def course(root, *words):
    return main([*map(str, words), "--assignment", "90", "--course-root", str(root)])


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.sandbox
@pytest.mark.parametrize("names", [(MEIER, SCHMIDT), tuple(OF_CANVAS)])
@pytest.mark.parametrize("by", ["grade", "collect"])
def test_who_is_renamed_between_two_downloads_hands_in_again_under_the_newest_name(
    root, given, names, by, capsys
):
    platform = "moodle" if names[0] == MEIER else "canvas"
    for place, (entry, source) in enumerate(zip(names, (HALF, None), strict=True)):
        where = given(str(place), {entry: source})
        if by == "collect":
            assert course(root, "collect", where) == 0
        course(root, "grade", *([where] if by == "grade" else []))
    key = "Anna Meier" if platform == "moodle" else "meieranna"
    (row,) = table(root / "report" / "grades.csv")
    assert (row["student"], row["name"], row["total"]) == (
        key,
        "Anna Schmidt" if platform == "moodle" else "schmidtanna",
        "3",
    )
    assert [one["counts"] for one in load_verdict(root, NAME, key).hand_ins] == [False, True]
    capsys.readouterr()
    assert course(root, "export", platform) == 0 and "(1 students)" in capsys.readouterr().out
    assert row["name"] in (root / "report" / f"{NAME}.html").read_text()


@pytest.mark.sandbox
def test_a_new_name_over_the_same_work_is_shown_without_judging_it_again(root, given):
    for name in (MEIER, SCHMIDT):
        summary = grade_class(given(name, {name: None}), "90", root, root / "report")
    assert summary.kept == 1 and [
        (row["student"], row["name"]) for row in table(root / "report" / "grades.csv")
    ] == [("Anna Meier", "Anna Schmidt")]


def keys(where, **known):
    return {
        one.student: one.lms_id
        for one in find_submissions(where, NAME, known=known or None).submissions
    }


def test_two_who_exchange_their_names_stay_who_they_are(given):
    where = given("in", {"Bo_1_assignsubmission_file_": None, "Ada_2_assignsubmission_file_": None})
    assert keys(where, Ada="moodle 1", Bo="moodle 2") == {"Ada": "1", "Bo": "2"}


def test_who_was_told_apart_by_number_keeps_that_key_when_alone(given):
    where = given("in", {"Ada_2_assignsubmission_file_": None})
    assert keys(where, Ada_1="moodle 1", Ada_2="moodle 2") == {"Ada_2": "2"}


def test_one_number_of_two_platforms_is_two_people(given):
    assert keys(given("later", {"boda_1_9002_90-stand-in.ipynb": None}), Ada="moodle 1") == {
        "boda": "1"
    }
    assert keys(given("same", {"Ada_1_9002_90-stand-in.ipynb": None}), Ada="moodle 1") == {
        "Ada_1": "1"
    }
    both = given(
        "both", {"Ada_1_assignsubmission_file_": None, "boda_1_9002_90-stand-in.ipynb": None}
    )
    assert keys(both) == {"Ada": "1", "boda": "1"}


def test_two_names_of_one_number_in_one_download_wait_for_a_person(given):
    (found,) = find_submissions(given("in", {MEIER: HALF, SCHMIDT: None}), NAME).submissions
    assert (
        "Meier" in found.problem
        and "Schmidt" in found.problem
        and "it is not clear which one counts" in found.problem
    )


def test_who_is_renamed_between_two_dated_folders_of_one_run_is_one(given):
    where = given("in", {f"2026-03-01/{MEIER}": HALF, f"2026-03-08/{SCHMIDT}": None})
    (found,) = find_submissions(where, NAME).submissions
    assert (found.student, found.name, [one.name for one in found.earlier]) == (
        "Anna Meier",
        "Anna Schmidt",
        ["Anna Meier"],
    )


@pytest.mark.sandbox
@pytest.mark.parametrize("platform", ["moodle", "canvas"])
def test_a_class_that_has_one_number_twice_names_both_and_exports_neither(
    root, given, platform, capsys
):
    entries = (
        [MEIER, "Bo_2_assignsubmission_file_"]
        if platform == "moodle"
        else [*list(OF_CANVAS)[:1], "bo_103_9004_90-stand-in.ipynb"]
    )
    grade_class(given("in", dict.fromkeys(entries)), "90", root, root / "report")
    key = "Anna Meier" if platform == "moodle" else "meieranna"
    entry = SCHMIDT if platform == "moodle" else list(OF_CANVAS)[1]
    twin = replace(
        load_verdict(root, NAME, key), student="twin", name="twin", entry=entry
    )  # as a class from before has it
    save_verdict(root, twin)
    capsys.readouterr()
    for words in (("export", platform, "--so-far"), ("feedback", platform)):
        assert course(root, *words) == 1
        said = capsys.readouterr().out
        assert (
            "(1 students)" in said
            and f"left out   {key}, twin: " in said
            and f"is that of {key} and of twin" in said
        ), said
    numbers = [
        row.get("Identifier") or row["ID"]
        for row in table(root / "report" / f"{platform}-{NAME}.csv")
    ]
    assert sorted(filter(None, numbers)) == ["Participant 2" if platform == "moodle" else "103"]
    assert len(zipfile.ZipFile(root / "report" / f"feedback-{platform}-{NAME}.zip").namelist()) == 1
    needs = {row["student"]: row["needs_human"] for row in table(root / "report" / "grades.csv")}
    assert (
        "is that of" in needs[key]
        and "is that of" in needs["twin"]
        and len([one for one in needs.values() if one]) == 2
    )
