"""`course check` at home says what grading says, whatever form the notebook has; the two take the
same cells of it.
"""

import io
import json
import os
import warnings

import pytest
import torch

from autograder.authoring import catalogue
from course.cli import main
from course.own_notebook import Own, run_cells

NAME = "90-stand-in"
RIGHT = "def double(x):\n    return x + x"
WRONG = "def double(x):\n    return x + abs(x)"
GIVEN = 'def double(x):\n    raise NotImplementedError("replace this line with your code.")'
FORMS = {  # cells in order: grade id or None, and source
    "right": [("double", RIGHT)],
    "untouched": [("double", GIVEN)],
    "the given one in an added cell below": [("double", RIGHT), (None, GIVEN)],
    "own cell twice, the second as given": [("double", RIGHT), ("double", GIVEN)],
    "another cell, the own one no Python": [
        (None, RIGHT),
        ("double", "here is my answer, see above"),
    ],
    "another cell, the own one half done": [(None, RIGHT), ("double", "def double(x:\n    return")],
    "another cell, the own one emptied": [(None, RIGHT), ("double", "")],
    "if main": [("double", "if __name__ == '__main__':\n    def double(x):\n        return x + x")],
    "in the check's cell": [("double", GIVEN), ("double-check", RIGHT)],
    "above the own cell": [(None, RIGHT), ("double", GIVEN)],
    "changed below": [("double", "n = 2\ndef double(x):\n    return x * n"), (None, "n = 3")],
    "exit below": [("double", RIGHT), (None, "exit()")],
    "the process ended below": [("double", RIGHT), (None, "import os\nos._exit(0)")],
    "future of an earlier cell": [
        (None, "from __future__ import annotations"),
        ("double", "def double(x: Nowhere) -> Nowhere:\n    return x + x"),
    ],
    "a dataclass by its module": [
        (
            "double",
            (
                "import pickle, sys\nclass Two:\n    pass\ndef double(x):\n    return x + x if"
                " isinstance(pickle.loads(pickle.dumps(Two())), sys.modules[Two.__module__].Two)"
                " else 0"
            ),
        )
    ],
    "magics": [("double", "%time 1\n!ls\n" + RIGHT)],
    "cell magic": [("double", "%%time\n" + RIGHT)],
    "indented as a whole": [("double", "    def double(x):\n        return x + x\n    y = 2")],
    "with Python's prompts": [
        ("double", ">>> def double(x):\n...     return x + x\n...\n>>> y = 2")
    ],
    "with IPython's prompts": [("double", "In [12]: def double(x):\n    ...:     return x + x")],
    "settings of the process": [
        ("double", RIGHT),
        (
            None,
            (
                "import torch, numpy,"
                " warnings\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n"
                "numpy.seterr(all='raise')\nwarnings.simplefilter('error')"
            ),
        ),
    ],
    "split": [("double", "def double(x):"), (None, "    return x + x")],
    "wrong": [("double", WRONG)],
}


def written(path, cells):
    """A notebook of these cells, with the check below if they have none."""
    cells = (
        cells
        if any(grade_id == "double-check" for grade_id, _ in cells)
        else [*cells, ("double-check", "double")]
    )
    path.write_text(
        json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [
                    {
                        "cell_type": "code",
                        "source": source,
                        "execution_count": None,
                        "outputs": [],
                        "metadata": {"nbgrader": {"grade_id": grade_id}} if grade_id else {},
                    }
                    for grade_id, source in cells
                ],
            }
        )
    )
    return path


def said_by(words, capsys):
    """The points, the behaviours and for whom a person must look, as a command says them, with its
    exit code.
    """
    code, said = main([*words, "--json"]), json.loads(capsys.readouterr().out)
    waits = (
        said["waits"]
        if "waits" in said
        else {one["exercise"]: one["reason"] for one in said["human"]}
    )
    return (
        code,
        waits,
        [
            (
                one["exercise"],
                one["earned"],
                [(stage["name"], stage["status"], stage["cause"]) for stage in one["stages"]],
            )
            for one in said.get("exercises") or said["results"]
        ],
    )


@pytest.mark.sandbox
@pytest.mark.parametrize("form", FORMS)
def test_the_check_at_home_says_what_grading_says_of_a_notebook_in_any_form(
    form, stand_in, tmp_path, capsys
):
    path = written(tmp_path / f"{NAME}.ipynb", FORMS[form])
    home, graded = (
        said_by(["check", str(path)], capsys),
        said_by(["submit", str(path), "--dry-run"], capsys),
    )
    assert home == graded
    if form not in (
        "untouched",
        "wrong",
        "in the check's cell",
        "above the own cell",
        "changed below",
        "split",
    ):
        assert home[0] == 0 and not home[1] and home[2][0][1] == 3, home


def test_who_works_in_the_notebook_as_it_was_given_is_judged_by_what_was_given(
    stand_in, tmp_path, capsys, monkeypatch
):
    given = catalogue.EXERCISES / NAME / f"{NAME}.ipynb"
    (tmp_path / "exercises" / NAME).mkdir(parents=True)
    for other in catalogue.EXERCISES.iterdir():
        if other.name != NAME:
            os.symlink(other, tmp_path / "exercises" / other.name)
    monkeypatch.setattr(catalogue, "EXERCISES", tmp_path / "exercises")
    notebook = json.loads(given.read_text())
    place = next(
        place
        for place, cell in enumerate(notebook["cells"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "double"
    )
    notebook["cells"].insert(
        place + 1, notebook["cells"][place] | {"id": "mine", "source": RIGHT, "metadata": {}}
    )
    own = tmp_path / "exercises" / NAME / f"{NAME}.ipynb"
    own.write_text(json.dumps(notebook))
    assert main(["check", str(own)]) == 0, capsys.readouterr().out


def test_a_notebook_of_something_else_is_refused_at_home_as_in_grading(stand_in, tmp_path, capsys):
    path = written(tmp_path / f"{NAME}.ipynb", [("other", "x = 1"), ("another", "y = 2")])
    assert main(["check", str(path)]) == 2
    assert "it does not look like this assignment" in capsys.readouterr().err


def test_what_a_notebook_sets_for_the_process_holds_for_its_own_code_alone():
    before = torch.get_default_dtype(), list(warnings.filters)
    module, failures = run_cells(
        [
            (
                "one",
                (
                    "import torch, warnings\ntorch.set_default_dtype(torch.float64)\n"
                    "warnings.simplefilter('error')\n"
                    "def kind():\n    return str(torch.ones(1).dtype)"
                ),
            )
        ],
        "mine",
    )
    assert not failures and (torch.get_default_dtype(), list(warnings.filters)) == before
    assert Own(module).call("kind").value == "torch.float64"
    assert (torch.get_default_dtype(), list(warnings.filters)) == before


def test_a_key_on_the_keyboard_ends_the_cells_and_nothing_else_does(monkeypatch):
    module, failures = run_cells(
        [("one", "raise SystemExit"), ("two", "1/0"), ("three", "x = __name__")], "mine"
    )
    assert vars(module)["x"] == "__main__" and [
        (place, "SystemExit" in text) for place, text in failures
    ] == [(0, True), (1, False)]
    monkeypatch.setattr("sys.stdin", io.StringIO("5\n"))  # at home there is somebody
    assert "EOFError" in run_cells([("one", "input()")], "mine")[1][0][1]
    with pytest.raises(KeyboardInterrupt):
        run_cells([("one", "raise KeyboardInterrupt")], "mine")
