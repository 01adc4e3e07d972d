"""The record of decisions on flagged submissions, one file per assignment: who, what, when, why."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from autograder import course_layout
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.common.errors import CourseError

POINTS, RELOCATED, ATTEMPT = "points", "relocated", "attempt"


@dataclass(frozen=True)
class Decision:
    """One decision.

    kind: POINTS, RELOCATED or ATTEMPT. said: what was decided, in words. exercise: its id, or ""
    for a decision on the whole submission. before: what undoing it restores. undone: when that
    was done, or "".
    """

    number: int
    time: str
    student: str
    exercise: str
    kind: str
    said: str
    reason: str
    before: dict
    undone: str = ""


def decisions(course_root: Path, assignment: str) -> list[Decision]:
    """Return all decisions in their order. Raises CourseError for a file that cannot be read."""
    path = course_layout.decisions(course_root, assignment)
    if not path.exists():
        return []
    try:
        return [Decision(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(
            f"{path} cannot be read ({error}): bring a copy of it back, or move it away"
        ) from None


def note(course_root: Path, assignment: str, **what: object) -> Decision:
    """Record a decision and return it; `what` holds the fields but for number and time."""
    known = decisions(course_root, assignment)
    made = Decision(number=len(known) + 1, time=_now(), **what)
    _write(course_root, assignment, [*known, made])
    return made


def note_undone(course_root: Path, assignment: str, number: int) -> None:
    """Record that a decision was undone."""
    known = [asdict(one) for one in decisions(course_root, assignment)]
    known[number - 1]["undone"] = _now()
    _write(course_root, assignment, [Decision(**one) for one in known])


def standing(course_root: Path, assignment: str) -> list[Decision]:
    """Return the decisions that were not undone."""
    return [one for one in decisions(course_root, assignment) if not one.undone]


def _now() -> str:
    return f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S UTC}"


def _write(course_root: Path, assignment: str, all_of_them: list[Decision]) -> None:
    text = json.dumps([asdict(one) for one in all_of_them], indent=1, ensure_ascii=False)
    write_whole(course_layout.decisions(course_root, assignment), text, OWNER_ONLY)
