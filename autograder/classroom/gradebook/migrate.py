"""`--db`: another database for a course root, with everything that the old one holds.

Which database it is stands in the course root's nbgrader_config.py, so that nbgrader's own commands
and formgrader use the same. What the old one holds is copied in one transaction before the file is
changed, and stays where it was: a kill leaves either the old configuration, and the next run goes
on, or the new one with everything in it.
"""

import ast
from copy import deepcopy
from pathlib import Path

from nbgrader.api import Base, Gradebook
from sqlalchemy import insert, select
from traitlets.config import Config

from autograder.authoring.notebooks import sqlite_url
from autograder.classroom.gradebook.course import (
    CONFIG_FILE,
    CONFIG_TEXT,
    course_config,
    open_gradebook,
)
from autograder.classroom.gradebook.database import complete, given, shown, troubles
from autograder.common.atomic_files import write_whole
from autograder.common.errors import CourseError

Rows = dict[str, list[tuple]]


def use_database(course_root: Path, text: str) -> str:
    """Make `text`, a URL or "sqlite", the gradebook of a course root from now on; a sentence if
    rows were copied, else "".

    Raises CourseError for a URL that cannot be taken, and where both databases hold different
    grades; MachineError if one of them cannot be opened. The old one is only read.
    """
    course_root = course_root.resolve()
    url = given(text)
    if not (course_root / CONFIG_FILE).exists():
        write_whole(course_root / CONFIG_FILE, CONFIG_TEXT)
    path = course_root / CONFIG_FILE
    before, old = course_config(course_root), path.read_text(encoding="utf-8")
    wanted = complete(url) if url else sqlite_url(course_root)
    if before.CourseDirectory.db_url == wanted:
        return ""
    after = deepcopy(before)  # Config(before) would share its sections
    after.CourseDirectory.db_url = wanted
    copied = _copy(before, after)
    write_whole(path, with_url(old, url))
    if course_config(course_root).CourseDirectory.db_url != wanted:
        write_whole(path, old)
        raise CourseError(
            f"{path} sets c.CourseDirectory.db_url in a line of its own: take that line out, and"
            " run again"
        )
    return copied


def with_url(text: str, url: str) -> str:
    """nbgrader_config.py with `url` in its call of configure ("": without one); every other line as
    it was.
    """
    call = next(
        (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) == "configure"
        ),
        None,
    )
    if call is None:
        raise CourseError(
            f"{CONFIG_FILE} does not call configure; delete it and it will be written anew"
        )
    lines = text.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: call.lineno - 1])) + call.col_offset
    end = sum(map(len, lines[: call.end_lineno - 1])) + call.end_col_offset
    call.args = call.args[:2]
    call.keywords = [one for one in call.keywords if one.arg != "db_url"]
    if url:
        call.keywords.append(ast.keyword("db_url", ast.Constant(url)))
    return (text.encode()[:begin] + ast.unparse(call).encode() + text.encode()[end:]).decode()


def _copy(before: Config, after: Config) -> str:
    """Copy every row if the new database is empty. CourseError where both hold rows that differ."""
    old, new = before.CourseDirectory.db_url, after.CourseDirectory.db_url
    file = Path(shown(old))
    if old.startswith("sqlite") and not file.exists():
        rows = {}
    else:
        with open_gradebook(before) as gradebook:
            rows = all_rows(gradebook)
    with open_gradebook(after) as gradebook, troubles(new):
        there = all_rows(gradebook)
        if not _holds(rows) or there == rows:
            return ""
        if _holds(there):
            raise CourseError(
                f"{shown(new)} holds other grades than {shown(old)}, and neither may be lost: give"
                " an empty database (or move the file away), or set db_url in nbgrader_config.py"
                " yourself to leave the old one"
            )
        for table in reversed(Base.metadata.sorted_tables):
            gradebook.db.execute(table.delete())
        for table in Base.metadata.sorted_tables:
            if rows[table.name]:
                gradebook.db.execute(
                    insert(table),
                    [dict(zip(table.columns.keys(), row, strict=True)) for row in rows[table.name]],
                )
        gradebook.db.commit()
    return (
        f"{len(rows['submitted_assignment'])} submissions copied from {shown(old)}, which stays as"
        " it was"
    )


def all_rows(gradebook: Gradebook) -> Rows:
    """Everything that nbgrader keeps, by table, in an order of its own."""
    return {
        table.name: sorted((tuple(row) for row in gradebook.db.execute(select(table))), key=repr)
        for table in Base.metadata.sorted_tables
    }


def _holds(rows: Rows) -> bool:
    return any(rows.get(name) for name in ("assignment", "student"))
