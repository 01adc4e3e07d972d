"""The course root, and verdicts into nbgrader's gradebook through nbgrader itself.

A course root is an ordinary nbgrader course (source, release, submitted, autograded, feedback,
gradebook.db) whose nbgrader_config.py sets the steps of
`autograder.classroom.gradebook.nbgrader_plugins`; `verdicts/` and the secret are ours. Every
nbgrader command, and formgrader, works in it. The database is SQLite in the root, or PostgreSQL by
URL in nbgrader_config.py: only CourseDirectory.db_url says which, and nothing here depends on it.
"""

import errno
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError, SAWarning
from traitlets.config import Config, PyFileConfigLoader

from autograder import course_layout
from autograder.authoring.notebooks import interpreter_on_path
from autograder.classroom.course_path import usable
from autograder.classroom.gradebook.database import database_error, mend_version, trouble, troubles
from autograder.classroom.gradebook.nbgrader_plugins import STAND_IN
from autograder.classroom.permissions import begin_private_file, make_private_folders
from autograder.common.atomic_files import lies_below, write_whole, writing
from autograder.common.errors import CourseError, MachineError
from autograder.course_layout import CONFIG_FILE
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.discovery import STAMP, Submission
from autograder.grading.notebook.parse import IntakeError, fingerprint, read_regular_file
from autograder.grading.notebook.read import copy_notebook

CONFIG_TEXT = '''\
"""nbgrader's configuration for this course root, written by `course grade`; your own lines
below are kept.

Submissions are transplanted and run in the sandbox, never in a kernel.
`course grade --db postgresql://USER@HOST/DATABASE` puts db_url into the call; a password belongs in
~/.pgpass.
"""
from pathlib import Path

from autograder.classroom.nbgrader_steps import configure

c = get_config()
configure(c, Path(__file__).resolve().parent)
'''
CONFIG_LINES = """\
from pathlib import Path
from autograder.classroom.nbgrader_steps import configure
configure(c, Path(__file__).resolve().parent)"""


def course_config(course_root: Path) -> Config:
    """The configuration as nbgrader itself reads it from the course root."""
    usable(course_root)
    config = PyFileConfigLoader(CONFIG_FILE, path=str(course_root)).load_config()
    if not config.CourseDirectory.get("root"):
        raise CourseError(
            f"{course_root / CONFIG_FILE} does not call configure. Put these lines after `c ="
            f" get_config()`, and keep yours below them:\n{CONFIG_LINES}"
        )
    return config


def begin_course_root(course_root: Path) -> Config:
    """The configuration of a course root, made where there is none; a gradebook is not.

    Raises CourseError for a path that nbgrader takes for another.
    """
    usable(course_root)
    with writing(course_root):
        make_private_folders(course_root)
    if not (course_root / CONFIG_FILE).exists():
        write_whole(course_root / CONFIG_FILE, CONFIG_TEXT)
    return course_config(course_root)


def prepare_course_root(course_root: Path, assignment: Assignment) -> Config:
    """Make the root, its configuration, and the assignment in release/ and in the database; quick
    when all is there.
    """
    from autograder.authoring.notebooks import source_notebook, write_notebook

    course_root = course_root.resolve()
    config = begin_course_root(course_root)
    check_machine(config, course_root)
    source = course_layout.source_notebook(course_root, assignment.name)
    release = course_layout.release_notebook(course_root, assignment.name)
    before = source.read_bytes() if source.exists() else b""
    with writing(source):
        write_notebook(source_notebook(assignment.entry), source)
    with interpreter_on_path():
        if (
            before != source.read_bytes()
            or not release.exists()
            or not _known(config, assignment.name)
        ):
            _generate(config, assignment.name, release)
    return config


def _generate(config: Config, assignment: str, release: Path) -> None:
    from nbgrader.apps import NbGraderAPI  # takes 1 s

    result = NbGraderAPI(config=config).generate_assignment(assignment)
    if "there are submissions associated with it" in result.get("log", ""):
        raise CourseError(
            f"the gradebook holds submissions to {assignment} with other cells than now; keep a"
            f" copy of {release.parents[2]} if you need it, remove the folder, and grade again"
        )
    if not result["success"] or not release.exists():
        said = result.get("error") or result.get("log") or ""
        if said.rstrip().endswith("KeyboardInterrupt"):  # nbgrader catches it and goes on
            raise KeyboardInterrupt
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            with writing(release.parents[2]):
                if (
                    os.strerror(number) in said
                    or number == errno.ENOSPC
                    and "database or disk is full" in said
                ):
                    raise OSError(number, os.strerror(number))
        raise CourseError(f"nbgrader generate_assignment {assignment} failed:\n{said}")


def _known(config: Config, assignment: str) -> bool:
    with open_gradebook(config) as gradebook:
        try:
            gradebook.find_assignment(assignment)
        except MissingEntry:
            return False
    return True


@contextmanager
def open_gradebook(config: Config) -> Iterator[Gradebook]:
    """nbgrader's gradebook of this configuration.

    A database that is locked or cannot be written is a MachineError.
    """
    url = config.CourseDirectory.db_url
    if make_url(url).drivername == "sqlite" and os.path.isabs(path := make_url(url).database or ""):
        begin_private_file(Path(path))  # SQLite would make one that everybody can read
    with troubles(url):
        with interpreter_on_path():  # a new database starts alembic, by name
            gradebook = Gradebook(url, config.CourseDirectory.course_id)
        with gradebook:
            yield gradebook


def check_machine(config: Config, course_root: Path) -> None:
    """Raise MachineError if the course root or the gradebook cannot be written now."""
    probe = course_root / ".can-write"
    write_whole(probe, bytes(65_536))
    with writing(probe):
        probe.unlink(missing_ok=True)
    with open_gradebook(config) as gradebook:
        # A reader alone would not see a lock, nor that nothing may be written.
        sqlite = gradebook.engine.dialect.name == "sqlite"
        gradebook.db.execute(
            text(
                "BEGIN IMMEDIATE"
                if sqlite
                else "UPDATE grade SET extra_credit = extra_credit WHERE 1 = 0"
            )
        )
        gradebook.db.rollback()
        with interpreter_on_path():
            mend_version(gradebook)


def keep_copy(
    course_root: Path, submission: Submission, assignment: Assignment, judged: str = ""
) -> bool:
    """Copy a notebook to where nbgrader looks for it; False if something that is not our copy lies
    there.

    `submitted/` may hold originals, which are never written to. A copy is ours if its hash is among
    those noted: while one is made that is the old one's and its own, so that a kill between the two
    leaves no copy that nobody knows. judged: the hash of what the verdict is about; a copy that has
    it stays.
    """
    folder = course_layout.submission_folder(course_root, submission.student, assignment.name)
    target = course_layout.submission(course_root, submission.student, assignment.name)
    note = course_layout.copy_note(course_root, assignment.name, submission.student)
    if lies_below(submission.path, course_layout.submitted(course_root)):
        return True
    noted, there = (
        note.read_text(encoding="utf-8").split() if note.exists() else [],
        hash_of(target),
    )
    if os.path.lexists(folder) and there not in noted and not _just_begun(folder, noted):
        return False
    if not judged or there != judged or noted != [judged]:
        sha256 = copy_notebook(
            submission,
            target,
            lambda coming: write_whole(note, " ".join(dict.fromkeys([*noted, coming]))),
        )
        write_whole(note, sha256)
    if submission.timestamp:
        write_whole(folder / STAMP, submission.timestamp + "\n")
    else:
        (folder / STAMP).unlink(missing_ok=True)
    return True


def _just_begun(folder: Path, noted: list[str]) -> bool:
    """Whether a kill came after our note and the folder, before the first copy: nothing but half a
    copy lies there.
    """
    return (
        bool(noted)
        and folder.is_dir()
        and not folder.is_symlink()
        and all(
            path.name.startswith(".") and path.name.endswith(".new") for path in folder.iterdir()
        )
    )


def hash_of(path: Path) -> str:
    """The hash of an ordinary file; "" for one that is not there or is not read."""
    try:
        return fingerprint(read_regular_file(path))
    except IntakeError:
        return ""


def store(config: Config, course_root: Path, verdict: Verdict, assignment: Assignment) -> None:
    """Put one verdict into nbgrader's notebook and gradebook by `nbgrader autograde` itself; what
    was given by hand stays.
    """
    write_whole(
        course_layout.stand_in(course_root, verdict.student, assignment.name),
        STAND_IN + verdict.submission.encode(),
    )
    with writing(course_root):
        shutil.rmtree(
            course_layout.autograded_folder(course_root, verdict.student, assignment.name),
            ignore_errors=True,
        )
    config = Config(config)
    config.CourseDirectory.submitted_directory = course_layout.STAND_INS
    try:
        autograde(config, assignment.name, verdict.student, force=True)
    except CourseError:
        check_machine(config, course_root)
        raise


def autograde(config: Config, assignment: str, student: str = "*", force: bool = True) -> None:
    """nbgrader's Autograde with our steps, in this process.

    Raises CourseError with nbgrader's own words.
    """
    config = Config(config)
    config.CourseDirectory.assignment_id, config.CourseDirectory.student_id = assignment, student
    config.Autograde.force = force
    said: list[str] = []
    raised: list[DBAPIError] = []
    log = logging.Logger("nbgrader", logging.ERROR)
    handler = logging.Handler()

    def hear(record: logging.LogRecord) -> None:
        """nbgrader logs inside its own except blocks and raises another error afterwards."""
        said.append(record.getMessage())
        if error := database_error(sys.exc_info()[1]):
            raised.append(error)

    handler.emit = hear
    log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            # nbgrader reads an object's relations before it adds the object; SQLAlchemy 2 warns,
            # nothing is lost.
            warnings.simplefilter("ignore", SAWarning)
            Autograde(coursedir=CourseDirectory(config=config), config=config, log=log).start()
    except NbGraderException as error:
        if raised:
            raise MachineError(trouble(config.CourseDirectory.db_url, raised[0])) from raised[0]
        raise CourseError(
            f"nbgrader autograde failed for {assignment}: {' '.join(said) or error}"
        ) from error
