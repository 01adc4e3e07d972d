"""The archive that students get: its checks work without the repository, and it has no
solutions.
"""

import json
import os
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import pytest

from autograder.authoring.catalogue import ROOT, assignments
from autograder.checks.mistakes.registry import mistakes_of
from autograder.common.errors import CourseError
from autograder.grading.assignment import load_assignment
from autograder.release.archive import write_archive
from course.cli import main

NAME = "01-static-embeddings"
WRONG = """
def ppmi(counts):
    counts = counts.float()
    ratio = counts * counts.sum() / (counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True))
    return torch.where(counts > 0, ratio, 1.0).log2().clamp(min=0)
"""
# Runs code with nothing of ours but one folder, and prints the points and explanations of checks.
ALONE = """
import json, linecache, sys
folder, cells = sys.argv[1], json.load(sys.stdin)
sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in repr(finder)]
sys.path.insert(0, folder)
import autograder.check
shown = {}
def note(result, *more):
    told = [stage.misconception for stage in result.stages if stage.misconception]
    shown.setdefault(result.exercise, []).append([result.earned, told])
autograder.check.show = note
space = {"__name__": "__main__", "note": note}
for number, cell in enumerate(cells):
    file = f"cell {number}"
    linecache.cache[file] = len(cell), None, cell.splitlines(True), file  # Triton reads the source
    exec(compile(cell, file, "exec"), space)
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("autograder", "course", "reference_impl", "solutions"):
        assert (module.__file__ or folder).startswith(folder), module
print(json.dumps(shown))
"""
MISTAKES = """
from autograder.checks.student.local import LocalStudent, OurNamespace
from autograder.checks.protocol import exercises_of, run_exercise
from autograder.checks.mistakes.registry import mistakes_of
for id, exercise in exercises_of("{number}").items():
    for mistake in mistakes_of(id)[:1]:
        student = LocalStudent(OurNamespace({{mistake.replaces: mistake.made()}}))
        note(run_exercise(exercise, student))
"""


def checked(folder, cells: list[str]) -> dict[str, list]:
    """By exercise the points and the explanations of each check, with only `folder` importable."""
    command = [sys.executable, "-I", "-c", ALONE, str(folder)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TRITON_INTERPRET": "1"}
    pipes = {"input": json.dumps(cells), "capture_output": True, "text": True}
    ran = subprocess.run(command, cwd=folder, env=env, **pipes)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


def extracted(number: str, folder):
    assignment = load_assignment(number)
    write_archive(assignment, folder / "students.zip")
    with zipfile.ZipFile(folder / "students.zip") as archive:
        archive.extractall(folder)
    return folder / f"word2serve-{assignment.name}"


def solved(number: str) -> dict[str, str]:
    """The setup, solution and check cells of the instructor's notebook, by grade id."""
    found = {}
    for cell in load_assignment(number).entry.notebook.cells:
        mark = cell.metadata.get("nbgrader", {"grade_id": ""})
        answers = mark.get("solution") or mark.get("grade")
        if cell.cell_type == "code" and (answers or mark["grade_id"].startswith("setup")):
            found[mark["grade_id"]] = cell.source
    return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The archive of chapter 1, extracted."""
    return extracted("01", tmp_path_factory.mktemp("release"))


def test_the_archive_alone_gives_a_right_answer_all_points(archive):
    cells = solved("01")
    points = load_assignment("01").exercises["01.ppmi"].points
    said = checked(archive, [cells["setup"], cells["ppmi"], "check(ppmi)"])
    assert said == {"01.ppmi": [[points, []]]}


def test_the_archive_alone_gives_a_registered_mistake_its_explanation(archive):
    cells = [solved("01")["setup"], WRONG, "check(ppmi)"]
    [[earned, told]] = checked(archive, cells)["01.ppmi"]
    sentence = {one.name: one.misconception for one in mistakes_of("01.ppmi")}["log-base-2"]
    assert told == [sentence] and earned < load_assignment("01").exercises["01.ppmi"].points


def test_no_solution_no_alternative_and_nothing_of_the_grader_is_in_the_archive(archive):
    files = [path.relative_to(archive).as_posix() for path in archive.rglob("*") if path.is_file()]
    barred = ("solutions", "tests", *(f"autograder/{one}" for one in ("grading", "sandbox")))
    assert not [path for path in files if path.startswith(barred) or "equivalents" in path]
    assert not [path for path in files if "/c02_" in path]
    assert "autograder/chapters/c01_static_embeddings/mistakes_counting.py" in files
    assert not [one for one in archive.rglob("*.py") if "@alternative(" in one.read_text()]
    notebook = (archive / f"{NAME}.ipynb").read_text()
    secret = load_assignment("01").entry.secret_lines()
    assert secret and not [line for line in secret if json.dumps(line)[1:-1] in notebook]


def test_a_withheld_function_refuses_and_the_one_that_a_check_calls_works(archive):
    setup = "from reference_impl.embeddings.counts import ppmi, window_counts_plain"
    cells = [setup, "assert window_counts_plain([[0, 1]], 2, 1).sum() == 2", "ppmi(1)"]
    with pytest.raises(AssertionError, match="ppmi`, which is withheld here: it gives the answer"):
        checked(archive, cells)


def test_the_same_sources_give_the_same_bytes_and_an_old_option_says_so(tmp_path, capsys):
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    assert main(["release", "1", "--out", str(first), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert f"{NAME}.ipynb" in report["files"]
    assert report["kept"] == ["reference_impl.embeddings.counts.window_counts_plain"]
    assert main(["release", "01", "--out", str(second), "--checks-as-they-are"]) == 0
    said = capsys.readouterr()
    assert f"written    {second}" in said.out and said.err.count("no longer needed") == 1
    assert first.read_bytes() == second.read_bytes()
    assert 100_000 < first.stat().st_size < 2_000_000


def test_a_line_of_a_solution_in_the_notebook_stops_the_release(tmp_path, monkeypatch):
    one = load_assignment("01")
    monkeypatch.setitem(one.pristine.cells[-1], "source", solved("01")["ppmi"])
    with pytest.raises(CourseError, match="a line of a solution would reach the students"):
        write_archive(one, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_an_assignment_with_drawn_faults_is_refused_with_the_remedy(tmp_path, monkeypatch):
    one = load_assignment("01")
    monkeypatch.setitem(one.exercises, "01.drawn", SimpleNamespace(faults=object()))
    with pytest.raises(CourseError, match="`course author hand-out 01 ROSTER`"):
        write_archive(one, tmp_path / "x.zip")


@pytest.mark.long
@pytest.mark.parametrize("number", [one.number for one in assignments()])
def test_every_archive_checks_right_and_wrong_answers_as_the_repository_does(number, tmp_path):
    archive = extracted(number, tmp_path)
    points = {id: one.points for id, one in load_assignment(number).exercises.items() if one.stages}
    said = checked(archive, list(solved(number).values()))
    assert said == {id: [[points[id], []]] for id in points}
    wrong = [MISTAKES.format(number=number)]
    told = checked(archive, wrong)
    assert told == checked(ROOT, wrong) and any(found[0][1] for found in told.values())
