"""What students get: a notebook that works from the archive alone, without an answer, a mistake or the grader in it."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.catalogue import ROOT, assignments, bare
from autograder.authoring.implementations import namespace_of
from autograder.authoring.proven import EVERY
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.registry import alternatives_of, mistakes_of
from autograder.classroom.recorder import CALLED, GRADIENT
from autograder.classroom.recording import recorded
from autograder.classroom.release import release
from autograder.classroom.watching import others, rows_of
from autograder.errors import CourseError
from autograder.grading.assignment import load_assignment
from course.cli import main

NAME = "01-static-embeddings"
STUDENT = """
import json, sys
import autograder, autograder.check, reference_impl
assert autograder.__file__.startswith(sys.argv[1]) and reference_impl.__file__.startswith(sys.argv[1])
said = []
autograder.check.show = lambda result, see="": said.append([result.exercise, result.earned, result.stages[0].status])
space = {"__name__": "__main__"}
for source in json.load(open("cells.json")):
    exec(source, space)
print(json.dumps(said))
"""


def cells(notebook):
    """The code of the setup, solution and check cells, in order."""
    for cell in notebook.cells:
        mark = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and (
            mark.get("solution")
            or mark.get("grade")
            or mark.get("grade_id", "").startswith("setup")
        ):
            yield cell.source


def checked(folder: Path, sources: list[str]) -> dict[str, tuple[float, str]]:
    """What the checks say of cells that run in a process which has nothing of ours but the archive: points, first status."""
    (folder / "cells.json").write_text(json.dumps(sources))
    ran = subprocess.run(
        [sys.executable, "-c", STUDENT, str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return {
        exercise: (earned, status)
        for exercise, earned, status in json.loads(ran.stdout.splitlines()[-1])
    }


def unpacked(assignment, folder: Path) -> Path:
    with zipfile.ZipFile(release(assignment, folder / "students.zip").path) as archive:
        archive.extractall(folder)
    return folder / f"word2serve-{assignment.name}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The archive of chapter 1, unpacked."""
    return unpacked(load_assignment("01"), tmp_path_factory.mktemp("release"))


def test_the_archive_alone_checks_a_right_answer_and_an_untouched_cell(archive):
    one = load_assignment("01")
    solved, given = (
        dict(zip(names(one.entry.notebook), cells(one.entry.notebook))),
        dict(zip(names(one.pristine), cells(one.pristine))),
    )
    solved |= {
        name: source for name, source in given.items() if name == "sgns_loss"
    }  # one is left as it was given
    said = checked(archive, list(solved.values()))
    assert said.pop("01.sgns_loss") == (0, "not_attempted")
    assert {id: earned for id, (earned, _) in said.items()} == {
        id: one.exercises[id].points for id in said
    } and len(said) > 5


def names(notebook):
    for cell in notebook.cells:
        mark = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and (
            mark.get("solution")
            or mark.get("grade")
            or mark.get("grade_id", "").startswith("setup")
        ):
            yield mark["grade_id"]


def test_no_answer_no_mistake_and_nothing_of_the_grader_is_in_it(archive):
    files = {path.relative_to(archive).as_posix() for path in archive.rglob("*") if path.is_file()}
    assert not [
        path
        for path in files
        if path.startswith(("solutions", "autograder/grading", "autograder/classroom", "tests"))
        or "mistakes" in path
        or "proven" in path
        or "equivalents" in path
        or "/c02_" in path
    ]
    notebook = (archive / f"{NAME}.ipynb").read_text()
    secret = load_assignment("01").entry.secret_lines()
    assert not [line for line in secret if json.dumps(line)[1:-1] in notebook]


def alone(archive: Path, source: str) -> subprocess.CompletedProcess:
    """A program that has nothing of ours but the archive."""
    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=archive,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(archive)},
    )


def test_a_withheld_function_is_there_and_refuses(archive):
    ran = alone(archive, "from reference_impl.embeddings.skipgram import sgns_loss; sgns_loss()")
    assert ran.returncode == 1 and "is withheld here: it gives the answer" in ran.stderr
    real = (ROOT / "reference_impl" / "embeddings" / "counts.py").read_text()
    body = real[real.index("def ppmi") :].split("\n    return", 1)[1].split("\n")[0]
    assert len(body) > 10 and not [
        path for path in archive.rglob("*.py") if body in path.read_text()
    ]


def test_what_works_right_answers_out_has_no_body_and_answers_nobody_who_asks(archive):
    real, left = (
        (
            folder / "autograder" / "chapters" / "c01_static_embeddings" / "test_skipgram.py"
        ).read_text()
        for folder in (ROOT, archive)
    )
    body = real[real.index("def true_loss") :].split("\n\n")[0].split('"""\n')[1]
    assert len(body) > 50 and body not in left and "@recorded.function\ndef true_loss(" in left
    ran = alone(
        archive,
        "import torch; from autograder.chapters.c01_static_embeddings.test_skipgram import true_loss; true_loss(*torch.ones(3, 1, 2))",
    )
    assert (
        ran.returncode == 1
        and "NotRecorded: c01_static_embeddings.test_skipgram.true_loss: in this archive only what it gives"
        in ran.stderr
    )


def told(number: str, answers: list[tuple[str, str]]) -> dict[str, list]:
    """What the repository's checks say of answers, by exercise and name."""
    exercises = load_assignment(number).exercises
    return {
        f"{id} {impl}": rows_of(
            run_exercise(
                exercises[id], LocalStudent(namespace_of(impl, exercises[id])), mistakes=[]
            )
        )
        for id, impl in answers
    }


def replayed(archive: Path, expected: dict, folder: Path, number: str = "01") -> dict:
    (folder / "expected.json").write_text(json.dumps(expected))
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "autograder.classroom.replaying",
            number,
            str(archive),
            str(folder / "expected.json"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_another_number_in_the_records_and_a_call_that_was_not_recorded_are_noticed(
    archive, tmp_path
):
    answers = [
        ("01.sgns_loss", "reference"),
        ("01.sgns_loss", f"mistake:{mistakes_of('01.sgns_loss')[0].name}"),
        ("01.ppmi", f"alternative:{alternatives_of('01.ppmi')[0].name}"),
    ]
    expected = told("01", answers)
    found = replayed(archive, expected, tmp_path)
    assert found["missed"] == found["differ"] == []
    other = tmp_path / "other"
    shutil.copytree(archive, other)
    for path in (other / "autograder" / "recorded").glob("float*.npy"):
        np.save(path, np.load(path) * 1.01)
    assert any(
        stage.startswith("c01_static_embeddings.test_skipgram.test_")
        for stage in replayed(other, expected, tmp_path)["differ"]
    )
    book = json.loads((other / "autograder" / "recorded" / "calls.json").read_text())
    lost = next(
        key for stage in book["calls"].values() for key in stage if ".test_skipgram." in key
    )
    for stage in book["calls"].values():
        stage.pop(lost, None)
    (other / "autograder" / "recorded" / "calls.json").write_text(json.dumps(book))
    assert lost in replayed(other, expected, tmp_path)["missed"]


def still_answering(number: str, archive: Path) -> dict[str, dict[str, float]]:
    ran = subprocess.run(
        [sys.executable, "-m", "autograder.classroom.left", number, str(archive)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_the_same_sources_give_the_same_archive_and_the_command_says_what_is_in_it(
    archive, tmp_path, capsys
):
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    assert main(["release", "1", "--out", str(first), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert f"{NAME}.ipynb" in said["files"] and said["compared"] > 20 and said["expressions"] > 10
    assert said["recorded"]["c01_static_embeddings.test_skipgram.true_loss"] >= 0 and not set(
        said["recorded"]
    ) & set(said["kept"])
    assert main(["release", "01", "--out", str(second)]) == 0
    out = capsys.readouterr().out
    assert first.read_bytes() == second.read_bytes() and f"written    {second}" in out
    assert (
        f"recorded   {len(said['recorded'])} functions and {said['expressions']} expressions" in out
        and all(f": {why}\n" in out for why in said["kept"].values())
    )


def test_an_answer_in_the_notebook_stops_the_release(tmp_path, monkeypatch):
    one = load_assignment("01")
    cell = next(
        cell
        for cell in one.pristine.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "ppmi"
    )
    answer = next(
        cell.source
        for cell in one.entry.notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "ppmi"
    )
    monkeypatch.setitem(cell, "source", answer)
    with pytest.raises(CourseError, match="a line of a solution would reach the students"):
        release(one, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.long
@pytest.mark.parametrize("number", [one.number for one in assignments()])
def test_every_assignments_archive_gives_a_right_notebook_all_points(number, tmp_path):
    one = load_assignment(number)
    said = checked(unpacked(one, tmp_path), list(cells(one.entry.notebook)))
    assert {id: earned for id, (earned, _) in said.items()} == {
        id: exercise.points for id, exercise in one.exercises.items() if exercise.stages
    }


@pytest.mark.long
@pytest.mark.parametrize("number", [one.number for one in assignments()])
def test_no_assignments_archive_has_a_solution_line_a_mistakes_source_or_the_grader(
    number, tmp_path
):
    one = load_assignment(number)
    folder = unpacked(one, tmp_path)
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    assert not [
        path
        for path in files
        if path.startswith(
            (
                "solutions",
                "tests",
                *(f"autograder/{room}" for room in ("grading", "classroom", "sandbox")),
            )
        )
        or any(word in path for word in ("mistakes", "proven", "equivalents"))
    ]
    lines = {
        bare(line)
        for cell in json.loads((folder / f"{one.name}.ipynb").read_text())["cells"]
        for line in "".join(cell["source"]).split("\n")
    }
    assert lines & set(one.entry.secret_lines()) == set() and len(lines) > 50


def test_who_looks_for_answers_in_an_archive_finds_those_of_checks_that_have_their_bodies(tmp_path):
    one = load_assignment("03")
    with zipfile.ZipFile(release(one, tmp_path / "all.zip", with_reference=True).path) as archive:
        archive.extractall(tmp_path)
    found = still_answering("03", tmp_path / f"word2serve-{one.name}")
    here = "autograder.chapters.c03_context_before_attention"
    assert (
        found[f"{here}.test_next_word.smoothed"]["03.kneser_ney"] > 5
        and found[f"{here}.test_reading.true_step"]["03.lstm_step"] > 4
    )


@pytest.mark.long
def test_what_is_recorded_is_the_same_when_it_is_recorded_again():
    one = load_assignment("04")
    first, second = recorded.__wrapped__(one), recorded.__wrapped__(one)
    assert first == second and len(first.recorded) > 5


# Implementations that a student's own test has to accept: it calls them with numbers of its own, so nothing can be recorded.
# And a function through whose results the checks take gradients.
ANSWERS_STILL = {
    "01": [
        f"c01_static_embeddings.keep_candidates.{name}"
        for name in ("exponential", "no_limit", "released_program", "root", "shares")
    ],
    "11": ["c11_modernbert.test_turning.gated"],
    "13": [
        f"c13_flashattention.flash_candidates.{name}"
        for name in ("blind_is_nan", "keys_outside", "making", "turned")
    ],
}


@pytest.mark.parametrize(
    "number",
    [
        "01",
        *(
            pytest.param(one.number, marks=pytest.mark.long)
            for one in assignments()
            if one.number != "01"
        ),
    ],
)
def test_nothing_left_in_the_checks_of_an_archive_answers_an_exercise_but_what_is_named(
    number, tmp_path
):
    one = load_assignment(number)
    made = release(one, tmp_path / "students.zip")
    found = still_answering(number, unpacked(one, tmp_path))
    assert sorted(found) == [
        f"autograder.chapters.{name}" for name in ANSWERS_STILL.get(number, ())
    ]
    assert all(
        made.kept[name] in (CALLED, GRADIENT, "it gives a value of type function")
        for name in ANSWERS_STILL.get(number, ())
    )


@pytest.mark.long
@pytest.mark.parametrize("number", [one.number for one in assignments()])
def test_every_right_answer_and_every_known_mistake_gets_the_same_from_an_archive(
    number, tmp_path, monkeypatch
):
    one = load_assignment(number)
    archive = unpacked(one, tmp_path)  # made with a sample of the answers
    monkeypatch.setenv(EVERY, "1")
    exercises = {id: exercise for id, exercise in one.exercises.items() if exercise.stages}
    answers = [(id, "reference") for id in exercises] + list(others(exercises))
    found = replayed(archive, told(number, answers), tmp_path, number)
    assert len(answers) > 20 and found == {"missed": [], "differ": [], "said": []}


def test_checks_can_be_left_as_they_are_and_are_named(tmp_path):
    one = load_assignment("03")
    made = release(one, tmp_path / "quick.zip", checks_as_they_are=True)
    here = "autograder.chapters.c03_context_before_attention.test_next_word"
    with zipfile.ZipFile(made.path) as archive:
        text = archive.read(f"word2serve-{one.name}/{here.replace('.', '/')}.py").decode()
    assert (
        "max(number - discount, 0) / total" in text
        and made.recorded == {}
        and here in made.kept
        and "reference_impl.models" in " ".join(made.withheld)
    )
