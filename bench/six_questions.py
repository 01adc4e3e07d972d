"""A fixed notebook of six small questions, for `bench/grading.py`: the same functions and the same
questions about them as exercises of ours, as plain assertions in stock nbgrader's check cells, and
as otter-grader's test files.

The rivals' cells import torch and nothing of ours, in their favour. All answers are right: what
honest work costs is measured.

`measured_course.py` runs `course` where they are known.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.authoring import catalogue
from autograder.checks.protocol import exercise, expect

NUMBER, NAME = "91", "91-six-questions"
IMPORTS = "import torch"


@dataclass(frozen=True)
class Question:
    """One function: how it is right, and cases that decide, an expression of the call and one of
    the value. A point each.
    """

    name: str
    arguments: str
    body: str
    cases: tuple[tuple[str, str], ...]

    @property
    def solution(self) -> str:
        """The right function."""
        return f"def {self.name}({self.arguments}):\n    {self.body}"


QUESTIONS = (
    Question(
        "softmax",
        "scores",
        "return scores.softmax(-1)",
        (
            ("torch.zeros(2, 4)", "torch.full((2, 4), 0.25)"),
            ("torch.tensor([0.0, 1000.0])", "torch.tensor([0.0, 1.0])"),
        ),
    ),
    Question(
        "cosine",
        "u, v",
        "return (u * v).sum(-1) / (u.norm(dim=-1) * v.norm(dim=-1))",
        (
            ("torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0]])", "torch.ones(1)"),
            ("torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 5.0]])", "torch.zeros(1)"),
        ),
    ),
    Question(
        "pool",
        "x, mask",
        "return (x * mask[:, None]).sum(0) / mask.sum()",
        (
            (
                "torch.tensor([[2.0], [4.0], [9.0]]), torch.tensor([1.0, 1.0, 0.0])",
                "torch.tensor([3.0])",
            ),
            ("torch.ones(5, 3), torch.ones(5)", "torch.ones(3)"),
        ),
    ),
    Question(
        "causal",
        "n",
        "return torch.ones(n, n).tril().bool()",
        (("1", "torch.tensor([[True]])"), ("2", "torch.tensor([[True, False], [True, True]])")),
    ),
    Question(
        "counts",
        "ids, size",
        "return torch.bincount(ids, minlength=size)",
        (
            ("torch.tensor([0, 2, 2]), 4", "torch.tensor([1, 0, 2, 0])"),
            ("torch.tensor([1]), 2", "torch.tensor([0, 1])"),
        ),
    ),
    Question(
        "pairs",
        "words",
        "return list(zip(words, words[1:]))",
        (("['a', 'b', 'c']", "[('a', 'b'), ('b', 'c')]"), ("['a']", "[]")),
    ),
)
POINTS = sum(len(one.cases) for one in QUESTIONS)


def declare() -> None:
    """Make the six known as exercises of ours, a stage a case."""
    for question in QUESTIONS:
        one = exercise(
            f"{NUMBER}.{question.name}", function=question.name, points=len(question.cases)
        )
        for place, (call, value) in enumerate(question.cases):
            one.stage(f"case-{place + 1}", points=1)(_stage(question.name, call, value))


def _stage(name: str, call: str, value: str):
    def test_the_case(student):
        expect(getattr(student, name)(*_value(f"({call},)"))).equals(
            _value(value), cause="It is another value."
        )

    return test_the_case


def _value(expression: str) -> object:
    return eval(expression, {"torch": torch})  # a text of this module, never a student's


def prepare(folder: Path) -> None:
    """Write the solutions file and build the student's notebook below `folder`, as for any
    assignment.
    """
    from autograder.authoring.notebooks import build

    for real in (catalogue.SOLUTIONS, catalogue.EXERCISES):  # the course's own stay known beside it
        (folder / real.name).mkdir(parents=True)
        for path in real.glob("[0-9]*"):
            (folder / real.name / path.name).symlink_to(path)
    (folder / "solutions" / f"{NAME}.py").write_text(
        "\n\n".join(_percent_cells()) + "\n", encoding="utf-8"
    )
    enter(folder)
    build(catalogue.assignment(NUMBER), folder / "build", folder / "exercises")


def enter(folder: Path) -> None:
    """Put the assignment below `folder` in the place of the course's own, in this process."""
    catalogue.SOLUTIONS, catalogue.EXERCISES = folder / "solutions", folder / "exercises"
    declare()


def _percent_cells() -> Iterator[str]:
    yield _percent("title", "# # Six questions", "markdown")
    yield _percent("setup", IMPORTS)
    for one in QUESTIONS:
        yield _percent(f"{one.name}-card", f"# ## Write `{one.name}`", "markdown")
        yield _percent(one.name, "\n".join(_delimited(one)), solution=True)
        yield _percent(f"{one.name}-check", one.name, points=len(one.cases))


def _percent(grade_id: str, source: str, kind: str = "code", **marks: object) -> str:
    return (
        "# %%"
        f" {'[markdown] ' if kind == 'markdown' else ''}"
        f"nbgrader={json.dumps(_marks(grade_id, kind, **marks))}\n{source}"
    )


def _marks(grade_id: str, kind: str = "code", solution: bool = False, points: int = 0) -> dict:
    found = {
        "grade_id": grade_id,
        "grade": bool(points),
        "locked": not solution,
        "solution": solution,
        "task": False,
        "schema_version": 3,
        "cell_type": kind,
    }
    return found | {"points": points} if points else found


def source() -> str:
    """nbgrader's source notebook as JSON: solutions between its delimiters, assertions in the check
    cells.
    """
    return _notebook(lambda one: "\n".join(_delimited(one)), checked=True)


def handed_in(student: int, checked: bool) -> str:
    """One student's notebook as JSON; checked: with the assertions that stock nbgrader runs."""
    return _notebook(lambda one: f"{one.solution}\n# student {student}", checked)


def _delimited(one: Question) -> list[str]:
    first, *rest = one.solution.split("\n")
    return [first, "    ### BEGIN SOLUTION", *rest, "    ### END SOLUTION"]


def _notebook(written: Callable[[Question], str], checked: bool) -> str:
    cells = [
        new_markdown_cell(
            "# Six questions", metadata={"nbgrader": _marks("title", "markdown")}, id="title"
        ),
        new_code_cell(IMPORTS, metadata={"nbgrader": _marks("setup")}, id="setup"),
    ]
    for one in QUESTIONS:
        cells += [
            new_markdown_cell(
                f"## Write `{one.name}`",
                metadata={"nbgrader": _marks(f"{one.name}-card", "markdown")},
                id=f"{one.name}-card",
            ),
            new_code_cell(
                written(one), metadata={"nbgrader": _marks(one.name, solution=True)}, id=one.name
            ),
        ]
        cells += [
            new_code_cell(
                assertions(one) if checked else one.name,
                id=f"{one.name}-check",
                metadata={"nbgrader": _marks(f"{one.name}-check", points=len(one.cases))},
            )
        ]
    return nbformat.writes(
        new_notebook(
            cells=cells,
            metadata={
                "kernelspec": {
                    "display_name": "Python 3 (ipykernel)",
                    "language": "python",
                    "name": "python3",
                }
            },
        )
    )


def assertions(one: Question) -> str:
    """The cases of a question as lines of Python."""
    lines = []
    for call, value in one.cases:
        came, wanted = f"{one.name}({call})", value
        lines.append(
            f"assert torch.allclose({came}, {wanted})"
            if wanted.startswith("torch") and "True" not in wanted and one.name != "counts"
            else (
                f"assert torch.equal({came}, {wanted})"
                if wanted.startswith("torch")
                else f"assert {came} == {wanted}"
            )
        )
    return "\n".join(lines)


def otter_test(one: Question) -> str:
    """One of otter-grader's test files (its OK format): a case a doctest."""
    cases = [
        {"code": ">>> " + line, "hidden": True, "locked": False, "points": 1}
        for line in assertions(one).split("\n")
    ]
    return (
        "OK_FORMAT = True\ntest = "
        + repr(
            {
                "name": one.name,
                "points": None,
                "suites": [
                    {"cases": cases, "scored": True, "setup": "", "teardown": "", "type": "doctest"}
                ],
            }
        )
        + "\n"
    )
