"""Run the stages of one exercise on one student, and say what came of each.

A stage earns all its points or none. Every stage runs, whatever the ones before it did. When a stage fails, the
known mistakes of the exercise go through the same stage: if one of them fails there too, having given on every call
exactly what the student gave, its misconception is named.
"""
import hashlib
import hmac
import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import torch

from autograder.checks.expect import CheckFailed
from autograder.checks.registry import mistakes_of
from autograder.checks.student import LocalStudent, Returned, Student, StudentError
from autograder.checks.values import same

STATUSES = ("passed", "wrong", "error", "not_attempted", "time", "memory", "killed", "fault")
STATUS_OF_KIND = {"missing": "not_attempted", "unreadable": "wrong"}    # other kinds are statuses themselves
CAUSES = {
    "error": "Your code raised an exception.",
    "time": "Your code took longer than the time it is given.",
    "memory": "Your code took more memory than it is given.",
    "killed": "Your code's process ended before it answered.",
    "fault": "The checker itself failed here; this is not your fault, and it costs no points once it is mended.",
}


@dataclass(frozen=True)
class StageResult:
    """What came of one stage. `cause` is a sentence for the student, `detail` numbers or their traceback.

    `misconception` is the sentence of the known mistake that gives exactly the student's values, or "".
    """
    name: str
    points: float
    earned: float
    status: str
    cause: str = ""
    detail: str = ""
    misconception: str = ""


@dataclass(frozen=True)
class ExerciseResult:
    """What came of one exercise. An exercise graded by hand has no stages and earns nothing here."""
    exercise: str
    points: float
    earned: float
    stages: list[StageResult] = field(default_factory=list)

    def to_json(self) -> dict:
        """Plain dictionaries and lists, ready for json.dumps."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict) -> "ExerciseResult":
        """The inverse of `to_json`. Raises TypeError for a missing or unknown field."""
        return cls(**{**record, "stages": [StageResult(**stage) for stage in record["stages"]]})


def rng_for(*names: str, secret: bytes = b"") -> torch.Generator:
    """A generator seeded by HMAC-SHA256 of the names (exercise, stage, student) under `secret`; none in a notebook."""
    digest = hmac.new(secret, "\0".join(names).encode(), hashlib.sha256).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


def run_exercise(exercise, student: Student, rng_for_stage: Callable[[str], torch.Generator] | None = None,
                 mistakes: list | None = None) -> ExerciseResult:
    """Run every stage of `exercise` (an exercise.Exercise) on `student`.

    rng_for_stage: from a stage's name to a fresh generator; called again for each mistake that is tried, so it must
    give the same numbers each time. Default: the visible seed. mistakes: default, the registered ones.
    """
    if mistakes is None:
        mistakes = mistakes_of(exercise.id)
    rng_for_stage = rng_for_stage or (lambda stage: rng_for(exercise.id, stage))
    results = []
    for stage in exercise.stages:
        result = run_stage(stage, student, rng_for_stage(stage.name))
        if result.status == "wrong":
            sentence = _misconception(stage, student, rng_for_stage, mistakes)
            result = StageResult(**{**asdict(result), "misconception": sentence})
        results.append(result)
    return ExerciseResult(exercise.id, exercise.points, sum(stage.earned for stage in results), results)


def run_stage(stage, student: Student, rng: torch.Generator) -> StageResult:
    """Run one stage. Never raises on the student's account, nor on the check's: that is the status "fault"."""
    student.new_stage()
    offered = {"student": student, "rng": rng}
    wanted = {name: offered[name] for name in inspect.signature(stage.function).parameters}
    try:
        stage.function(**wanted)
    except CheckFailed as failed:
        return StageResult(stage.name, stage.points, 0.0, "wrong", failed.cause, failed.detail)
    except StudentError as error:
        status = STATUS_OF_KIND.get(error.kind, error.kind)
        cause = CAUSES.get(status, error.text)
        return StageResult(stage.name, stage.points, 0.0, status, cause, "" if cause == error.text else error.text)
    except Exception as error:
        return StageResult(stage.name, stage.points, 0.0, "fault", CAUSES["fault"], f"{type(error).__name__}: {error}")
    return StageResult(stage.name, stage.points, float(stage.points), "passed")


def _misconception(stage, student: Student, rng_for_stage: Callable, mistakes: list) -> str:
    """The sentence of the mistake that fails this stage with the student's very values, or ""."""
    theirs = student.calls
    if not theirs or not all(isinstance(call.outcome, Returned) for call in theirs):
        return ""
    for mistake in sorted(mistakes, key=lambda mistake: mistake.caught_by != stage.name):
        suspect = LocalStudent({mistake.replaces: mistake.function})
        status = run_stage(stage, suspect, rng_for_stage(stage.name)).status
        if status == "wrong" and _same_calls(suspect.calls, theirs):
            return mistake.misconception
    return ""


def _same_calls(left: list, right: list) -> bool:
    return len(left) == len(right) and all(
        a.name == b.name and isinstance(a.outcome, Returned) and same(a.outcome.value, b.outcome.value)
        and all(callable(x) or same(x, y) for x, y in zip(a.outcome.args, b.outcome.args))
        for a, b in zip(left, right))
