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
from autograder.errors import CourseError

LEDGER = "swept.json"


def state_of(one: Assignment) -> dict:
    """What a sweep depends on, as it is here: packages, solutions, the reference."""
    packages = sorted(
        {place.split(".")[0] for place in PLACES} & set(importlib.metadata.packages_distributions())
    )
    return {
        "packages": {
            name: importlib.metadata.version(name).partition("+")[0]
            for name in packages
            if name != "course"
        },
        "solutions": {
            id: _hash(solution_of(one, exercise).encode())
            for id, exercise in one.exercises.items()
            if exercise.stages
        },
        "modules": {
            _module(path): _hash(path.read_bytes())
            for path in sorted((ROOT / "reference_impl").rglob("*.py"))
        },
    }


def write(one: Assignment, swept: Swept) -> Path:
    """Put the ledger of a whole sweep beside the checks of the chapter."""
    _keep(one, state_of(one) | {"tried": swept.tried, "ended": swept.ended, "found": swept.found})
    return folder_of(one.number) / LEDGER


def add(one: Assignment, swept: Swept) -> dict:
    """Put a sweep of some exercises into the kept ledger and return it.

    The modules stay those of the whole sweep: what has changed since is tried again on all exercises. Raises CourseError
    where other versions of the packages are installed, which only a whole sweep can answer for.
    """
    kept, here = read(one.number), state_of(one)
    if kept["packages"] != here["packages"]:
        raise CourseError(
            f"{LEDGER} of chapter {one.number} belongs to other versions of the packages: run `course author withheld {one.number}`"
        )
    kept["solutions"] = {
        id: mark if id in swept.found else kept["solutions"].get(id, "")
        for id, mark in here["solutions"].items()
    }
    kept["found"] = {id: swept.found.get(id, kept["found"].get(id, [])) for id in here["solutions"]}
    kept["ended"] |= swept.ended
    return _keep(one, kept)


def read(number: str) -> dict:
    """The ledger of a chapter."""
    return json.loads((folder_of(number) / LEDGER).read_text(encoding="utf-8"))


def changed_modules(one: Assignment, ledger: dict) -> list[str]:
    """The modules of the reference that are other than when the sweep was run, or were not there."""
    return [
        name
        for name, mark in state_of(one)["modules"].items()
        if ledger["modules"].get(name) != mark
    ]


def _keep(one: Assignment, record: dict) -> dict:
    path = folder_of(one.number) / LEDGER
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return record


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
