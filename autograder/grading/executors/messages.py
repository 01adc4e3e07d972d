"""What travels between `course grade` and a Dask worker: JSON that does not say whose work it is.

A request holds the terms (which checks, versions and isolation), the notebook's bytes, the seeds
of this one submission, and a random token in place of the student. The answer holds the result.
Name, number, times and the class's secret stay with the command.
"""

import base64
import json
import math
import platform
import secrets
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict, grade_submission, unjudged
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.limited_child import in_limits
from autograder.grading.notebook.outputs import without_outputs
from autograder.grading.notebook.parse import (
    MAX_NOTEBOOK_BYTES,
    IntakeError,
    fingerprint,
    parse,
)
from autograder.grading.notebook.read import Reading, placeholder
from autograder.grading.seeds import Seeds

PROTOCOL = 3
MAX_ANSWER = 16 * 2**20  # bytes; a result holds at most the sources and some sentences per test
# Fields of a record that the command knows and a worker does not.
STUDENTS_OWN = ("student", "name", "lms_id", "late", "entry", "timestamp", "source", "hand_ins")


class BadAnswer(Exception):
    """A worker's answer is not a result for what it was sent."""


@dataclass(frozen=True)
class Sent(Submission):
    """A submission without a file and without a student: its bytes, and the seeds to grade with."""

    content: bytes = b""
    seeds: Seeds | None = None

    def read(self) -> bytes:
        """See Submission."""
        return self.content

    def identity(self) -> str:
        """Return nothing: the command knows what was submitted."""
        return ""

    def grade(
        self, assignment: Assignment, pool: object, budget: float, child: object = None
    ) -> Verdict:
        """Return the result, with `seeds` in place of the class's secret."""
        return grade_submission(self, assignment, self.seeds, pool, child, budget)


@dataclass(frozen=True)
class Parcel:
    """One submission on its way. sha256: of what was submitted, before outputs were dropped."""

    submission: Submission
    sent: Sent
    sha256: str


def terms(assignment: Assignment, isolation: str, cold: bool, budget: float) -> dict:
    """Return what the command and each of its workers must agree on."""
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
    """Return what differs between the command's terms and a worker's, one sentence each."""
    return [
        f"{name} is {str(mine.get(name, 'missing'))[:20]} here and"
        f" {str(wanted.get(name, 'missing'))[:20]} at the command"
        for name in sorted(mine.keys() | wanted.keys())
        if mine.get(name) != wanted.get(name)
    ]


def packed(submission: Submission, seeds: Seeds) -> Parcel:
    """Return a submission ready to be sent, read within limits.

    Raises IntakeError when it cannot be read.
    """

    def read() -> list[str]:
        data = submission.read()
        content = without_outputs(data)
        if len(content) > MAX_NOTEBOOK_BYTES:
            parse(content)  # raises, with the sentence that it is too large
        return [base64.b64encode(content).decode(), fingerprint(data)]

    content, sha256 = in_limits(read)
    sent = Sent(
        secrets.token_hex(16), Path("sent.ipynb"), content=base64.b64decode(content), seeds=seeds
    )
    return Parcel(submission, sent, sha256)


def unreadable(submission: Submission, assignment: Assignment, problem: IntakeError) -> Verdict:
    """Return the record of what cannot even be read, as `grade_submission` gives it."""
    sha256 = fingerprint(placeholder(str(problem)))
    return unjudged(submission, assignment, Reading(sha256, str(problem)))


def request(terms: dict, sent: Sent) -> bytes:
    """Return the request that asks a worker for the result of `sent`."""
    task = {
        "token": sent.student,
        "seeds": sent.seeds.to_json(),
        "content": base64.b64encode(sent.content).decode(),
    }
    return json.dumps({"terms": terms, "task": task}).encode()


def unpacked(task: dict) -> Sent:
    """Return the submission in a request. Raises ValueError, KeyError or TypeError."""
    content = base64.b64decode(task["content"], validate=True)
    if len(content) > MAX_NOTEBOOK_BYTES:
        raise ValueError(f"a notebook of {len(content):,} bytes is larger than what is read")
    return Sent(task["token"], Path("sent.ipynb"), content=content, seeds=Seeds(**task["seeds"]))


def opened(record: object, parcel: Parcel, assignment: Assignment, isolation: str) -> Verdict:
    """Return the result in an answer, with the student's own data put back.

    Raises BadAnswer unless its token, checks, seeds and isolation are those that were asked for,
    its exercises and tests the assignment's, and no points more than these give.
    """
    try:
        came = Verdict.from_json(record)
        if came.student != parcel.sent.student:
            raise BadAnswer("it is about another submission")
        if (came.assignment, came.checks) != (assignment.name, assignment.checks_hash):
            raise BadAnswer("it is by other checks")
        if came.readable and (came.tier, came.seed_ids) != (isolation, parcel.sent.seeds.ids):
            raise BadAnswer("it is by another isolation or other seeds")
        if came.readable and not _fits(came.results, assignment):
            raise BadAnswer("its exercises, tests or points are not the assignment's")
        if came.results and not came.readable:
            raise BadAnswer("it gives points for what could not be read")
    except (TypeError, KeyError, AttributeError) as error:
        raise BadAnswer(f"it is not a result of this version ({error})") from None
    mine = vars(unjudged(parcel.submission, assignment, Reading("")))
    back = replace(came, **{name: mine[name] for name in STUDENTS_OWN})
    back.ignored = [*parcel.submission.notes, *came.ignored]
    if came.submission == fingerprint(parcel.sent.content):
        back.submission = parcel.sha256
    return back


def _fits(results: list, assignment: Assignment) -> bool:
    checked = [one for one in assignment.exercises.values() if one.stages]
    if [one["exercise"] for one in results] != [one.id for one in checked]:
        return False
    for result, exercise in zip(results, checked):
        tests = [(one["name"], one["points"]) for one in result["stages"]]
        earned = [one["earned"] for one in result["stages"]]
        if (
            result["points"] != exercise.points
            or tests != [(one.name, one.points) for one in exercise.stages]
            or not all(0 <= one <= points for one, (_, points) in zip(earned, tests))
            or not math.isclose(result["earned"], sum(earned))
        ):
            return False
    return True
