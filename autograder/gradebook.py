"""The course root, and verdicts into nbgrader's gradebook through nbgrader itself.

A course root is an ordinary nbgrader course (source, release, submitted, autograded, feedback, gradebook.db) whose
nbgrader_config.py sets the steps of `autograder.nbgrader_steps`; `verdicts/` and the secret are ours. Every nbgrader
command, and formgrader, works in it. The database is SQLite in the root, or PostgreSQL by URL in nbgrader_config.py:
only CourseDirectory.db_url says which, and nothing here depends on it.
"""
import csv
import logging
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from traitlets.config import Config, PyFileConfigLoader

from autograder.errors import CourseError
from autograder.grade import Assignment, Verdict, placeholder
from autograder.intake import IntakeError
from autograder.submissions import Submission

WRITTEN = "A written answer waits to be read."
CONFIG_FILE = "nbgrader_config.py"
CONFIG_TEXT = '''\
"""nbgrader's configuration for this course root, written by `course grade`; your own lines below are kept.

Submissions are transplanted and run in the sandbox, never in a kernel. For PostgreSQL, add to the call:
db_url="postgresql+psycopg2://USER@HOST/DATABASE".
"""
from pathlib import Path

from autograder.nbgrader_steps import configure

c = get_config()
configure(c, Path(__file__).resolve().parent)
'''


@dataclass
class HandGrades:
    """What people and the calendar added: by grade id, points given by hand (None: not yet) and comments."""

    points: dict[str, float | None] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    seconds_late: float = 0.0
    penalty: float = 0.0


def course_config(course_root: Path) -> Config:
    """The configuration as nbgrader itself reads it from the course root."""
    config = PyFileConfigLoader(CONFIG_FILE, path=str(course_root)).load_config()
    if not config.CourseDirectory.get("root"):
        raise CourseError(f"{course_root / CONFIG_FILE} does not call autograder.nbgrader_steps.configure; "
                          "delete it and it will be written anew")
    return config


def prepare_course_root(course_root: Path, assignment: Assignment) -> Config:
    """Make the root, its configuration, and the assignment in release/ and in the database; quick when all is there."""
    from autograder.build import interpreter_on_path, source_notebook, write_notebook

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
    from nbgrader.apps import NbGraderAPI   # takes 1 s

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
    _convert(Autograde, config, assignment, student, force)


def generate_feedback(config: Config, assignment: str, student: str = "*", force: bool = True) -> None:
    """nbgrader's GenerateFeedback, which writes our pages."""
    _convert(GenerateFeedback, config, assignment, student, force)


def _convert(kind: type, config: Config, assignment: str, student: str, force: bool) -> None:
    config = Config(config)
    config.CourseDirectory.assignment_id, config.CourseDirectory.student_id = assignment, student
    config[kind.__name__].force = force
    said: list[str] = []
    log = logging.Logger("nbgrader", logging.ERROR)
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    log.addHandler(handler)
    folder = os.getcwd()
    try:
        with warnings.catch_warnings():
            # nbgrader reads an object's relations before it adds the object; SQLAlchemy 2 warns, nothing is lost.
            warnings.simplefilter("ignore", SAWarning)
            kind(coursedir=CourseDirectory(config=config), config=config, log=log).start()
    except NbGraderException as error:
        raise CourseError(f"nbgrader {kind.__name__} failed for {assignment}: {' '.join(said) or error}") from error
    finally:
        os.chdir(folder)


def hand_grades(gradebook: Gradebook, assignment: str, student: str) -> HandGrades:
    """What the gradebook holds beyond the verdict; empty for a submission that it does not know."""
    found = HandGrades()
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return found
    found.seconds_late = submission.total_seconds_late or 0.0
    for notebook in submission.notebooks:
        found.penalty += notebook.late_submission_penalty or 0.0
        for grade in notebook.grades:
            if grade.manual_score is not None or grade.cell.cell_type == "markdown":
                # An untouched answer is a zero that nbgrader itself gives.
                given = grade.manual_score if grade.manual_score is not None else grade.auto_score
                found.points[grade.name] = None if grade.needs_manual_grade and grade.manual_score is None else given
        for comment in notebook.comments:
            if comment.manual_comment:
                found.comments[comment.name] = comment.manual_comment
    return found


def exercise_points(verdict: Verdict, graded: HandGrades, assignment: Assignment) -> dict[str, float | None]:
    """Points by exercise id; None where a human has not decided yet. What was given by hand counts."""
    earned = {result["exercise"]: result["earned"] for result in verdict.results}
    points = {}
    for id, one in assignment.exercises.items():
        short = id.split(".", 1)[1]
        cell = short if one.kind == "manual" else f"{short}-check"
        if graded.points.get(cell) is not None:
            points[id] = graded.points[cell]
        else:
            points[id] = None if one.kind == "manual" or verdict.waits(id) else earned.get(id)
    return points


def total_points(points: dict[str, float | None], graded: HandGrades) -> float | None:
    """The sum of what is decided, less the late penalty; None when nothing is decided."""
    decided = [one for one in points.values() if one is not None]
    return max(0.0, sum(decided) - graded.penalty) if decided else None


def write_csv(path: Path, rows: list[tuple[Verdict, HandGrades]], assignment: Assignment) -> Path:
    """grades.csv: student, assignment, points by exercise (empty: not decided), total, late (seconds), needs_human."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["student", "assignment", *assignment.exercises, "total", "late", "needs_human"])
        for verdict, graded in sorted(rows, key=lambda row: row[0].student):
            points = exercise_points(verdict, graded, assignment)
            shown = [f"{one:g}" if one is not None else "" for one in points.values()]
            total = total_points(points, graded)
            out.writerow([_cell(verdict.student), verdict.assignment, *shown, f"{total:g}" if total is not None else "",
                          f"{graded.seconds_late:g}", _cell("; ".join(reasons(verdict, points)))])
    return path


def reasons(verdict: Verdict, points: dict[str, float | None]) -> list[str]:
    """Why a human is needed, one sentence a reason; empty when every point is decided."""
    if not verdict.readable:
        return [] if None not in points.values() else [verdict.waits("")]
    by_reason: dict[str, list[str]] = {}
    for id, one in points.items():
        if one is None:
            by_reason.setdefault(verdict.waits(id) or WRITTEN, []).append(id)
    return [f"{', '.join(ids)}: {reason}" for reason, ids in by_reason.items()]


def _cell(text: str) -> str:
    """Text that a spreadsheet will not take for a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
