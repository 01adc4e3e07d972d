"""Course roots on either database, made and copied in milliseconds; and a real PostgreSQL server
for as long as they are needed.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.authoring.notebooks import interpreter_on_path
from autograder.classroom.gradebook.course import CONFIG_FILE, CONFIG_TEXT, course_config
from autograder.classroom.gradebook.migrate import with_url

NO_SERVER = "no PostgreSQL server here: install postgresql to test the gradebook on it"
LOCAL = "local all teacher scram-sha-256\nlocal all all trust\n"


def server_programs() -> Path | None:
    """The folder of initdb, pg_ctl and postgres: on PATH, or where Debian keeps them; the newest.

    None where there are none.
    """
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4])
    )
    return debian[-1].parent if debian else None


class Server:
    """One PostgreSQL cluster on a socket in a folder of its own, with the superuser `grader` who
    needs no password.

    `teacher` needs one. As root the server runs as nobody, because it refuses to run as root.
    """

    def __init__(self) -> None:
        self.programs = server_programs()
        self.folder = Path(
            tempfile.mkdtemp(prefix="w2s-postgres-", dir="/tmp")
        )  # a socket's path has 107 letters at most
        self.identity = {"user": "nobody", "extra_groups": []} if os.getuid() == 0 else {}
        if self.identity:
            shutil.chown(self.folder, "nobody")
        self._run("initdb", "-U", "grader", "--auth=trust", "--no-sync")
        (self.folder / "data" / "pg_hba.conf").write_text(LOCAL)
        self.start()

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        # A machine that stops is not among the tests of the clients: what the kernel has, the disk
        # need not have.
        self._run(
            "pg_ctl",
            "-w",
            "-l",
            str(self.folder / "log"),
            "-o",
            f"-c listen_addresses='' -c fsync=off -k {self.folder}",
            "start",
        )

    def stop(self) -> None:
        """End it at once, with every connection, as when its machine stops."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        """End it and take its files away."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, user: str = "grader") -> str:
        """As an instructor gives it to `--db`."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres"):
        """A connection of psycopg2 that commits each statement."""
        import psycopg2

        connection = psycopg2.connect(dbname=database, user="grader", host=str(self.folder))
        connection.autocommit = True
        return connection

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements as the superuser."""
        connection = self.connect(database)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            connection.close()

    def create(self, database: str, template: str = "template1") -> None:
        """A database, as a copy of another; one of that name is replaced, whoever is in it."""
        self.execute(
            f"DROP DATABASE IF EXISTS {database} WITH (FORCE)",
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname ="
            f" '{template}'",
            f"CREATE DATABASE {database} TEMPLATE {template}",
        )

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, "-D", self.folder / "data", *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.identity,
        )
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(
                f"{program} ended with {done.returncode}:"
                f" {log.read_text()[-500:] if log.exists() else ''}"
            )


class OnSqlite:
    """Course roots with gradebook.db in them."""

    def __init__(self, folder: Path):
        self.empty = folder / "empty-gradebook.db"
        with (
            interpreter_on_path(),
            Gradebook(f"sqlite:///{self.empty}", "word2serve"),
        ):  # starts alembic, for seconds
            pass

    def new(self, root: Path) -> Path:
        """A course root in which nothing lies but an empty gradebook."""
        root.mkdir(parents=True)
        shutil.copy(self.empty, root / "gradebook.db")
        return root

    def copy(self, root: Path, target: Path) -> Path:
        """A course root with everything in it, its gradebook too."""
        return Path(shutil.copytree(root, target, symlinks=True))


class OnPostgres:
    """Course roots each of which has a database of its own on one server."""

    def __init__(self, server: Server):
        self.server = server
        server.create("empty")
        with (
            interpreter_on_path(),
            Gradebook(
                server.url("empty").replace("postgresql", "postgresql+psycopg2", 1), "word2serve"
            ),
        ):
            pass

    def new(self, root: Path) -> Path:
        """As OnSqlite."""
        root.mkdir(parents=True)
        return self._point(root, "empty")

    def copy(self, root: Path, target: Path) -> Path:
        """As OnSqlite."""
        shutil.copytree(root, target, symlinks=True)
        return self._point(target, database_of(root))

    def _point(self, root: Path, template: str) -> Path:
        self.server.create(database_of(root), template)
        config = root / CONFIG_FILE
        text = config.read_text() if config.exists() else CONFIG_TEXT
        config.write_text(with_url(text, self.server.url(database_of(root))))
        return root


def database_of(root: Path) -> str:
    """The name of the database of a course root."""
    return "w2s_" + hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]


def gradebook_url(root: Path) -> str:
    """As SQLAlchemy takes it."""
    return course_config(root.resolve()).CourseDirectory.db_url
