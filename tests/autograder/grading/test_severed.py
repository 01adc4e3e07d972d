"""A cell that was split in the middle of its code: a person looks at an exercise that loses points by it."""

import pytest

from autograder.grading.severed import BROKEN, PASTED, SEVERED
from autograder.grading.transplant import transplant
from tests.autograder.grading.test_transplant import PRISTINE, added, as_submitted


def found(own, *below):
    cells = as_submitted(("f", own), ("g", "def g(): return 2"))
    place = next(place for place, cell in enumerate(cells) if cell.grade_id == "f")
    return transplant(
        PRISTINE, [*cells[: place + 1], *map(added, below), *cells[place + 1 :]]
    ).rebound


@pytest.mark.parametrize(
    ("own", "below"),
    [
        ("def f(x):", "    return x + 1"),
        ("def f(x):\n    y = x", "    return y + 1"),
        ("def f(\n    x", "):\n    return x + 1"),
        ("if True:\n    def f(x):\n        y = 1", "        return y"),
        ("def f(x):\n    try:", "        return x\n    finally:\n        pass"),
    ],
)
def test_two_cells_that_are_python_only_together_are_told(own, below):
    assert found(own, below) == {"f": SEVERED}


@pytest.mark.parametrize(
    ("own", "below"),
    [
        ("def f(x): return 1", "x = 2"),
        ("def f(x): return 1", "no python at all"),
        ("def f(x)", "x = 2"),
        ("def f(x):", "# later\n"),
        ("def f(x): return 1", "    # a thought\n"),
    ],
)
def test_cells_that_stand_alone_or_are_no_python_together_either_ask_for_nobody(own, below):
    assert found(own, below) == {}


def test_a_cell_that_was_split_with_its_name_is_told_once():
    cells = [
        cell
        for one in as_submitted(("f", "def f(x):"))
        for cell in (
            [one, type(one)("code", "f", "    return x")] if one.grade_id == "f" else [one]
        )
    ]
    assert transplant(PRISTINE, cells).rebound == {"f": SEVERED}


@pytest.mark.parametrize(
    "own",
    [
        "def f(x):\n\xa0\xa0\xa0\xa0return x + 1",
        "```python\ndef f(x):\n    return x + 1\n```",
        "def f(x):\n    return \u201cone\u201d",
        "def f(x):\n    return x \u2212 1",
        "def f(x):\n    return x + 1\nawait later()",
    ],
)
def test_a_cell_that_is_python_but_for_what_was_pasted_along_is_told(own):
    assert found(own) == {"f": PASTED}


@pytest.mark.parametrize(
    "own",
    [
        "def f(x):\n    return x + 1",
        "def f(x):\n    return '\u201cone\u201d'",
        "def f(x)\n    return x",
        "this is my answer",
        "def f(x):\n    for i in",
        "return 5",
    ],
)
def test_a_cell_that_runs_or_is_not_finished_asks_for_nobody(own):
    assert found(own) == {}


@pytest.mark.parametrize(
    "own",
    [
        "def f(x):\n    return x + 1\n\nprint(f(1)",
        "y = = 3\ndef f(x):\n\n    return x + 1\n",
        "Here is my answer.\ndef f(x):\n    return x + 1",
        "print(1\nclass f:\n    def g(self):\n        return 1",
    ],
)
def test_a_whole_function_in_a_cell_that_is_no_python_for_another_line_is_told(own):
    assert found(own) == {"f": BROKEN}


@pytest.mark.parametrize(
    "own",
    [
        f"print(1\n{PRISTINE.cells[2].source}",
        "print(1\ndef f(x):\n    return x +\n",
        "print(1\ndef f(x):\n    raise NotImplementedError('later')\n",
    ],
)
def test_a_function_that_is_not_finished_in_such_a_cell_asks_for_nobody(own):
    assert found(own) == {}
