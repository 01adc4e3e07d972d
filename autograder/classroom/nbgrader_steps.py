"""The steps that nbgrader runs in place of its own, set through its configuration: nothing of nbgrader is patched.

    nbgrader autograde:  SafeReader (exporter) -> Transplant -> file -> RunInSandbox -> SaveVerdict -> late penalties
    nbgrader generate_feedback:  FeedbackExporter, which writes the same page as `course grade`
    formgrader:  `inert_markdown` in place of the filter that lets a student's script through

With these, `nbgrader autograde` on a submission never runs its code outside the sandbox, and never gives points to a
check cell that was not run. `configure` is called by the course root's nbgrader_config.py.
"""
import os
from pathlib import Path

from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution
from traitlets.config import Config

from autograder.grading.intake import IntakeError, SubmittedCell, fingerprint, read_cells, read_regular_file
from autograder.grading.submissions import Submission
from autograder.grading.transplant import marks, transplant

MARK = "word2serve"     # our key in a notebook's metadata
TEMPLATES = Path(__file__).parent / "templates"
TAGS = frozenset("a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s "
                 "small span strong sub summary sup table tbody td th thead tr ul".split())


def configure(config: Config, course_root: Path, db_url: str = "") -> None:
    """Set everything that a course root needs. `db_url`: default SQLite in the root.

    For PostgreSQL: postgresql+psycopg2://USER@HOST/DATABASE (bare postgresql:// wants psycopg 3 since SQLAlchemy 2.1).
    """
    from autograder.authoring.notebooks import course_config

    config.merge(course_config(course_root))
    if db_url:
        config.CourseDirectory.db_url = db_url
    config.CourseDirectory.course_id = "word2serve"
    here = "autograder.classroom.nbgrader_steps"
    config.Autograde.exporter_class = f"{here}.SafeReader"
    config.Autograde.pre_convert_hook = f"{here}.drop_links"
    config.Autograde.sanitize_preprocessors = [f"{here}.Transplant"]
    config.Autograde.autograde_preprocessors = [
        f"{here}.RunInSandbox", f"{here}.SaveVerdict", "nbgrader.preprocessors.AssignLatePenalties"]
    config.GenerateFeedback.exporter_class = f"{here}.FeedbackExporter"
    config.HTMLExporter.filters = {"markdown2html": f"{here}.inert_markdown", "clean_html": f"{here}.inert_html"}
    config.HTMLExporter.sanitize_html = True
    # nbgrader's template calls the macro that loads MathJax from the network; Jupyter finds ours first.
    paths = [path for path in os.environ.get("JUPYTER_PATH", "").split(os.pathsep) if path and path != str(TEMPLATES)]
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(TEMPLATES), *paths])


def course_root_of(step) -> Path:
    """The course root of the converter that `step` (an exporter or preprocessor) works for."""
    while step is not None:
        if getattr(step, "coursedir", None) is not None:
            return Path(step.coursedir.root)
        step = step.parent
    return Path(os.getcwd())        # converters work in the course root


def drop_links(assignment: str, student: str, notebooks: list[str]) -> None:
    """Remove links from a submitted folder before nbgrader copies what they point to."""
    for folder in {Path(notebook).parent for notebook in notebooks}:
        for path in folder.rglob("*"):
            if path.is_symlink():
                path.unlink()


class SafeReader(NotebookExporter):
    """Reads a submitted notebook through intake; reads our own autograded notebook as it is."""

    def from_filename(self, filename: str, resources: dict | None = None, **options: object):
        """Export the file. A submission that cannot be read becomes a notebook without cells and a `problem`."""
        root = course_root_of(self)
        if not Path(filename).resolve().is_relative_to((root / "submitted").resolve()):
            return super().from_filename(filename, resources=resources, **options)
        mark, cells = {"sha256": "", "problem": ""}, []
        try:
            data = read_regular_file(Path(filename))
            mark["sha256"] = fingerprint(data)
            cells = read_cells(data)
        except IntakeError as error:
            mark["problem"] = str(error)
        notebook = new_notebook(cells=[_untrusted(cell) for cell in cells], metadata={MARK: mark})
        return self.from_notebook_node(notebook, resources=resources, **options)


def _untrusted(cell: SubmittedCell) -> NotebookNode:
    make = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}[cell.kind]
    return make(cell.source, metadata={"claimed": cell.grade_id} if cell.grade_id else {})


class Transplant(NbGraderPreprocessor):
    """In place of nbgrader's sanitising: the student's cells in the pristine notebook."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook to grade."""
        from autograder.grading.verdict import load_assignment

        submitted = [SubmittedCell(cell.cell_type, cell.metadata.get("claimed"), cell.source) for cell in nb.cells]
        work = transplant(load_assignment(resources["nbgrader"]["assignment"]).pristine, submitted)
        work.notebook.metadata[MARK] = nb.metadata[MARK]
        return work.notebook, resources


class RunInSandbox(NbGraderPreprocessor):
    """In place of executing the notebook: the verdict, from its record or made now, as outputs of the check cells."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Give each check cell a table and, as execute_result, its points: nbgrader reads them as partial credit."""
        verdict = self._verdict(nb.metadata[MARK], resources["nbgrader"])
        resources[MARK] = verdict
        results = {result["exercise"].split(".", 1)[1]: result for result in verdict.results}
        for cell in nb.cells:
            if is_grade(cell) and cell.cell_type == "code":
                cell.outputs = _outputs(verdict, results.get(marks(cell)["grade_id"].removesuffix("-check")))
        return nb, resources

    def _verdict(self, mark: dict, names: dict):
        from autograder.grading.verdict import (
            course_secret,
            grade_submission,
            load_assignment,
            load_verdict,
            save_verdict,
        )

        root, assignment = course_root_of(self), load_assignment(names["assignment"])
        kept = load_verdict(root, assignment.name, names["student"])
        if kept and kept.submission == mark["sha256"] and kept.checks == assignment.checks_hash:
            return kept
        path = root / "submitted" / names["student"] / names["assignment"] / f"{names['notebook']}.ipynb"
        fresh = grade_submission(Submission(names["student"], path), assignment, course_secret(root))
        save_verdict(root, fresh)
        return fresh


def _outputs(verdict, result: dict | None) -> list[NotebookNode]:
    """A table for people and the points for nbgrader; an error output where a human must decide."""
    from autograder.checks.rubric import as_html, as_text
    from autograder.checks.runner import ExerciseResult

    waiting = verdict.waits(result["exercise"]) if result else verdict.waits("")
    if result is None or waiting:
        reason = waiting or "There is no result for this exercise."
        return [new_output("error", ename="NeedsHuman", evalue=reason, traceback=[reason])]
    rubric = ExerciseResult.from_json(result)
    return [new_output("display_data", data={"text/html": as_html(rubric), "text/plain": as_text(rubric)}),
            new_output("execute_result", data={"text/plain": repr(float(rubric.earned))}, execution_count=1)]


class SaveVerdict(NbGraderPreprocessor):
    """In place of nbgrader's SaveAutoGrades: one commit a notebook, and no zero where a human must decide."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Save every automatic score and comment; what was given by hand is kept and marked for another look."""
        names, verdict = resources["nbgrader"], resources[MARK]
        with Gradebook(names["db_url"]) as gradebook:
            for cell in nb.cells:
                key = (marks(cell).get("grade_id"), names["notebook"], names["assignment"], names["student"])
                untouched = marks(cell).get("checksum") == compute_checksum(cell) if is_solution(cell) else False
                if is_grade(cell):
                    grade = gradebook.find_grade(*key)
                    waits = not verdict.readable or any(one.output_type == "error" for one in cell.get("outputs", ()))
                    grade.auto_score = None if waits else determine_grade(cell, self.log)[0]
                    grade.needs_manual_grade = grade.auto_score is None or grade.manual_score is not None
                if is_solution(cell):
                    gradebook.find_comment(*key).auto_comment = "No response." if untouched else None
            gradebook.db.commit()
        return nb, resources


class FeedbackExporter(HTMLExporter):
    """In place of nbgrader's notebook page: our feedback page, from the verdict and the gradebook."""

    def from_notebook_node(self, nb: NotebookNode, resources: dict | None = None, **options: object):
        """The page as text."""
        from autograder.classroom.feedback import feedback_page
        from autograder.classroom.grades import hand_grades
        from autograder.grading.verdict import load_assignment, load_verdict

        names = resources["nbgrader"]
        assignment = load_assignment(names["assignment"])
        verdict = load_verdict(course_root_of(self), assignment.name, names["student"])
        with Gradebook(names["db_url"]) as gradebook:
            graded = hand_grades(gradebook, assignment.name, names["student"])
        resources = self._init_resources(resources)
        return feedback_page(assignment, verdict, graded), resources


def inert_markdown(source: str) -> str:
    """Markdown as HTML that can run nothing."""
    from nbconvert.filters import markdown2html

    return inert_html(markdown2html(source))


def inert_html(html: str) -> str:
    """HTML without scripts, event handlers, styles, frames, images, forms, or links that run anything."""
    from bleach import clean

    return clean(str(html), tags=TAGS, attributes={"a": ["href", "title"], "th": ["scope"]},
                 protocols={"http", "https", "mailto"}, strip=False)
