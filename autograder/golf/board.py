"""The leaderboard: every run in one JSON file, and the standings that follow from them.

Runs of the same file are pooled, so submitting it again is no second chance. An entry that leads
when it comes in is run again on other passages, and both runs count. Of a name's several files the
last submitted counts, not the best. Two entries closer than two standard deviations over their
seeds share a place. Tracks and texts have standings of their own.
"""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.common.atomic_files import locked, write_whole
from autograder.common.errors import CourseError
from autograder.golf.entry import Entry
from autograder.golf.score import RunResult

SCHEMA = 1
MAX_NAME = 40
OTHER_FILE = "Give another file with --board, or restore this one from a backup"


@dataclass(frozen=True)
class Submitted:
    """One run on the board: whose, of which entry, on which text, and what came out."""

    name: str
    entry: Entry
    text: str
    result: RunResult

    @property
    def group(self) -> tuple[str, str]:
        """Track and text: what it is compared within."""
        return self.entry.track, self.text


@dataclass(frozen=True)
class Standing:
    """One line of the standings."""

    place: int
    name: str
    mean: float
    deviation: float
    runs: int
    digest: str

    def to_json(self) -> dict:
        """A plain dictionary."""
        return asdict(self)


def read_board(path: Path) -> list[Submitted]:
    """Every run, in the order of submission; none where there is no file. Raises CourseError."""
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}. {OTHER_FILE}") from None
    except (ValueError, RecursionError):
        raise CourseError(f"{path} is not a leaderboard: it is not JSON. {OTHER_FILE}") from None
    try:
        if found["schema"] != SCHEMA:
            raise CourseError(f"{path} has schema {found['schema']}, this version reads {SCHEMA}")
        return [
            Submitted(
                one["name"],
                Entry(one["track"], one["entry"]),
                one["text"],
                RunResult.from_json(one["result"]),
            )
            for one in found["runs"]
        ]
    except (KeyError, TypeError):
        raise CourseError(
            f"{path} is not a leaderboard: it is JSON that `course golf submit` did not write."
            f" {OTHER_FILE}"
        ) from None


def add(path: Path, new: Submitted) -> list[Submitted]:
    """Append a run to the file, which is written whole. Returns all runs."""
    with locked(path):
        runs = [*read_board(path), new]
        write_board(path, runs)
    return runs


def check_board(path: Path) -> None:
    """Raise CourseError for a file that is not a leaderboard or that cannot be written."""
    with locked(path):
        is_new = not path.exists()
        write_board(path, read_board(path))
        if is_new:  # it comes with the first valid entry
            path.unlink()


def write_board(path: Path, runs: Iterable[Submitted]) -> None:
    """Write the leaderboard's file whole. Raises MachineError where that cannot be done."""
    lines = [
        {
            "name": one.name,
            "track": one.entry.track,
            "text": one.text,
            "digest": one.entry.digest,
            "result": one.result.to_json(),
            "entry": one.entry.text,
        }
        for one in runs
    ]
    write_whole(path, json.dumps({"schema": SCHEMA, "runs": lines}, indent=1))


def standings(runs: Iterable[Submitted], group: tuple[str, str]) -> list[Standing]:
    """The standings of one group, best first."""
    inside = [one for one in runs if one.group == group]
    latest = {one.name: one.entry.digest for one in inside}
    rows = []
    for name, digest in latest.items():
        # The same file under another name is the same entry: its runs count for both.
        own = [one for one in inside if one.entry.digest == digest]
        scores = [score for one in own for score in one.result.scores]
        deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
        rows.append(Standing(0, name, statistics.fmean(scores), deviation, len(scores), digest))
    return _placed(sorted(rows, key=lambda row: (row.mean, row.name)))


def _placed(rows: Sequence[Standing]) -> list[Standing]:
    """With places. Each row is compared with the best one of the place before it, so a chain of
    small differences does not put everybody on one place.
    """
    placed, best = [], None
    for number, row in enumerate(rows, 1):
        if best is None or not share_place(best, row):
            best, place = row, number
        placed.append(Standing(**row.to_json() | {"place": place}))
    return placed


def share_place(one: Standing, other: Standing) -> bool:
    """Whether two means are closer than two standard deviations, pooled over both."""
    pooled = math.sqrt((one.deviation**2 + other.deviation**2) / 2)
    return abs(one.mean - other.mean) < 2 * pooled or one.mean == other.mean


def leads(runs: Iterable[Submitted], new: Submitted) -> bool:
    """Whether the entry of a run has the best mean of its group."""
    rows = standings(runs, new.group)
    return bool(rows) and rows[0].digest == new.entry.digest


def checked_name(name: str) -> str:
    """A name as it may stand on the board. Raises CourseError."""
    if not name.isprintable() or not 0 < len(name.strip()) <= MAX_NAME:
        raise CourseError(
            f"the name {name[:MAX_NAME]!r} cannot be shown: give 1 to {MAX_NAME} printable letters"
        )
    return name.strip()
