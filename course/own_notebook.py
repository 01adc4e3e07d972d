"""A student's own notebook at home: the cells that grading takes of it, in grading's order, run in
this process.

A notebook as it lies there is not what is judged: a copy of the given cell, a cell of ours that was
moved or a cell that is no Python counts otherwise than where Jupyter runs it. So the cells go
through the grader's own intake and transplant first. They run without walls, as they do in Jupyter,
and it is for one's own work only.
"""

import __future__

import codecs
import linecache
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import nbformat
from nbformat import NotebookNode

from autograder.checks.kinds.seeded_fault import ticket
from autograder.checks.protocol import LocalStudent
from autograder.checks.restrictions.guard import CallGuard
from autograder.checks.student.requests import Request, Returned
from autograder.checks.student.timeout import OutOfTime, TimedStudent, clock
from autograder.checks.student.tracebacks import student_traceback
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.notebook.merge import Transplant, transplant
from autograder.grading.notebook.parse import (
    IntakeError,
    SubmittedCell,
    read_cells,
    read_regular_file,
)
from autograder.grading.notebook.read import refuse_other_notebooks

SECONDS = 20.0  # one cell, as in grading
SETTINGS = "__settings__"  # of the process as the cells left it, kept in their module
YOURS = "a cell that you added"
FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def taken(path: Path, assignment: Assignment) -> Transplant:
    """What grading takes of a notebook.

    Raises CourseError for what is none, or is none of this assignment.
    """
    if not path.is_file():
        raise CourseError(f"{path} is not a file: give the .ipynb file that you work in")
    try:
        data = read_regular_file(path.resolve())
        cells = read_cells(data)
        if data.startswith(codecs.BOM_UTF8):
            raise IntakeError(
                "it begins with a byte-order mark, with which Jupyter does not open it: save it as"
                " UTF-8 without one"
            )
        pristine, faults = given_to(path, assignment, cells)
        refuse_other_notebooks(pristine, cells, assignment.functions)
    except (IntakeError, OSError) as error:
        raise CourseError(f"{path}: {error}") from None
    return transplant(pristine, cells)


def given_to(
    path: Path, assignment: Assignment, cells: list[SubmittedCell]
) -> tuple[NotebookNode, dict[str, str]]:
    """The notebook as it was given to whom this one belongs, and by exercise the fault that was
    drawn for them.
    """
    from autograder.authoring.catalogue import EXERCISES
    from autograder.authoring.notebooks import build

    pristine, given = assignment.pristine, EXERCISES / assignment.name / f"{assignment.name}.ipynb"
    if given.is_file() and path.samefile(
        given
    ):  # who works in the copy that was given has no other: it is made again
        with tempfile.TemporaryDirectory() as folder:
            pristine = nbformat.read(
                build(assignment.entry, Path(folder, "build"), Path(folder, "exercises")),
                as_version=4,
            )
    faults = {
        id: one.faults.draw(id).name for id, one in assignment.exercises.items() if one.faults
    }
    faults |= {
        id: fault.name
        for id in faults
        for fault in assignment.exercises[id].faults.by_name.values()
        if any(ticket(id, fault.name) in cell.source for cell in cells)
    }
    return assignment.with_faults(pristine, faults), faults


def cells_of(path: Path, work: Transplant | None) -> list[tuple[str, str]]:
    """What is to be run of a notebook, as labels and sources, or of a Python file.

    Raises CourseError for what is neither.
    """
    if work:
        return [(piece.grade_id or YOURS, piece.source) for piece in work.pieces]
    try:
        return [(path.name, path.read_text(encoding="utf-8"))]
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(
            f"{path} cannot be read as a Python file ({error}): give `reference`, `student`,"
            " `mistake:NAME`, `alternative:NAME`, a notebook or a Python file"
        ) from error


def run_cells(
    cells: Iterable[tuple[str, str]], where: str, refused: Mapping[str, str] = MappingProxyType({})
) -> tuple[types.ModuleType, list[tuple[int, str]]]:
    """Run each cell, a label and a source, alone, in one module as a sandbox does; and for each
    that failed its place and what it said.

    refused: names that the cells may not use, with the reason. Nothing that a cell raises ends the
    others, but for a key on the keyboard.
    """
    module, flags = types.ModuleType("__main__"), 0
    failures, guard = [], CallGuard(refused)
    for place, (label, source) in enumerate(cells):
        filename = where if label == where else f"{where}: {label}"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        fired: list[bool] = []
        try:
            with as_main(module), clock(SECONDS, fired), guard:
                code = compile(source, filename, "exec", flags=flags, dont_inherit=True)
                flags |= code.co_flags & FUTURE  # they last, as in Jupyter
                exec(code, vars(module))
        except KeyboardInterrupt:
            raise
        except OutOfTime:
            failures.append(
                (
                    place,
                    f"{filename}: This cell was stopped: it took more than {SECONDS:g} seconds.",
                )
            )
        except BaseException as error:  # `exit()` too
            failures.append((place, student_traceback(error, vars(module))))
    return module, failures


class Own(TimedStudent):
    """A student in this process whose cells have run: while their code runs, the module is
    `__main__` and the process is set as their cells left it.
    """

    def __init__(self, module: types.ModuleType):
        super().__init__(LocalStudent(vars(module)))
        self._module = module

    def perform(self, request: Request) -> Returned:
        """One request."""
        with as_main(self._module):
            return super().perform(request)


@contextmanager
def as_main(module: types.ModuleType) -> Iterator[None]:
    """The module is `__main__` in this block, so that what looks a class's module up by name finds
    it; nobody answers what it asks on the keyboard; what it sets for the whole process holds in its
    blocks alone, and `os._exit` ends a cell or a call: in grading the checks are in another
    process.
    """
    before, ours, process, end = (
        (sys.modules["__main__"], sys.stdin, os._exit),
        _settings(),
        os.getpid(),
        os._exit,
    )

    def ended(code: int) -> None:
        if os.getpid() != process:  # a child of theirs, or of a library's
            end(code)
        raise SystemExit(code)

    with open(os.devnull, encoding="utf-8") as nobody:
        sys.modules["__main__"], sys.stdin, os._exit = module, nobody, ended
        _set(module.__dict__.get(SETTINGS, ours))
        try:
            yield
        finally:
            module.__dict__[SETTINGS] = _settings()
            _set(ours)
            sys.modules["__main__"], sys.stdin, os._exit = before


def _settings() -> tuple:
    import numpy
    import torch

    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        numpy.geterr(),
        list(warnings.filters),
    )


def _set(settings: tuple) -> None:
    import numpy
    import torch

    dtype, gradients, errors, filters = settings
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(gradients)
    numpy.seterr(**errors)
    warnings.filters[:] = filters
