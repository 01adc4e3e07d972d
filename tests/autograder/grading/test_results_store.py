"""results.sqlite: one row for each attempt, a damaged file named, earlier records taken over."""

import json
import multiprocessing
import os
import re
import sqlite3
from contextlib import closing

import pytest

from autograder.common.errors import CourseError, MachineError
from autograder.grading import results_store
from autograder.grading.grade import Verdict
from autograder.grading.results_store import (
    add_event,
    all_verdicts,
    events,
    held_open,
    load_verdict,
    remove_events,
    remove_result,
    remove_student,
    save_verdict,
)
from tests.autograder.grading import stored

NAME = "90-stand-in"


def result(student="ada", submission="s"):
    return Verdict(student, NAME, submission, "c", name="Ada \u2603", own={"double": "x = 'é'"})


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_folder_without_results_is_only_read(tmp_path):
    assert load_verdict(tmp_path, NAME, "ada") is None and all_verdicts(tmp_path, NAME) == {}
    assert events(tmp_path, NAME, "any") == [] and list(tmp_path.iterdir()) == []


def test_a_result_comes_back_as_it_was_and_a_second_one_replaces_it(tmp_path):
    save_verdict(tmp_path, result())
    save_verdict(tmp_path, result(submission="later"))
    assert all_verdicts(tmp_path, NAME) == {"ada": result(submission="later")}


def test_attempts_are_in_the_file_of_the_class_and_none_is_the_result_that_counts(tmp_path):
    save_verdict(tmp_path, result())
    save_verdict(tmp_path / "hand-ins" / "2", result(submission="second"))
    assert load_verdict(tmp_path, NAME, "ada").submission == "s"
    assert load_verdict(tmp_path / "hand-ins" / "2", NAME, "ada").submission == "second"
    assert load_verdict(tmp_path / "hand-ins" / "1", NAME, "ada") is None
    assert not (tmp_path / "hand-ins").exists()


def test_only_its_owner_can_read_the_file_and_it_is_whole_when_nobody_has_it_open(tmp_path):
    save_verdict(tmp_path, result())
    assert (tmp_path / "results.sqlite").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["results.sqlite"]


def test_it_writes_ahead_so_that_a_report_can_be_read_while_a_class_is_graded(tmp_path):
    save_verdict(tmp_path, result())
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        other.execute("BEGIN IMMEDIATE")
        assert load_verdict(tmp_path, NAME, "ada") == result()


def test_a_file_that_something_else_has_locked_is_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(results_store, "LOCK_SECONDS", 0.1)
    save_verdict(tmp_path, result())
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MachineError, match=r"results\.sqlite: .*locked\. Close what else"):
            save_verdict(tmp_path, result())


@pytest.mark.parametrize("data", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_named_with_the_command_that_grades_the_copies_again(tmp_path, data):
    (tmp_path / "results.sqlite").write_bytes(data)
    words = re.escape(f"{tmp_path}/results.sqlite") + r" cannot be read \((.|\n)*`course grade --as"
    for call in (
        lambda: load_verdict(tmp_path, NAME, "ada"),
        lambda: save_verdict(tmp_path, result()),
    ):
        with pytest.raises(CourseError, match=words):
            call()


def test_an_empty_file_is_what_a_kill_leaves_and_the_next_run_writes_into_it(tmp_path):
    (tmp_path / "results.sqlite").touch()
    assert all_verdicts(tmp_path, NAME) == {}
    save_verdict(tmp_path, result())
    assert all_verdicts(tmp_path, NAME) == {"ada": result()}


def test_a_file_of_a_later_release_is_refused(tmp_path):
    save_verdict(tmp_path, result())
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(CourseError, match=r"results\.sqlite has schema 99, and this release reads"):
        load_verdict(tmp_path, NAME, "ada")


def test_records_of_an_earlier_release_are_taken_over_once_and_kept_aside(tmp_path):
    text = json.dumps(result().to_json())
    put(tmp_path / "verdicts" / NAME / "ada.json", text)
    put(tmp_path / "verdicts" / NAME / "bo.json", "{")
    put(tmp_path / "verdicts" / NAME / ".cy.json.new", text)
    put(tmp_path / "verdicts" / f"{NAME}.collected.json", "{}")
    put(tmp_path / "hand-ins" / "1" / "verdicts" / NAME / "ada.json", text)
    assert all_verdicts(tmp_path, NAME) == {"ada": result(), "bo": None}
    assert load_verdict(tmp_path / "hand-ins" / "1", NAME, "ada") == result()
    assert (tmp_path / "verdicts" / "earlier-release" / NAME / "bo.json").read_text() == "{"
    assert (tmp_path / "verdicts" / f"{NAME}.collected.json").exists()
    remove_result(tmp_path, NAME, "ada")
    assert all_verdicts(tmp_path, NAME) == {"bo": None}


def test_a_kill_while_records_are_taken_over_loses_none(tmp_path, monkeypatch):
    put(tmp_path / "verdicts" / NAME / "ada.json", json.dumps(result().to_json()))

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", killed)
        all_verdicts(tmp_path, NAME)
    assert all_verdicts(tmp_path, NAME) == {"ada": result()}


def test_what_is_removed_as_unreadable_is_kept_among_the_events(tmp_path):
    save_verdict(tmp_path, result())
    remove_result(tmp_path, NAME, "ada", keep_as="unreadable")
    assert stored.records(tmp_path, NAME) == {}
    assert events(tmp_path, NAME, "unreadable") == [("ada", result().to_json())]


def test_events_are_kept_in_order_until_they_are_removed(tmp_path):
    for student in ("bo", "ada"):
        add_event(tmp_path, NAME, student, "one", {"points": 1})
    add_event(tmp_path, NAME, "cy", "other", None)
    assert events(tmp_path, NAME, "one") == [("bo", {"points": 1}), ("ada", {"points": 1})]
    remove_events(tmp_path, NAME, "one")
    assert events(tmp_path, NAME, "one") == [] and events(tmp_path, NAME, "other") == [("cy", None)]


def test_a_student_is_forgotten_with_all_attempts_and_nobody_else_is(tmp_path):
    for student in ("ada", "bo"):
        save_verdict(tmp_path, result(student))
        save_verdict(tmp_path / "hand-ins" / "1", result(student))
    add_event(tmp_path, NAME, "ada", "one", 1)
    assert remove_student(tmp_path, NAME, "ada") == 2
    assert set(stored.records(tmp_path, NAME)) == {"bo"} == set(stored.records(tmp_path, NAME, 1))
    assert events(tmp_path, NAME, "one") == []


def _save_many(root, first):
    for number in range(first, first + 20):
        save_verdict(root, result(f"student-{number}"))


def test_two_processes_that_write_at_the_same_time_lose_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=_save_many, args=(tmp_path, first)) for first in (0, 20)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    assert len(stored.records(tmp_path, NAME)) == 40


def test_results_are_written_while_one_connection_is_held_open(tmp_path):
    with held_open(tmp_path):
        save_verdict(tmp_path, result())
        assert load_verdict(tmp_path, NAME, "ada") == result()
    assert [path.name for path in tmp_path.iterdir()] == ["results.sqlite"]
