"""`course hunt` from end to end, on a solved notebook, in the sandbox."""

import json
import shutil

import nbformat
import pytest

from course.cli import main


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
