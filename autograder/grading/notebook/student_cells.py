"""The cells of a graded notebook, to run them again in a sandbox with questions of our own."""

from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.sandbox.api.cells import Cell


def student_cells(assignment: Assignment, verdict: Verdict) -> list[Cell]:
    """Return the notebook's set-up, what the student added, and the answers in their order."""
    setup, answers = [], []
    for cell in assignment.pristine.cells:
        id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "code" and id.startswith("setup"):
            setup.append(Cell(id, cell.source))
        elif cell.cell_type == "code" and verdict.own.get(id):
            answers.append(Cell(id, verdict.own[id]))
    added = [Cell(None, str(one[-1])) for one in verdict.added]
    return [*setup, *added, *answers]
