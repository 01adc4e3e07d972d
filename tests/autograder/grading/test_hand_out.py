"""A fault drawn for each student, from the roster to the gradebook: each is graded on the fault
that they were given.
"""

import json
from pathlib import Path

import nbformat
import pytest

from autograder.authoring import catalogue
from autograder.authoring.notebooks import build
from autograder.checks import exercise as declared
from autograder.checks.kinds.seeded_fault import Faults
from autograder.checks.protocol import exercise, expect
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.reports.feedback import feedback_path
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import course_secret
from course.cli import main

pytestmark = pytest.mark.sandbox
NAME, ID = "92-drawn", "92.found"
MEAN = (
    "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n    return"
    " total / len(values)"
)
META = (
    '{"grade": %s, "grade_id": "%s", "locked": %s, "schema_version": 3, "solution": %s, "task":'
    " false%s}"
)
CELLS = [
    ("[markdown] ", ("false", "title", "true", "false", ""), "# # Drawn"),
    ("[markdown] ", ("false", "found-card", "true", "false", ""), "# ## 1. Find the wrong line"),
    ("", ("false", "setup-found", "true", "false", ""), "{{faults}}"),
    (
        "",
        ("false", "found", "false", "true", ""),
        "def wrong_line():\n    ### BEGIN SOLUTION\n    return 0\n    ### END SOLUTION",
    ),
    ("", ("true", "found-check", "true", "false", ', "points": 2'), "wrong_line"),
]


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """The exercise, in an assignment of its own that is built as any other."""
    found = exercise(
        ID,
        function="wrong_line",
        also=["mean"],
        kind="drawn-fault",
        points=2,
        faults=Faults(
            MEAN,
            {
                "start": ("total = 0", "total = 1"),
                "sign": ("total += value", "total -= value"),
                "length": ("len(values)", "2"),
            },
        ),
    )

    @found.stage("line", points=1)
    def test_line(student, fault):
        expect(student.wrong_line()).equals(fault.line, cause="Another line is wrong.")

    @found.stage("repaired", points=1)
    def test_repaired(student):
        expect(student.mean([1.0, 2.0, 6.0])).equals(3.0, cause="It is no mean yet.")

    for folder in ("solutions", "exercises"):
        (tmp_path / folder).mkdir()
        monkeypatch.setattr(catalogue, folder.upper(), tmp_path / folder)
    (tmp_path / "solutions" / f"{NAME}.py").write_text(
        "\n\n".join(f"# %% {kind}nbgrader={META % meta}\n{text}" for kind, meta, text in CELLS)
        + "\n"
    )
    monkeypatch.setattr("autograder.sandbox.api.pool.WARM", ())
    build(catalogue.assignment("92"), tmp_path / "build", tmp_path / "exercises")
    yield found
    del declared.EXERCISES[ID]


def test_students_get_their_own_fault_and_are_graded_on_it_in_nbgraders_gradebook(
    drawn, new_root, tmp_path, monkeypatch, capsys
):
    root, out = new_root(tmp_path / "class"), tmp_path / "out"
    (root / SECRET_FILE).write_bytes(
        b"a secret of the tests, fixed once"
    )  # chance may draw one fault for all
    (root / SECRET_FILE).chmod(0o600)
    students = ["Anna Müller", "bo", "cy", "dee", "eve"]
    (tmp_path / "roster.txt").write_text("\n".join(students) + "\n", encoding="utf-8")
    hand_out = [
        "author",
        "hand-out",
        "92",
        str(tmp_path / "roster.txt"),
        "--course-root",
        str(root),
        "--to",
        str(out),
    ]
    assert main(hand_out) == 0 and "5 notebooks" in capsys.readouterr().out
    faults = {one: drawn.faults.draw(ID, one, course_secret(root)) for one in students}
    assert len(set(faults.values())) > 1
    for student in students:
        notebook = nbformat.read(out / student / NAME / f"{NAME}.ipynb", as_version=4)
        given = next(
            cell for cell in notebook.cells if cell.metadata.nbgrader.grade_id == "setup-found"
        )
        assert faults[student].wrong in given.source and faults[student].right not in given.source
        answer = next(cell for cell in notebook.cells if cell.metadata.nbgrader.grade_id == "found")
        answer.source = f"def wrong_line():\n    return {faults[student].line}\n\n{MEAN}"
        nbformat.write(notebook, out / student / NAME / f"{NAME}.ipynb")
    copied = next(
        one for one in students[1:] if faults[one] != faults["eve"]
    )  # eve hands in a neighbour's notebook
    stolen = (out / copied / NAME / f"{NAME}.ipynb").read_bytes()
    (out / "eve" / NAME / f"{NAME}.ipynb").write_bytes(stolen)
    assert (
        main(["grade", str(out), "--assignment", "92", "--course-root", str(root)]) == 1
    )  # eve waits
    with open_gradebook(course_config(root)) as gradebook:
        scores = {
            student: gradebook.find_grade("found-check", NAME, NAME, student)
            for student in students
        }
        held = {
            student: (grade.auto_score, grade.needs_manual_grade)
            for student, grade in scores.items()
        }
    assert held == {
        "Anna Müller": (2, False),
        "bo": (2, False),
        "cy": (2, False),
        "dee": (2, False),
        "eve": (None, True),
    }
    assert "drawn for somebody else" in feedback_path(root, NAME, "eve").read_text()
    autograded = json.loads(
        Path(root / "autograded" / "Anna Müller" / NAME / f"{NAME}.ipynb").read_text()
    )
    assert faults["Anna Müller"].wrong in "".join(
        "".join(cell["source"]) for cell in autograded["cells"]
    )
