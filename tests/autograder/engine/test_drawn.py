"""A fault drawn for each student: which one it is, at home and in grading, whatever the notebook
that came back says.
"""

import json
from types import SimpleNamespace

import nbformat
import pytest

from autograder.checks.kinds.seeded_fault import Faults, fault_of
from autograder.checks.protocol import EXERCISES, LocalStudent, exercise, expect, run_exercise
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment, course_secret
from autograder.grading.grade import grade_submission
from autograder.grading.intake.discovery import Submission
from autograder.release.personal_notebooks import hand_out
from autograder.sandbox import Limits, Pool

SOURCE = (
    "\ndef mean(values):\n    total = 0\n    for value in values:\n        total += value\n   "
    " return total / len(values)\n"
)
CHANGES = {
    "start": ("total = 0", "total = 1"),
    "sign": ("total += value", "total -= value"),
    "length": ("len(values)", "2"),
}
IDS = [f"student{number}" for number in range(40)]


@pytest.fixture
def found(fresh_registries):
    """`wrong_line()` finds the line of the fault; the repaired `mean` is right."""
    made = exercise(
        "92.found",
        function="wrong_line",
        also=["mean"],
        kind="drawn-fault",
        points=2,
        faults=Faults(SOURCE, CHANGES),
    )

    @made.stage("line", points=1)
    def test_line(student, fault):
        expect(student.wrong_line()).equals(fault.line, cause="Another line is wrong.")

    @made.stage("repaired", points=1)
    def test_repaired(student):
        expect(student.mean([1.0, 2.0, 6.0])).equals(3.0, cause="It is no mean yet.")

    return made


def marked(source, grade_id, **marks):
    meta = {
        "schema_version": 3,
        "grade": False,
        "solution": False,
        "locked": True,
        "task": False,
    } | marks
    return nbformat.v4.new_code_cell(
        source, id=grade_id, metadata={"nbgrader": meta | {"grade_id": grade_id}}
    )


@pytest.fixture
def assignment(found):
    """An assignment with that exercise and nothing else."""
    made = Assignment.__new__(Assignment)
    made.name, made.number, made.entry = (
        "92-drawn",
        "92",
        SimpleNamespace(exercises={found.id: found}),
    )
    made.__dict__["checks_hash"] = "c" * 64
    made.__dict__["pristine"] = nbformat.v4.new_notebook(
        cells=[
            marked(found.faults.cell(found.id, found.faults.draw(found.id)), "setup-found"),
            marked(
                "def wrong_line():\n    raise NotImplementedError('here')",
                "found",
                solution=True,
                locked=False,
            ),
            marked("check(wrong_line)", "found-check", grade=True, points=2),
        ]
    )
    return made


def answer(fault):
    return f"def wrong_line():\n    return {fault.line}\n{SOURCE}"


def test_every_fault_is_another_program_and_knows_its_line():
    made = Faults(SOURCE, CHANGES)
    assert {name: (one.line, one.wrong) for name, one in made.by_name.items()} == {
        "start": (2, "total = 1"),
        "sign": (4, "total -= value"),
        "length": (5, "return total / 2"),
    }
    for changes in (
        {"a": ("total", "sum")},
        {"a": ("total = 0", "total = 1")},
        {"a": ("gone", "x"), "b": ("total = 0", "total = 1")},
        {"a": ("total = 0", "total = 1"), "b": ("total = 0", "total = 1")},
    ):
        with pytest.raises(ValueError, match="fault"):
            Faults(SOURCE, changes)


def test_the_id_and_the_secret_draw_and_every_fault_is_drawn(found):
    drawn = [found.faults.draw(found.id, one, b"secret").name for one in IDS]
    assert drawn == [found.faults.draw(found.id, one, b"secret").name for one in IDS] and set(
        drawn
    ) == set(CHANGES)
    assert drawn != [found.faults.draw(found.id, one, b"another").name for one in IDS]
    assert drawn != [found.faults.draw("92.next", one, b"secret").name for one in IDS]


def test_at_home_the_cell_tells_which_fault_it_is_and_anothers_line_is_wrong(found):
    for fault in found.faults.by_name.values():
        for said in found.faults.by_name.values():
            namespace = {}
            exec(found.faults.cell(found.id, fault) + "\n\n" + answer(said), namespace)
            assert fault_of(found, LocalStudent(namespace)) == fault
            earned = run_exercise(found, LocalStudent(namespace), mistakes=[]).earned
            assert earned == (2 if said == fault else 1), (fault.name, said.name)


def test_the_handed_out_code_has_its_fault_and_does_not_tell_it(found):
    for name, fault in found.faults.by_name.items():
        text = found.faults.cell(found.id, fault)
        assert fault.wrong in text and fault.right not in text and name not in text


def test_each_student_gets_a_notebook_with_their_fault_and_the_same_one_again(
    assignment, found, tmp_path
):
    first = hand_out(assignment, IDS[:6], tmp_path, tmp_path / "a")
    again = hand_out(assignment, IDS[:6][::-1], tmp_path, tmp_path / "b")[::-1]
    secret = course_secret(tmp_path)
    for student, path, other in zip(IDS, first, again, strict=False):
        fault = found.faults.draw(found.id, student, secret)
        assert path.read_bytes() == other.read_bytes() and path.parts[-3:] == (
            student,
            "92-drawn",
            "92-drawn.ipynb",
        )
        assert json.loads(path.read_text())["cells"][0]["source"] == found.faults.cell(
            found.id, fault
        )
    with pytest.raises(CourseError, match="ada stands there more than once"):
        hand_out(assignment, ["ada", "ada"], tmp_path, tmp_path / "c")


@pytest.mark.sandbox
def test_grading_knows_which_fault_it_was_whatever_the_notebook_says(assignment, found, tmp_path):
    secret = course_secret(tmp_path)
    fault = found.faults.draw(found.id, "ada", secret)
    other = next(one for one in found.faults.by_name.values() if one != fault)
    [path] = hand_out(assignment, ["ada"], tmp_path, tmp_path / "out")
    notebook = nbformat.read(path, as_version=4)
    limits = Limits(start_seconds=300)
    with Pool({}, limits, ahead=0, warm=()) as pool:
        for said, cell, earned in ((fault, None, 2), (other, None, 1), (other, other, 1)):
            notebook.cells[1].source = answer(said)
            if cell:  # another student's notebook
                notebook.cells[0].source = found.faults.cell(found.id, cell)
            nbformat.write(notebook, tmp_path / "in.ipynb")
            verdict = grade_submission(
                Submission("ada", tmp_path / "in.ipynb"), assignment, secret, pool
            )
            assert verdict.results[0]["earned"] == earned, verdict.results
            assert ("drawn for somebody else" in verdict.waits(found.id)) is bool(cell), (
                verdict.human
            )
            assert any(
                "Locked cells were changed (`setup-found`)" in one for one in verdict.ignored
            ) is bool(cell), verdict.ignored


def test_only_a_drawn_fault_exercise_has_faults():
    for kind, faults in (("function", Faults(SOURCE, CHANGES)), ("drawn-fault", None)):
        with pytest.raises(ValueError, match="has `faults=Faults"):
            exercise("92.none", function="f", kind=kind, points=1, faults=faults)
    assert "92.none" not in EXERCISES
