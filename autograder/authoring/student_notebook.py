"""A student's notebook of an assignment: the release with cells written, added, repeated or
removed.
"""

import json

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.authoring.solution_sources import reference_sources

ANSWER = (
    "word2vec looks up one row for a word and never sees the sentence, so both sentences get the"
    " same vector. Each pair pulls that row a little; nine pulls of ten come from money words, so"
    " it settles near them, with a small part that points to the river. I predict that the nearest"
    " neighbours of bank are money words. A model would have to compute the vector from the"
    " sentence to tell the two apart."
)


class Notebook:
    """The release notebook in a student's hands: cells are written, added, repeated, removed."""

    def __init__(self, assignment):
        self.assignment = assignment
        self.nb = nbformat.from_dict(json.loads(json.dumps(assignment.pristine)))

    def position(self, grade_id: str) -> int:
        """The place of our cell in the notebook."""
        return next(
            index
            for index, cell in enumerate(self.nb.cells)
            if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
        )

    def cell(self, grade_id: str):
        """Our cell by grade id."""
        return self.nb.cells[self.position(grade_id)]

    def write(self, grade_id: str, source: str) -> "Notebook":
        """Fill in one cell."""
        self.cell(grade_id).source = source
        return self

    def solve(self, *grade_ids: str) -> "Notebook":
        """Fill in reference solutions: of these exercises, or of all of them and the written
        answer.
        """
        sources = reference_sources(self.assignment)
        for grade_id in grade_ids or sources:
            self.write(grade_id, sources[grade_id])
        if not grade_ids:
            for grade_id in manual_ids(self.assignment):
                self.write(grade_id, ANSWER)
        return self

    def add(self, source: str, before: str, kind: str = "code") -> "Notebook":
        """Add a cell of the student's own before one of ours."""
        make = new_code_cell if kind == "code" else new_markdown_cell
        self.nb.cells.insert(self.position(before), make(source, id=f"mine-{len(self.nb.cells)}"))
        return self

    def data(self) -> bytes:
        """The file."""
        return (
            json.dumps(self.nb, indent=1, ensure_ascii=False) + "\n"
        ).encode()  # unvalidated: some are not valid


def manual_ids(assignment) -> list[str]:
    """Grade ids of the answers that a person reads."""
    return [id.split(".", 1)[1] for id, one in assignment.exercises.items() if one.kind == "manual"]
