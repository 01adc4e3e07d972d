"""Which exercises passed every case as they are now, so that the tests of every day may sample.

`course author prove NN` runs every case of `tests/autograder/test_exercises.py` for a chapter.
Where all pass, it writes `proven.json` next to the chapter's checks: for each exercise the hash of
its own code with the numbers of its stages, right answers, mistakes, mutants and seeds.

An exercise's own code is its solution, its checks and mistakes with what they import from chapters,
and its alternatives. What all exercises share, such as `autograder/checks` and the reference
implementation, is not in the hash: a sample is always tried.
"""

import hashlib
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterable
from functools import cache

from autograder.authoring.catalogue import ROOT, Assignment, folder_of
from autograder.authoring.mutants import equivalents, mutants_of, solution_of
from autograder.checks.mistakes.registry import alternatives_of, mistakes_of
from autograder.checks.protocol import Exercise
from autograder.dependency_hash import code_of, hash_behind

RECORD = "proven.json"
TESTS = "tests/autograder/test_exercises.py"
EVERY = "WORD2SERVE_EVERY_CASE"  # the environment variable under which nothing counts as proven
SEEDS = 40  # under each of which a mistake loses the same points
# What an exercise's own code may import without owning it.
SHARED = (
    "autograder.authoring",
    "autograder.checks",
    "autograder.sandbox",
    "course",
    "reference_impl",
    "tests",
)


def proven(one: Assignment) -> set[str]:
    """The ids of the exercises whose own code is as it was when every case passed.

    Empty where the environment asks for every case.
    """
    if os.environ.get(EVERY):
        return set()
    entries = _record(one).get("exercises", {})
    return {
        exercise.id
        for exercise in _checked(one)
        if entries.get(exercise.id, {}).get("own") == own_hash(one, exercise)
    }


def unproven(one: Assignment) -> list[str]:
    """The ids of the checked exercises that `proven` does not name, in their order."""
    known = proven(one)
    return [exercise.id for exercise in _checked(one) if exercise.id not in known]


def own_hash(one: Assignment, exercise: Exercise) -> str:
    """The hash of an exercise's own code: solution, stages, mistakes, alternatives."""
    digest = hashlib.sha256(code_of(solution_of(one, exercise)).digest)
    functions = [part.function for part in (*exercise.stages, *mistakes_of(exercise.id))]
    modules = {function.__module__ for function in functions}
    digest.update(_hash_of_own(tuple(sorted(modules))).encode())
    for path in sorted(ROOT.glob(f"solutions/alternatives/{one.number}-*/*.py")):
        if f'"{exercise.id}"' in (text := path.read_text(encoding="utf-8")):
            digest.update(code_of(text).digest)
    return digest.hexdigest()[:16]


@cache
def _hash_of_own(modules: tuple[str, ...]) -> str:
    return hash_behind(modules, SHARED, ROOT)


def has_kernels(one: Assignment) -> bool:
    """Whether a solution of a chapter runs kernels."""
    return any("@triton.jit" in cell.source for cell, _ in one.cells.values())


def sampled(case: str, share: int) -> bool:
    """Whether a case, by its name, is among the one in `share` that are tried each time."""
    return zlib.crc32(case.encode()) % share == 0


def prove(one: Assignment, workers: int = 2) -> int:
    """Run every case of the exercises that are not proven, and record all if they pass.

    Returns pytest's exit code; 0 without a run where every exercise is proven as it is.
    """
    if not (missing := unproven(one)):
        print(f"{one.number}: every exercise is proven as it is")
        return 0
    text = record_text(one)  # of the code as it is before the tests run
    # The cases of a whole chapter bear its slug, those of an exercise its id.
    chosen = " or ".join([one.name, *missing])
    options = ["-q", "-n", str(workers), "-p", "no:cacheprovider", "-k", chosen]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, TESTS],
        cwd=ROOT,
        env=os.environ | {EVERY: "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if run.returncode == 0:
        (folder_of(one.number) / RECORD).write_text(text, encoding="utf-8")
    return run.returncode


def record_text(one: Assignment) -> str:
    """The text of a record in which every exercise is proven as it is, one exercise a line."""
    entries = ",\n".join(
        f'  "{exercise.id}": {json.dumps(entry_of(one, exercise))}' for exercise in _checked(one)
    )
    return f'{{\n "exercises": {{\n{entries}\n }}\n}}\n'


def entry_of(one: Assignment, exercise: Exercise) -> dict[str, object]:
    """What a record says of one exercise that passed every case.

    mutants: how many its solution has; mutants_explained: of these, those that survive.
    """
    return {
        "own": own_hash(one, exercise),
        "stages": len(exercise.stages),
        "right_answers": 1 + len(alternatives_of(exercise.id)),
        "mistakes": len(mistakes_of(exercise.id)),
        "mutants": len(mutants_of(one, exercise)),
        "mutants_explained": len(equivalents(exercise)),
        "seeds": SEEDS,
    }


def _record(one: Assignment) -> dict:
    """A chapter's `proven.json`; empty where there is none."""
    path = folder_of(one.number) / RECORD
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _checked(one: Assignment) -> Iterable[Exercise]:
    return [exercise for exercise in one.exercises.values() if exercise.stages]
