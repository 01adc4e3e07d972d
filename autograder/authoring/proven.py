"""Which exercises were tried in full as they are now: what lets the tests of every day take samples.

`course author prove NN` runs every case of `tests/autograder/test_exercises.py` for a chapter. Where all pass it writes
`proven.json` beside the checks: for each exercise a fingerprint, how much was tried, and under how
many seeds each mistake earned the same points. A fingerprint covers the code that decides what an
answer earns (see dependency_hash): the solution, its alternatives, the chapter's checks and
mistakes, the tests themselves and all that they import; what runs kernels only where a solution has
one. It covers the versions of the libraries that compute, too, and not our reference, which some
checks call: a sample is always tried.
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
from autograder.authoring.fingerprints import has_kernels, hash_of_checks, hash_of_own
from autograder.authoring.mutants import solution_of
from autograder.checks.protocol import Exercise
from autograder.checks.registry import alternatives_of, mistakes_of
from autograder.dependency_hash import code_of

LEDGER, TESTS, EVERY = "proven.json", "tests/autograder/test_exercises.py", "WORD2SERVE_EVERY_CASE"
SEEDS = 40  # under each of which a mistake loses its points, no more and no less
COMPUTE = (
    "jaxtyping",
    "numpy",
    "scipy",
    "tiktoken",
    "tokenizers",
    "torch",
    "triton",
)  # what solutions and checks import


def fingerprint(one: Assignment, exercise: Exercise) -> str:
    """What decides the verdicts on an exercise's answers, as 16 hex digits."""
    solution = code_of(solution_of(one, exercise)).digest
    return hashlib.sha256(solution + _around(one.number, has_kernels(one))).hexdigest()[:16]


@cache
def _around(number: str, kernels: bool) -> bytes:
    """A digest of all but the solution."""
    roots = (TESTS.removesuffix(".py").replace("/", "."),)
    checks = hash_of_checks(number, kernels, ("test_", "mistakes_"), roots)
    digest = hashlib.sha256(checks.encode())
    for path in sorted(ROOT.glob(f"solutions/alternatives/{number}-*/*.py")):
        digest.update(path.name.encode() + b"\0" + code_of(path.read_text(encoding="utf-8")).digest)
    digest.update((folder_of(number) / "matrix.md").read_bytes())
    pins = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    digest.update("\n".join(pin for pin in pins if pin.split("=", 1)[0] in COMPUTE).encode())
    return digest.digest()


def proven(one: Assignment) -> set[str]:
    """The ids of the exercises that passed every case as they are; none where every case is asked for."""
    path = folder_of(one.number) / LEDGER
    if os.environ.get(EVERY) or not path.exists():
        return set()
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        exercise.id
        for exercise in _checked(one)
        if _fingerprint_in(kept.get(exercise.id)) == fingerprint(one, exercise)
    }


def _fingerprint_in(entry: object) -> str:
    """The fingerprint of one exercise in a ledger, or "" for none, or one of an earlier form."""
    return entry["fingerprint"] if isinstance(entry, dict) else ""


def entry_of(one: Assignment, exercise: Exercise) -> dict[str, object]:
    """What the ledger says of an exercise for which every case passed."""
    return {
        "fingerprint": fingerprint(one, exercise),
        "own": own_fingerprint(one, exercise),
        "stages": len(exercise.stages),
        "right_answers": 1 + len(alternatives_of(exercise.id)),
        "mistakes": len(mistakes_of(exercise.id)),
        "seeds_with_the_same_points": SEEDS,
    }


def own_fingerprint(one: Assignment, exercise: Exercise) -> str:
    """The part of a fingerprint that is the exercise's own: solution, stages, mistakes, other answers."""
    digest = hashlib.sha256(code_of(solution_of(one, exercise)).digest)
    functions = [part.function for part in (*exercise.stages, *mistakes_of(exercise.id))]
    modules = {function.__module__ for function in functions}
    digest.update(hash_of_own(tuple(sorted(modules))).encode())
    for path in sorted(ROOT.glob(f"solutions/alternatives/{one.number}-*/*.py")):
        if f'"{exercise.id}"' in (text := path.read_text(encoding="utf-8")):
            digest.update(code_of(text).digest)
    return digest.hexdigest()[:16]


def own_proven(one: Assignment) -> set[str]:
    """The ids of the exercises whose own code passed every case, in whatever frame it was then."""
    path = folder_of(one.number) / LEDGER
    if os.environ.get(EVERY) or not path.exists():
        return set()
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        exercise.id
        for exercise in _checked(one)
        if kept.get(exercise.id, {}).get("own") == own_fingerprint(one, exercise)
    }


def sampled(case: str, share: int) -> bool:
    """Whether a case, by its name, is among the one in `share` that are tried each time."""
    return zlib.crc32(case.encode()) % share == 0


def prove(one: Assignment, workers: int = 2) -> int:
    """Run every case of a chapter and keep the fingerprints; pytest's exit code, 0 when they were kept."""
    before = {exercise.id: entry_of(one, exercise) for exercise in _checked(one)}
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(workers),
            "-p",
            "no:cacheprovider",
            TESTS,
            "-k",
            one.number,
        ],
        cwd=ROOT,
        env=os.environ | {EVERY: "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if run.returncode == 0:
        path = folder_of(one.number) / LEDGER
        path.write_text(json.dumps(before, indent=1) + "\n", encoding="utf-8")
    return run.returncode


def _checked(one: Assignment) -> Iterable[Exercise]:
    return [exercise for exercise in one.exercises.values() if exercise.stages]
