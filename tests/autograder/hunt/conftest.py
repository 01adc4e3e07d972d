"""A solved notebook, and students in the sandbox whose cells are its."""

from contextlib import contextmanager

import nbformat
import pytest

from autograder.authoring.solution_sources import reference_sources
from autograder.grading.assignment import load_assignment
from autograder.grading.grade import sandboxes
from autograder.hunt.hunt import inside_cell
from autograder.sandbox.api.cells import Cell


def solved(assignment):
    """The notebook as it was given, with the reference solutions written in."""
    sources, made = reference_sources(assignment), nbformat.from_dict(assignment.pristine)
    for cell in made.cells:
        id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "code" and id in sources:
            cell.source = sources[id]
    return made


@contextmanager
def solved_student(assignment, **others):
    """A student in a sandbox with the setup and solution cells of an assignment.

    others: sources of cells that are not the reference's, by the name of the cell.
    """
    sources = reference_sources(assignment) | others
    cells = [Cell(None, inside_cell().source)]
    for cell in assignment.pristine.cells:
        id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "code" and (id in sources or id.startswith("setup")):
            cells.insert(-1, Cell(id, sources.get(id, cell.source)))
    with sandboxes(assignment) as pool, pool.open_student(cells) as student:
        yield student


@pytest.fixture(scope="session")
def fourth():
    return load_assignment("04")


@pytest.fixture(scope="session")
def notebook(fourth, tmp_path_factory):
    path = tmp_path_factory.mktemp("hunt") / f"{fourth.name}.ipynb"
    nbformat.write(solved(fourth), path)
    return path
