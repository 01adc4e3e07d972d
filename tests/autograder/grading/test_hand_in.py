"""What a student sees of a notebook before handing it in: what the grader takes, says, and what is
odd about the file.
"""

import json

import pytest

from course.cli import main
from course.student.hand_in import _cells, _doubled, _read, mended, run_order

NAME = "90-stand-in"


def cell(count, source="x = 1"):
    return {"cell_type": "code", "execution_count": count, "source": source}


def test_cells_that_were_run_out_of_order_are_named_and_untouched_ones_counted():
    assert run_order([cell(1), cell(2), cell(5)]) == [] and run_order([cell(None)]) == []
    said = run_order([cell(7), cell(3), cell(None), cell(None, "")])
    assert said[0].startswith("cell [7] stands above cell [3], but was run after it")
    assert said[1].startswith("1 code cells were never run")


@pytest.fixture
def notebook(stand_in, notebook_of, tmp_path):
    """A notebook that is right, with a magic, an id that occurs twice, and cells that were run from
    below.
    """
    made = json.loads(notebook_of("%time 1\ndef double(x):\n    return x + x"))
    for place, one in enumerate(made["cells"]):
        one |= {"id": "same"} | (
            {"execution_count": 9 - place, "outputs": []} if one["cell_type"] == "code" else {}
        )
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(made))
    return path


@pytest.mark.sandbox
def test_a_dry_run_shows_what_the_grader_takes_and_says_and_writes_nothing(
    notebook, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    before = notebook.read_bytes()
    assert main(["submit", str(notebook), "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(one["exercise"], one["earned"]) for one in said["results"]] == [
        ("90.double", 3)
    ] and said["tier"] == "bubblewrap"
    assert any("%time" in sentence for sentence in said["ignored"]) and len(said["order"]) == 1
    assert said["doubled"] == ["'same' names 3 cells; Jupyter wants one name a cell"]
    assert notebook.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == [
        notebook.name
    ]


@pytest.mark.sandbox
def test_without_dry_run_a_copy_has_an_id_of_its_own_for_each_cell_and_says_what_is_missing(
    notebook, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    before = notebook.read_text().replace("x + x", "x + abs(x)")
    notebook.write_text(before)
    assert main(["submit", str(notebook)]) == 1
    said = capsys.readouterr().out
    assert (
        "90.double  1 of 3\n    negative: It does not double a negative number." in said
        and "(2 ids are new)" in said
    )
    copy = json.loads((tmp_path / "hand-in" / f"{NAME}.ipynb").read_text())
    assert len({one["id"] for one in copy["cells"]}) == 3 and notebook.read_text() == before


def test_what_is_no_notebook_is_named_with_the_remedy(stand_in, tmp_path, capsys):
    path = tmp_path / "90-notes.ipynb"
    path.write_text("{}")
    assert main(["submit", str(path)]) == 2
    assert "is not a notebook that can be read" in capsys.readouterr().err


ODD = [7, None, [1, 2, None], {"a": 1}, ["x"], "", True, 1.5]


@pytest.mark.parametrize(
    "field", ["source", "id", "execution_count", "cell_type", "metadata", "outputs"]
)
def test_a_field_of_any_type_is_looked_at_without_a_traceback(notebook, tmp_path, field):
    made = json.loads(notebook.read_text())
    made["cells"] += [
        {"cell_type": "code", "execution_count": 3, "source": "x", "id": "x", field: odd}
        for odd in ODD
    ] + [{}, None, 3]
    notebook.write_text(json.dumps(made))
    cells = _cells(_read(notebook))
    assert all(isinstance(sentence, str) for sentence in run_order(cells)) and "same" in _doubled(
        cells
    )
    mended(notebook, tmp_path / "copy.ipynb")
    ids = [cell["id"] for cell in _cells(_read(tmp_path / "copy.ipynb")) if "id" in cell]
    assert all(isinstance(id, str) for id in ids) and len(set(ids)) == len(ids)


@pytest.mark.sandbox
def test_a_dry_run_says_which_cell_cannot_be_read_and_that_its_exercise_waits(
    notebook, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    made = json.loads(notebook.read_text())
    [place] = [
        place
        for place, one in enumerate(made["cells"])
        if one["metadata"].get("nbgrader", {}).get("grade_id") == "double"
    ]
    made["cells"][place]["source"], made["nbformat"] = [1, 2, None], 3
    notebook.write_text(json.dumps(made))
    assert main(["submit", str(notebook), "--dry-run"]) == 1
    said = capsys.readouterr().out
    assert (
        "left out   Cells that cannot be read were left out, by their number in the notebook"
        f" (`{place + 1}: its source is no text`)." in said
    )
    assert "left out   The notebook is of nbformat 3" in said
    assert (
        "waits      90.double: The cell of this exercise cannot be read (its source is no text); no"
        " points were decided." in said
    )


def test_half_a_surrogate_pair_is_kept_in_the_copy(notebook, tmp_path):
    notebook.write_text(notebook.read_text().replace("x + x", "x + x # \\ud800 \u00e9"))
    mended(notebook, tmp_path / "copy.ipynb")
    assert "\\ud800 \u00e9" in (tmp_path / "copy.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "data",
    [
        "[" * 100_000,
        '{"cells": {"a": 1}}',
        '{"cells": 3}',
        "[]",
        "3",
        '{"cells": [' + "9" * 5_000 + "]}",
    ],
)
def test_json_that_is_no_notebook_is_a_sentence(stand_in, tmp_path, capsys, data):
    path = tmp_path / "90-notes.ipynb"
    path.write_text(data)
    assert main(["submit", str(path), "--dry-run"]) == 2
    assert "is not a notebook that can be read" in capsys.readouterr().err
