"""What an exercise is, how it is declared, and all that are known, by id.

The chapters declare theirs in `autograder/chapters/`, which is imported by name when it is asked
for: this package knows nothing of any chapter.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.checks.kinds.seeded_fault import Faults
from autograder.checks.student.base import Student

KINDS = (
    "function",
    "predict",
    "find-line",
    "write-test",
    "counterexample",
    "drawn-fault",
    "manual",
)
CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
EXERCISES: dict[str, "Exercise"] = {}


@dataclass(frozen=True)
class Stage:
    """One behaviour that earns points: a name, the points, and the pytest function that asks for
    it.

    after: the stage that must pass before this one counts; for a stage that compares a student with
    himself. at_most: who fails this stage gets at most this share of the exercise; for code that
    works for one size only.
    """

    name: str
    points: float
    function: Callable
    after: str = ""
    at_most: float = 1.0


@dataclass(eq=False)
class Exercise:
    """One exercise: `id` is "NN.name", where NN is the assignment and name the grade id of the
    solution cell.

    function: the name of what the student writes. withhold: what it may not use; see `withholding`.
    allowed: functions that return the answer and may be used all the same, each with the reason.
    faults: of a drawn-fault exercise. see: the paragraph of the book that explains it, as
    "01-static-embeddings/pmi#ppmi". changes: whether the student may change the arguments;
    everywhere else that is a slip, found on every call.
    """

    id: str
    function: str
    points: float
    kind: str = "function"
    withhold: Sequence[str] | Mapping[str, str] = ()
    also: list[str] = field(default_factory=list)
    see: str = ""
    stages: list[Stage] = field(default_factory=list)
    changes: bool = False
    allowed: Mapping[str, str] = field(default_factory=dict)
    faults: Faults | None = None

    def stage(self, name: str, points: float, *, after: str = "", at_most: float = 1.0) -> Callable:
        """Decorator: the function below is the stage `name`, worth `points`.

        Raises ValueError for a slip; see Stage.
        """
        if after and after not in [stage.name for stage in self.stages]:
            raise ValueError(
                f"{self.id}, stage {name!r}: there is no earlier stage {after!r} for it to come"
                " after"
            )

        def register(function: Callable) -> Callable:
            if any(stage.name == name for stage in self.stages):
                raise ValueError(f"{self.id} has two stages named {name!r}")
            self.stages.append(Stage(name, points, function, after, at_most))
            function.exercise = self
            return function

        return register


def exercise(
    id: str,
    *,
    function: str = "",
    points: float,
    kind: str = "function",
    withhold: Sequence[str] | Mapping[str, str] = (),
    also: Sequence[str] = (),
    see: str = "",
    changes: bool = False,
    allowed: Mapping[str, str] | None = None,
    faults: Faults | None = None,
) -> Exercise:
    """Declare an exercise, and make it known to everything that runs checks.

    Raises ValueError for a slip.
    """
    _refuse_slips(id, kind, [function, *also] if function else [], faults)
    EXERCISES[id] = made = Exercise(
        id,
        function,
        points,
        kind,
        withhold,
        list(also),
        see,
        changes=changes,
        allowed=dict(allowed or {}),
        faults=faults,
    )
    return made


def _refuse_slips(id: str, kind: str, names: list[str], faults: Faults | None) -> None:
    if kind not in KINDS:
        raise ValueError(f"{id}: kind {kind!r} is not one of {', '.join(KINDS)}")
    if bool(names) == (kind == "manual"):
        raise ValueError(f"{id}: a {kind} exercise {'has no' if names else 'needs a'} function")
    if (faults is not None) != (kind == "drawn-fault"):
        raise ValueError(f"{id}: a drawn-fault exercise, and no other, has `faults=Faults(...)`")
    for name in names:
        if name in dir(Student()):
            raise ValueError(
                f"{id}: `student.{name}` already means something else; give the function another"
                " name"
            )


def load_checks(number: str = "") -> None:
    """Import the checks of one assignment, by its number, or of all; a second time costs
    nothing.
    """
    load_modules(number, "test_")


def load_modules(number: str, prefix: str) -> None:
    """Import the modules of `autograder/chapters/` that begin with `prefix`, of one chapter by its
    number or of all.
    """
    for folder in sorted(CHAPTERS.glob(f"c{number}*_*")):
        for file in sorted(folder.glob(f"{prefix}*.py")):
            importlib.import_module(f"autograder.chapters.{folder.name}.{file.stem}")


def exercises_of(assignment: str) -> dict[str, Exercise]:
    """The exercises whose ids begin with the number of `assignment` ("01" or
    "01-static-embeddings"), by id.

    Loads the checks on first use. Raises ValueError when the points of an exercise and of its
    stages disagree.
    """
    number = assignment[:2]
    load_checks(number)
    found = {id: one for id, one in EXERCISES.items() if id.startswith(f"{number}.")}
    for id, one in found.items():
        total = sum(stage.points for stage in one.stages)
        if one.kind != "manual" and abs(total - one.points) > 1e-9:
            raise ValueError(f"{id} is worth {one.points} points, but its stages add up to {total}")
    return found
