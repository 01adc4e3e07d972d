"""`course hunt` from end to end, on a solved notebook, in the sandbox."""

import json
import shutil

import nbformat
import pytest

from course.cli import main

NONE_ENDED = "No hunt has ended yet."


@pytest.fixture
def mine(notebook, tmp_path):
    return shutil.copy(notebook, tmp_path / notebook.name)


def said(capsys, *words):
    code = main(["hunt", *map(str, words)])
    out = capsys.readouterr()
    return code, out.out, out.err


def answer(tmp_path, **parts):
    (tmp_path / "answer.json").write_text(json.dumps(parts))
    return tmp_path / "answer.json"


def test_a_hunt_is_the_same_by_seed_is_answered_and_counted(mine, tmp_path, capsys):
    words = ("04", mine, "--exercise", "04.masks", "--seed", "7")
    code, out, _ = said(capsys, *words, "--json")
    asked = json.loads(out)
    assert code == 0 and asked["exercise"] == "04.masks" and asked["lines"][0].startswith("def ")
    assert json.loads(said(capsys, *words, "--json")[1]) == asked

    wrong = answer(tmp_path, input="torch.tensor([1]), 1, 1", line=1)
    code, out, _ = said(capsys, *words, "--answer", wrong, "--json")
    judged = json.loads(out)
    assert code == 1 and not judged["right"] and "exposing" not in judged

    solution = json.loads(
        said(capsys, *words, "--answer", answer(tmp_path, give_up=True), "--json")[1]
    )
    right = answer(tmp_path, input=solution["exposing"], line=solution["lines_changed"][0])
    code, out, _ = said(capsys, *words, "--answer", right)
    assert code == 0 and "Found" in out
    entry = json.loads(said(capsys, "04", mine, "--statistics", "--json")[1])
    assert [(one["attempts"], one["ended"]) for one in entry] == [(1, "given up")]


def test_without_a_terminal_the_hunt_is_shown_and_how_to_answer(mine, capsys):
    code, out, _ = said(capsys, "04", mine, "--seed", "3")
    assert code == 0 and "   1  def " in out and "--seed 3 --answer FILE" in out
    assert "=>" not in out


def test_an_untouched_notebook_has_nothing_to_hunt(fourth, tmp_path, capsys):
    path = tmp_path / f"{fourth.name}.ipynb"
    nbformat.write(nbformat.from_dict(fourth.pristine), path)
    code, out, _ = said(capsys, "04", path, "--seed", "1")
    assert code == 1 and "04.masks: it is not written yet" in out


def test_slips_of_the_command_line_are_explained(mine, tmp_path, capsys):
    assert "--seed" in said(capsys, "04", mine, "--answer", tmp_path / "no.json")[2]
    words = ("04", mine, "--seed", "1")
    assert "cannot be read" in said(capsys, *words, "--answer", tmp_path / "no.json")[2]
    bad = answer(tmp_path, input="1", line=True)
    assert 'needs an "input"' in said(capsys, *words, "--answer", bad)[2]
    code, _, err = said(capsys, *words, "--exercise", "04.nothing")
    assert code == 2 and "04.masks" in err


def test_the_command_for_a_script_names_the_notebook(mine, tmp_path, capsys):
    path = mine.rename(tmp_path / "my notebook.ipynb")
    _, out, _ = said(capsys, "04", path, "--exercise", "04.masks", "--seed", "7")
    command = f"course hunt 04 '{path}' --exercise 04.masks --seed 7 --answer FILE"
    assert out.splitlines()[-1] == f"With a script: {command}"


def test_control_d_leaves_the_hunt_open_and_says_how_to_see_it_again(
    mine, tmp_path, capsys, monkeypatch
):
    def closed(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", closed)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    code, out, _ = said(capsys, "04", mine, "--exercise", "04.masks", "--seed", "7")
    assert code == 1 and "still open: --seed 7" in out
    assert not (tmp_path / "bug-hunts.json").exists()


def test_a_cell_that_is_no_python_is_named_as_such(mine, capsys):
    notebook = nbformat.read(mine, as_version=4)
    cell = next(one for one in notebook.cells if one.source.startswith("def masks("))
    cell.source += "\n    return ((\n"
    nbformat.write(notebook, mine)
    code, out, _ = said(capsys, "04", mine, "--exercise", "04.masks", "--seed", "7")
    assert code == 1 and "its cell is not valid Python (line " in out
    assert out.startswith(f"There is nothing to hunt in {mine}:")


def test_the_statistics_name_their_file(tmp_path, capsys):
    _, out, _ = said(capsys, "04", tmp_path / "mine.ipynb", "--statistics")
    assert out.splitlines() == [f"file       {tmp_path / 'bug-hunts.json'}", NONE_ENDED]
