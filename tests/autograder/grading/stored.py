"""The rows of results.sqlite, read and written with SQLite itself, past the code under test."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

FILE = "results.sqlite"


def _asked(root: Path, words: str, values: tuple) -> list[tuple]:
    """The rows that a statement gives; none where there is no database."""
    if not (root / FILE).exists():
        return []
    with closing(sqlite3.connect(root / FILE)) as connection, connection:
        return connection.execute(words, values).fetchall()


def records(root: Path, assignment: str, attempt: int = 0) -> dict[str, str]:
    """The text of every record, by student."""
    words = "SELECT student, record FROM results WHERE assignment = ? AND attempt = ?"
    return dict(_asked(root, f"{words} ORDER BY student", (assignment, attempt)))


def times(root: Path, assignment: str) -> dict[str, float]:
    """When each result was saved, by student."""
    words = "SELECT student, saved FROM results WHERE assignment = ? AND attempt = 0"
    return dict(_asked(root, words, (assignment,)))


def write_record(root: Path, assignment: str, student: str, text: str) -> None:
    """Put another text in the place of a record."""
    words = "UPDATE results SET record = ? WHERE assignment = ? AND student = ? AND attempt = 0"
    _asked(root, words, (text, assignment, student))


def remove_record(root: Path, assignment: str, student: str, attempt: int = 0) -> None:
    """Take a record away, as a person with a database browser may."""
    words = "DELETE FROM results WHERE assignment = ? AND student = ? AND attempt = ?"
    _asked(root, words, (assignment, student, attempt))


def rename_assignment(root: Path, before: str, after: str) -> None:
    """Make the results of one assignment those of another."""
    _asked(root, "UPDATE results SET assignment = ? WHERE assignment = ?", (after, before))


def everything(root: Path) -> dict[str, list[str]]:
    """Every row but for when it was saved and what grading took, in order."""
    words = "SELECT assignment, student, attempt, submission, checks, record FROM results"
    found = [
        str((*row[:-1], json.loads(row[-1]) | {"seconds": 0, "memory": 0}))
        for row in _asked(root, f"{words} ORDER BY assignment, student, attempt", ())
    ]
    noted = _asked(root, "SELECT assignment, student, kind, detail FROM events ORDER BY id", ())
    return {"results": found, "events": [str(row) for row in noted]}
