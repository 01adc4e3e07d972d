"""Which exercises the tests of every day may sample: those that passed every case as they are."""
import json

import pytest

from autograder.authoring import proven as module
from autograder.authoring.catalogue import assignment, assignments
from autograder.authoring.proven import EVERY, LEDGER, fingerprint, proven, sampled


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Chapter 1 with a folder of checks of its own, in which every exercise is proven as it is."""
    folder = tmp_path / "c01_static_embeddings"
    folder.mkdir()
    (folder / "matrix.md").write_text("a table")
    (tmp_path / "requirements.lock").write_text("genanki==0.13.1\ntorch==2.13.0\n")
    monkeypatch.delenv(EVERY, raising=False)
    monkeypatch.setattr(module, "folder_of", lambda number: folder)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    one = assignment("01")
    module._around.cache_clear()
    (folder / LEDGER).write_text(json.dumps({id: fingerprint(one, exercise) for id, exercise in one.exercises.items() if exercise.stages}))
    yield one, folder
    module._around.cache_clear()


def test_what_is_as_it_was_is_proven(chapter):
    one, _ = chapter
    assert proven(one) == {id for id, exercise in one.exercises.items() if exercise.stages} != set()


@pytest.mark.parametrize("path", ["c01_static_embeddings/mistakes_new.py", "c01_static_embeddings/matrix.md",
                                  "autograder/checks/stages.py", "solutions/alternatives/01-static-embeddings/loops.py"])
def test_a_change_in_what_decides_a_verdict_proves_nothing_any_more(chapter, path, tmp_path):
    one, _ = chapter
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("another")
    module._around.cache_clear()
    assert proven(one) == set()


@pytest.mark.parametrize("pins, proves", [("torch==2.13.1\n", False), ("genanki==0.14.0\ntorch==2.13.0\n", True)])
def test_of_the_lock_file_only_what_computes_counts(chapter, tmp_path, pins, proves):
    (tmp_path / "requirements.lock").write_text(pins)
    module._around.cache_clear()
    assert bool(proven(chapter[0])) == proves


def test_what_runs_kernels_counts_where_a_solution_has_one(chapter, tmp_path):
    one, _ = chapter
    before = proven(one)
    (tmp_path / "autograder/checks").mkdir(parents=True, exist_ok=True)
    (tmp_path / "autograder/checks/kernels.py").write_text("another")
    module._around.cache_clear()
    assert proven(one) == before
    one.cells["ppmi"][0].source += "\n    # @triton.jit"
    assert proven(one) == set()


def test_another_solution_loses_its_own_proof_only(chapter):
    one, _ = chapter
    every = proven(one)
    one.cells["ppmi"][0].source += "\n    # another"
    assert proven(one) == every - {"01.ppmi"}


def test_every_case_can_be_asked_for(chapter, monkeypatch):
    monkeypatch.setenv(EVERY, "1")
    assert proven(chapter[0]) == set()


def test_a_sample_is_about_its_share_and_touches_each_chapter():
    for one in assignments():
        cases = [f"{id} {number}" for id in one.exercises for number in range(40)]
        assert 0.5 < 8 * sum(sampled(case, 8) for case in cases) / len(cases) < 1.5
