"""Every reference and every other right answer, of every chapter, gets all its points in the real sandbox."""
import pytest

from autograder.authoring.catalogue import assignments
from autograder.checks.registry import alternatives_of
from autograder.grading.assignment import load_assignment
from autograder.grading.submissions import Submission
from autograder.grading.verdict import grade_submission
from course.sample_class.handed_in import Notebook
from course.sample_class.sources import reference_sources, with_function

pytestmark = pytest.mark.sandbox
WAYS = [(one.number, way) for one in assignments()
        for way in range(1 + max(len(alternatives_of(id)) for id in one.exercises))]


@pytest.mark.parametrize(("number", "way"), WAYS)
def test_a_right_answer_at_home_is_right_in_the_sandbox(number, way, tmp_path):
    assignment = load_assignment(number)
    notebook = Notebook(assignment).solve()
    for id in assignment.exercises:
        others, short = alternatives_of(id), id.split(".", 1)[1]
        if way and others:
            other = others[(way - 1) % len(others)]
            notebook.write(short, with_function(reference_sources(assignment)[short], other.function, other.replaces))
    (tmp_path / "notebook.ipynb").write_bytes(notebook.data())
    verdict = grade_submission(Submission("ada", tmp_path / "notebook.ipynb"), assignment, b"secret")
    lost = {result["exercise"]: [(stage["name"], stage["status"], stage["cause"], stage["detail"]) for stage in result["stages"]
                                 if stage["status"] != "passed"]
            for result in verdict.results if result["earned"] < result["points"]}
    assert lost == {} and verdict.human == [] and verdict.cell_errors == [] and verdict.results
