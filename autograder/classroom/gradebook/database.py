"""Which database holds the gradebook: the URL as people give it, as SQLAlchemy takes it, and as it
may be shown.

SQLite in the course root, or PostgreSQL by `--db postgresql://USER@HOST/DATABASE`. A password is in
neither: libpq finds it in ~/.pgpass (mode 600) or in PGPASSWORD, so that no file of the course, no
message and no list of processes holds it. What a database says when it fails becomes one sentence
with the remedy.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from nbgrader.api import Gradebook, get_alembic_version
from sqlalchemy import inspect, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError

from autograder.common.errors import CourseError, MachineError

SQLITE = "sqlite"
PLAIN, DRIVER = "postgresql", "postgresql+psycopg2"
# libpq itself waits without an end for a lock, and minutes for a host that does not answer.
LIMITS = {
    "connect_timeout": "10",
    "options": "-c lock_timeout=10s",
    "keepalives_idle": "30",
    "tcp_user_timeout": "60000",
}
SECRETS = ("password", "sslpassword")
GIVE = "give postgresql://USER@HOST/DATABASE, or sqlite for gradebook.db in the course root"
WHERE_A_PASSWORD_BELONGS = (
    "in ~/.pgpass (HOST:PORT:DATABASE:USER:PASSWORD, chmod 600) or in PGPASSWORD"
)
NO_DRIVER = (
    "PostgreSQL needs the package psycopg2, which is not installed: "
    "`.venv/bin/python -m pip install psycopg2-binary`, or install word2serve[postgresql]"
)
REMEDIES = {
    "locked": "Close what else has it open (formgrader, another grading, a database browser)",
    "lock timeout": "Close what else has it open (formgrader, another grading, a database browser)",
    "readonly": "Make the file and its folder writable for you",
    "read-only": "Have the database take writes again (default_transaction_read_only, a standby)",
    "unable to open": "See that its folder is there and that you may write to it",
    "full": "Make room on that disk",
    "disk I/O": "Make room on that disk or mend it",
    "No space left": "Make room on the server's disk",
    "could not extend": "Make room on the server's disk",
    "could not write": "Make room on the server's disk",
    "not a database": "The file is damaged: move it away and grade again, or bring a copy back",
    "malformed": "The file is damaged: move it away and grade again, or bring a copy back",
    "password": f"Put the password {WHERE_A_PASSWORD_BELONGS}",
    "too many": "Close other connections or raise max_connections",
    "permission denied": "Grant this user the right to create and change tables there",
    "does not exist": "Create it (createuser, createdb), or mend --db",
    "translate host name": "Mend the host in --db",
    "starting up": "Wait until the server has started",
    "shutting down": "Start the server",
    "terminat": "Start the server",
    "server closed": "Start the server",
    "Connection refused": "Start the server, or mend the host in --db",
    "No such file": "Start the server, or mend the host in --db",
    "timeout expired": "See that the server can be reached from here",
    "timed out": "See that the server can be reached from here",
}


def given(text: str) -> str:
    """What `--db` was given, checked, for nbgrader_config.py: postgresql://..., or "" for SQLite.

    CourseError for anything else.

    A URL with a password is refused: it would stand in the file, in the shell's history and in the
    list of processes.
    """
    if text == SQLITE:
        return ""
    url = _read(text)
    if url.drivername not in ("postgres", PLAIN, DRIVER):
        raise CourseError(f"--db takes no {url.drivername}://: {GIVE}")
    if url.password is not None or any(name in url.query for name in SECRETS):
        raise CourseError(
            "--db with a password: others on this machine could read it. Leave it out and put it"
            f" {WHERE_A_PASSWORD_BELONGS}"
        )
    if not url.database:
        raise CourseError(f"--db names no database: {GIVE}")
    need_driver()
    return url.set(drivername=PLAIN).render_as_string()


def need_driver() -> None:
    """Raise CourseError with the remedy where PostgreSQL's driver is missing."""
    if importlib.util.find_spec("psycopg2") is None:
        raise CourseError(NO_DRIVER)


def complete(text: str) -> str:
    """The URL as SQLAlchemy takes it: for PostgreSQL with our driver, and with limits on waiting
    where none are given.
    """
    url = _read(text)
    if url.drivername in ("postgres", PLAIN, DRIVER):
        url = url.set(drivername=DRIVER).update_query_dict(
            {name: value for name, value in LIMITS.items() if name not in url.query}
        )
    return url.render_as_string(hide_password=False)


def shown(text: str) -> str:
    """For people: a file's path, or the server and the database without password and settings."""
    url = _read(text)
    if url.drivername == SQLITE:
        return url.database or ""
    where = {name: value for name, value in url.query.items() if name in ("host", "port")}
    return URL.create(
        url.drivername.partition("+")[0],
        url.username,
        None,
        url.host,
        url.port,
        url.database,
        where,
    ).render_as_string()


def _read(text: str) -> URL:
    try:
        return make_url(text)
    except (ArgumentError, ValueError) as error:
        raise CourseError(f"the gradebook's address is no URL: {GIVE}") from error


@contextmanager
def troubles(url: str) -> Iterator[None]:
    """Turn what a database raises in the block into a MachineError, and a missing driver into a
    CourseError.
    """
    try:
        yield
    except (DataError, IntegrityError):
        raise
    except DBAPIError as error:
        raise MachineError(trouble(url, error)) from error
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        need_driver()
        raise CourseError(f"the gradebook {shown(url)}: {error}") from error


def database_error(error: BaseException | None) -> DBAPIError | None:
    """What the database raised, if that is behind an exception; nbgrader wraps it.

    None where only a row did not fit.
    """
    while error is not None:
        if isinstance(error, DBAPIError):
            return None if isinstance(error, (DataError, IntegrityError)) else error
        error = error.__cause__ or error.__context__
    return None


def trouble(url: str, error: Exception) -> str:
    """A sentence with the database's name, what it said, and the remedy."""
    lines = [
        line.strip() for line in str(getattr(error, "orig", error)).split("\n") if line.strip()
    ]
    said = (lines or [type(error).__name__])[0][:200].rstrip(".")
    remedy = next(
        (words for key, words in REMEDIES.items() if key.lower() in " ".join(lines).lower()),
        "See that the database is there and can be written",
    )
    return f"the gradebook {shown(url)}: {said}. {remedy}, and run again; what was graded is kept"


def mend_version(gradebook: Gradebook) -> None:
    """Write nbgrader's schema version where a kill came between its tables and it; `nbgrader db
    upgrade` reads it.
    """
    if inspect(gradebook.engine).has_table("alembic_version"):
        return
    gradebook.db.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
    gradebook.db.execute(
        text("INSERT INTO alembic_version (version_num) VALUES (:version)"),
        {"version": get_alembic_version()},
    )
    gradebook.db.commit()
