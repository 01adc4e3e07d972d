"""A written answer that is not in its own cell: the machine gives no zero for it, and no page says
what nobody has compared.
"""

import csv
import json

import pytest
from nbgrader.api import Gradebook

from autograder.authoring.student_notebook import ANSWER, Notebook
from autograder.classroom.grade_class import grade_class
from autograder.classroom.gradebook.course import course_config
from autograder.classroom.reports.feedback import feedback_path
from autograder.grading.assignment import load_assignment
from autograder.grading.notebook.parse import MAX_NOTEBOOK_BYTES
from autograder.grading.notebook.review_kinds import ReviewKind
from course.cli import main

pytestmark = pytest.mark.sandbox
NAME = "01-static-embeddings"


def in_a_new_cell(notebook, stub):
    notebook.write("bank", stub).add(ANSWER, before="bank", kind="markdown")


def without_metadata(notebook, stub):
    for cell in notebook.nb.cells:
        cell.metadata = {}


def of_an_older_release(notebook, stub):
    del notebook.nb.cells[notebook.position("ppmi")]
    notebook.cell("window_counts").outputs = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"image/png": "A" * (MAX_NOTEBOOK_BYTES + 1)},
        }
    ]


def nowhere(notebook, stub):
    notebook.write("bank", stub)


@pytest.fixture(scope="module")
def handed(new_root, tmp_path_factory):
    """The root of a class of four, who all have the functions right that are there."""
    folder, assignment = tmp_path_factory.mktemp("answers"), load_assignment("01")
    stub = Notebook(assignment).cell("bank").source
    for change in (in_a_new_cell, without_metadata, of_an_older_release, nowhere):
        notebook = Notebook(assignment).solve()
        change(notebook, stub)
        path = folder / "in" / change.__name__ / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(json.dumps(notebook.nb).encode())
    root = new_root(folder / "root")
    grade_class(folder / "in", "01", root, root / "report")
    return root


def in_the_gradebook(root, student):
    """What nbgrader has of the answer and of all comments."""
    with Gradebook(course_config(root).CourseDirectory.db_url) as gradebook:
        rows = gradebook.find_submission_notebook(NAME, NAME, student)
        (grade,) = [one for one in rows.grades if one.name == "bank"]
        return (
            grade.auto_score,
            grade.needs_manual_grade,
            {one.name for one in rows.comments if one.auto_comment},
        )


def row_of(root, student):
    rows = csv.DictReader((root / "report" / "grades.csv").open())
    return next(row for row in rows if row["student"] == student)


def page_of(root, student):
    return feedback_path(root, NAME, student).read_text()


@pytest.mark.parametrize(
    ("student", "said"),
    [
        (
            "in_a_new_cell",
            (
                "The cell of this answer is as it was given, and text was added elsewhere in the"
                " notebook"
            ),
        ),
        (
            "without_metadata",
            (
                "The cell of this answer is not in the notebook, and text was added elsewhere in"
                " the notebook"
            ),
        ),
    ],
)
def test_an_answer_that_stands_elsewhere_waits_for_a_person_everywhere(handed, student, said):
    assert in_the_gradebook(handed, student) == (None, True, set())
    row = row_of(handed, student)
    assert row["01.bank"] == "" and row["total"] == "45" and said in row["needs_human"]
    page = page_of(handed, student)
    assert said in page and "There is no answer" not in page
    assert "You left this cell as it was given." not in page
    assert "<strong>Found in another cell: cell" in page and ANSWER[:60] in page


@pytest.mark.parametrize("student", ["in_a_new_cell", "without_metadata"])
def test_the_text_that_was_found_stands_where_it_is_graded(handed, student):
    autograded = handed / "autograded" / student / NAME / f"{NAME}.ipynb"
    [cell] = [one for one in json.loads(autograded.read_text())["cells"] if one["id"] == "bank"]
    shown, kept = "".join(cell["source"]), handed / "submitted" / student / NAME / f"{NAME}.ipynb"
    assert shown.startswith("**Found in another cell: cell ") and ANSWER in shown
    assert kept.read_bytes() == (handed.parent / "in" / student / f"{NAME}.ipynb").read_bytes()


def test_an_exercise_without_a_cell_waits_and_a_large_plot_holds_nothing_back(handed):
    row = row_of(handed, "of_an_older_release")
    assert (
        row["01.ppmi"] == ""
        and row["total"] == "40"
        and f"01.ppmi: {ReviewKind.MISSING.value}" in row["needs_human"]
    )
    with Gradebook(course_config(handed).CourseDirectory.db_url) as gradebook:
        grade = gradebook.find_grade("ppmi-check", NAME, NAME, "of_an_older_release")
        assert (grade.auto_score, grade.needs_manual_grade) == (None, True)
    page = page_of(handed, "of_an_older_release")
    assert "The cell of this exercise is not in the notebook: it was deleted, or" in page


def test_an_answer_that_is_nowhere_is_a_zero_and_the_page_says_so(handed):
    assert in_the_gradebook(handed, "nowhere") == (0, False, {"bank"})
    assert (
        row_of(handed, "nowhere")["01.bank"] == "0"
        and row_of(handed, "nowhere")["needs_human"] == ""
    )
    page = page_of(handed, "nowhere")
    assert (
        page.count("There is no answer, so there are no points.") == 1
        and page.count("You left this cell as it was given.") == 1
    )


def test_of_work_that_earned_points_elsewhere_it_is_not_said_that_the_cell_was_left(handed):
    assert (
        page_of(handed, "without_metadata").count(
            "Nothing of yours was found in this exercise's own cell."
        )
        == 12
    )


def test_a_dry_run_tells_the_student_before_it_is_handed_in(handed, capsys):
    path = handed.parent / "in" / "in_a_new_cell" / f"{NAME}.ipynb"
    assert main(["submit", str(path), "--dry-run"]) == 1
    assert (
        "waits      01.bank: The cell of this answer is as it was given" in capsys.readouterr().out
    )
