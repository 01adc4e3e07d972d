"""Item statistics of exercises, on classes of a few students worked by hand."""

import pytest

from autograder.classroom.reports.exercise_statistics import exercise_statistics
from autograder.grading.grade import Verdict


def verdict(student: str, *earned: float) -> Verdict:
    """A student's results in exercises a, b, ... of four points each."""
    results = [
        {"exercise": f"90.{name}", "points": 4.0, "earned": points, "stages": []}
        for name, points in zip("abc", earned)
    ]
    return Verdict(student, "90-stand-in", "", "", seconds=1.0, results=results)


def test_difficulty_complete_and_discrimination_by_hand():
    found = exercise_statistics([verdict("ada", 4, 4), verdict("bo", 2, 3), verdict("cy", 0, 2)])
    assert [one["exercise"] for one in found] == ["90.a", "90.b"]
    first, second = found
    assert (first["mean"], first["complete"], first["students"]) == (0.5, pytest.approx(1 / 3), 3)
    assert second["mean"] == 0.75
    assert first["discrimination"] == second["discrimination"] == pytest.approx(1)


def test_an_exercise_that_the_better_ones_fail_has_a_negative_discrimination():
    class_ = [verdict("ada", 0, 4, 4), verdict("bo", 4, 1, 0), verdict("cy", 2, 2, 3)]
    assert exercise_statistics(class_)[0]["discrimination"] < -0.9


def test_where_nothing_varies_there_is_no_discrimination():
    found = exercise_statistics([verdict("ada", 4, 2), verdict("bo", 4, 3)])
    assert [one["discrimination"] for one in found] == [None, None]
    assert exercise_statistics([]) == []
