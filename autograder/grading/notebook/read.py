"""From a submission's bytes to the student's work, in a child with limits: the only place where
they are parsed.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbformat import NotebookNode

from autograder.checks.restrictions import reference_imports as borrowed
from autograder.common.atomic_files import write_whole
from autograder.grading.intake.discovery import Submission
from autograder.grading.intake.limited_child import Limited, in_limits
from autograder.grading.notebook.merge import Piece, marks, transplant
from autograder.grading.notebook.parse import (
    IntakeError,
    SubmittedCell,
    cells_of,
    fingerprint,
    odd_version,
    parse,
)
from autograder.grading.notebook.review_kinds import ReviewItem, ReviewKind

UNREAD = b"This submission could not be read: "


@dataclass
class Reading:
    """What was taken from one submission.

    sha256: of the notebook's bytes, or of the placeholder where there are none.

    problem: why a human must look, or ""; then there is no work. borrowed: the chapters that its
    checks call borrowed, and whether its code imports them. handed_out: the cells that hold a drawn
    fault, as they came back, by grade id. The rest: see transplant.Transplant.
    """

    sha256: str
    problem: str = ""
    pieces: list[Piece] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    added: list[list] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    review: dict[str, ReviewItem] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, dict[str, str]] = field(default_factory=dict)
    borrowed: list[str] = field(default_factory=list)
    handed_out: dict[str, str] = field(default_factory=dict)


def read_work(
    submission: Submission,
    pristine: NotebookNode,
    functions: Iterable[str],
    drawn: Iterable[str] = (),
    child: Limited | None = None,
) -> Reading:
    """The student's work in the pristine notebook's places.

    functions: names that the exercises ask for. drawn: grade ids of the cells that hold a drawn
    fault. child: from `reading`, to read a class with; default one for this submission.

    Raises nothing for what is in the submission.
    """
    names, drawn = sorted(functions), set(drawn)
    try:
        record = (
            child((submission, pristine, names, drawn))
            if child
            else in_limits(lambda: _read(submission, pristine, names, drawn))
        )
    except IntakeError as error:
        return Reading(hashlib.sha256(placeholder(str(error))).hexdigest(), str(error))
    kept = {
        "pieces": [Piece(*piece) for piece in record["pieces"]],
        "review": {
            id: ReviewItem(ReviewKind[kind], tuple(details))
            for id, (kind, details) in record.get("review", {}).items()
        },
    }
    return Reading(**{**record, **kept})


def reading() -> Limited:
    """A child that reads one submission after another, see `read_work`."""
    return Limited(lambda what: _read(*what))


def _read(
    submission: Submission, pristine: NotebookNode, functions: list[str], drawn: set[str]
) -> dict:
    data = submission.read()
    found = {"sha256": fingerprint(data), "pieces": []}
    try:
        document = parse(data)
        cells, version = cells_of(document), odd_version(document)
        refuse_other_notebooks(pristine, cells, functions)
    except IntakeError as error:
        return found | {"problem": str(error)}
    work = transplant(pristine, cells)
    return found | {
        "pieces": [[piece.grade_id, piece.source] for piece in work.pieces],
        "own": work.own,
        "added": [list(one) for one in work.added],
        "ignored": [*filter(None, [version]), *work.ignored],
        "untouched": work.untouched,
        "review": {id: [one.kind.name, one.details] for id, one in work.review.items()},
        "found": work.found,
        "pictures": work.pictures,
        "borrowed": _borrowed(cells),
        "handed_out": {one.grade_id: one.source for one in cells if one.grade_id in drawn},
    }


def _borrowed(cells: list[SubmittedCell]) -> list[str]:
    """The chapters that the notebook's checks call borrowed, and which of them its code imports."""
    said = sorted({number for cell in cells for number in cell.borrowed})
    used = {
        number for cell in cells if cell.kind == "code" for number in borrowed.imported(cell.source)
    }
    return [f"{number}, imported" if number in used else number for number in said]


def refuse_other_notebooks(
    pristine: NotebookNode, cells: list[SubmittedCell], functions: list[str]
) -> None:
    """Raise IntakeError for a notebook of something else: none of our solution cells, none of the
    functions.
    """
    ours = {marks(cell)["grade_id"] for cell in pristine.cells if marks(cell).get("solution")}
    every = {marks(cell)["grade_id"] for cell in pristine.cells if "grade_id" in marks(cell)}
    claimed = {cell.grade_id for cell in cells if cell.grade_id}
    here, foreign = len(claimed & ours), len(claimed - every)
    written = any(
        f"def {name}(" in cell.source for cell in cells if cell.kind == "code" for name in functions
    )
    if foreign > len(claimed & every) or (not here and not written):
        raise IntakeError(
            "it does not look like this assignment: "
            + (
                f"it has {foreign} graded cells of something else"
                if foreign
                else "none of its cells and none of its functions are there"
            )
        )


def copy_notebook(
    submission: Submission, target: Path, coming: Callable[[str], object] = lambda sha256: None
) -> str:
    """Write the notebook's bytes, or the placeholder that says why there are none, to `target`;
    returns the hash.

    coming: is told the hash before anything is written.
    """

    def copy() -> str:
        data = submission.read()
        coming(fingerprint(data))
        write_whole(target, data)
        return fingerprint(data)

    try:
        # A notebook in a folder is bytes, with a cap on their number; what unpacks a zip needs the
        # limits.
        return in_limits(copy) if submission.inside else copy()
    except IntakeError as error:
        data = placeholder(str(error))
    coming(fingerprint(data))
    write_whole(target, data)
    return fingerprint(data)


def with_problem(submission: Submission, copy: Path) -> Submission:
    """The submission, with the reason if its copy is a placeholder because it turned out, on
    copying, that it cannot be read.
    """
    if submission.problem or not copy.is_file() or not is_placeholder(copy):
        return submission
    try:
        in_limits(
            lambda: fingerprint(submission.read())
        )  # a student's own file may begin as a placeholder does
    except IntakeError as error:
        return replace(submission, problem=str(error))
    return submission


def placeholder(problem: str) -> bytes:
    """What stands in nbgrader's `submitted` folder for a submission that has no readable
    notebook.
    """
    return UNREAD + f"{problem}\n".encode(errors="replace")


def is_placeholder(path: Path) -> bool:
    """Whether a file, which must be there, is such a placeholder and not what a student
    handed in.
    """
    with path.open("rb") as file:
        return file.read(len(UNREAD)) == UNREAD
