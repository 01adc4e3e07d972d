"""`viva("01.ppmi")` in a notebook: questions on the reader's own cell, and what was right."""

import pytest

from autograder.authoring.catalogue import EXERCISES
from autograder.authoring.solution_sources import reference_sources
from autograder.checks.results import ExerciseResult
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from autograder.notebook_progress import offer
from autograder.viva.practice import viva
from course.cli import main


@pytest.fixture(scope="module")
def notebook():
    """The names of a notebook in which one cell was run."""
    source = reference_sources(load_assignment("01"))["ppmi"]
    names = {"__name__": "__main__", "viva": viva, "In": ["", source, "check(ppmi)"]}
    exec("import torch\nfrom torch import Tensor\nfrom jaxtyping import Float, Num", names)
    exec(source, names)
    return names


def said(notebook, capsys, call):
    exec(call, notebook)
    return capsys.readouterr().out


def test_three_questions_with_the_code_and_no_answers(notebook, capsys):
    before = set(notebook)
    out = said(notebook, capsys, 'viva("01.ppmi")')
    assert "  1  def ppmi(" in out and "The call is ppmi(counts=" in out
    assert out.count("   a) ") == 3 and 'viva("01.ppmi", "abc")' in out
    assert "In this call" not in out
    assert set(notebook) == before, "the recorder's names stay out of the notebook"


def test_wrong_answers_are_explained_and_lead_to_the_page(notebook, capsys):
    made = [said(notebook, capsys, f'viva("01.ppmi", "{letter * 3}")') for letter in "abcd"]
    assert sum(one.count("right. ") for one in made) == 3, "each question has one right letter"
    assert all("Read again: " in one for one in made if one.count("right. ") < 3)
    right = ["" for _ in range(3)]
    for letter, one in zip("abcd", made):
        for number in range(3):
            if f"{number + 1}. right. " in one:
                right[number] = letter
    out = said(notebook, capsys, f'viva("01.ppmi", "{"".join(right)}")')
    assert out.count("right. ") == 3 and "Read again" not in out


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ('viva("01.nothing")', "No exercise '01.nothing' has a function"),
        ('viva("01.analogy")', "No cell that was run in this notebook defines `analogy`"),
        ('viva("01.ppmi", "ab")', "Give 3 letters"),
    ],
)
def test_what_cannot_be_asked_is_explained(notebook, capsys, call, sentence):
    assert sentence in said(notebook, capsys, call)


def test_it_is_offered_after_full_points_only():
    assert 'viva("01.ppmi")' in offer(ExerciseResult("01.ppmi", 4.0, 4.0))
    assert offer(ExerciseResult("01.ppmi", 4.0, 3.0)) == ""


def test_without_a_name_the_command_takes_the_notebook_in_exercises(tmp_path, capsys, monkeypatch):
    def named(path, assignment):
        raise CourseError(f"taken: {path}")

    monkeypatch.setattr("autograder.common.course_files.MYWORK", tmp_path)
    monkeypatch.setattr("course.own_notebook.taken", named)
    assert main(["viva", "04"]) == 2
    name = load_assignment("04").name
    assert f"taken: {EXERCISES / name / name}.ipynb" in capsys.readouterr().err
