"""The frame on chapter 2: lists of texts, an exercise of two functions, a cell that cannot be read,
mistakes handed in whole.
"""

import pytest

from autograder.authoring.solution_sources import reference_sources, with_function
from autograder.authoring.student_notebook import Notebook
from autograder.checks.mistakes.registry import mistakes_of
from autograder.classroom.gradebook.grades import HandGrades
from autograder.classroom.reports.feedback import feedback_page
from autograder.grading.assignment import load_assignment
from autograder.grading.executors.local import grade_all
from autograder.grading.intake.discovery import find_submissions

pytestmark = pytest.mark.sandbox
BROKEN = "def wordpiece(word, vocabulary:\n    return []"


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The assignment, and the verdict of one notebook that is right here and wrong there."""
    folder, two = tmp_path_factory.mktemp("two"), load_assignment("02")
    sources, notebook = (
        reference_sources(two),
        Notebook(two).solve("fill_pair", "bpe_split", "byt5_ids"),
    )
    for short, name in (("bpe_split", "latest-first"), ("byt5_ids", "no-plus-one")):
        wrong = next(one for one in mistakes_of(f"02.{short}") if one.name == name)
        notebook.write(
            short, with_function(sources[short], wrong.function, wrong.replaces or short)
        )
    target = folder / "submitted" / "ada" / two.name / f"{two.name}.ipynb"
    target.parent.mkdir(parents=True)
    target.write_bytes(notebook.write("wordpiece", BROKEN).data())
    (folder / "course").mkdir()
    [submission] = find_submissions(folder / "submitted", two.name).submissions
    return two, grade_all([submission], two, folder / "course").verdicts["ada"]


def test_each_exercise_of_another_chapter_gets_its_points_and_the_right_sentence(judged):
    two, verdict = judged
    earned = {result["exercise"].split(".")[1]: result["earned"] for result in verdict.results}
    assert {short: points for short, points in earned.items() if points} == {
        "fill_pair": 5,
        "bpe_split": 2,
        "byt5_ids": 2,
    }
    page = feedback_page(two, verdict, HandGrades())
    assert (
        "You merge the pair of highest rank." in page
        and "You multiply the code point itself." in page
    )


def test_a_cell_that_cannot_be_read_is_told_what_python_says_and_where(judged):
    page = feedback_page(*judged, HandGrades())
    section = page[page.index('id="wordpiece"') : page.index('id="first_merge"')]
    assert "SyntaxError: " in section and "was never closed" in section and "line 1" in section
    assert section.count(">did not run<") == 4 and "not written yet" not in section
    assert "not written yet" in page[page.index('id="first_merge"') :]


def test_a_mistake_is_handed_in_without_the_registry_that_it_comes_from():
    for id in load_assignment("02").exercises:
        for one in mistakes_of(id):
            assert "registry" not in with_function("", one.function, "f"), (id, one.name)
