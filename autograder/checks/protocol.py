"""How a check is written. Everything that `autograder/checks/test_*.py` needs is imported from here.

    ppmi = exercise("01.ppmi", function="ppmi", points=4, withhold=["reference_impl.embeddings.counts"])

    @ppmi.stage("chance", points=1)
    def test_independent_words_score_zero(student, rng):
        counts = torch.outer(tensor([2., 3., 5.]), tensor([1., 4.]))    # (W, C), rank one: no association at all
        expect(student.ppmi(counts)).equals(torch.zeros(3, 2),
            cause="P(w) or P(c) is not normalised by the same total as P(w, c).")

One stage, one mechanism; the first failure of an exercise should be the cause of the later ones. A stage takes
`student`, and `rng` (a torch.Generator) if it draws sizes or values: seeded in the notebook, secret in grading.
The points of the stages add up to the points of the exercise. Ask `expect(...)` about every value before you index,
unpack or compute with it: a check that trips over a student's value is a fault of the check.

Kinds of exercise:

function    The student writes `function`. `also` names further functions that the same cell defines.
predict     The student writes a function, with or without arguments, that returns a number or a dict of str to
            number: the predictions. Stages ask `expect(student.predict(5)).has("parameters").equals(...)` and work
            the right number out by really counting it.
find-line   The card shows numbered wrong code. The student writes `wrong_line()`, which returns an int, and the
            repaired function: `exercise(..., function="NAME", also=["wrong_line"])`. A mistake of `wrong_line` is
            registered with `@mistake(..., replaces="wrong_line")`.
write-test  The student writes `function(implementation)`, which raises AssertionError or returns False for a wrong
            implementation and does neither for a right one. A stage for each kind of mistake that it should catch:
            `expect_catches(student.test_noise, right=[...], wrong=[...], rng=rng, cause=...)`.
manual      Graded by hand: no stages.

`check(f)`, `course check`, pytest (`pytest autograder/checks --impl reference`) and the grader all run these
functions; none of them knows whether the student is in this process or in a sandbox.
"""
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from autograder.checks.expect import CheckFailed, expect
from autograder.checks.runner import ExerciseResult, StageResult, rng_for, run_exercise
from autograder.checks.student import LocalStudent, Returned, Student, StudentError

__all__ = ["CheckFailed", "Exercise", "ExerciseResult", "LocalStudent", "Returned", "Stage", "StageResult", "Student",
           "StudentError", "exercise", "exercises_of", "expect", "expect_catches", "load_checks", "rng_for", "run_exercise"]

KINDS = ("function", "predict", "find-line", "write-test", "manual")
EXERCISES: dict[str, "Exercise"] = {}


@dataclass(frozen=True)
class Stage:
    """One behaviour that earns points: a name, the points, and the pytest function that asks for it."""
    name: str
    points: float
    function: Callable


@dataclass
class Exercise:
    """One exercise: `id` is "NN.name", where NN is the assignment and name the grade id of the solution cell.

    function: the name of what the student writes. withhold: modules that do not exist in its sandbox.
    see: the paragraph of the book that explains it, as "01-static-embeddings/counting#ppmi".
    """
    id: str
    function: str
    points: float
    kind: str = "function"
    withhold: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    see: str = ""
    stages: list[Stage] = field(default_factory=list)

    def stage(self, name: str, points: float) -> Callable:
        """Decorator: the function below is the stage `name`, worth `points`."""
        def register(function: Callable) -> Callable:
            if any(stage.name == name for stage in self.stages):
                raise ValueError(f"{self.id} has two stages named {name!r}")
            self.stages.append(Stage(name, points, function))
            function.exercise = self
            return function
        return register


def exercise(id: str, *, function: str = "", points: float, kind: str = "function", withhold: list[str] = (),
             also: list[str] = (), see: str = "") -> Exercise:
    """Declare an exercise, and make it known to everything that runs checks. Raises ValueError for a slip."""
    names = [function, *also] if function else []
    if kind not in KINDS:
        raise ValueError(f"{id}: kind {kind!r} is not one of {', '.join(KINDS)}")
    if bool(names) == (kind == "manual"):
        raise ValueError(f"{id}: a {kind} exercise {'has no' if names else 'needs a'} function")
    for name in names:
        if name in dir(Student()):
            raise ValueError(f"{id}: `student.{name}` already means something else; give the function another name")
    EXERCISES[id] = made = Exercise(id, function, points, kind, list(withhold), list(also), see)
    return made


def load_checks(number: str = "") -> None:
    """Import the checks of one assignment, by its number, or of all; a second time costs nothing."""
    import autograder.checks as package
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith(f"test_{number}"):
            importlib.import_module(f"{package.__name__}.{module.name}")


def exercises_of(assignment: str) -> dict[str, Exercise]:
    """The exercises whose ids begin with the number of `assignment` ("01" or "01-static-embeddings"), by id.

    Loads the checks on first use. Raises ValueError when the points of an exercise and of its stages disagree.
    """
    number = assignment[:2]
    load_checks(number)
    found = {id: one for id, one in EXERCISES.items() if id.startswith(f"{number}.")}
    for id, one in found.items():
        total = sum(stage.points for stage in one.stages)
        if one.kind != "manual" and abs(total - one.points) > 1e-9:
            raise ValueError(f"{id} is worth {one.points} points, but its stages add up to {total}")
    return found


def expect_catches(test: Callable, *, right: list[Callable], wrong: list[Callable] = (), rng: torch.Generator,
                   cause: str) -> None:
    """Ask a student's test (`student.NAME`) to accept every function in `right` and to reject every one in `wrong`.

    Rejecting is AssertionError or the value False; another exception means that the test is broken, and is reported
    as such. Each function is shown twice, in an order drawn from `rng`, so that a test that counts its calls, or
    that rejects everything, gains nothing. `cause` is for a wrong function that gets through.
    """
    shown = [(function, function in right) for function in [*right, *wrong]] * 2
    for i in torch.randperm(len(shown), generator=rng).tolist():
        function, is_right = shown[i]
        complaint = _complaint(test, function)
        if complaint and is_right:
            raise CheckFailed("Your test rejects a correct implementation.", complaint)
        if not complaint and not is_right:
            raise CheckFailed(cause, "Your test accepted a wrong implementation.")


def _complaint(test: Callable, implementation: Callable) -> str:
    """Why the student's test rejects `implementation`, or ""."""
    try:
        return "it returned False" if test(implementation) is False else ""
    except StudentError as error:
        if error.kind == "error" and any(line.startswith("AssertionError") for line in error.text.split("\n")):
            return error.text
        raise
