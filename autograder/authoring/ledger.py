"""The ledger of a chapter's sweep, `swept.json`: what was tried, so that a test knows what to try again.

It holds the versions of the packages, a hash of each solution, a hash of each module of the reference, how many
callables were tried in each place, those that hung or died, and everything that was found.
"""
import hashlib
import importlib.metadata
import json
from pathlib import Path

from autograder.authoring.catalogue import ROOT, Assignment, folder_of
from autograder.authoring.sweep import PLACES, Swept, solution_of

LEDGER = "swept.json"


def state_of(one: Assignment) -> dict:
    """What a sweep depends on, as it is here: packages, solutions, the reference."""
    packages = sorted({place.split(".")[0] for place in PLACES} & set(importlib.metadata.packages_distributions()))
    return {"packages": {name: importlib.metadata.version(name).partition("+")[0] for name in packages if name != "course"},
            "solutions": {id: _hash(solution_of(one, exercise).encode()) for id, exercise in one.exercises.items() if exercise.stages},
            "modules": {_module(path): _hash(path.read_bytes()) for path in sorted((ROOT / "reference_impl").rglob("*.py"))}}


def write(one: Assignment, swept: Swept) -> Path:
    """Put the ledger of a whole sweep beside the checks of the chapter."""
    path = folder_of(one.number) / LEDGER
    record = state_of(one) | {"tried": swept.tried, "ended": swept.ended, "found": swept.found}
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def read(number: str) -> dict:
    """The ledger of a chapter."""
    return json.loads((folder_of(number) / LEDGER).read_text(encoding="utf-8"))


def changed_modules(one: Assignment, ledger: dict) -> list[str]:
    """The modules of the reference that are other than when the sweep was run, or were not there."""
    return [name for name, mark in state_of(one)["modules"].items() if ledger["modules"].get(name) != mark]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
