"""The results of a class, in one SQLite database: `results.sqlite` in the course directory.

`results` has one row for each graded attempt: attempt 0 is what counts, and the numbered ones are
the attempts of students who have several. `events` holds what a run has to report and has not
reported yet. Each result is written in one transaction, in WAL mode, so a kill leaves the row of
before or the row of after. Everything else that a course directory holds about points is derived.

A connection is opened for each call: nothing is shared with forked workers, and a copied or
restored course directory is read as it is. `held_open` makes many writes fast.

It is in this package, and not with the classroom, because the executors write each result.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, delete, event, inspect, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import NullPool

from autograder import course_layout
from autograder.common.atomic_files import OWNER_ONLY, writing
from autograder.common.errors import CourseError, MachineError
from autograder.grading.grade import OTHER_HASH, SCHEMA, Verdict

STORE_SCHEMA = 1  # PRAGMA user_version; a file of a later release is refused
COUNTS = 0  # the attempt number of the result that counts
EARLIER = "earlier-release"
LOCK_SECONDS = 10.0
REMEDIES = {
    "locked": "Close what else has it open (another grading, a database browser)",
    "readonly": "Make the file and its folder writable for you",
    "unable to open": "See that its folder is there and that you may write to it",
    "full": "Make room on that disk",
    "disk i/o": "Make room on that disk or repair it",
}


class Base(DeclarativeBase):
    """The tables of results.sqlite."""


class ResultRow(Base):
    """One graded attempt; `record` is the Verdict as JSON text."""

    __tablename__ = "results"
    assignment: Mapped[str] = mapped_column(primary_key=True)
    student: Mapped[str] = mapped_column(primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    submission: Mapped[str]  # the notebook's hash
    checks: Mapped[str]  # the hash of the checks
    saved: Mapped[float]  # seconds since 1970
    record: Mapped[str]


class EventRow(Base):
    """Something that happened to a result; `detail` is JSON text."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    assignment: Mapped[str]
    student: Mapped[str]
    kind: Mapped[str]
    at: Mapped[float]
    detail: Mapped[str]


@dataclass(frozen=True)
class Where:
    """A database and the attempt number that a folder stands for."""

    path: Path
    attempt: int = COUNTS


def save_verdict(course_root: Path, verdict: Verdict) -> None:
    """Write one result in one transaction; raise MachineError where the machine does not let us."""
    where = _where(course_root)
    with _session(where.path, writes=True) as session:
        session.merge(_row(where.attempt, verdict))
        session.commit()


def load_verdict(course_root: Path, assignment: str, student: str) -> Verdict | None:
    """The result, or None when there is none that this version can read."""
    where = _where(course_root)
    if not _is_there(where.path):
        return None
    with _session(where.path) as session:
        record = session.scalar(
            select(ResultRow.record).where(
                ResultRow.assignment == assignment,
                ResultRow.student == student,
                ResultRow.attempt == where.attempt,
            )
        )
    return None if record is None else _parsed(record, assignment, student)


def all_verdicts(course_root: Path, assignment: str) -> dict[str, Verdict | None]:
    """By student, sorted, every result of an assignment; None for a row that cannot be read."""
    where = _where(course_root)
    if not _is_there(where.path):
        return {}
    with _session(where.path) as session:
        rows = session.execute(
            select(ResultRow.student, ResultRow.record)
            .where(ResultRow.assignment == assignment, ResultRow.attempt == where.attempt)
            .order_by(ResultRow.student)
        ).all()
    return {student: _parsed(record, assignment, student) for student, record in rows}


def students_with_results(course_root: Path, assignment: str) -> set[str]:
    """Who has a row, readable or not."""
    where = _where(course_root)
    if not _is_there(where.path):
        return set()
    with _session(where.path) as session:
        return set(
            session.scalars(
                select(ResultRow.student).where(
                    ResultRow.assignment == assignment, ResultRow.attempt == where.attempt
                )
            )
        )


def has_result(course_root: Path, assignment: str, student: str) -> bool:
    """Whether there is a row for this student, readable or not."""
    return student in students_with_results(course_root, assignment)


def graded_assignments(course_root: Path) -> set[str]:
    """The names of the assignments that have results that count."""
    where = _where(course_root)
    if not _is_there(where.path):
        return set()
    with _session(where.path) as session:
        return set(
            session.scalars(
                select(ResultRow.assignment).where(ResultRow.attempt == where.attempt).distinct()
            )
        )


def attempt_verdicts(course_root: Path, assignment: str) -> list[tuple[int, Verdict]]:
    """The results of numbered attempts, for copying them into another course directory."""
    where = _where(course_root)
    if not _is_there(where.path):
        return []
    with _session(where.path) as session:
        rows = session.execute(
            select(ResultRow.attempt, ResultRow.student, ResultRow.record)
            .where(ResultRow.assignment == assignment, ResultRow.attempt != COUNTS)
            .order_by(ResultRow.attempt, ResultRow.student)
        ).all()
    found = [(number, _parsed(record, assignment, one)) for number, one, record in rows]
    return [(number, verdict) for number, verdict in found if verdict]


def remove_result(course_root: Path, assignment: str, student: str, keep_as: str = "") -> None:
    """Remove a row; `keep_as`: the kind of the event in which its text is kept."""
    where = _where(course_root)
    if not _is_there(where.path):
        return
    with _session(where.path, writes=True) as session:
        row = session.get(ResultRow, (assignment, student, where.attempt))
        if row is None:
            return
        if keep_as:
            session.add(_event(assignment, student, keep_as, row.record))
        session.delete(row)
        session.commit()


def remove_student(course_root: Path, assignment: str, student: str) -> int:
    """Remove all that is stored of one student's work; returns how many results that were."""
    path = course_layout.results(course_root)
    if not _is_there(path):
        return 0
    with _session(path, writes=True) as session:
        found = 0
        for table in (EventRow, ResultRow):
            removed = session.execute(
                delete(table).where(table.assignment == assignment, table.student == student)
            )
            found = removed.rowcount
        session.commit()
    return found


def add_event(course_root: Path, assignment: str, student: str, kind: str, detail: object) -> None:
    """Keep something for a report."""
    with _session(_where(course_root).path, writes=True) as session:
        session.add(_event(assignment, student, kind, json.dumps(detail)))
        session.commit()


def events(course_root: Path, assignment: str, kind: str) -> list[tuple[str, object]]:
    """(student, detail) of every event of a kind, in order."""
    where = _where(course_root)
    if not _is_there(where.path):
        return []
    with _session(where.path) as session:
        rows = session.execute(
            select(EventRow.student, EventRow.detail)
            .where(EventRow.assignment == assignment, EventRow.kind == kind)
            .order_by(EventRow.id)
        ).all()
    return [(student, json.loads(detail)) for student, detail in rows]


def remove_events(course_root: Path, assignment: str, kind: str) -> None:
    """Remove the events of a kind: they were reported."""
    where = _where(course_root)
    if not events(course_root, assignment, kind):
        return
    with _session(where.path, writes=True) as session:
        session.execute(
            delete(EventRow).where(EventRow.assignment == assignment, EventRow.kind == kind)
        )
        session.commit()


@contextmanager
def held_open(course_root: Path) -> Iterator[None]:
    """Keep one connection open, so that closing the others moves nothing into the main file.

    SQLite does that, and waits for the disk, whenever the last connection closes: 36 ms a result
    instead of 1 ms where this was measured.
    """
    path = _where(course_root).path
    if not _is_there(path):
        _create(path)
    with _session(path) as session:
        session.connection().exec_driver_sql("SELECT 1 FROM results LIMIT 1").all()
        yield  # no transaction is open: the statement is done, and a SELECT begins none


def _where(course_root: Path) -> Where:
    """Where the results of a folder are: those of an attempt's folder are in the class's file."""
    if course_root.parent.name == course_layout.ATTEMPTS and course_root.name.isdecimal():
        return Where(course_layout.results(course_root.parents[1]), int(course_root.name))
    return Where(course_layout.results(course_root))


def _row(attempt: int, verdict: Verdict) -> ResultRow:
    return ResultRow(
        assignment=verdict.assignment,
        student=verdict.student,
        attempt=attempt,
        submission=verdict.submission,
        checks=verdict.checks,
        saved=time.time(),
        record=json.dumps(verdict.to_json(), ensure_ascii=False, sort_keys=True),
    )


def _event(assignment: str, student: str, kind: str, detail: str) -> EventRow:
    return EventRow(
        assignment=assignment, student=student, kind=kind, at=time.time(), detail=detail
    )


def _parsed(words: str, assignment: str, student: str) -> Verdict | None:
    """The Verdict of a row's text, or None for another program's, or another student's."""
    try:
        record = json.loads(words)
        verdict = Verdict.from_json(record)
    except (ValueError, TypeError):
        return None
    whole = "schema" in record and verdict.schema in (OTHER_HASH, SCHEMA)
    theirs = (verdict.assignment, verdict.student) == (assignment, student)
    return verdict if whole and theirs else None


def _is_there(path: Path) -> bool:
    """Whether there is a database; one is made where an earlier release left its records.

    An empty file is none: it is what a kill leaves before the tables are there.
    """
    if path.exists() and path.stat().st_size:
        return True
    if not _earlier_records(path.parent):
        return False
    _create(path)
    return True


@contextmanager
def _session(path: Path, writes: bool = False) -> Iterator[Session]:
    """A session of its own connection; what the database raises becomes a sentence."""
    if writes and not _is_there(path):
        _create(path)
    try:
        with Session(_engine(path), expire_on_commit=False) as session:
            if writes:  # a lock is met here, before anything is done
                session.connection().exec_driver_sql("BEGIN IMMEDIATE")
            yield session
    except (DBAPIError, sqlite3.Error) as error:
        raise _said(path, str(getattr(error, "orig", error))) from error


def _said(path: Path, words: str) -> CourseError:
    """The error to raise, which names the file, what SQLite said and the remedy."""
    for key, remedy in REMEDIES.items():
        if key in words.lower():
            return MachineError(
                f"{path}: {words}. {remedy}, and run again; what was graded is kept"
            )
    return CourseError(
        f"{path} cannot be read ({words}): bring a copy of it back. If there is none, move it away"
        " and run `course grade --assignment NUMBER`, which grades the copies in submitted/ again"
    )


@lru_cache(maxsize=64)
def _engine(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        poolclass=NullPool,
        connect_args={"timeout": LOCK_SECONDS},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")  # a kill loses nothing; see SQLite on WAL
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if schema > STORE_SCHEMA:
            raise CourseError(
                f"{path} has schema {schema}, and this release reads {STORE_SCHEMA}: update the"
                " course, or bring back a copy of the file from before"
            )

    return engine


def _create(path: Path) -> None:
    """Make the tables, with the records of an earlier release in them, in one transaction.

    The files of these records are kept aside, in `earlier-release/` next to where they were.
    """
    with writing(path), suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    address = URL.create("sqlite", database=str(path))
    engine = create_engine(address, poolclass=NullPool, connect_args={"timeout": LOCK_SECONDS})
    earlier = _earlier_records(path.parent)
    try:
        with Session(engine) as session:
            connection = session.connection()
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            if inspect(connection).has_table(ResultRow.__tablename__):
                return  # another process was faster
            Base.metadata.create_all(connection)
            session.execute(text(f"PRAGMA user_version = {STORE_SCHEMA}"))
            session.add_all(_earlier_row(attempt, file) for attempt, file in earlier)
            session.commit()
    except (DBAPIError, sqlite3.Error) as error:
        raise _said(path, str(getattr(error, "orig", error))) from error
    with writing(path):
        for folder in {file.parent for _, file in earlier}:
            aside = folder.parent / EARLIER
            aside.mkdir(mode=0o700, exist_ok=True)
            os.replace(folder, aside / folder.name)


def _earlier_records(root: Path) -> list[tuple[int, Path]]:
    """The record files of an earlier release, a JSON file each, with their attempt numbers."""
    found = [(COUNTS, file) for file in course_layout.all_records(root).glob("*/[!.]*.json")]
    for folder in course_layout.attempts(root).glob("*/verdicts"):
        if folder.parent.name.isdecimal():
            number = int(folder.parent.name)
            found += [(number, file) for file in folder.glob("*/[!.]*.json")]
    return sorted(found)


def _earlier_row(attempt: int, file: Path) -> ResultRow:
    """A row with the text of a record file, which need not be readable."""
    record = file.read_bytes().decode(errors="replace")
    verdict = _parsed(record, file.parent.name, file.stem)
    return ResultRow(
        assignment=file.parent.name,
        student=file.name.removesuffix(".json"),
        attempt=attempt,
        submission=verdict.submission if verdict else "",
        checks=verdict.checks if verdict else "",
        saved=file.stat().st_mtime,
        record=record,
    )
