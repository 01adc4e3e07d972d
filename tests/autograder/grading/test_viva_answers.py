"""What a class answered: the table, the gradebook, and who is at chance level."""

import csv

import pytest
from nbgrader.api import Gradebook

from autograder.classroom.gradebook.course import CONFIG_FILE, CONFIG_TEXT, course_config
from autograder.common.errors import CourseError
from autograder.grading.grade import Verdict
from autograder.viva.ask import Asked
from autograder.viva.class_answers import (
    REASON_TO_TALK,
    Score,
    at_least,
    record,
    report,
    scores,
    write_table,
)
from autograder.viva.questions import Question


def page(right: str) -> list[Asked]:
    """A page whose right letters are these."""
    made = [
        Question("value", 1, f"{number}?", ("1", "2", "3", "4"), "abcd".index(letter), "", 1)
        for number, letter in enumerate(right)
    ]
    return [Asked("01.ppmi", "ppmi", "", questions=tuple(made))]


def of_class(*rights: str) -> list:
    names = ("ada", "bo", "cy")
    return [(Verdict(name, "01-x", "", ""), page(right)) for name, right in zip(names, rights)]


def typed(folder, **answers):
    """Type letters into the table of this folder."""
    path = folder / "answers.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"answers": answers.get(row["student"], row["answers"])})


def test_the_tail_of_the_binomial_is_exact():
    assert at_least(0, 5) == 1
    assert at_least(3, 3) == 1 / 64
    assert at_least(2, 3) == pytest.approx(10 / 64)


@pytest.mark.parametrize(
    ("right", "asked", "at_chance"),
    [(7, 15, True), (8, 15, False), (0, 15, True), (0, 5, False), (4, 6, False), (3, 6, True)],
)
def test_chance_level_is_named_at_the_threshold_and_with_enough_questions(right, asked, at_chance):
    assert Score("a", "A", right, asked).at_chance is at_chance


def test_answers_are_counted_question_by_question(tmp_path):
    write_table(tmp_path, of_class("abcdab", "ddddaa"))
    typed(tmp_path, ada="ABC-ab")
    assert scores(tmp_path) == [Score("ada", "ada", 5, 6)]


def test_letters_that_were_typed_stay_and_old_sheets_are_refused(tmp_path):
    write_table(tmp_path, of_class("abc", "ddd"))
    typed(tmp_path, ada="abd")
    write_table(tmp_path, of_class("abc", "ddd"))
    assert scores(tmp_path) == [Score("ada", "ada", 2, 3)]
    with pytest.raises(CourseError, match="ada belong to other questions"):
        write_table(tmp_path, of_class("abd", "ddd"))


@pytest.mark.parametrize("answers", ["ab", "abce", "ab?"])
def test_answers_that_cannot_be_read_name_the_student_and_the_fix(tmp_path, answers):
    write_table(tmp_path, of_class("abc"))
    typed(tmp_path, ada=answers)
    with pytest.raises(CourseError, match="'ada' are .* give 3 letters of abcd"):
        scores(tmp_path)


def test_points_are_an_assignment_of_their_own_and_are_replaced(new_root, tmp_path):
    root = new_root(tmp_path / "root")
    (root / CONFIG_FILE).write_text(CONFIG_TEXT)
    config = course_config(root.resolve())
    assert record(config, "01", [Score("ada", "Ada", 3, 6), Score("bo", "Bo", 9, 12)]) == "viva-01"
    record(config, "01", [Score("ada", "Ada", 6, 6)])
    with Gradebook(config.CourseDirectory.db_url, config.CourseDirectory.course_id) as gradebook:
        points = {one.student_id: one.score for one in gradebook.assignment_submissions("viva-01")}
        assert points == {"ada": 10, "bo": 7.5}
        assert gradebook.find_assignment("viva-01").max_score == 10


def test_the_report_names_who_is_at_chance_and_that_it_is_a_reason_to_talk():
    lines = report([Score("a", "Ada", 2, 12), Score("b", "Bo", 11, 12)])
    named = [line for line in lines if line.startswith("  ")]
    assert len(named) == 1 and "Ada: 2 of 12 right, p = 0.84" in named[0]
    assert lines[-1] == REASON_TO_TALK and "never a verdict" in REASON_TO_TALK
    assert "p > 0.05" in " ".join(lines)
    assert REASON_TO_TALK not in report([Score("b", "Bo", 11, 12)])
