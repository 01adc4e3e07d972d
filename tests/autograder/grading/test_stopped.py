"""A cell that stops above the function that it writes: a person looks at an exercise that earns nothing by it."""

import json

import pytest

from autograder.grading.stopped import STOPPED, stopped
from course.cli import main
from tests.autograder.grading.test_at_home import GIVEN, NAME, RIGHT, said_by, written

F = "import nowhere\n\ndef f(x):\n    return x"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mine.ipynb: f, line 1: import nowhere\nModuleNotFoundError: ...", True),
        ("cell 3 (f), line 3: def f(x):\nNameError", False),
        ("cell 3 (f), line 9: f(1)\ncell 3 (f), line 1: x", False),
        ("This cell was stopped: it took more than 20 seconds.", True),
        ("\x00, line 99999999999", True),
        ("", True),
    ],
)
def test_what_stands_below_the_line_that_failed_was_not_written(text, found):
    assert stopped([F], [(0, text)], {"f": ["f"], "g": ["g"]}) == (
        {"f": STOPPED.format("f")} if found else {}
    )


def test_what_a_hostile_worker_says_of_cells_that_are_not_there_is_nothing():
    assert (
        stopped(
            [F, "def broken("], [(5, ", line 1"), (-1, ", line 1"), (1, ", line 1")], {"f": ["f"]}
        )
        == {}
    )


ABOVE = {
    "a package of somebody else": "import seaborn_of_mine",
    "a question": "input('k = ')",
    "a file": "open('numbers.csv')",
    "an end": "raise SystemExit",
}


@pytest.mark.sandbox
@pytest.mark.parametrize("above", ABOVE)
def test_a_right_answer_below_a_line_that_fails_waits_at_home_and_in_grading(
    above, stand_in, tmp_path, capsys
):
    for cells in (
        [("double", f"{ABOVE[above]}\n{RIGHT}")],
        [("double", GIVEN), (None, f"{ABOVE[above]}\n{RIGHT}")],
    ):
        path = written(tmp_path / f"{NAME}.ipynb", cells)
        home, graded = (
            said_by(["check", str(path)], capsys),
            said_by(["submit", str(path), "--dry-run"], capsys),
        )
        assert home[0] == graded[0] == 1 and home[1] == graded[1] == {
            "90.double": STOPPED.format("double")
        }


@pytest.mark.sandbox
def test_an_error_below_the_function_and_a_wrong_answer_ask_for_nobody(stand_in, tmp_path, capsys):
    path = written(
        tmp_path / f"{NAME}.ipynb",
        [("double", "def double(x):\n    return 'x'\n\nimport seaborn_of_mine")],
    )
    assert main(["submit", str(path), "--dry-run", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["human"] == []
