"""The file of a student's hunts: what is counted, and what becomes of a damaged one."""

import json

import pytest

from autograder.common.errors import CourseError
from autograder.hunt.statistics import FILE, Entry, Hunts, summary


def answered(folder, *, seed=1, attempts=1, ended="", label="You forget the mask."):
    return Hunts(folder).note(Entry("04.masks", "abc", seed, label, attempts, ended))


def test_attempts_add_up_until_a_hunt_is_found_and_no_further(tmp_path):
    answered(tmp_path)
    assert answered(tmp_path, ended="found").attempts == 2
    assert answered(tmp_path).attempts == 2
    assert answered(tmp_path, seed=2).attempts == 1
    assert [one.ended for one in Hunts(tmp_path).entries] == ["found", ""]


def test_the_median_is_of_found_hunts_and_by_misconception(tmp_path):
    for seed, (attempts, label) in enumerate([(1, "A"), (2, "A"), (9, "A"), (4, "B")]):
        answered(tmp_path, seed=seed, attempts=attempts, ended="found", label=label)
    answered(tmp_path, seed=9, attempts=50, ended="given up", label="B")
    assert summary(Hunts(tmp_path).entries) == [
        "all        4 of 5 found, median of attempts 3",
        "3 of 3 found, median of attempts 2: A",
        "1 of 2 found, median of attempts 4: B",
    ]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"version": 1}', '{"version": 1, "hunts": [{"seed": "1"}]}', "[" * 9000, "\0"],
)
def test_a_damaged_file_is_moved_aside_with_a_message(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    hunts = Hunts(tmp_path)
    assert "is damaged" in hunts.message and hunts.entries == []
    assert (tmp_path / "bug-hunts.damaged-1.json").read_text() == text
    answered(tmp_path)
    assert len(Hunts(tmp_path).entries) == 1


def test_a_file_of_a_newer_course_is_left_as_it_is(tmp_path):
    data = json.dumps({"version": 2, "hunts": []})
    (tmp_path / FILE).write_text(data)
    with pytest.raises(CourseError, match="version 2"):
        Hunts(tmp_path)
    assert (tmp_path / FILE).read_text() == data


def test_an_answer_in_another_terminal_is_kept(tmp_path):
    open_for_long = Hunts(tmp_path)
    answered(tmp_path, seed=2, ended="found")
    open_for_long.note(Entry("04.masks", "abc", 1, "You forget the mask.", 1, "found"))
    assert [one.seed for one in Hunts(tmp_path).entries] == [2, 1]
