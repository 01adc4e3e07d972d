"""What came of an exercise: a result for each stage, and their sum."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """What came of a stage, as records write it.

    SLIP: right but for a type, a dtype or a changed argument. CAPPED: right, and it counts less.
    FAULT: the checker or the sandbox failed, so no points were decided.
    """

    PASSED = "passed"
    SLIP = "slip"
    CAPPED = "capped"
    WRONG = "wrong"
    ERROR = "error"
    NOT_ATTEMPTED = "not_attempted"
    TIME = "time"
    MEMORY = "memory"
    KILLED = "killed"
    FAULT = "fault"


CAUSES = {
    Status.ERROR: "Your code raised an exception.",
    Status.TIME: "Your code took longer than the time it is given.",
    Status.MEMORY: "Your code took more memory than it is given.",
    Status.KILLED: "Your code's process ended before it answered.",
    Status.FAULT: (
        "The checker itself failed here; this is not your fault, and it costs no points once it is"
        " mended."
    ),
}
FROM_INSIDE = (
    "Your code's process reported that a library failed in it, or it answered what was not asked: a"
    " person looks at it, and until then it costs no points."
)
FAILED = (Status.WRONG, Status.ERROR)  # by what came back, not by how long or whether
EARNING = (Status.PASSED, Status.SLIP, Status.CAPPED)


@dataclass(frozen=True)
class StageResult:
    """What came of one stage.

    `cause` is a sentence for the student, `detail` numbers or their traceback.

    `misconception` is the sentence of the known mistake that gives exactly the student's values, or
    "". A "slip" is a pass with a sentence about type, dtype or a changed argument; "capped" is a
    pass that counts less. `subject` is what a failure is about: the function, and in an exercise
    that asks for several numbers the one that was wrong.
    """

    name: str
    points: float
    earned: float
    status: Status
    cause: str = ""
    detail: str = ""
    misconception: str = ""
    subject: str = ""


@dataclass(frozen=True)
class ExerciseResult:
    """What came of one exercise.

    An exercise graded by hand has no stages and earns nothing here.
    """

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
        return cls(**{**record, "stages": [_stage(stage) for stage in record["stages"]]})


def _stage(record: dict) -> StageResult:
    return StageResult(**{**record, "status": Status(record["status"])})
