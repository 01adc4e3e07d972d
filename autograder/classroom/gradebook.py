"""The course root, and verdicts into nbgrader's gradebook through nbgrader itself.

A course root is an ordinary nbgrader course (source, release, submitted, autograded, feedback, gradebook.db) whose
nbgrader_config.py sets the steps of `autograder.classroom.nbgrader_steps`; `verdicts/` and the secret are ours. Every nbgrader
command, and formgrader, works in it. The database is SQLite in the root, or PostgreSQL by URL in nbgrader_config.py:
only CourseDirectory.db_url says which, and nothing here depends on it.
"""
import logging
import warnings
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from traitlets.config import Config, PyFileConfigLoader

from autograder.errors import CourseError
from autograder.grading.intake import IntakeError
from autograder.grading.submissions import Submission
from autograder.grading.verdict import Assignment, placeholder

CONFIG_FILE = "nbgrader_config.py"
CONFIG_TEXT = '''\
"""nbgrader's configuration for this course root, written by `course grade`; your own lines below are kept.

Submissions are transplanted and run in the sandbox, never in a kernel. For PostgreSQL, add to the call:
db_url="postgresql+psycopg2://USER@HOST/DATABASE".
"""
from pathlib import Path

from autograder.classroom.nbgrader_steps import configure

c = get_config()
configure(c, Path(__file__).resolve().parent)
'''


def course_config(course_root: Path) -> Config:
    """The configuration as nbgrader itself reads it from the course root."""
    config = PyFileConfigLoader(CONFIG_FILE, path=str(course_root)).load_config()
    if not config.CourseDirectory.get("root"):
        raise CourseError(f"{course_root / CONFIG_FILE} does not call autograder.classroom.nbgrader_steps.configure; "
                          "delete it and it will be written anew")
    return config


def prepare_course_root(course_root: Path, assignment: Assignment) -> Config:
    """Make the root, its configuration, and the assignment in release/ and in the database; quick when all is there."""
    from autograder.authoring.notebooks import interpreter_on_path, source_notebook, write_notebook

    course_root = course_root.resolve()
    course_root.mkdir(parents=True, exist_ok=True)
    if not (course_root / CONFIG_FILE).exists():
        (course_root / CONFIG_FILE).write_text(CONFIG_TEXT, encoding="utf-8")
    config = course_config(course_root)
    source = course_root / "source" / assignment.name / f"{assignment.name}.ipynb"
    release = course_root / "release" / assignment.name / f"{assignment.name}.ipynb"
    before = source.read_bytes() if source.exists() else b""
    write_notebook(source_notebook(assignment.entry), source)
    with interpreter_on_path():
        if before != source.read_bytes() or not release.exists() or not _known(config, assignment.name):
            _generate(config, assignment.name, release)
    return config


def _generate(config: Config, assignment: str, release: Path) -> None:
    from nbgrader.apps import NbGraderAPI  # takes 1 s

    result = NbGraderAPI(config=config).generate_assignment(assignment)
    if "there are submissions associated with it" in result.get("log", ""):
        raise CourseError(f"the gradebook holds submissions to {assignment} with other cells than now; keep a copy of "
                          f"{release.parents[2]} if you need it, remove the folder, and grade again")
    if not result["success"] or not release.exists():
        raise CourseError(f"nbgrader generate_assignment {assignment} failed:\n{result.get('error') or result.get('log')}")


def _known(config: Config, assignment: str) -> bool:
    with open_gradebook(config) as gradebook:
        try:
            gradebook.find_assignment(assignment)
        except MissingEntry:
            return False
    return True


def open_gradebook(config: Config) -> Gradebook:
    """nbgrader's gradebook of this configuration, as a context manager."""
    return Gradebook(config.CourseDirectory.db_url, config.CourseDirectory.course_id)


def collect(course_root: Path, submission: Submission, assignment: Assignment) -> None:
    """Put one submission where nbgrader looks for it: the notebook's bytes and the time stamp, nothing else."""
    folder = course_root / "submitted" / submission.student / assignment.name
    target = folder / f"{assignment.name}.ipynb"
    try:
        data = submission.read()
    except IntakeError as error:
        data = placeholder(str(error))
    folder.mkdir(parents=True, exist_ok=True)
    if target.is_symlink() or not target.exists() or target.read_bytes() != data:
        target.unlink(missing_ok=True)
        target.write_bytes(data)
    stamp = folder / "timestamp.txt"
    if submission.timestamp:
        stamp.write_text(submission.timestamp + "\n", encoding="utf-8")
    elif submission.path.parent != folder:
        stamp.unlink(missing_ok=True)


def autograde(config: Config, assignment: str, student: str = "*", force: bool = True) -> None:
    """nbgrader's Autograde with our steps, in this process. Raises CourseError with nbgrader's own words."""
    config = Config(config)
    config.CourseDirectory.assignment_id, config.CourseDirectory.student_id = assignment, student
    config.Autograde.force = force
    said: list[str] = []
    log = logging.Logger("nbgrader", logging.ERROR)
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            # nbgrader reads an object's relations before it adds the object; SQLAlchemy 2 warns, nothing is lost.
            warnings.simplefilter("ignore", SAWarning)
            Autograde(coursedir=CourseDirectory(config=config), config=config, log=log).start()
    except NbGraderException as error:
        raise CourseError(f"nbgrader autograde failed for {assignment}: {' '.join(said) or error}") from error
