"""Several hand-ins of one student: found by times and counts in folders' names, and the last or the
best counts, as the course says.
"""

import csv
import json
import shutil
import zipfile

import pytest

from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
)
from autograder.classroom.submissions.attempts import kept, rule
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import drawn_with
from autograder.grading.intake.discovery import find_submissions
from autograder.grading.intake.timestamps import moment, stamp
from autograder.grading.results_store import load_verdict
from course.cli import main

NAME = "90-stand-in"
FILE = f"{NAME}.ipynb"
RIGHT, HALF, NONE = (
    "def double(x):\n    return 2 * x",
    "def double(x):\n    return x + abs(x)",
    "def double(x):\n    return 0",
)
A_SHARE = (
    "c.AssignLatePenalties.plugin_class ="
    ' "autograder.classroom.late.ShareEachDay"\nc.ShareEachDay.share = 0.25\n'
)


def handed_in(folder, files):
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def found(where):
    return {
        one.student: [*(earlier.read() for earlier in one.earlier), one.read()]
        for one in find_submissions(where, NAME).submissions
    }


def test_a_time_and_a_count_put_folders_in_order_and_a_students_number_does_not():
    names = ["2026-03-01 10-00", "2026-03-01T09:30:05Z", "2026-03-01", "attempt 10", "Attempt-2"]
    assert sorted(names, key=moment) == [
        "Attempt-2",
        "attempt 10",
        "2026-03-01",
        "2026-03-01T09:30:05Z",
        "2026-03-01 10-00",
    ]
    assert [moment(name) for name in ("20260301", "2026-13-01", "attempt", "ada", NAME)] == [
        None
    ] * 5
    assert (stamp("2026-03-01_10-00"), stamp("2026-03-01"), stamp("attempt 2")) == (
        "2026-03-01 10:00:00 UTC",
        None,
        None,
    )


@pytest.mark.parametrize(
    "layout",
    [
        "{student}/{name}/{when}/{file}",
        "{student}/{when}/{file}",
        "{when}/{student}/{file}",
        "down/{when}/{student}_7_assignsubmission_file_/{file}",
        "{when}/{student}_102_9002_{file}",
    ],
)
def test_several_hand_ins_are_found_in_order_whatever_the_layout(tmp_path, layout):
    for when, data in (("2026-03-08", b"2"), ("2026-03-01", b"1")):
        handed_in(
            tmp_path / "in", {layout.format(student="ada", name=NAME, when=when, file=FILE): data}
        )
        handed_in(
            tmp_path / "in",
            {
                layout.format(student="ada", name=NAME, when=when, file=FILE)
                .replace("ada", "bo")
                .replace("102", "103")
                .replace("_7_", "_8_"): b"same"
            },
        )
    assert found(tmp_path / "in") == {"ada": [b"1", b"2"], "bo": [b"same", b"same"]}


def test_who_handed_in_once_is_found_among_several_downloads(tmp_path):
    handed_in(
        tmp_path,
        {
            f"2026-03-01/ada/{FILE}": b"1",
            f"2026-03-08/bo/{FILE}": b"2",
            "2026-03-08/readme.txt": b"",
        },
    )
    assert found(tmp_path) == {"ada": [b"1"], "bo": [b"2"]}
    assert list(find_submissions(tmp_path, NAME).left_out) == ["2026-03-08/readme.txt"]


@pytest.mark.parametrize(
    "files",
    [
        {f"ada/{NAME}/{FILE}": b"", f"ada/{NAME}/2026-03-01/{FILE}": b""},
        {f"ada/{NAME}/one/{FILE}": b"", f"ada/{NAME}/two/{FILE}": b""},
        {f"ada/{NAME}/attempt 2/{FILE}": b"", f"ada/{NAME}/try-2/{FILE}": b""},
    ],
)
def test_where_no_name_says_the_order_a_human_is_asked(tmp_path, files):
    [one] = find_submissions(handed_in(tmp_path, files), NAME).submissions
    assert "not clear which one counts" in one.problem and one.earlier == ()


def test_folders_that_a_student_named_in_a_zip_are_no_hand_ins(tmp_path):
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        archive.writestr(f"2026-03-01/{FILE}", "1")
        archive.writestr(f"2026-03-08/{FILE}", "2")
    [one] = find_submissions(tmp_path, NAME).submissions
    assert "2 notebooks and it is not clear" in one.problem


@pytest.fixture
def root(stand_in, new_root, notebook_of, tmp_path):
    """A course root with a late policy and a due date; ada gets worse, bo's best is too late, cy's
    first cannot be read.
    """
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT + A_SHARE)
    main(["due", "90", "--date", "2026-03-02 00:00", "--course-root", str(root)])
    handed_in(
        tmp_path / "in",
        {
            f"ada/{NAME}/2026-03-01 10-00/{FILE}": notebook_of(RIGHT),
            f"ada/{NAME}/2026-03-01 12-00/{FILE}": notebook_of(NONE),
            f"bo/{NAME}/2026-03-01 10-00/{FILE}": notebook_of(HALF),
            f"bo/{NAME}/2026-03-04 12-00/{FILE}": notebook_of(RIGHT),
            f"cy/{NAME}/attempt 1/{FILE}": b"no notebook",
            f"cy/{NAME}/attempt 2/{FILE}": notebook_of(NONE),
            f"di/{NAME}/{FILE}": notebook_of(HALF),
        },
    )
    return root


def course(root, *words):
    return main([*map(str, words), "--assignment", "90", "--course-root", str(root)])


def totals(root):
    with (root / "report" / "grades.csv").open(newline="") as file:
        return {row["student"]: row["total"] for row in csv.DictReader(file)}


def in_gradebook(root):
    with open_gradebook(course_config(root)) as gradebook:
        return {one.student.id: one.score for one in gradebook.assignment_submissions(NAME)}


@pytest.mark.sandbox
def test_the_last_counts_unless_the_course_says_the_best_and_the_course_root_remembers(
    root, stand_in, tmp_path, capsys
):
    course(root, "grade", tmp_path / "in")
    assert totals(root) == {
        "ada": "0",
        "bo": "0.75",
        "cy": "0",
        "di": "1",
    }  # bo: 3 points, three days late
    assert rule(root) == "last" and "This page is about the one that counts, the last." in page(
        root, "ada"
    )
    capsys.readouterr()
    course(root, "grade", tmp_path / "in", "--attempts", "best")
    said = capsys.readouterr().out
    assert (
        "(1 unchanged)" in said and "1 of 3  ada" in said
    )  # di handed in once; the others' are judged to compare them
    assert totals(root) == {"ada": "3", "bo": "1", "cy": "0", "di": "1"} and in_gradebook(root) == {
        "ada": 3,
        "bo": 1,
        "cy": 0,
        "di": 1,
    }
    bo = load_verdict(root, NAME, "bo")
    assert [(row["earned"], row["taken_off"], row["counts"]) for row in bo.hand_ins] == [
        (1, 0, True),
        (3, 2.25, False),
    ]
    assert bo.timestamp == "2026-03-01 10:00:00 UTC" and "with most points from the checks" in page(
        root, "bo"
    )
    other = load_verdict(root / "hand-ins" / "2", NAME, "bo")
    assert other.results[0]["earned"] == 3 and [
        row["earned"] for row in load_verdict(root, NAME, "cy").hand_ins
    ] == [None, 0]
    capsys.readouterr()
    course(root, "grade", tmp_path / "in")
    assert (
        rule(root) == "best"
        and "(4 unchanged)" in capsys.readouterr().out
        and totals(root)["ada"] == "3"
    )
    course(root, "grade", tmp_path / "in", "--attempts", "latest")
    assert totals(root) == {"ada": "0", "bo": "0.75", "cy": "0", "di": "1"}


def page(root, student):
    return (root / "feedback" / student / NAME / f"{NAME}.html").read_text()


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "links",
    [
        "as they are",
        "absolute, as they were once made",
        "followed by the copy",
        "of another class that is still there",
    ],
)
def test_a_class_that_was_copied_elsewhere_goes_on_with_its_own_secret(
    root, tmp_path, notebook_of, links
):
    course(root, "grade", tmp_path / "in", "--attempts", "best")
    elsewhere = tmp_path / "elsewhere" / "class"
    shutil.copytree(root, elsewhere, symlinks=links != "followed by the copy")
    shared = [elsewhere / "hand-ins" / number / SECRET_FILE for number in "12"]
    if links != "followed by the copy":
        for one in shared if links != "as they are" else []:
            one.unlink()
            one.symlink_to(root / SECRET_FILE)
    if links == "of another class that is still there":
        (root / SECRET_FILE).write_bytes(b"another")
    else:
        shutil.rmtree(root)
    handed_in(tmp_path / "more", {f"di/{NAME}/{FILE}": notebook_of(RIGHT)})
    assert course(elsewhere, "grade", tmp_path / "more") == 0
    assert totals(elsewhere)["di"] == "3"
    secret = (elsewhere / SECRET_FILE).read_bytes()
    assert [one.readlink().is_absolute() for one in shared] == [False, False] and {
        one.read_bytes() for one in shared
    } == {secret}
    assert drawn_with(secret, "di", load_verdict(elsewhere / "hand-ins" / "2", NAME, "di").seed_ids)


@pytest.mark.sandbox
def test_an_extension_makes_another_hand_in_the_best(root, tmp_path):
    course(root, "grade", tmp_path / "in", "--attempts", "best")
    assert main(["due", "90", "--extend", "bo=3d", "--course-root", str(root)]) == 0
    course(root, "report")
    assert totals(root)["bo"] == "3" and in_gradebook(root)["bo"] == 3
    assert [row["counts"] for row in load_verdict(root, NAME, "bo").hand_ins] == [False, True]


@pytest.mark.sandbox
def test_hand_ins_that_are_collected_one_after_the_other_are_all_judged(
    root, stand_in, notebook_of, tmp_path, capsys
):
    for name, source in (("one", RIGHT), ("two", NONE), ("two", NONE)):
        handed_in(
            tmp_path / name,
            {
                f"Eva_7_assignsubmission_file_/{FILE}": notebook_of(source),
                f"Flo_8_assignsubmission_file_/{FILE}": notebook_of(HALF),
            },
        )
        course(root, "collect", tmp_path / name)
    assert {student: len(kept(root, stand_in, student)) for student in ("Eva", "Flo")} == {
        "Eva": 2,
        "Flo": 0,
    }
    course(root, "grade", "--attempts", "best")
    assert totals(root) == {"Eva": "3", "Flo": "1"}
    course(root, "grade")
    assert totals(root) == {"Eva": "3", "Flo": "1"} and len(kept(root, stand_in, "Eva")) == 2
    handed_in(tmp_path / "three", {f"Flo_8_assignsubmission_file_/{FILE}": notebook_of(RIGHT)})
    course(root, "grade", tmp_path / "three")
    capsys.readouterr()
    course(root, "report", "--json")
    said = {
        one["student"]: [row["counts"] for row in one["hand_ins"]]
        for one in json.loads(capsys.readouterr().out)["students"]
    }
    assert said == {"Eva": [True, False], "Flo": [False, True]}


@pytest.mark.sandbox
def test_an_earlier_hand_in_that_comes_again_without_a_time_is_told_from_a_new_one_in_words(
    stand_in, new_root, notebook_of, tmp_path, capsys
):
    root = new_root(tmp_path / "root")
    for place, source in (("first", RIGHT), ("second", HALF), ("again", RIGHT)):
        course(root, "grade", handed_in(tmp_path / place, {f"ada/{FILE}": notebook_of(source)}))
    said = capsys.readouterr().out
    assert (
        totals(root)["ada"] == "1"
        and said.count(
            "note       ada: What was handed over now is an earlier hand-in, and a later one"
            " counts."
        )
        == 1
    )


@pytest.mark.sandbox
def test_a_regrade_judges_every_hand_in_by_the_new_checks(
    root, stand_in, tmp_path, monkeypatch, capsys
):
    course(root, "grade", tmp_path / "in", "--attempts", "best")
    monkeypatch.setitem(stand_in.__dict__, "checks_hash", "other")
    assert main(["regrade", "90", "--course-root", str(root)]) == 0
    assert load_verdict(root / "hand-ins" / "1", NAME, "ada").checks != "other"
    assert main(["regrade", "90", "--apply", "--course-root", str(root)]) == 0
    assert {load_verdict(root / "hand-ins" / number, NAME, "ada").checks for number in "12"} == {
        "other"
    }
    assert totals(root)["ada"] == "3" and load_verdict(root, NAME, "ada").hand_ins[0]["counts"]


@pytest.mark.sandbox
def test_a_regrade_reads_again_a_notebook_that_was_refused_and_names_one_of_which_nothing_was_kept(
    root, stand_in, tmp_path, monkeypatch, capsys
):
    foreign = {
        "nbformat": 4,
        "metadata": {},
        "cells": [
            {"cell_type": "code", "source": "x", "metadata": {"nbgrader": {"grade_id": "other"}}}
        ],
    }
    handed_in(
        tmp_path / "two",
        {f"ed/{NAME}/{FILE}": json.dumps(foreign), f"flo/{NAME}/notes.txt": b"no notebook"},
    )
    course(root, "grade", tmp_path / "two")
    monkeypatch.setitem(stand_in.__dict__, "checks_hash", "other")
    capsys.readouterr()
    assert main(["regrade", "90", "--course-root", str(root)]) == 1
    said = capsys.readouterr().out
    assert (
        "same       1 come out as before: ed" in said
        and "cannot     flo: it could not be read then" in said
    )
