"""Everything that a run leaves behind, in a form in which two runs that must agree are equal.

Rows of nbgrader's gradebook without its random keys; every file of the course root and the report.
Left out is what may differ: the time and memory that judging took, in a record, in the hash that an
autograded notebook carries of it, and in a sentence of the report.
"""

import hashlib
import json
import re
from pathlib import Path

from nbgrader.api import Base, Gradebook
from sqlalchemy import text

from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.gradebook.migrate import all_rows
from autograder.classroom.gradebook.nbgrader_plugins import MARK
from tests.autograder.grading import stored

SPENT = re.compile(rb"<p>[\d.]+ s a submission in the median.*?</p>", re.DOTALL)
# Scratch: .case- is an empty probe that a kill leaves, .stand-ins is made while a verdict is
# stored.
NOT_COMPARED = re.compile(
    r"gradebook\.db.*|\.?results\.sqlite.*|\.case-.*|grading\.log|\.course-secret|\.stand-ins"
)


def everything(root: Path, report: Path) -> dict:
    """Rows and files; `==` holds for two runs that leave the same."""
    with open_gradebook(course_config(root.resolve())) as gradebook:
        found = {"rows": rows(gradebook) | stored.everything(root)}
    return found | {
        "files": {
            str(path.relative_to(folder.parent)): _file(path, root)
            for folder in (root, report)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and not any(NOT_COMPARED.fullmatch(part) for part in path.relative_to(folder).parts)
        }
    }


def rows(gradebook: Gradebook) -> dict[str, list[str]]:
    """By table, a text for each row: its values, with the row that a key stands for in the place of
    the key.
    """
    names: dict[object, str] = {}
    found, held = {}, all_rows(gradebook)
    for table in Base.metadata.sorted_tables:
        found[table.name] = []
        for row in held[table.name]:
            said = {}
            for column, value in zip(table.columns, row, strict=True):
                own = (
                    column.primary_key
                    and not column.foreign_keys
                    and table.name not in ("course", "student")
                )
                if not own:
                    said[column.name] = names.get(value, value) if column.foreign_keys else value
            key = dict(zip(table.columns.keys(), row, strict=True)).get("id")
            names.setdefault(key, f"{table.name} {said}")
            found[table.name].append(repr(said))
        found[table.name].sort()
    found["alembic_version"] = sorted(
        gradebook.db.execute(text("SELECT version_num FROM alembic_version")).scalars()
    )
    return found


def scores(root: Path, assignment: str) -> dict[str, dict[str, tuple]]:
    """By student and grade id: automatic points, and whether a person must look."""
    with open_gradebook(course_config(root.resolve())) as gradebook:
        return {
            submission.student.id: {
                grade.name: (grade.auto_score, grade.needs_manual_grade)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in gradebook.assignment_submissions(assignment)
        }


def _file(path: Path, root: Path) -> str:
    data = path.read_bytes()
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
    if parts[:1] == ("autograded",) and path.suffix == ".ipynb":
        notebook = json.loads(data)
        mark = notebook["metadata"][MARK]["verdict"]
        record = json.loads(stored.records(root, parts[2])[parts[1]])
        notebook["metadata"][MARK] = (
            mark == hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
        )
        data = json.dumps(notebook, sort_keys=True).encode()
    return hashlib.sha256(SPENT.sub(b"", data)).hexdigest()


def differences(wanted: dict, found: dict) -> list[str]:
    """What differs, a line each: the table and the row, or the file."""
    lines = []
    for table in wanted["rows"]:
        before, after = wanted["rows"][table], found["rows"].get(table, [])
        lines += [f"{table} lost: {row}" for row in before if row not in after]
        lines += [f"{table} came: {row}" for row in after if row not in before]
        lines += (
            [f"{table}: {len(before)} rows, now {len(after)}"] if len(before) != len(after) else []
        )
    names = sorted({*wanted["files"], *found["files"]})
    return lines + [
        f"file {name}" for name in names if wanted["files"].get(name) != found["files"].get(name)
    ]
