"""nbgrader's gradebook, held open for a class: a verdict goes into it with one commit, and its
notebook is written once.

`nbgrader autograde` opens the gradebook some ten times for each student and sends each notebook
through its file twice. Here the same preprocessors run on the notebook in memory, on one session,
and give the same rows and the same bytes. Where nbgrader_config.py names other steps or hooks than
ours, nbgrader's own command does the work.

Safe against a kill: the old notebook goes first, then one commit, then the new notebook, which
carries the verdict's hash. What was cut short has no notebook of that hash, and the next run stores
it again.
"""

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat.v4 import new_notebook
from nbgrader.api import Assignment as AssignmentRow
from nbgrader.api import BaseCell, Grade, Gradebook, SubmittedAssignment, SubmittedNotebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc
from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from autograder import course_layout
from autograder.classroom.gradebook import course as by_nbgrader
from autograder.classroom.gradebook.course import open_gradebook
from autograder.classroom.gradebook.database import database_error, trouble
from autograder.classroom.gradebook.nbgrader_plugins import (
    BEFORE,
    MARK,
    FromVerdict,
    SaveVerdict,
    ShowPoints,
    configure,
)
from autograder.common.atomic_files import write_whole, writing
from autograder.common.errors import MachineError
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict

Held = tuple[
    object, dict[str, float | None]
]  # what the gradebook has of a submission: its time, scores by grade id


@contextmanager
def open_class_book(
    config: Config, course_root: Path, assignment: Assignment
) -> Iterator["ClassBook"]:
    """The gradebook of a course root, open for the verdicts of one assignment.

    Raises MachineError as `open_gradebook` does.
    """
    with open_gradebook(config) as gradebook, gradebook.engine.connect() as connection:
        gradebook.db.remove()
        # nbgrader commits after each row. Within a transaction of the connection these commits only
        # flush.
        gradebook.db.configure(
            bind=connection, join_transaction_mode="rollback_only", expire_on_commit=False
        )
        yield ClassBook(gradebook, connection, config, course_root, assignment)


class ClassBook:
    """See `open_class_book`.

    One process and one thread write; others may read and write the database meanwhile.
    """

    def __init__(
        self,
        gradebook: Gradebook,
        connection: Connection,
        config: Config,
        course_root: Path,
        assignment: Assignment,
    ):
        self.gradebook, self._connection, self._config = gradebook, connection, config
        self._course_root, self._assignment = course_root, assignment
        self._converter = Autograde(coursedir=CourseDirectory(config=config), config=config)
        self._converter.gradebook = gradebook  # where the steps look for an open one
        self._steps = [
            step(parent=self._converter) for step in (FromVerdict, ShowPoints, SaveVerdict)
        ]
        self._plain = _only_ours(config, course_root)

    def store(self, verdict: Verdict) -> None:
        """Put one verdict into nbgrader's notebook and gradebook; what was given by hand stays.

        What late work costs is reckoned for the class at the end (`late.settle`). Raises
        MachineError where the database is locked or lost.
        """
        if not self._plain:
            by_nbgrader.store(self._config, self._course_root, verdict, self._assignment)
            return
        name, path = self._assignment.name, self._path(verdict)
        before = _sources(path)
        if path.parent.exists():
            with writing(self._course_root):
                shutil.rmtree(path.parent)
        resources = {
            "nbgrader": {
                "student": verdict.student,
                "assignment": name,
                "notebook": name,
                "db_url": self._config.CourseDirectory.db_url,
            },
            BEFORE: before,
        }
        notebook = new_notebook(metadata={MARK: {"sha256": verdict.submission}})
        with self._transaction(writes=True):
            self.gradebook.update_or_create_student(verdict.student)
            self.gradebook.update_or_create_submission(name, verdict.student)
            for step in self._steps:
                notebook, resources = step.preprocess(notebook, resources)
        # Its parts were looked at when the notebook was built; only texts were put into it since.
        write_whole(path, nbformat.v4.writes(notebook).rstrip("\n") + "\n")
        with writing(path):
            path.chmod(int(str(self._converter.permissions), 8))

    def held(self) -> dict[str, Held]:
        """What the gradebook has of every submission to the assignment, by student, in two
        queries.
        """
        with self._transaction():
            times = (
                self.gradebook.db.query(
                    SubmittedAssignment.student_id, SubmittedAssignment.timestamp
                )
                .join(AssignmentRow, SubmittedAssignment.assignment)
                .filter(AssignmentRow.name == self._assignment.name)
                .all()
            )
            found: dict[str, Held] = {student: (timestamp, {}) for student, timestamp in times}
            for student, grade_id, score in (
                self.gradebook.db.query(
                    SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score
                )
                .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
                .join(
                    SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id
                )
                .join(AssignmentRow, SubmittedAssignment.assignment_id == AssignmentRow.id)
                .join(BaseCell, Grade.cell_id == BaseCell.id)
                .filter(AssignmentRow.name == self._assignment.name)
            ):
                found[student][1][grade_id] = score
        return found

    def is_stored(self, verdict: Verdict, held: dict[str, Held]) -> bool:
        """Whether nbgrader's notebook and gradebook (`held`) hold exactly what this
        verdict says.
        """
        try:
            mark = json.loads(self._path(verdict).read_text(encoding="utf-8"))["metadata"].get(
                MARK, {}
            )
        except (OSError, ValueError, KeyError):
            return False
        stamp = parse_utc(verdict.timestamp) if verdict.timestamp else None
        return mark == {"verdict": verdict.digest()} and held.get(verdict.student) == (
            stamp,
            expected_scores(verdict, self._assignment),
        )

    def _path(self, verdict: Verdict) -> Path:
        return course_layout.autograded_notebook(
            self._course_root, verdict.student, self._assignment.name
        )

    @contextmanager
    def _transaction(self, writes: bool = False) -> Iterator[None]:
        """All of the block or nothing of it.

        A database that cannot be asked is a MachineError; a row that does not fit is not.
        """
        try:
            with self._connection.begin(), warnings.catch_warnings():
                # nbgrader reads an object's relations before it adds the object; SQLAlchemy 2
                # warns, nothing is lost.
                warnings.simplefilter("ignore", SAWarning)
                if writes and self._connection.dialect.name == "sqlite":
                    self._connection.execute(
                        text("BEGIN IMMEDIATE")
                    )  # a lock is met here, before anything is done
                yield
                self.gradebook.db.flush()
        except MachineError:
            raise
        except Exception as error:  # nbgrader makes an InvalidEntry of some
            if (said := database_error(error)) is None:
                raise
            raise MachineError(trouble(self._config.CourseDirectory.db_url, said)) from error
        finally:
            self.gradebook.db.remove()


def _sources(path: Path) -> dict[str, str]:
    """The cells of a notebook of ours by grade id; none where there is none that can be read."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return {
            cell["metadata"].get("nbgrader", {}).get("grade_id"): "".join(cell["source"])
            for cell in cells
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def expected_scores(verdict: Verdict, assignment: Assignment) -> dict[str, float | None]:
    """Automatic scores by grade id; a written answer that is nowhere is the zero that nbgrader
    gives.
    """
    earned = {result["exercise"]: float(result["earned"]) for result in verdict.results}
    scores: dict[str, float | None] = {}
    for id, one in assignment.exercises.items():
        short = id.split(".", 1)[1]
        if one.kind == "manual":
            scores[short] = (
                0.0
                if verdict.readable and short not in verdict.own and not verdict.waits(id)
                else None
            )
        else:
            scores[f"{short}-check"] = None if verdict.waits(id) else earned.get(id)
    return scores


def _only_ours(config: Config, course_root: Path) -> bool:
    """Whether nbgrader_config.py says of autograding what `configure` says, and nothing else."""
    ours = Config()
    configure(ours, course_root)
    return config.Autograde == ours.Autograde
