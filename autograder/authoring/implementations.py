"""The functions that a check can be run on at home: the reference, a known mistake, another right
answer, or a file.

Everything here runs in this process, without isolation: it is for the course's own code and for a
student's own work, never for somebody else's submission (`course grade` does that).
"""

import linecache
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from autograder.authoring.catalogue import EXERCISES, assignment
from autograder.checks.mistakes.registry import alternatives_of, mistakes_of
from autograder.checks.protocol import Exercise
from autograder.checks.restrictions.guard import GRADERS, CallGuard
from autograder.checks.restrictions.names import in_chapter
from autograder.checks.student.local import OurNamespace
from autograder.checks.student.timeout import OutOfTime, clock
from autograder.checks.student.tracebacks import student_traceback
from autograder.common.errors import CourseError

CELL_SECONDS = 20.0  # one cell of a student's own notebook; as in grading
DEFINES = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)
MAGICS = ("%", "!", "?")


def namespace_of(impl: str, exercise: Exercise) -> dict[str, object] | None:
    """The functions that `impl` gives for an exercise; None when a mistake or alternative is not of
    this exercise.

    impl: "reference", "mistake:NAME", "alternative:NAME", "student" (the notebook in exercises/),
    or a path. Raises CourseError for a path that is not there.
    """
    kind, _, name = impl.partition(":")
    if kind in ("mistake", "alternative") and name:
        known = {
            one.name: one
            for one in (mistakes_of if kind == "mistake" else alternatives_of)(exercise.id)
        }
        if name not in known:
            return None
        function = known[name].made() if kind == "mistake" else known[name].function
        names = {**reference(exercise.id[:2]), known[name].replaces: function}
        return OurNamespace(names) if kind == "mistake" else names
    if impl == "reference":
        return reference(exercise.id[:2])
    return from_file(student_path(impl, exercise.id[:2]), exercise.id[:2])


def student_path(impl: str, number: str) -> Path:
    """The file that "student" or a path means."""
    one = assignment(number)
    return EXERCISES / one.name / f"{one.name}.ipynb" if impl == "student" else Path(impl)


@lru_cache
def reference(number: str) -> dict[str, object]:
    """The namespace after the setup and solution cells of an assignment.

    Raises CourseError if one of them fails.
    """
    namespace, failures = run_cells(
        own_cells(assignment(number).notebook.cells), f"solutions/{number}"
    )
    if failures:
        raise CourseError("the reference does not run: " + "; ".join(failures))
    return namespace


def _own_cells_of_file(path: Path, given: set[str]) -> list[tuple[str, str]]:
    """The student's cells of a notebook, without those whose text was given."""
    import nbformat

    try:
        cells = nbformat.read(path, as_version=4).cells
        return list(own_cells([cell for cell in cells if cell.source.strip() not in given]))
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        raise CourseError(f"{path} is not a notebook: {error}") from error


@lru_cache
def from_file(path: Path, number: str = "") -> dict[str, object]:
    """The namespace after running a student's notebook (setup, solution and added cells) or Python
    file.

    number: of the assignment that it is to be graded as: then the cells that were given and are not
    graded stay out, and what is withheld is refused, as in grading. A cell that fails is reported
    on the terminal and the rest still run.
    """
    one = assignment(number) if number else None
    refused = GRADERS | in_chapter(one.exercises.values()) if one else {}
    if not path.is_file():
        raise CourseError(
            f"{path} is not a file: give `reference`, `student`, `mistake:NAME`,"
            " `alternative:NAME`, a notebook or a Python file"
        )
    if path.suffix == ".ipynb":
        given = one.notebook.cells if one else []
        cells = _own_cells_of_file(
            path, {cell.source.strip() for cell in given if "nbgrader" not in cell.metadata}
        )
    else:
        cells = [(path.name, path.read_text(encoding="utf-8"))]
    namespace, failures = run_cells(cells, path.name, refused)
    for failure in failures:
        print(failure)
    return namespace


def own_cells(cells: list) -> Iterator[tuple[str, str]]:
    """(label, source) of the code cells that define things: setup, solutions and those without a
    grade id.
    """
    for position, cell in enumerate(cells):
        meta = cell.metadata.get("nbgrader", {})
        grade_id = meta.get("grade_id", "")
        wanted = meta.get("solution") or grade_id.startswith("setup") or not meta.get("locked")
        if cell.cell_type == "code" and wanted and not meta.get("grade"):
            kept = ["" if line.startswith(MAGICS) else line for line in cell.source.split("\n")]
            yield grade_id or f"cell {position}", "\n".join(kept)


def run_cells(
    cells: Iterable[tuple[str, str]], where: str, refused: Mapping[str, str] = MappingProxyType({})
) -> tuple[dict[str, object], list[str]]:
    """Run each cell in one namespace; returns it and, for each cell that failed, its name and
    traceback.

    refused: names that the cells may not use, with the reason; see `withheld`.
    """
    namespace: dict[str, object] = {"__name__": "notebook"}
    failures, guard = [], CallGuard(refused)
    for label, source in cells:
        filename = where if label == where else f"{where}: {label}"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        fired: list[bool] = []
        try:
            with clock(CELL_SECONDS, fired), guard:
                exec(compile(source, filename, "exec"), namespace)
        except OutOfTime:
            failures.append(
                f"{filename}: This cell was stopped: it took more than {CELL_SECONDS:g} seconds."
            )
        except Exception as error:
            failures.append(student_traceback(error, namespace))
            for name in DEFINES.findall(source) if isinstance(error, SyntaxError) else []:
                namespace[name] = _unparsable(failures[-1])
    return namespace, failures


def _unparsable(text: str):
    """What stands for a function whose cell is no Python: calling it says so."""

    def not_there(*args: object, **more: object) -> None:
        raise SyntaxError(f"its cell is no Python yet, so it was not run: {text}")

    return not_there
