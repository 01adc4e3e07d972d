"""A column of the class report: who wrote examples, and how many mistakes those would catch.

`course examples` reads them in the sandbox and writes the file; without it there is no column.
"""

import json
from pathlib import Path

from autograder import course_layout
from autograder.common.atomic_files import OWNER_ONLY, write_whole

NUMBERS = ("examples", "holding", "caught", "mistakes")


def write_examples(course_root: Path, assignment: str, rows: list[dict]) -> Path:
    """Keep the rows for the report; the path."""
    path = course_layout.examples(course_root, assignment)
    write_whole(path, json.dumps(rows, indent=1) + "\n", OWNER_ONLY)
    return path


def examples_column(course_root: Path, assignment: str) -> dict[str, str] | None:
    """By student: "3 exercises, catch 41 of 90"; None where nobody has read the examples.

    A file that is damaged is as if it were not there: `course examples` writes it again.
    """
    path = course_layout.examples(course_root, assignment)
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, dict] = {}
        for row in rows:
            sums = found.setdefault(str(row["student"]), dict.fromkeys(NUMBERS, 0) | {"count": 0})
            sums["count"] += 1
            for name in NUMBERS:
                sums[name] += int(row[name])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {student: _said(sums) for student, sums in found.items()}


def _said(sums: dict) -> str:
    exercises = "1 exercise" if sums["count"] == 1 else f"{sums['count']} exercises"
    return (
        f"{exercises}: {sums['holding']} of {sums['examples']} hold, catch {sums['caught']} of"
        f" {sums['mistakes']}"
    )
