"""Which exercises were tried in full as they are now: what lets the tests of every day take samples.

`course author prove NN` runs every case of `tests/autograder/test_exercises.py` for a chapter. Where all pass it writes
`proven.json` beside the checks, a fingerprint for each exercise. A fingerprint covers what decides a verdict: the
solution, its alternatives, the chapter's checks and mistakes, the frame's, the makers of wrong answers, the tests
themselves and the versions of the libraries that they compute with; what runs kernels only where a solution has one. It does not cover the reference, on which some checks call: a sample is always tried.
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
from autograder.authoring.mutants import solution_of
from autograder.checks.protocol import Exercise

LEDGER, TESTS, EVERY = "proven.json", "tests/autograder/test_exercises.py", "WORD2SERVE_EVERY_CASE"
MAKERS = (f"autograder/authoring/{name}.py" for name in ("asked", "idle", "implementations", "operators", "wrappers"))
FRAME = ("autograder/checks/*.py", *MAKERS, TESTS)
COMPUTE = ("jaxtyping", "numpy", "scipy", "tiktoken", "tokenizers", "torch", "triton")      # what solutions and checks import
FOR_KERNELS = tuple(f"autograder/checks/{name}.py" for name in ("beside_kernels", "compiled", "interpreting", "kernel_source", "kernels", "launches", "marks", "replay"))


def fingerprint(one: Assignment, exercise: Exercise) -> str:
    """What decides the verdicts on an exercise's answers, as 16 hex digits."""
    kernels = any("@triton.jit" in cell.source for cell, _ in one.cells.values())
    return hashlib.sha256(solution_of(one, exercise).encode() + _around(one.number, kernels)).hexdigest()[:16]


@cache
def _around(number: str, kernels: bool) -> bytes:
    """A digest of all files but the solution."""
    folder, digest = folder_of(number), hashlib.sha256()
    ours = [path for path in folder.glob("*.py") if path.name != "equivalents.py"]      # words about mutants: they decide nothing
    files = [*ours, folder / "matrix.md", *(ROOT / "solutions" / "alternatives").glob(f"{number}-*/*.py")]
    frame = {path for pattern in FRAME for path in ROOT.glob(pattern)}
    if not kernels:
        frame -= {ROOT / path for path in FOR_KERNELS}
    for path in sorted([*files, *frame]):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    pins = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    digest.update("\n".join(pin for pin in pins if pin.split("=", 1)[0] in COMPUTE).encode())
    return digest.digest()


def proven(one: Assignment) -> set[str]:
    """The ids of the exercises that passed every case as they are; none where every case is asked for."""
    path = folder_of(one.number) / LEDGER
    if os.environ.get(EVERY) or not path.exists():
        return set()
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {exercise.id for exercise in _checked(one) if kept.get(exercise.id) == fingerprint(one, exercise)}


def sampled(case: str, share: int) -> bool:
    """Whether a case, by its name, is among the one in `share` that are tried each time."""
    return zlib.crc32(case.encode()) % share == 0


def prove(one: Assignment, workers: int = 2) -> int:
    """Run every case of a chapter and keep the fingerprints; pytest's exit code, 0 when they were kept."""
    before = {exercise.id: fingerprint(one, exercise) for exercise in _checked(one)}
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider", TESTS, "-k", one.number],
                         cwd=ROOT, env=os.environ | {EVERY: "1", "OMP_NUM_THREADS": "1"}, check=False)
    if run.returncode == 0:
        path = folder_of(one.number) / LEDGER
        path.write_text(json.dumps(before, indent=1) + "\n", encoding="utf-8")
    return run.returncode


def _checked(one: Assignment) -> Iterable[Exercise]:
    return [exercise for exercise in one.exercises.values() if exercise.stages]
