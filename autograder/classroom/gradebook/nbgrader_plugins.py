"""The steps that nbgrader runs in place of its own, set through its configuration: nothing of
nbgrader is patched.

    nbgrader autograde:  SafeReader (exporter) -> FromVerdict -> file -> ShowPoints -> SaveVerdict
                         -> late penalties
    nbgrader generate_feedback:  FeedbackExporter, which writes the same page as `course grade`
    formgrader:  `inert_markdown` in place of the filter that lets a student's script through

With these, `nbgrader autograde` on a submission never runs its code outside the sandbox, and never
gives points to a check cell that was not run. What was handed in is only hashed here: the notebook
that nbgrader keeps is made from the verdict, and its last version carries the verdict's hash, so
that an interrupted run shows. `configure` is called by the course root's nbgrader_config.py.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import determine_grade, is_grade, is_solution, parse_utc
from traitlets.config import Config

from autograder import course_layout
from autograder.classroom.reports.markdown import as_html
from autograder.common.safe_names import shown
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.merge import assemble, marks
from autograder.grading.notebook.parse import IntakeError, fingerprint, read_regular_file

MARK = "word2serve"  # our key in a notebook's metadata
# in the resources: the sources, by grade id, of the notebook that was stored until now
BEFORE = "word2serve-before"
# begins the file that stands for a submission while we store its verdict
STAND_IN = b"word2serve stand-in "
TEMPLATES = Path(__file__).parents[1] / "reports" / "templates"


def configure(config: Config, course_root: Path, db_url: str = "") -> None:
    """Set everything that a course root needs.

    `db_url`: postgresql://USER@HOST/DATABASE; default SQLite in the root.
    """
    from autograder.authoring.notebooks import course_config
    from autograder.classroom.gradebook.database import complete

    config.merge(course_config(course_root))
    if db_url:
        config.CourseDirectory.db_url = complete(db_url)
    config.CourseDirectory.course_id = "word2serve"
    here = "autograder.classroom.gradebook.nbgrader_plugins"
    config.Autograde.exporter_class = f"{here}.SafeReader"
    config.Autograde.sanitize_preprocessors = [f"{here}.FromVerdict"]
    config.Autograde.autograde_preprocessors = [
        f"{here}.ShowPoints",
        f"{here}.SaveVerdict",
        "nbgrader.preprocessors.AssignLatePenalties",
    ]
    config.GenerateFeedback.exporter_class = f"{here}.FeedbackExporter"
    config.HTMLExporter.filters = {
        "markdown2html": f"{here}.inert_markdown",
        "clean_html": "autograder.classroom.reports.markdown.inert_html",
    }
    config.HTMLExporter.sanitize_html = True
    # nbgrader's template calls the macro that loads MathJax from the network; Jupyter finds ours
    # first.
    paths = [
        path
        for path in os.environ.get("JUPYTER_PATH", "").split(os.pathsep)
        if path and path != str(TEMPLATES)
    ]
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(TEMPLATES), *paths])


def course_root_of(step) -> Path:
    """The course root of the converter that `step` (an exporter or preprocessor) works for."""
    while step is not None:
        if getattr(step, "coursedir", None) is not None:
            return Path(step.coursedir.root)
        step = step.parent
    return Path(os.getcwd())  # converters work in the course root


@contextmanager
def gradebook_of(step, db_url: str) -> Iterator[Gradebook]:
    """The gradebook that is open for the class that `step` works for, or one for this notebook
    alone.
    """
    while step is not None:
        if isinstance(getattr(step, "gradebook", None), Gradebook):
            yield step.gradebook
            return
        step = step.parent
    with Gradebook(db_url) as gradebook:
        yield gradebook


class SafeReader(NotebookExporter):
    """Reads of a submitted notebook its hash and nothing else; reads our own autograded notebook as
    it is.
    """

    def __init__(self, config: Config | None = None, **options: object):
        super().__init__(config=config, **options)
        if getattr(self.parent, "coursedir", None) is not None:
            # Whatever else lies in a submitted folder (links to files of this machine, too) is not
            # copied.
            self.parent.coursedir.ignore = [*self.parent.coursedir.ignore, "*", ".*"]

    def from_filename(self, filename: str, resources: dict | None = None, **options: object):
        """Export the file; a submitted one becomes a notebook without cells that holds the hash."""
        root = course_root_of(self)
        if Path(filename).resolve().is_relative_to(course_layout.autograded(root).resolve()):
            return super().from_filename(filename, resources=resources, **options)
        notebook = new_notebook(metadata={MARK: {"sha256": _hash_of(Path(filename))}})
        return self.from_notebook_node(notebook, resources=resources, **options)


def _hash_of(path: Path) -> str:
    """The hash of a submitted file; "" for one that is not read.

    A stand-in of ours names the hash itself.
    """
    try:
        data = read_regular_file(path)
    except IntakeError:
        return ""
    return (
        data.removeprefix(STAND_IN).decode("ascii")
        if data.startswith(STAND_IN)
        else fingerprint(data)
    )


class FromVerdict(NbGraderPreprocessor):
    """In place of nbgrader's sanitising: the student's cells in the pristine notebook, as the
    verdict holds them.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook to show.

        A submission without a verdict is graded now, in a process of its own.
        """
        from autograder.grading.assignment import course_secret, load_assignment

        names = resources["nbgrader"]
        verdict = self._verdict(nb.metadata[MARK]["sha256"], names)
        pristine = load_assignment(names["assignment"]).pristine_of(
            verdict.student, course_secret(course_root_of(self))
        )
        notebook = assemble(pristine, verdict.own, verdict.added, verdict.found, verdict.pictures)
        notebook.metadata[MARK] = {"sanitized": verdict.digest()}
        return notebook, resources

    def _verdict(self, sha256: str, names: dict):
        from autograder.grading.assignment import load_assignment
        from autograder.grading.executors.local import grade_all
        from autograder.grading.results_store import load_verdict

        root, assignment = course_root_of(self), load_assignment(names["assignment"])
        kept = load_verdict(root, assignment.name, names["student"])
        if kept and kept.submission == sha256 and kept.checks == assignment.checks_hash:
            return kept
        path = course_layout.submission(root, names["student"], names["assignment"])
        return grade_all(
            [Submission(names["student"], path)], assignment, root, regrade=True
        ).verdicts[names["student"]]


class ShowPoints(NbGraderPreprocessor):
    """In place of executing the notebook: the verdict as outputs of the check cells."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Give each check cell a table and, as execute_result, its points: nbgrader reads them as
        partial credit.
        """
        from autograder.grading.results_store import load_verdict

        names = resources["nbgrader"]
        verdict = load_verdict(course_root_of(self), names["assignment"], names["student"])
        if verdict is None or nb.metadata[MARK].get("sanitized") != verdict.digest():
            raise ValueError(
                f"the verdict of {names['student']} changed while its notebook was written; run"
                " again"
            )
        resources[MARK] = verdict
        nb.metadata[MARK] = {
            "verdict": verdict.digest()
        }  # this file is written after the scores are saved
        results = {result["exercise"].split(".", 1)[1]: result for result in verdict.results}
        for cell in nb.cells:
            if is_grade(cell) and cell.cell_type == "code":
                cell.outputs = _outputs(
                    verdict, results.get(marks(cell)["grade_id"].removesuffix("-check"))
                )
        return nb, resources


def _outputs(verdict, result: dict | None) -> list[NotebookNode]:
    """A table for people and the points for nbgrader; an error output where a human must decide."""
    from autograder.checks.results import ExerciseResult
    from autograder.checks.rubric import as_html, as_text

    waiting = verdict.waits(result["exercise"]) if result else verdict.waits("")
    if result is None or waiting:
        reason = waiting or "There is no result for this exercise."
        return [
            from_dict(
                {
                    "output_type": "error",
                    "ename": "NeedsHuman",
                    "evalue": reason,
                    "traceback": [reason],
                }
            )
        ]
    rubric = ExerciseResult.from_json(result)
    # nbformat's new_output would hold each of them against its schema, which takes longer than all
    # else here.
    return [
        from_dict(
            {
                "output_type": "display_data",
                "metadata": {},
                "data": {"text/html": as_html(rubric), "text/plain": as_text(rubric)},
            }
        ),
        from_dict(
            {
                "output_type": "execute_result",
                "metadata": {},
                "execution_count": 1,
                "data": {"text/plain": repr(float(rubric.earned))},
            }
        ),
    ]


class SaveVerdict(NbGraderPreprocessor):
    """In place of nbgrader's SaveAutoGrades: one commit a notebook, and no zero where a human must
    decide.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Save every automatic score and comment; what was given by hand is kept.

        It is marked for another look where the work or its automatic score is another than before,
        or where that is not known.
        """
        names, verdict, before = resources["nbgrader"], resources[MARK], resources.get(BEFORE) or {}
        sources = {marks(cell).get("grade_id"): cell.source for cell in nb.cells}
        with gradebook_of(self, names["db_url"]) as gradebook:
            submission = gradebook.find_submission(names["assignment"], names["student"])
            rows = next(one for one in submission.notebooks if one.name == names["notebook"])
            grades = {one.name: one for one in rows.grades}
            comments = {one.name: one for one in rows.comments}
            waiting = {
                str(one["exercise"]).split(".", 1)[-1] for one in verdict.human
            }  # of these only written answers are grade ids
            worth = waiting | {
                result["exercise"].split(".", 1)[-1]
                for result in verdict.results
                if result["earned"]
            }  # the work is elsewhere, or may be
            for cell in nb.cells:
                key = marks(cell).get("grade_id")
                if is_grade(cell):
                    grade = grades[key]
                    waits = (
                        not verdict.readable
                        or key in waiting
                        or any(one.output_type == "error" for one in cell.get("outputs", ()))
                    )
                    earlier, grade.auto_score = (
                        grade.auto_score,
                        None if waits else determine_grade(cell, self.log)[0],
                    )
                    work = key.removesuffix("-check")
                    if grade.manual_score is None and not grade.extra_credit:
                        grade.needs_manual_grade = grade.auto_score is None
                    elif (
                        grade.auto_score is None
                        and grade.manual_score is None
                        or before.get(work) != sources.get(work)
                        or grade.auto_score != earlier
                    ):
                        grade.needs_manual_grade = True
                if is_solution(cell):
                    comments[key].auto_comment = (
                        "No response." if key in verdict.untouched and key not in worth else None
                    )
            submission.timestamp = parse_utc(verdict.timestamp) if verdict.timestamp else None
            student = gradebook.find_student(names["student"])
            student.lms_user_id = verdict.lms_id or student.lms_user_id
            if (
                verdict.name != names["student"]
                and not student.first_name
                and not student.last_name
            ):
                student.last_name = shown(verdict.name, 100)
            gradebook.db.commit()
        return nb, resources


class FeedbackExporter(HTMLExporter):
    """In place of nbgrader's notebook page: our feedback page, from the verdict and the
    gradebook.
    """

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict | None = None, **options: object
    ):
        """The page as text."""
        from autograder.classroom.gradebook.grades import hand_grades
        from autograder.classroom.reports.feedback import feedback_page
        from autograder.grading.assignment import load_assignment
        from autograder.grading.results_store import load_verdict

        names = resources["nbgrader"]
        assignment = load_assignment(names["assignment"])
        verdict = load_verdict(course_root_of(self), assignment.name, names["student"])
        with Gradebook(names["db_url"]) as gradebook:
            graded = hand_grades(gradebook, assignment.name, names["student"])
        resources = self._init_resources(resources)
        return feedback_page(assignment, verdict, graded), resources


@pass_context
def inert_markdown(context: Context, source: str) -> str:
    """The text of a cell as HTML that can run and load nothing, with the cell's pictures."""
    return str(as_html(source, dict(context.get("cell", {}).get("attachments", {}))))
