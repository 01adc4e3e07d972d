"""Run the stages of an exercise on one student, each by itself; nothing is put in
proportion yet.
"""

import hashlib
import hmac
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from autograder.checks.assertions import slips
from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.assertions.values import same
from autograder.checks.inputs.strided import is_plain, slip_with_views
from autograder.checks.kinds.seeded_fault import fault_of
from autograder.checks.results import CAUSES, FROM_INSIDE, StageResult, Status
from autograder.checks.shown_call import call_in_shapes, detail_of, shown_call
from autograder.checks.student.base import Student
from autograder.checks.student.requests import Call, Request, StudentError

STATUS_OF_KIND = {
    "missing": "not_attempted",
    "unreadable": "wrong",
    "withheld": "wrong",
}  # other kinds are statuses themselves

RAISED = "{} raises an exception{}."
WITH_NONE = " when an argument is None"


def rng_for(*names: str, secret: bytes = b"") -> torch.Generator:
    """A generator seeded by HMAC-SHA256 of the names (exercise, stage, student) under `secret`;
    none in a notebook.
    """
    digest = hmac.new(secret, "\0".join(names).encode(), hashlib.sha256).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


@dataclass(frozen=True)
class Run:
    """One stage as it was run: its result, the calls that it made, and the slips that were noted on
    the way.

    hint: what the wrong numbers show by themselves, see `likeness`.
    """

    result: StageResult
    calls: list[Call]
    slips: list[str]
    hint: str = ""


def run_stages(
    exercise, student: Student, rng_for_stage: Callable[[str], torch.Generator]
) -> list[Run]:
    """Run every stage by itself, with nothing put in proportion yet; ask once more, and with views,
    where a stage passes.
    """
    runs: list[Run] = []
    for stage in exercise.stages:
        runs.append(run := run_one(exercise, stage, student, rng_for_stage(stage.name)))
        if run.result.status == Status.PASSED and not exercise.changes:
            last = next(filter(is_plain, reversed(run.calls)), None)
            found = [
                *run.slips,
                _slip_once_more(student, last),
                slip_with_views(student, run.calls),
            ]
            run.slips[:] = slips.without_echoes(dict.fromkeys(filter(None, found)))
    return runs


def run_one(exercise, stage, student: Student, rng: torch.Generator) -> Run:
    """Run one stage, and ask the last question again where an answer was wrong."""
    noted = slips.begin()
    if exercise.kind == "write-test":
        # a test that keeps what it was shown knows which functions come again, and so are right
        student.begin_afresh()
    result, hint = run_stage(stage, student, rng, exercise)
    calls = student.calls
    if (
        result.status == Status.WRONG
        and calls
        and is_plain(calls[-1])
        and not any(call.changed for call in calls)
        and _slip_once_more(student, calls[-1]) == slips.AGAIN
    ):
        result = replace(result, cause=f"{slips.AGAIN} {result.cause}")
    if not exercise.changes and any(call.changed for call in calls):
        slips.note(slips.CHANGED)
    if any(getattr(call.outcome, "tracked", False) for call in calls):
        slips.note(slips.TRACKED)
    if not exercise.changes and any(getattr(call.outcome, "stale", False) for call in calls):
        slips.note(slips.STALE)
    return Run(result, calls, noted, hint)


def _slip_once_more(student: Student, call: Call | None) -> str:
    """The sentence of the slip that a question brings to light when it is asked a second time, or
    "" (as without a question).
    """
    if call is None:
        return ""
    try:
        again = student.perform(
            Request("call", call.name, call.name, args=call.args, kwargs=call.kwargs)
        )
    except StudentError as error:
        return slips.AGAIN if error.kind == "error" else ""
    return (
        slips.STALE if again.stale else "" if same(again.value, call.outcome.value) else slips.AGAIN
    )


def run_stage(
    stage, student: Student, rng: torch.Generator, exercise=None
) -> tuple[StageResult, str]:
    """The result of one stage, and a hint.

    Never raises on the student's account, nor on the check's: that is a "fault".
    """
    student.new_stage()
    offered = {"student": student, "rng": rng}
    parameters = inspect.signature(stage.function).parameters
    if "fault" in parameters:
        offered["fault"] = fault_of(exercise, student)
    wanted, hint = {name: offered[name] for name in parameters}, ""
    status, cause, detail, earned, result = Status.PASSED, "", "", float(stage.points), ""
    try:
        stage.function(**wanted)
    except CheckFailed as failed:
        status, cause, hint = Status.WRONG, failed.cause, failed.hint
        detail = detail_of(failed, student.calls)
        result = failed.asked.key if failed.asked else ""
    except StudentError as error:
        status, cause, detail = _of_error(error, student.calls)
    except Exception as error:
        status, cause = Status.FAULT, CAUSES[Status.FAULT]
        detail = f"{type(error).__name__}: {error}"
    if status != Status.PASSED:
        earned = 0.0
    subject = _subject(exercise, student.calls, result)
    made = StageResult(stage.name, stage.points, earned, status, cause, detail, subject=subject)
    return made, hint


def _of_error(error: StudentError, calls: list) -> tuple[Status, str, str]:
    """Status, cause and detail of a stage in which a call ended with this error."""
    status = Status(STATUS_OF_KIND.get(error.kind, error.kind))
    said, _, more = error.text.partition("\n")  # a drawn number stands below the first line
    if status == Status.FAULT:
        cause = FROM_INSIDE
    elif status == Status.ERROR:
        cause = _raised(calls)
    else:
        cause = CAUSES.get(status, said)
    detail = more if cause == said else error.text
    if status == Status.ERROR and calls:
        last = calls[-1]
        detail = f"{shown_call(last) or call_in_shapes(last)}\n{detail}".strip()
    return status, cause, detail


def _raised(calls: list[Call]) -> str:
    """The cause of an exception: what raised it, and whether an argument was None."""
    if not calls:
        return RAISED.format("Your code", "")
    last = calls[-1]
    without = any(one is None for one in (*last.args, *last.kwargs.values()))
    return RAISED.format(f"`{last.name}`", WITH_NONE if without else "")


def _subject(exercise, calls: list[Call], key: str) -> str:
    """The function that a stage ended with, and of a prediction the number that was wrong."""
    if exercise is None:
        return ""
    names = (exercise.function, *exercise.also)
    name = calls[-1].name if calls and calls[-1].name in names else exercise.function
    return f"{name}[{key}]" if key and exercise.kind == "predict" else name
