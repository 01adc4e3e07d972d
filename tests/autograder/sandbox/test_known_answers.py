"""Every reference and other right answer, of every chapter, is worth in the real sandbox what it is
at home, and known mistakes too.

Each time this is tried in three chapters, with the first mistake and the first other right answer
of each exercise; in `make test-slow` with every one in all chapters. Kernels take minutes here,
each replayed in a process of its own: `test_real_attacks` and `test_kernels` try some each time.

A solved notebook is opened once a chapter, and its cells are written anew for one answer after the
other.
"""

from dataclasses import dataclass

import pytest

from autograder.authoring.catalogue import assignments
from autograder.authoring.implementations import namespace_of
from autograder.authoring.package import earlier_chapters
from autograder.authoring.solution_sources import has_source, reference_sources, with_function
from autograder.authoring.student_notebook import Notebook
from autograder.checks.mistakes.registry import alternatives_of, mistakes_of
from autograder.checks.protocol import LocalStudent, rng_for, run_exercise
from autograder.checks.restrictions.names import in_chapter
from autograder.grading.assignment import Assignment, load_assignment
from autograder.grading.grade import sandboxes
from autograder.grading.intake.discovery import Submission
from autograder.grading.known_notebooks import differences, known_notebooks
from autograder.grading.notebook.read import read_work
from autograder.sandbox import Cell, Limits, RemoteStudent, open_student

pytestmark = pytest.mark.sandbox
NUMBERS = [one.number for one in assignments()]
EACH_TIME = ("01", "04", "08")  # functions, masks, models
PATIENT = Limits(
    call_seconds=60, total_seconds=3000
)  # a class's limits are for one submission, and for one answer
# Triton reads the text of a kernel again, where Python keeps the lines of a file.
REWRITE = (
    "def rewrite(source):\n    import linecache\n    linecache.cache['rewritten'] = (len(source),"
    " None, source.splitlines(True), 'rewritten')\n    exec(compile(source, 'rewritten', 'exec'),"
    " globals())\n"
)


CHAPTERS = [
    pytest.param(one, marks=() if one in EACH_TIME else pytest.mark.long) for one in NUMBERS
]


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_notebooks_that_are_graded_before_a_class_earn_what_they_deserve(number):
    """The reference gets all points as a submission, and a notebook with a mistake in each exercise
    what the registry says.
    """
    assignment, wrong = load_assignment(number), []
    perfect, mistaken = known_notebooks(assignment)
    with sandboxes(
        assignment, budget=900.0
    ) as pool:  # wall clock, and other tests run beside this one
        for known in (perfect, mistaken):
            verdict = known.grade(assignment, pool, 900.0)
            wrong += [*differences(known, verdict), *verdict.cell_errors]
    assert wrong == []
    assert sum(perfect.deserved.values()) > sum(mistaken.deserved.values()) > 0


@dataclass
class Solved:
    """A notebook with every answer right, open in a sandbox."""

    assignment: Assignment
    student: RemoteStudent

    def judged(self, exercise, other, **options):
        """The result of an exercise in whose cell another function stands, with a hidden seed; then
        the cell is put back.
        """
        cell = reference_sources(self.assignment)[exercise.id.split(".", 1)[1]]
        self._write(with_function(cell, other.function, other.replaces))
        found = run_exercise(exercise, self.student, seeds(exercise), **options)
        self._write(cell)
        return found

    def _write(self, source):
        """The text of the cell is known outside, too: kernels are taken from it."""
        self.student.new_stage()
        self.student.rewrite(source)
        self.student._cells[-1] = Rewritten(None, source)


class Rewritten(Cell):
    """What stands in the place of a cell."""

    def filename(self, index: int) -> str:
        return "rewritten"


def seeds(exercise):
    return lambda stage: rng_for(exercise.id, stage, "ada", secret=b"secret")


@pytest.fixture(scope="module", params=CHAPTERS)
def solved(request, tmp_path_factory):
    assignment, path = (
        load_assignment(request.param),
        tmp_path_factory.mktemp("solved") / "notebook.ipynb",
    )
    path.write_bytes(Notebook(assignment).solve().data())
    work = read_work(Submission("ada", path), assignment.pristine, assignment.functions, [])
    cells = [Cell(piece.grade_id, piece.source) for piece in work.pieces]
    with open_student(
        [*cells, Cell(None, REWRITE), Rewritten(None, "")],
        in_chapter(assignment.exercises.values()),
        PATIENT,
        extra=earlier_chapters(assignment.number),
    ) as student:
        assert student.cell_errors == []
        yield Solved(assignment, student)


@pytest.mark.parametrize(
    "most", [pytest.param(1, id="one"), pytest.param(None, id="all", marks=pytest.mark.long)]
)
def test_another_right_answer_gets_all_points(solved, most):
    tried = [
        (exercise, other)
        for id, exercise in solved.assignment.exercises.items()
        for other in list(filter(written, alternatives_of(id)))[:most]
    ]
    lost = {
        (exercise.id, other.name): result
        for exercise, other in tried
        if (result := solved.judged(exercise, other)).earned < exercise.points
    }
    checked = sum(bool(one.stages) for one in solved.assignment.exercises.values())
    assert len(tried) >= (most or 2) * checked
    assert lost == {}


@pytest.mark.parametrize(
    "most", [pytest.param(1, id="first"), pytest.param(None, id="all", marks=pytest.mark.long)]
)
def test_a_known_mistake_is_told_and_loses_what_it_does_at_home(solved, most):
    """Where it stands for a helper, the functions of the cell that call it are wrong here too, and
    at home they are not.
    """
    tried = [
        (exercise, mistake)
        for id, exercise in solved.assignment.exercises.items()
        for mistake in list(filter(written, mistakes_of(id)))[:most]
    ]
    differs = {}
    for exercise, mistake in tried:
        at_home = run_exercise(
            exercise,
            LocalStudent(namespace_of(f"mistake:{mistake.name}", exercise)),
            seeds(exercise),
        )
        for here, there in zip(
            solved.judged(exercise, mistake).stages, at_home.stages, strict=True
        ):
            helper = mistake.replaces in exercise.also and there.status == "passed"
            if said(here) != said(there) and not helper:
                differs[exercise.id, mistake.name, here.name] = said(here), said(there)
    assert len(tried) > (30 if most is None else 5) and differs == {}


def written(other):
    """Whether it has lines of its own: what a factory made is asked at home only."""
    return has_source(other.function)


def said(stage):
    return stage.status, stage.earned, stage.cause, stage.misconception
