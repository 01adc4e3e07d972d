"""Questions on whole notebooks, in the sandbox, by the command, and of hostile code."""

import json
import random

import nbformat
import pytest

from autograder.authoring.implementations import reference
from autograder.authoring.solution_sources import reference_sources
from autograder.checks.protocol import LocalStudent
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import sandboxes
from autograder.sandbox.api.cells import Cell
from autograder.viva.ask import ask_all, draws, functions_of, recorder_cell
from course.cli import main

GARBAGE = """
def analogy(matrix, a, b, c):
    return 0
import ast
ast.parse = lambda *given: None
"""


@pytest.fixture(scope="module")
def first():
    return load_assignment("01")


@pytest.fixture(scope="module")
def notebook(first, tmp_path_factory):
    sources, made = reference_sources(first), nbformat.from_dict(first.pristine)
    for cell in made.cells:
        id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "code" and id in sources:
            cell.source = sources[id]
    path = tmp_path_factory.mktemp("viva") / f"{first.name}.ipynb"
    nbformat.write(made, path)
    return path


def said(capsys, *words):
    code = main(["viva", *map(str, words)])
    return code, capsys.readouterr().out


def test_every_function_of_a_solved_notebook_gets_three_questions(notebook, capsys):
    code, out = said(capsys, "01", notebook, "--json")
    asked = json.loads(out)
    assert code == 0 and len(asked) == 8
    assert {one["exercise"]: len(one["questions"]) for one in asked if one["questions"]} == {
        one["exercise"]: 3 for one in asked
    }
    again = json.loads(said(capsys, "01", notebook, "--json")[1])
    other = json.loads(said(capsys, "01", notebook, "--json", "--seed", "2")[1])
    assert asked == again != other


def test_the_key_marks_an_answer_for_each_question(notebook, capsys):
    out = said(capsys, "01", notebook, "--key")[1]
    plain = said(capsys, "01", notebook)[1]
    assert out.count("answer: ") == 24 and "answer: " not in plain


def test_an_empty_notebook_has_no_questions(first, tmp_path, capsys):
    path = tmp_path / f"{first.name}.ipynb"
    nbformat.write(first.pristine, path)
    code, out = said(capsys, "01", path)
    assert code == 1 and "1." not in out


def test_code_that_breaks_the_recorder_gets_a_reason_and_nobody_else_does(first):
    exercises = [one for one in functions_of(first) if one.function == "analogy"]
    with (
        sandboxes(first) as pool,
        pool.open_student([Cell(None, GARBAGE), recorder_cell()]) as student,
    ):
        sources = {exercises[0].id: GARBAGE}
        asked = ask_all(exercises, student, sources, draws(exercises, "a", b"s"), {})
    assert [one.questions for one in asked] == [()] and asked[0].reason


class Sends:
    """A student whose process answers with something else than a record."""

    def __init__(self, student, value):
        self._student, self._value = student, value

    def __getattr__(self, name):
        return getattr(self._student, name)

    def perform(self, request):
        returned = self._student.perform(request)
        if request.name in ("w2s_record", "w2s_changed"):
            return type(returned)(self._value)
        return returned


@pytest.mark.parametrize("value", [None, 7, {}, {"lines": 3}, [["x"]], {"lines": {}, "seen": []}])
def test_a_record_that_is_none_is_a_reason(first, notebook, value):
    exercises = [one for one in functions_of(first) if one.function == "analogy"]
    names = dict(reference("01"))
    exec(recorder_cell().source, names)
    student = Sends(LocalStudent(names), value)
    id = exercises[0].id
    asked = ask_all(exercises, student, {id: "x = 1"}, {id: random.Random(1)}, {})
    assert asked[0].reason and not asked[0].questions


def test_a_function_that_raises_gets_its_exception_and_the_call_as_the_reason(first):
    exercises = [one for one in functions_of(first) if one.function == "analogy"]
    source = "def analogy(matrix, a, b, c):\n    return 1 / 0"
    names: dict = {}
    exec(source, names)
    exec(recorder_cell().source, names)
    id = exercises[0].id
    asked = ask_all(exercises, LocalStudent(names), {id: source}, {id: random.Random(1)}, {})
    assert asked[0].reason.startswith("`analogy(")
    assert asked[0].reason.endswith("` raises ZeroDivisionError: division by zero")


KERNEL = """
@triton.jit
def add_kernel(x, y, out, length, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    mine = first + tl.arange(0, BLOCK)
    there = mine < length
    left = tl.load(x + mine, mask=there)
    right = tl.load(y + mine, mask=there)
    tl.store(out + mine, left + right, mask=there)


def add(x, y, out, block):
    programs = triton.cdiv(len(x), block)
    add_kernel[(programs,)](x, y, out, len(x), BLOCK=block)
"""


@pytest.mark.parametrize(("number", "function"), [("12", "KVCache"), ("13", "add")])
def test_classes_and_kernels_get_three_questions_in_the_sandbox(number, function):
    assignment = load_assignment(number)
    exercise = next(one for one in functions_of(assignment) if one.function == function)
    source = KERNEL if function == "add" else reference_sources(assignment)[exercise.id[3:]]
    setup = [
        Cell(None, cell.source)
        for cell in assignment.pristine.cells
        if cell.cell_type == "code"
        and cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("setup")
    ]
    cells = [*setup, Cell(None, source), recorder_cell()]
    with sandboxes(assignment) as pool, pool.open_student(cells) as student:
        sources, draw_for = {exercise.id: source}, draws([exercise], "a", b"s")
        asked = ask_all([exercise], student, sources, draw_for, {})[0]
    assert len(asked.questions) == 3, asked.reason
    assert "one = KVCache(" in asked.call or "instances run in the order" in asked.call
