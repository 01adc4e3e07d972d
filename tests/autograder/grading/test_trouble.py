"""What a machine does to a grader in the middle of a class: said in one line with the remedy, exit
code 2, and mended by the next run.

Each is the real thing: a disk that is full, a file or a database that takes no writes, a lock of
somebody else, a server that is ended, a worker that is killed, a clock that is set back.
"""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.grading.executors import local as schedule
from course.cli import main
from tests.autograder.grading import stored
from tests.autograder.grading.derived import differences
from tests.autograder.grading.killing import Disturbed
from tests.gradebooks import OnPostgres, OnSqlite, database_of

pytestmark = pytest.mark.sandbox
ROOT_ONLY = pytest.mark.skipif(
    os.getuid() != 0, reason="only root may mount a small disk: run as root to test a full one"
)


@pytest.fixture(scope="module")
def graded(books, stand_in, notebook_of, tmp_path_factory):
    """Two students, right and half right, and what an undisturbed run leaves."""
    return Disturbed(
        books,
        tmp_path_factory.mktemp("trouble"),
        stand_in,
        {"ada": notebook_of(), "bo": notebook_of("def double(x):\n    return x + abs(x)")},
    )


@pytest.fixture
def small(graded):
    """The same before its first run."""
    graded.reset()
    return graded


def course(small, capsys):
    """`course grade` from the command line's own entry; its exit code and what it said on
    stderr.
    """
    code = main(
        [
            "grade",
            str(small.folder / "in"),
            "--assignment",
            "90",
            "--course-root",
            str(small.root),
            "--report",
            str(small.report),
        ]
    )
    return code, capsys.readouterr().err


def at_the_first_verdict(monkeypatch, what):
    """Do something when the first verdict has been saved, before anything else is written."""
    done, save = [], schedule.save_verdict

    def saving(root, verdict):
        save(root, verdict)
        if not done:
            done.append(verdict.student)
            what()

    monkeypatch.setattr(schedule, "save_verdict", saving)
    return done


def judged(small):
    return sorted(stored.records(small.root, "90-stand-in"))


def goes_on(small, capsys, first):
    """The next run keeps the verdict that was there and gives what an undisturbed run gives."""
    before = stored.records(small.root, "90-stand-in")[first]
    assert course(small, capsys)[0] in (0, 1)
    assert stored.records(small.root, "90-stand-in")[first] == before
    assert differences(small.wanted, small.found()) == []


def said_well(code, said, *words):
    assert code == 2 and "Traceback" not in said and said.count("\n") == 1, said
    assert "run again; what was graded is kept" in said and any(word in said for word in words), (
        said
    )


def test_a_lock_that_is_taken_in_the_middle_of_a_class_is_said_and_no_verdict_is_lost(
    small, books, monkeypatch, capsys
):
    with Lock(books, small.root) as lock:
        done = at_the_first_verdict(monkeypatch, lock.take)
        code, said = course(small, capsys)
        said_well(code, said, "Close what else has it open")
        assert judged(small)[0:1] and done[0] in judged(small)
    monkeypatch.undo()
    goes_on(small, capsys, done[0])


class Lock:
    """Another session that holds the tables of grades, as a grader or a browser of databases does
    that forgot to commit.
    """

    def __init__(self, books, root):
        if isinstance(books, OnSqlite):
            self.connection = sqlite3.connect(root / "gradebook.db", isolation_level=None)
            self.statements = ["BEGIN EXCLUSIVE"]
        else:
            self.connection = books.server.connect(database_of(root))
            self.statements = [
                "BEGIN",
                "LOCK TABLE submitted_assignment, grade IN ACCESS EXCLUSIVE MODE",
            ]

    def __enter__(self):
        return self

    def take(self):
        cursor = self.connection.cursor()
        for statement in self.statements:
            cursor.execute(statement)

    def __exit__(self, *error):
        self.connection.close()


def test_a_database_that_takes_no_writes_is_said_and_the_next_run_completes(small, books, capsys):
    with NoWrites(books, small.root):
        said_well(*course(small, capsys), "take writes again", "writable for you")
    assert course(small, capsys)[0] == 0 and differences(small.wanted, small.found()) == []


class NoWrites:
    """A gradebook that can be read and not written."""

    def __init__(self, books, root):
        self.books, self.file = books, root / "gradebook.db"
        self.root = root

    def __enter__(self):
        if isinstance(self.books, OnPostgres):
            self.books.server.execute(
                f"ALTER DATABASE {database_of(self.root)} SET default_transaction_read_only = on"
            )
        elif os.getuid():
            self.file.chmod(0o444)
        else:  # whom permissions do not stop
            subprocess.run(["mount", "--bind", self.file, self.file], check=True)
            subprocess.run(["mount", "-o", "remount,ro,bind", self.file], check=True)

    def __exit__(self, *error):
        if isinstance(self.books, OnPostgres):
            self.books.server.execute(
                f"ALTER DATABASE {database_of(self.root)} RESET default_transaction_read_only"
            )
        elif os.getuid():
            self.file.chmod(0o644)
        else:
            subprocess.run(["umount", self.file], check=True)


@pytest.mark.parametrize("books", ["postgresql"], indirect=True)
def test_a_server_that_ends_in_the_middle_of_a_class_is_said_and_no_verdict_is_lost(
    small, books, monkeypatch, capsys
):
    done = at_the_first_verdict(monkeypatch, books.server.stop)
    try:
        said_well(*course(small, capsys), "Start the server")
        said_well(*course(small, capsys), "Start the server")
    finally:
        books.server.start()
    monkeypatch.undo()
    goes_on(small, capsys, done[0])


@ROOT_ONLY
def test_a_disk_that_fills_up_in_the_middle_of_a_class_is_said_and_no_verdict_is_lost(
    small, monkeypatch, capsys
):
    """The course root lies on a disk of 8 MiB, and with SQLite the gradebook too."""
    keep = small.folder / "kept"
    small.root.rename(keep)
    small.root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small.root], check=True)
    try:
        shutil.copytree(keep, small.root, symlinks=True, dirs_exist_ok=True)
        done = at_the_first_verdict(monkeypatch, lambda: fill(small.root / "filler"))
        code, said = course(small, capsys)
        said_well(code, said, "Make room on that disk")
        (small.root / "filler").unlink()
        monkeypatch.undo()
        goes_on(small, capsys, done[0])
    finally:
        subprocess.run(["umount", "-l", small.root], check=True)
        shutil.rmtree(keep)


def fill(path):
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file:
        size = 65_536
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


@ROOT_ONLY
@pytest.mark.parametrize("books", ["postgresql"], indirect=True)
def test_a_servers_disk_that_is_full_is_said_and_the_next_run_completes(small, books, capsys):
    disk, name = books.server.folder / "disk", database_of(small.root)
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
    try:
        (disk / "space").mkdir()
        shutil.chown(disk, "nobody")
        shutil.chown(disk / "space", "nobody")
        books.server.execute(
            f"CREATE TABLESPACE narrow LOCATION '{disk / 'space'}'",
            f"ALTER DATABASE {name} SET TABLESPACE narrow",
        )
        fill(disk / "filler")
        said_well(*course(small, capsys), "Make room on the server's disk")
        (disk / "filler").unlink()
        assert course(small, capsys)[0] == 0 and differences(small.wanted, small.found()) == []
    finally:
        books.server.execute(
            f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "DROP TABLESPACE IF EXISTS narrow"
        )
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_worker_that_is_killed_in_the_middle_of_a_class_costs_nobody_anything(
    small, monkeypatch, capsys
):
    hand_out, killed = schedule.Here.hand_out, []

    def handing_out(crew, todo):
        hand_out(crew, todo)
        workers = multiprocessing.active_children()
        if workers and not killed:
            killed.append(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)

    monkeypatch.setattr(schedule.Here, "hand_out", handing_out)
    assert course(small, capsys)[0] == 0 and killed
    assert differences(small.wanted, small.found()) == []


CLOCK = """
import sys, time
from pathlib import Path
from autograder.grading.executors import local as schedule
from course.cli import main
from tests.autograder.grading.conftest import make_stand_in, stand_in_there

clock, folder, words = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
save, today = schedule.save_verdict, time.time()

def saving(root, verdict):
    clock.write_text("-400d")
    while time.time() > today:
        time.sleep(0.05)
    save(root, verdict)

schedule.save_verdict = saving
with stand_in_there(make_stand_in(folder)):
    code = main(words)
sys.exit(code if time.time() < today - 300 * 86_400 else 3)
"""


def find_faketime():
    """The library of Debian's faketime, which moves a process's clock, or None."""
    return next((str(path) for path in Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


@pytest.mark.skipif(
    not find_faketime(),
    reason=(
        "no libfaketime here: install faketime to test a clock that is set back while a class is"
        " graded"
    ),
)
def test_a_clock_that_is_set_back_by_a_year_in_the_middle_of_a_class_changes_nothing(
    small, tmp_path
):
    (tmp_path / "clock").write_text("+0")
    (tmp_path / "stand-in").mkdir()
    environment = {
        **os.environ,
        "LD_PRELOAD": find_faketime(),
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            CLOCK,
            tmp_path / "clock",
            tmp_path / "stand-in",
            "grade",
            small.folder / "in",
            "--assignment",
            "90",
            "--course-root",
            small.root,
            "--report",
            small.report,
        ],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert differences(small.wanted, small.found()) == []
