"""Which exercises the tests of every day may sample: those that passed every case as they are."""

import json

import pytest

from autograder.authoring import proven as proofs
from autograder.authoring.catalogue import assignment, assignments
from autograder.authoring.proven import (
    EVERY,
    RECORD,
    has_kernels,
    own_hash,
    proven,
    record_text,
    sampled,
)
from autograder.checks.mistakes.registry import mistakes_of

CHAPTER = "autograder/chapters/c01_static_embeddings"
FILES = {
    "tests/autograder/test_exercises.py": (
        "from autograder.authoring import idle\nfrom autograder.checks import stages"
    ),
    "autograder/authoring/idle.py": "idle = 1",
    "autograder/checks/stages.py": "from .assertions import slips",
    "autograder/checks/assertions/slips.py": "slip = 5",
    "autograder/checks/kernels/interpreter.py": "import reference_impl.kernels\nrun = 1",
    "autograder/grading/grade.py": "points = 1",
    f"{CHAPTER}/test_counting.py": (
        "from autograder.checks.assertions import slips\n"
        "from autograder.chapters.c01_static_embeddings import candidates"
    ),
    f"{CHAPTER}/candidates.py": "def right(x): return x",
    f"{CHAPTER}/mistakes_counting.py": "def wrong(x): return x + 1",
    f"{CHAPTER}/equivalents.py": "EQUIVALENT = {}",
    "reference_impl/kernels.py": "fast = 1",
    "solutions/alternatives/01-static-embeddings/loops.py": 'name = "01.ppmi"',
    "requirements.lock": "genanki==0.13.1\ntorch==2.13.0\n",
}
COUNTING = {"01.window_counts", "01.predict_pairs", "01.ppmi", "01.predict_sizes"}


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Chapter 1 with checks of its own, in which every exercise is proven as it is."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.delenv(EVERY, raising=False)
    monkeypatch.setattr(proofs, "folder_of", lambda number: tmp_path / CHAPTER)
    monkeypatch.setattr(proofs, "ROOT", tmp_path)
    monkeypatch.setattr(proofs, "mutants_of", lambda one, exercise: [])
    one = assignment("01")
    forget()
    (tmp_path / CHAPTER / RECORD).write_text(record_text(one))
    yield one
    forget()


def forget():
    proofs._hash_of_own.cache_clear()


def test_what_is_as_it_was_is_proven(chapter):
    every = {id for id, exercise in chapter.exercises.items() if exercise.stages}
    assert proven(chapter) == every != set()


def edit(root, path, old, new):
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))
    forget()


OWN = [
    (f"{CHAPTER}/test_counting.py", "import slips", "import stages", COUNTING),
    (f"{CHAPTER}/mistakes_counting.py", "x + 1", "x + 2", COUNTING),
    (f"{CHAPTER}/candidates.py", "return x", "return -x", COUNTING),
    ("solutions/alternatives/01-static-embeddings/loops.py", "name", "other", {"01.ppmi"}),
]
OTHERS = [
    ("autograder/checks/assertions/slips.py", "5", "6"),
    ("tests/autograder/test_exercises.py", "stages", "stages, slips"),
    ("requirements.lock", "2.13.0", "2.13.1"),
    (f"{CHAPTER}/mistakes_counting.py", "x + 1", "x + 1     # too much"),
    (f"{CHAPTER}/candidates.py", "return x", "'The argument.'; return (x)"),
    (f"{CHAPTER}/equivalents.py", "{}", "{'a': 'b'}"),
    ("autograder/grading/grade.py", "1", "2"),
    ("reference_impl/kernels.py", "1", "2"),
]


@pytest.mark.parametrize(("path", "old", "new", "whose"), OWN)
def test_a_change_of_an_exercises_own_code_loses_its_proof_only(
    chapter, tmp_path, path, old, new, whose
):
    before = proven(chapter)
    edit(tmp_path, path, old, new)
    assert proven(chapter) == before - whose != before


@pytest.mark.parametrize(("path", "old", "new"), OTHERS)
def test_a_comment_a_docstring_and_what_all_exercises_share_change_nothing(
    chapter, tmp_path, path, old, new
):
    before = proven(chapter)
    edit(tmp_path, path, old, new)
    assert proven(chapter) == before


def test_another_solution_loses_its_own_proof_only(chapter):
    every = proven(chapter)
    chapter.cells["ppmi"][0].source += "\n    # another"
    assert proven(chapter) == every
    chapter.cells["ppmi"][0].source += "\n    return counts"
    assert proven(chapter) == every - {"01.ppmi"}


def test_only_what_is_not_proven_is_run_again(chapter, tmp_path, monkeypatch):
    runs = []

    class Passed:
        returncode = 0

    monkeypatch.setattr(
        proofs.subprocess, "run", lambda command, **how: runs.append(command) or Passed
    )
    assert proofs.prove(chapter) == 0 and not runs
    chapter.cells["ppmi"][0].source += "\n    return counts"
    assert proofs.prove(chapter) == 0
    assert runs[0][runs[0].index("-k") + 1] == "01-static-embeddings or 01.ppmi"
    assert proofs.unproven(chapter) == []


def test_without_a_record_nothing_is_taken_for_granted(chapter, tmp_path):
    (tmp_path / CHAPTER / RECORD).unlink()
    assert proven(chapter) == set()


def test_the_committed_records_hold_counts_of_what_there_is():
    for one in assignments():
        path = next((proofs.ROOT / "autograder/chapters").glob(f"c{one.number}_*/{RECORD}"))
        kept = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        for id in proven(one):
            exercise = one.exercises[id]
            assert kept[id]["own"] == own_hash(one, exercise), id
            assert kept[id]["stages"] == len(exercise.stages), id
            assert kept[id]["mistakes"] == len(mistakes_of(id)), id


def test_two_chapters_run_kernels():
    assert [one.number for one in assignments() if has_kernels(one)] == ["13", "14"]


def test_every_case_can_be_asked_for(chapter, monkeypatch):
    monkeypatch.setenv(EVERY, "1")
    assert proven(chapter) == set()


def test_a_sample_is_about_its_share_and_touches_each_chapter():
    for one in assignments():
        cases = [f"{id} {number}" for id in one.exercises for number in range(40)]
        assert 0.5 < 8 * sum(sampled(case, 8) for case in cases) / len(cases) < 1.5
