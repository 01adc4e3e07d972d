"""Everybody answers the checks of an archive, by its files alone: does each get what the repository's checks give?

The answers come from the repository and are made first. Then all modules of the course are forgotten, and the checks are
loaded from the archive's folder.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType

TOPS = ("autograder", "course", "reference_impl", "solutions")


def compare(number: str, archive: Path, expected: dict[str, list]) -> dict[str, list]:
    """missed: keys that were asked and not recorded. differ: stages, as the book calls them, in which somebody gets something else."""
    answers = namespaces(number, list(expected))
    protocol, local = only(archive)
    recorded = importlib.import_module("autograder.recorded")
    missed: list[str] = []
    real = recorded._given

    def given(key: str, args: tuple, kwargs: dict) -> object:
        try:
            return real(key, args, kwargs, 3)
        except recorded.NotRecorded:
            missed.append(key)
            raise

    recorded._given = given
    exercises, differ, said = protocol.exercises_of(number), [], []
    for name, rows in expected.items():
        id, impl = name.split(" ", 1)
        space = local.OurNamespace(answers[name]) if impl.startswith("mistake:") else answers[name]
        result = protocol.run_exercise(exercises[id], local.LocalStudent(space), mistakes=[])
        found = [
            [stage.name, stage.status, stage.earned, stage.cause, stage.detail]
            for stage in result.stages
        ]
        for stage, one, other in zip(exercises[id].stages, found, rows):
            if json.loads(json.dumps(one)) != other:
                differ.append(recorded.key_of(stage.function))
                said.append([name, one, other])
    return {"missed": sorted(set(missed)), "differ": sorted(set(differ)), "said": said[:5]}


def only(archive: Path) -> tuple[ModuleType, ModuleType]:
    """Forget the course's modules, and load `checks.protocol` and `checks.local_student` from an archive's folder."""
    for name in [name for name in sys.modules if name.partition(".")[0] in TOPS]:
        del sys.modules[name]
    root = Path(__file__).resolve().parents[2]
    sys.path[:] = [
        str(archive),
        *(path for path in sys.path if path and Path(path).resolve() != root),
    ]
    os.chdir(archive)
    importlib.invalidate_caches()
    protocol = importlib.import_module("autograder.checks.protocol")
    if not Path(protocol.__file__).is_relative_to(archive):
        raise RuntimeError(f"{protocol.__file__} is not the archive's")
    return protocol, importlib.import_module("autograder.checks.local_student")


def namespaces(number: str, names: list[str]) -> dict[str, dict]:
    """The functions of each answer, loaded from the repository."""
    from autograder.authoring.catalogue import assignment
    from autograder.authoring.implementations import namespace_of

    exercises = assignment(number).exercises
    return {
        name: dict(namespace_of(name.split(" ", 1)[1], exercises[name.split(" ", 1)[0]]))
        for name in names
    }


if __name__ == "__main__":
    print(
        json.dumps(
            compare(sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text()))
        )
    )
