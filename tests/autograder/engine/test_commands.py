"""course check, author and hint: what they print, and the exit codes."""

import json
import re

import nbformat
import pytest

from autograder.authoring.catalogue import EXERCISES, assignment
from autograder.authoring.mutants import mutants_of
from autograder.authoring.notebooks import source_notebook, write_notebook
from autograder.authoring.solution_sources import reference_sources
from autograder.grading.assignment import load_assignment
from course.cli import main
from course.commands.check import number_of


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A student's notebook of assignment 01 with every answer right, and a magic, a plot and a
    helper cell added.
    """
    notebook = source_notebook(assignment("01"))
    added = ["%matplotlib inline\n!ls", "helper = 3\nraise ValueError('a scratch cell that fails')"]
    notebook.cells[1:1] = [
        nbformat.v4.new_code_cell(source, id=f"added-{i}") for i, source in enumerate(added)
    ]
    path = tmp_path_factory.mktemp("solved") / "mine.ipynb"
    write_notebook(notebook, path)
    return path


def test_the_reference_gets_all_points_and_exits_0(capsys):
    assert main(["author", "check", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["earned"] == record["points"] > 0 and record["by_hand"]
    assert {
        stage["status"] for exercise in record["exercises"] for stage in exercise["stages"]
    } == {"passed"}


def test_a_mistake_exits_1_and_is_shown_only_in_its_own_exercise(capsys):
    assert main(["author", "check", "--impl", "mistake:log-base-2"]) == 1
    out = capsys.readouterr().out
    assert "01.ppmi: 4 of 5 points" in out and "start here" in out and "01.sgns_loss" not in out


def test_an_alternative_gets_all_points(capsys):
    from autograder.checks.mistakes.registry import alternatives_of

    name = alternatives_of("01.ppmi")[0].name
    assert main(["author", "check", "01.ppmi", "--impl", f"alternative:{name}"]) == 0


def test_your_own_notebook_runs_here_with_a_warning_and_without_its_magics(solved, capsys):
    assert main(["check", str(solved), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["earned"] == json.loads(shown.out)["points"]
    assert "runs in this process, without a sandbox" in shown.err
    assert "ValueError: a scratch cell that fails" in shown.err


def test_your_own_python_file_is_checked_one_exercise_at_a_time(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        "print('noise')\ndef noise_distribution(counts, power=0.75):\n    return counts.float() **"
        " power\n"
    )
    assert main(["check", "01.noise_distribution", str(path)]) == 1
    shown = capsys.readouterr()
    assert (
        shown.out.startswith("01.noise_distribution: ")
        and "start here" in shown.out
        and "01.ppmi" not in shown.out
    )
    assert "noise\n" in shown.err and "noise\n" not in shown.out


def test_a_renamed_notebook_is_checked_as_the_assignment_that_it_is(tmp_path, capsys):
    path = tmp_path / "final version.ipynb"
    path.write_bytes((EXERCISES / "05-bert-pretraining" / "05-bert-pretraining.ipynb").read_bytes())
    assert number_of(str(path)) == "05"
    path.write_text('{"cells": [], "nbformat": 4}')
    assert main(["check", str(path)]) == 2
    assert f"which assignment is it? Say its number, such as `course check 05 {path}`" in (
        capsys.readouterr().err
    )


def test_the_untouched_student_notebook_is_not_written_yet_everywhere(capsys):
    path = EXERCISES / "01-static-embeddings" / "01-static-embeddings.ipynb"
    assert main(["check", str(path), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["earned"] == 0
    assert {
        stage["status"] for exercise in record["exercises"] for stage in exercise["stages"]
    } == {"not_attempted"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "nowhere.ipynb"], "nowhere.ipynb is not a file"),
        (
            ["author", "check", "--impl", "mistake:nothing"],
            "`course author matrix` lists the mistakes",
        ),
        (["check", "01.nothing"], "has no exercise '01.nothing'; it has 01."),
        (["check", "77"], "no assignment '77'"),
        (["hint", "01.ppmi", "--step", "9"], "01.ppmi has hints 1 to 3; there is no hint 9"),
        (["author", "build", "77"], "no assignment '77'"),
    ],
)
def test_a_wrong_argument_exits_2_with_one_sentence_on_stderr(arguments, said, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == "" and "Traceback" not in shown.err


def test_a_file_that_is_no_notebook_is_named(tmp_path, capsys):
    path = tmp_path / "broken.ipynb"
    path.write_text('{"cells": []}')
    assert main(["check", str(path)]) == 2
    assert f"{path}: the file is not a notebook" in capsys.readouterr().err


def test_a_function_whose_cell_is_no_python_is_not_there_as_in_grading(tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    path.write_text(
        json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [
                    {
                        "id": "a",
                        "cell_type": "code",
                        "metadata": {"nbgrader": {"grade_id": "ppmi", "solution": True}},
                        "outputs": [],
                        "execution_count": None,
                        "source": "def ppmi(counts):\n    return (counts",
                    }
                ],
            }
        )
    )
    assert main(["check", "01.ppmi", str(path)]) == 1
    shown = capsys.readouterr()
    assert (
        "There is no function named `ppmi`: its cell did not run, or it failed." in shown.out
        and "withheld" not in shown.out
    )
    assert "SyntaxError: '(' was never closed" in shown.err


@pytest.mark.parametrize(
    ("inside", "earned"),
    [
        ("import transformers", 6),
        ("from transformers import AutoTokenizer as one", 6),
        ("import tokenizers.models as models", 6),
        ("import transformers\n    transformers.AutoTokenizer()", 0),
        ("import tokenizers\n    tokenizers.Tokenizer", 6),
    ],
)
def test_to_import_what_is_withheld_is_no_fault_at_home_and_to_use_it_is(
    tmp_path, capsys, inside, earned
):
    source = reference_sources(load_assignment("02"))["best_cut"]
    head, body = source.split("\n", 1)
    assert head.startswith("def best_cut(") and head.endswith(":")
    for place, text in (
        ("above", f"{inside.split(chr(10))[0]}\n{source}"),
        ("within", f"{head}\n    {inside}\n{body}"),
    ):
        path = tmp_path / f"{place}.py"
        path.write_text(f"import math\n{text}")
        main(["check", "02.best_cut", str(path), "--json"])
        found = json.loads(capsys.readouterr().out)["exercises"][0]
        assert found["earned"] == (earned if place == "within" else 6), (place, found)
        assert earned or place == "above" or "which is withheld here" in json.dumps(found)
    import tokenizers  # ours, in the same process, is the package

    assert tokenizers.Tokenizer.from_file


def test_the_matrix_marks_the_stage_that_catches_a_mistake_and_the_stages_that_fail_with_it(capsys):
    assert main(["author", "matrix", "01.ppmi"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# Mistakes of 01-static-embeddings" and "**01.ppmi** (5 points)" in lines
    names = "independent words | natural logarithm | clipping at zero | zero counts"
    assert f"| mistake | {names} | integer and double counts | loses |" in lines
    assert "| log-base-2 | . | X | . | . | . | 1 |" in lines
    assert "| one-added | X | x | . | x | x | 4 |" in lines


def test_the_table_of_mutants_counts_who_killed_them_and_lists_those_that_survive(
    capsys, monkeypatch
):
    exercise = assignment("01").exercise("01.glove_weight")
    chosen = mutants_of(assignment("01"), exercise)[:3]
    monkeypatch.setattr("autograder.authoring.mutants.mutants_of", lambda *any: chosen)
    assert main(["author", "mutants", exercise.id]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = "| exercise | mutants | killed | by | equivalent | surviving |"
    assert lines[0] == "# Mutants of 01-static-embeddings" and head in lines
    [row] = [line for line in lines if line.startswith("| 01.glove_weight |")]
    assert row.startswith("| 01.glove_weight | 3 | 3 | ") and row.endswith(" | 0 | 0 |")
    assert lines[-1] == "0 of 3 mutants survive unexplained"
    monkeypatch.setattr("autograder.authoring.mutants.killers", lambda *any: ["growth", "", ""])
    monkeypatch.setattr(
        "autograder.authoring.mutants.equivalents", lambda exercise: {chosen[1].name: "as right"}
    )
    assert main(["author", "mutants", exercise.id]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "| 01.glove_weight | 3 | 1 | growth 1 | 1 | 1 |" in lines
    assert f"- line {chosen[1].line}, `{chosen[1].name}`: equivalent: as right" in lines
    assert f"- line {chosen[2].line}, `{chosen[2].name}`: **survives**" in lines
    assert lines[-1] == "1 of 3 mutants survive unexplained"


@pytest.mark.parametrize(
    "words", [["01.ppmi"], ["1.ppmi"], ["ppmi"], ["01-static-embeddings.ppmi"]]
)
def test_an_exercise_has_several_names(words, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("")
    assert main(["check", *words, str(path)]) == 1
    shown = capsys.readouterr()
    assert "01.ppmi: 0 of 5 points" in shown.out and "course check: 01.ppmi ..." in shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "01.pmi"], "did you mean ppmi?"),
        (["check", "window_count"], "did you mean window_counts?"),
        (["chek"], "did you mean `course check`?"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_probably_meant(arguments, said, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_the_sum_says_what_is_graded_by_hand(solved, capsys):
    assert main(["check", str(solved)]) == 0
    assert capsys.readouterr().out.endswith("01-static-embeddings: 45 points of 50, 5 by hand\n")


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out.startswith("word2serve ")


def test_hints_open_one_step_at_a_time_with_the_cards_own_text(capsys):
    assert main(["hint", "01.ppmi"]) == 0
    first = capsys.readouterr().out
    assert (
        first.startswith("01.ppmi, hint 1 of 3: a nudge\n")
        and "More: course hint 01.ppmi --step 2" in first
    )
    assert main(["hint", "01.ppmi", "--step", "3"]) == 0
    last = capsys.readouterr().out
    assert "More:" not in last
    card = assignment("01").cells["ppmi-card"][0].source
    assert last.split("\n", 2)[2].strip() in card and first.split("\n\n")[1] in card


def test_build_check_finds_the_committed_notebooks_in_order(capsys):
    assert main(["author", "build", "--check"]) == 0
    assert "are what the sources give, and nothing leaks" in capsys.readouterr().out


def test_build_check_exits_1_when_a_committed_notebook_is_old(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("autograder.authoring.notebooks.EXERCISES", tmp_path)
    monkeypatch.setattr("autograder.authoring.notebooks.stale.__defaults__", (tmp_path,))
    assert main(["author", "build", "--check"]) == 1
    assert "does not exist; `course generate-assignment 01` makes it" in capsys.readouterr().out


def test_answers_of_strangers_are_tried_and_what_is_judged_otherwise_than_they_are_named_is_said(
    tmp_path, capsys
):
    folder = tmp_path / "noise_distribution"
    folder.mkdir()
    right = (
        "def noise_distribution(counts, power=0.75):\n    raised = counts.double() ** power\n   "
        " return (raised / raised.sum()).float()\n"
    )
    for name in ("right__in_doubles", "wrong__but_it_is_right"):
        (folder / f"{name}.py").write_text(right)
    (folder / "wrong__no_power.py").write_text(
        "def noise_distribution(counts, power=0.75):\n    return counts / counts.sum()\n"
    )
    assert main(["author", "try", str(tmp_path), "--assignment", "01", "--no-sandbox"]) == 1
    out = capsys.readouterr().out
    assert "01.noise_distribution right in_doubles: 3 of 3\n" in out
    assert "wrong but_it_is_right: 3 of 3 WRONG, ACCEPTED\n" in out and re.search(
        r"wrong no_power: [012] of 3\n    \[", out
    )
    assert out.endswith(
        "2 wrong, 1 of them accepted; 1 right, 0 of them rejected; 0 change with the seed\n"
    )
    assert (
        main(["author", "try", str(folder), "--assignment", "01"]) == 2
        and "holds no answers" in capsys.readouterr().err
    )
