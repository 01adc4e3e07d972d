"""Which exercises the tests of every day may sample: those that passed every case as they are."""

import json

import pytest

from autograder.authoring import fingerprints
from autograder.authoring import proven as proofs
from autograder.authoring.catalogue import assignment, assignments
from autograder.authoring.mutants import hash_of
from autograder.authoring.proven import EVERY, LEDGER, entry_of, own_fingerprint, proven, sampled

FILES = {
    "tests/autograder/test_exercises.py": "from autograder.checks import stages",
    "autograder/checks/stages.py": "from autograder.checks.kernels import run\nfrom . import slips",
    "autograder/checks/slips.py": "slip = 5",
    "autograder/checks/kernels.py": "import reference_impl.kernels\nrun = 1",
    "autograder/grading/verdict.py": "points = 1",
    "autograder/chapters/c01_static_embeddings/test_a.py": "from autograder.chapters.c01_static_embeddings import candidates",
    "autograder/chapters/c01_static_embeddings/candidates.py": "def right(x): return x",
    "autograder/chapters/c01_static_embeddings/mistakes_a.py": "def wrong(x): return x + 1",
    "autograder/chapters/c01_static_embeddings/equivalents.py": "EQUIVALENT = {}",
    "autograder/chapters/c01_static_embeddings/matrix.md": "a table",
    "reference_impl/kernels.py": "fast = 1",
    "solutions/alternatives/01-static-embeddings/loops.py": "def other(x): return x",
    "requirements.lock": "genanki==0.13.1\ntorch==2.13.0\n",
}


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Chapter 1 with checks and a frame of its own, in which every exercise is proven as it is."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folder = tmp_path / "autograder/chapters/c01_static_embeddings"
    monkeypatch.delenv(EVERY, raising=False)
    for module in (fingerprints, proofs):
        monkeypatch.setattr(module, "folder_of", lambda number: folder)
        monkeypatch.setattr(module, "ROOT", tmp_path)
    one = assignment("01")
    forget()
    (folder / LEDGER).write_text(
        json.dumps(
            {
                id: entry_of(one, exercise)
                for id, exercise in one.exercises.items()
                if exercise.stages
            }
        )
    )
    yield one, folder
    forget()


@pytest.fixture
def own_code(chapter, tmp_path):
    """Chapter 1, with the modules in which `01.ppmi` has its stages and its mistakes."""
    one, folder = chapter
    frame = "from autograder.checks import slips\n"
    (folder / "test_counting.py").write_text(frame + "check = 1")
    (folder / "mistakes_counting.py").write_text(frame + "wrong = 1")
    forget()
    return one, tmp_path


def forget():
    fingerprints.hash_of_checks.cache_clear()
    fingerprints.hash_of_own.cache_clear()
    proofs._around.cache_clear()


def test_what_is_as_it_was_is_proven(chapter):
    one, _ = chapter
    assert proven(one) == {id for id, exercise in one.exercises.items() if exercise.stages} != set()


CHANGED = [
    ("autograder/chapters/c01_static_embeddings/mistakes_a.py", "x + 1", "x + 2"),
    ("autograder/chapters/c01_static_embeddings/candidates.py", "return x", "return -x"),
    ("autograder/chapters/c01_static_embeddings/matrix.md", "a table", "another"),
    ("autograder/checks/slips.py", "5", "6"),
    ("tests/autograder/test_exercises.py", "stages", "stages, slips"),
    ("solutions/alternatives/01-static-embeddings/loops.py", "return x", "return -x"),
]
WORDS = [
    ("autograder/chapters/c01_static_embeddings/mistakes_a.py", "x + 1", "x + 1     # too much"),
    (
        "autograder/chapters/c01_static_embeddings/candidates.py",
        "return x",
        "'The argument.'; return (x)",
    ),
    ("autograder/chapters/c01_static_embeddings/equivalents.py", "{}", "{'a': 'b'}"),
    ("autograder/checks/slips.py", "slip", "'Slips.'\nslip"),
    ("autograder/grading/verdict.py", "1", "2"),
]


def edit(root, path, old, new):
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))
    forget()


@pytest.mark.parametrize(("path", "old", "new"), CHANGED)
def test_a_change_in_what_decides_a_verdict_proves_nothing_any_more(
    chapter, tmp_path, path, old, new
):
    edit(tmp_path, path, old, new)
    assert proven(chapter[0]) == set()


@pytest.mark.parametrize(("path", "old", "new"), WORDS)
def test_a_comment_a_docstring_and_what_runs_elsewhere_leave_the_proof(
    chapter, tmp_path, path, old, new
):
    before = proven(chapter[0])
    edit(tmp_path, path, old, new)
    assert proven(chapter[0]) == before != set()


def test_a_change_in_the_frame_leaves_what_is_known_of_an_exercises_own_code(own_code):
    one, root = own_code
    exercise = one.exercises["01.ppmi"]
    before = own_fingerprint(one, exercise), hash_of(one, exercise)
    edit(root, "autograder/checks/slips.py", "5", "6")
    assert (own_fingerprint(one, exercise), hash_of(one, exercise)) == before


@pytest.mark.parametrize("name, old", [("test_counting", "check"), ("mistakes_counting", "wrong")])
def test_a_change_in_an_exercises_own_code_tries_all_its_cases_again(own_code, name, old):
    one, root = own_code
    exercise = one.exercises["01.ppmi"]
    before = own_fingerprint(one, exercise)
    path = f"autograder/chapters/c01_static_embeddings/{name}.py"
    edit(root, path, f"{old} = 1", f"{old} = 2")
    assert own_fingerprint(one, exercise) != before


def test_another_solution_has_other_mutants(chapter):
    one, _ = chapter
    before = hash_of(one, one.exercises["01.ppmi"])
    one.cells["ppmi"][0].source += "\n    return counts"
    assert hash_of(one, one.exercises["01.ppmi"]) != before


@pytest.mark.parametrize(
    "pins, proves", [("torch==2.13.1\n", False), ("genanki==0.14.0\ntorch==2.13.0\n", True)]
)
def test_of_the_lock_file_only_what_computes_counts(chapter, tmp_path, pins, proves):
    (tmp_path / "requirements.lock").write_text(pins)
    forget()
    assert bool(proven(chapter[0])) == proves


def test_what_runs_kernels_counts_where_a_solution_has_one(chapter, tmp_path):
    one, _ = chapter
    before = proven(one)
    edit(tmp_path, "autograder/checks/kernels.py", "1", "2")
    assert proven(one) == before
    one.cells["ppmi"][0].source += "\n    # @triton.jit"
    assert proven(one) == set()


def test_another_solution_loses_its_own_proof_only(chapter):
    one, _ = chapter
    every = proven(one)
    one.cells["ppmi"][0].source += "\n    # another"
    assert proven(one) == every
    one.cells["ppmi"][0].source += "\n    return counts"
    assert proven(one) == every - {"01.ppmi"}


def test_every_case_can_be_asked_for(chapter, monkeypatch):
    monkeypatch.setenv(EVERY, "1")
    assert proven(chapter[0]) == set()


def test_a_sample_is_about_its_share_and_touches_each_chapter():
    for one in assignments():
        cases = [f"{id} {number}" for id in one.exercises for number in range(40)]
        assert 0.5 < 8 * sum(sampled(case, 8) for case in cases) / len(cases) < 1.5
