"""What came of an exercise: a result for each stage, and their sum."""

from dataclasses import asdict, dataclass, field

STATUSES = (
    "passed",
    "slip",
    "capped",
    "wrong",
    "error",
    "not_attempted",
    "time",
    "memory",
    "killed",
    "fault",
)
CAUSES = {
    "error": "Your code raised an exception.",
    "time": "Your code took longer than the time it is given.",
    "memory": "Your code took more memory than it is given.",
    "killed": "Your code's process ended before it answered.",
    "fault": (
        "The checker itself failed here; this is not your fault, and it costs no points once it is"
        " mended."
    ),
}
FROM_INSIDE = (
    "Your code's process reported that a library failed in it, or it answered what was not asked: a"
    " person looks at it, and until then it costs no points."
)
FAILED = ("wrong", "error")  # by what came back, not by how long or whether
EARNING = ("passed", "slip", "capped")


@dataclass(frozen=True)
class StageResult:
    """What came of one stage.

    `cause` is a sentence for the student, `detail` numbers or their traceback.

    `misconception` is the sentence of the known mistake that gives exactly the student's values, or
    "". A "slip" is a pass with a sentence about type, dtype or a changed argument; "capped" is a
    pass that counts less.
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
        return cls(**{**record, "stages": [StageResult(**stage) for stage in record["stages"]]})
