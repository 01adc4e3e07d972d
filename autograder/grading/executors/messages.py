"""What travels between `course grade` and a worker on another machine: JSON, and nothing that says
whose work it is.

There goes: the notebook's bytes, the seeds of this one submission, a random token in the place of
the student, and the terms (which checks, versions and isolation). Back comes what the checks found.
Name, number, times and the class's secret stay with the command. What comes back is taken only if
it is a verdict on exactly what was sent; see `opened`.
"""

import base64
import hashlib
import json
import math
import platform
import secrets
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from autograder.checks.results import Status
from autograder.grading.assignment import Assignment
from autograder.grading.grade import BUDGET_SECONDS, MAX_TEXT, Verdict, unjudged
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.notebook.outputs import without_outputs
from autograder.grading.notebook.parse import (
    MAX_NOTEBOOK_BYTES,
    MAX_TOTAL_CHARACTERS,
    IntakeError,
    fingerprint,
    parse,
)
from autograder.grading.notebook.pictures import MAX_LOOKED_AT, is_checked
from autograder.grading.notebook.read import Reading, placeholder
from autograder.grading.seeds import Seeds

PROTOCOL = 2
MAX_ANSWER = (
    16 * 2**20
)  # bytes of one answer; a verdict holds at most the sources and a few sentences a stage
MAX_SENTENCES = 200  # of one kind in a verdict
FOUND = (
    "submission",
    "tier",
    "seed_ids",
    "results",
    "human",
    "ignored",
    "cell_errors",
    "own",
    "added",
    "untouched",
    "found",
    "pictures",
    "borrowed",
    "fault",
    "stopped_at",
    "seconds",
    "memory",
    "tries",
)  # the fields of a Verdict that a worker fills in


class BadAnswer(Exception):
    """What a worker sent back is no verdict on what it was sent."""


@dataclass(frozen=True)
class Sent(Submission):
    """A submission on the machine that judges it: bytes, without a file and without a student."""

    content: bytes = b""

    def read(self) -> bytes:
        """See Submission."""
        return self.content

    def identity(self) -> str:
        """Nothing: the command knows what was handed in."""
        return ""


@dataclass
class Parcel:
    """One submission on its way: the request's text, and what its answer must fit.

    content: the notebook without large outputs. sha256: of what was handed in.
    """

    submission: Submission
    token: str
    seeds: Seeds
    content: bytes
    sha256: str

    def task(self) -> dict:
        """What is sent beside the terms."""
        return {
            "token": self.token,
            "seeds": self.seeds.to_json(),
            "content": base64.b64encode(self.content).decode(),
        }


def terms(
    assignment: Assignment, isolation: str, cold: bool, budget: float = BUDGET_SECONDS
) -> dict:
    """What the command and each of its workers must agree on, or the worker refuses.

    The budget is the command's to set.
    """
    return {
        "protocol": PROTOCOL,
        "word2serve": version("word2serve"),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "torch": version("torch").partition("+")[0],
        "assignment": assignment.name,
        "checks": assignment.checks_hash,
        "isolation": isolation,
        "cold": cold,
        "budget": budget,
    }


def differences(wanted: dict, mine: dict) -> list[str]:
    """What differs between the command's terms and a worker's, in words."""
    return [
        f"{name} is {str(mine.get(name, 'missing'))[:20]} here and"
        f" {str(wanted.get(name, 'missing'))[:20]} at the command"
        for name in sorted(mine.keys() | wanted.keys())
        if mine.get(name) != wanted.get(name)
    ]


def packed(submission: Submission, seeds: Seeds) -> Parcel:
    """A submission ready to be sent, read here within limits.

    Raises IntakeError when it cannot be read.
    """
    content, sha256 = in_limits(lambda: _read(submission))
    return Parcel(submission, secrets.token_hex(16), seeds, base64.b64decode(content), sha256)


def _read(submission: Submission) -> list[str]:
    data = submission.read()
    content = without_outputs(data)
    if len(content) > MAX_NOTEBOOK_BYTES:
        parse(content)  # which says that it is too large
    return [base64.b64encode(content).decode(), fingerprint(data)]


def unreadable(submission: Submission, assignment: Assignment, problem: IntakeError) -> Verdict:
    """The verdict on what cannot even be read, as `grade_submission` gives it; nothing of it is
    sent.
    """
    return unjudged(
        submission,
        assignment,
        Reading(hashlib.sha256(placeholder(str(problem))).hexdigest(), str(problem)),
    )


def unpacked(task: dict) -> tuple[Submission, Seeds]:
    """A task as the judge takes it. Raises ValueError, KeyError or TypeError for something else."""
    content = base64.b64decode(task["content"], validate=True)
    if len(content) > MAX_NOTEBOOK_BYTES:
        raise ValueError("the notebook is larger than what is read")
    return Sent(task["token"], Path("sent.ipynb"), content=content), Seeds(**task["seeds"])


def opened(record: object, parcel: Parcel, assignment: Assignment, isolation: str) -> Verdict:
    """The verdict in an answer, with the student's own data put back.

    Raises BadAnswer unless it fits what was sent.

    The token, the notebook's hash, the seeds, the checks and the isolation must be those that were
    asked for, the exercises and stages exactly the assignment's, with no more points than they
    give, and every text within its cap.
    """
    try:
        came = Verdict.from_json(record)
    except TypeError:
        raise BadAnswer("it is not a verdict of this version") from None
    fresh = Verdict("", "", "", "")
    _want(
        all(
            type(getattr(came, name)) in (type(value), *((int,) if type(value) is float else ()))
            for name, value in vars(fresh).items()
            if value is not None
        ),
        "a field has another type",
    )
    _want(came.student == parcel.token, "it is about another submission")
    _want(
        (came.assignment, came.checks, came.schema)
        == (assignment.name, assignment.checks_hash, fresh.schema),
        "it is by other checks",
    )
    _want(_shaped(came), "a list or a table in it holds something else than it should")
    base = replace(
        unjudged(parcel.submission, assignment, Reading("")),
        **{name: getattr(came, name) for name in FOUND},
    )
    base.ignored = [*parcel.submission.notes, *came.ignored]
    if came.readable:
        _want(came.submission == fingerprint(parcel.content), "it is about other bytes")
        _want(came.tier == isolation, "it was reached in another isolation")
        _want(came.seed_ids == parcel.seeds.ids, "it was reached with other seeds")
        _want(
            came.fault or _fits(came.results, assignment),
            "its exercises, stages or points are not the assignment's",
        )
    else:
        _want(not came.results, "it gives points for what could not be read")
        problem = came.human[0]["reason"] if len(came.human) == 1 else ""
        said = problem.removeprefix("The submission could not be graded: ").removesuffix(".")
        _want(
            came.fault
            or came.submission
            in (
                fingerprint(parcel.content),
                hashlib.sha256(placeholder(said)).hexdigest(),
            ),
            "it is about other bytes",
        )
    if came.submission == fingerprint(parcel.content):
        base.submission = parcel.sha256
    _want(
        all(
            one["exercise"] is None or one["exercise"] in assignment.exercises for one in came.human
        ),
        "it names other exercises",
    )
    return base


def _want(true: bool, otherwise: str) -> None:
    if not true:
        raise BadAnswer(otherwise)


def _fits(results: list, assignment: Assignment) -> bool:
    checked = [one for one in assignment.exercises.values() if one.stages]
    wanted = [
        (one.id, one.points, [(stage.name, stage.points) for stage in one.stages])
        for one in checked
    ]
    found = [
        (
            one["exercise"],
            one["points"],
            [(stage["name"], stage["points"]) for stage in one["stages"]],
        )
        for one in results
    ]
    return found == wanted and all(
        math.isclose(one["earned"], sum(stage["earned"] for stage in one["stages"]))
        and all(0 <= stage["earned"] <= stage["points"] for stage in one["stages"])
        for one in results
    )


def _shaped(came: Verdict) -> bool:
    """Whether all that is inside the lists and tables has its type and size."""
    texts = [*came.ignored, *came.cell_errors, *came.borrowed, *came.untouched]
    texts += [*came.found]
    sources = [
        *came.found.values(),
        *came.own,
        *came.own.values(),
        *(part for one in came.added if type(one) is list for part in one if part is not None),
    ]
    return (
        len(texts) <= 3 * MAX_SENTENCES
        and all(_text(one) for one in texts)
        and all(type(one) is str for one in sources)
        and sum(map(len, sources)) <= 2 * MAX_TOTAL_CHARACTERS
        and all(type(one) is list and len(one) == 2 for one in came.added)
        and len(came.pictures) <= MAX_LOOKED_AT
        and all(is_checked(name, bundle) for name, bundle in came.pictures.items())
        and all(
            _row(one, {"exercise": (str, type(None)), "reason": (str,)}) and _text(one["reason"])
            for one in came.human
        )
        and all(
            _row(one, {"exercise": (str,), "points": NUMBER, "earned": NUMBER, "stages": (list,)})
            and all(
                _row(stage, STAGE)
                and stage["status"] in list(Status)
                and all(_text(stage[name]) for name in TEXTS)
                for stage in one["stages"]
            )
            for one in came.results
        )
        and came.tries in (1, 2)
        and 0 <= came.stopped_at < 1e6
        and 0 <= came.seconds < 1e6
        and 0 <= came.memory < 2**50
    )


NUMBER = (int, float)
TEXTS = ("cause", "detail", "misconception", "subject")
STAGE = {
    "name": (str,),
    "points": NUMBER,
    "earned": NUMBER,
    "status": (str,),
    "cause": (str,),
    "detail": (str,),
    "misconception": (str,),
    "subject": (str,),
}


def _row(one: object, kinds: dict[str, tuple[type, ...]]) -> bool:
    return (
        type(one) is dict
        and one.keys() == kinds.keys()
        and all(type(one[name]) in kind for name, kind in kinds.items())
    )


def _text(one: object) -> bool:
    return type(one) is str and len(one) <= 2 * MAX_TEXT


def line(message: dict) -> bytes:
    """A message as one line; of a NaN, which JSON does not have, it makes a ValueError."""
    return json.dumps(message, allow_nan=False).encode() + b"\n"
