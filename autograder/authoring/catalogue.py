"""What the assignments contain, read from `solutions/NN-name.py`: the one source of statement,
solution and points.

The wheel has no solutions: there the notebooks made from them say the same, but for the solutions.

A solutions file is a jupytext percent file. The grade ids of its nbgrader cells carry the structure
of one exercise `NN.name`: `name-card` (locked markdown with the hints), `name` (the solution cell),
`name-check` (the graded check cell). A manual answer is one graded markdown cell, `name`. Cells
`setup*` run everywhere before the student's.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.checks.exercise import CHAPTERS
from autograder.checks.kinds import seeded_fault as drawn
from autograder.checks.kinds.short_answer import filled_in
from autograder.checks.protocol import Exercise, exercises_of
from autograder.common.course_files import IN_WHEEL, ROOT
from autograder.common.errors import CourseError

SOLUTIONS = ROOT / "solutions"
EXERCISES = ROOT / "exercises"
DETAILS = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"  # nbgrader's own delimiters
RUN = "{{run}}"  # in a solution cell: the text of `solutions/NN-name.run`


@dataclass(frozen=True)
class Hint:
    """One step of help: its title ("Nudge") and its Markdown text."""

    title: str
    text: str


class Assignment:
    """One solutions file, or in the wheel one student notebook: `number` ("01"), `name`
    ("01-static-embeddings"), its notebook and its exercises.
    """

    def __init__(self, path: Path):
        self.path, self.name, self.number = path, path.stem, path.stem[:2]

    @cached_property
    def notebook(self) -> NotebookNode:
        """The file as a notebook, with solutions if they are there.

        Raises CourseError when it cannot be read as one.
        """
        if self.path.suffix == ".ipynb":
            return nbformat.read(self.path, as_version=4)
        import jupytext  # the wheel does without it

        try:
            notebook = jupytext.read(self.path, fmt="py:percent")
        except (OSError, ValueError) as error:
            raise CourseError(f"{self.path}: not a percent-format notebook: {error}") from error
        checked = exercises_of(
            self.number
        )  # declares the short answers and drawn faults, which belong into cells
        for cell in notebook.cells:
            if cell.cell_type == "markdown" and (name := grade_id_of(cell)):
                cell.source = filled_in(self._id(name.removesuffix("-card")), cell.source)
            id = self._id((grade_id_of(cell) or "").removeprefix("setup-"))
            if drawn.PLACE in cell.source and id in checked:
                faults = checked[id].faults
                cell.source = cell.source.replace(drawn.PLACE, faults.cell(id, faults.draw(id)))
            if cell.cell_type == "code" and RUN in cell.source:
                text = self.path.with_suffix(".run").read_text(encoding="ascii")
                cell.source = cell.source.replace(RUN, text.rstrip("\n"))
        return notebook

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        """By id, in the notebook's order: those with checks, and the manual ones from the notebook
        alone.
        """
        checked = exercises_of(self.number)
        manual = {
            self._id(grade_id): Exercise(self._id(grade_id), "", meta["points"], "manual")
            for grade_id, (cell, meta) in self.cells.items()
            if cell.cell_type == "markdown" and meta["grade"] and self._id(grade_id) not in checked
        }
        found = checked | manual
        order = {self._id(grade_id): position for position, grade_id in enumerate(self.cells)}
        return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))

    @cached_property
    def cells(self) -> dict[str, tuple[NotebookNode, NotebookNode]]:
        """The nbgrader cells by grade id, in order: the cell and its nbgrader metadata."""
        return {
            grade_id_of(cell): (cell, cell.metadata.nbgrader)
            for cell in self.notebook.cells
            if grade_id_of(cell)
        }

    @property
    def points(self) -> float:
        """What the whole assignment is worth, manual answers included."""
        return sum(one.points for one in self.exercises.values())

    def exercise(self, name: str) -> Exercise:
        """By id ("01.ppmi") or grade id ("ppmi"). Raises CourseError, naming what there is."""
        found = self.exercises.get(name) or self.exercises.get(self._id(name))
        if not found:
            raise CourseError(
                f"{self.name} has no exercise {name!r}; it has {', '.join(self.exercises)}"
                + meant(name.split(".")[-1], [id.split(".", 1)[1] for id in self.exercises])
            )
        return found

    def hints(self, id: str) -> list[Hint]:
        """The hints of an exercise, mildest first: the `<details>` of its card named "Hint".

        Raises CourseError without a card.
        """
        name = self.exercise(id).id.split(".", 1)[1]
        if f"{name}-card" not in self.cells:
            raise CourseError(
                f'{self.path}: exercise {id} has no cell with grade_id "{name}-card" to hold its'
                " hints"
            )
        card = self.cells[f"{name}-card"][0].source
        return [
            Hint(re.sub(r"^Hint \d+:\s*", "", title.strip()), text.strip())
            for title, text in DETAILS.findall(card)
            if title.strip().startswith("Hint")
        ]

    def secret_lines(self) -> set[str]:
        """`solution_lines` of all cells; the lines that a find-line exercise shows on its card are
        no secret.
        """
        secret = set()
        for cell in self.notebook.cells:
            lines, name = solution_lines(cell), grade_id_of(cell)
            exercise = self.exercises.get(self._id(name)) if name else None
            if exercise and exercise.kind == "find-line":
                lines -= set(map(bare, self.cells[f"{name}-card"][0].source.split("\n")))
            secret |= lines
        return secret

    def problems(self) -> list[str]:
        """Where the notebook and the checks disagree, one sentence each; none when all is well."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        ids = [grade_id_of(cell) for cell in self.notebook.cells if grade_id_of(cell)]
        yield from (
            f"the grade_id {id} stands on {ids.count(id)} cells"
            for id in self.cells
            if ids.count(id) > 1
        )
        for id, one in self.exercises.items():
            name = id.split(".", 1)[1]
            if name not in self.cells:
                yield f'{id} has checks but no solution cell with grade_id "{name}"'
                continue
            graded = name if one.kind == "manual" else f"{name}-check"
            if graded not in self.cells:
                yield f'{id} has no graded cell with grade_id "{graded}"'
            elif (points := self.cells[graded][1].get("points")) != one.points:
                yield f"{id}: the cell {graded} says {points} points, the checks {one.points}"
        known = {
            f"{id.split('.', 1)[1]}{suffix}" for id in self.exercises for suffix in ("", "-check")
        }
        for grade_id, (_, meta) in self.cells.items():
            if (meta["grade"] or meta["solution"]) and grade_id not in known:
                yield (
                    f"the cell {grade_id} is graded or a solution, but no exercise"
                    f" {self._id(grade_id)} has checks"
                )

    def _id(self, grade_id: str) -> str:
        return f"{self.number}.{grade_id}"


def assignment(name: str) -> Assignment:
    """ "01", "1", "01-static-embeddings" or an exercise id "01.ppmi".

    Raises CourseError, naming what there is.
    """
    wanted = name.split(".")[0]
    paths = _sources()
    for path in paths:
        if wanted in (path.stem, path.stem[:2]) or (
            wanted.isdigit() and int(wanted) == int(path.stem[:2])
        ):
            return Assignment(path)
    there = ", ".join(path.stem for path in paths) or "none"
    where = "" if IN_WHEEL else f" in {SOLUTIONS}"
    raise CourseError(
        f"there is no assignment {name!r}{where}; there is {there}"
        + meant(wanted, [path.stem for path in paths])
    )


def exercises_named(name: str) -> tuple[Assignment, list[Exercise]]:
    """What a name on the command line means: an assignment with all its exercises, or one exercise.

    "01", "1", "01-static-embeddings"; "01.ppmi", "1.ppmi", "ppmi". Raises CourseError, with what
    was probably meant.
    """
    first, dot, last = name.partition(".")
    if dot and (first.isdigit() or "-" in first):
        one = assignment(first)
        return one, [one.exercise(f"{one.number}.{last}")]
    if name[:1].isdigit():
        one = assignment(name)
        return one, list(one.exercises.values())
    homes = [one for one in assignments() if name in one.cells and one._id(name) in one.exercises]
    if len(homes) == 1:
        return homes[0], [homes[0].exercise(name)]
    if homes:
        raise CourseError(
            f"several chapters have an exercise {name!r}; say which: "
            + ", ".join(one._id(name) for one in homes)
        )
    every = [id for one in assignments() for id in one.exercises]
    raise CourseError(
        f"there is no exercise {name!r}; there are {', '.join(every)}"
        + meant(name, [id.split(".", 1)[1] for id in every])
    )


def meant(name: str, known: list[str]) -> str:
    """ "; did you mean X?" for a name close to one that exists, or ""."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def folder_of(number: str) -> Path:
    """The folder of a chapter's checks. Raises CourseError when there is none."""
    for folder in CHAPTERS.glob(f"c{number}_*"):
        return folder
    raise CourseError(f"there are no checks of chapter {number} in {CHAPTERS}")


def assignments() -> list[Assignment]:
    """All of them, in order."""
    return [Assignment(path) for path in _sources()]


def _sources() -> list[Path]:
    """The files that say what the assignments contain."""
    if IN_WHEEL:
        return sorted(EXERCISES.glob("[0-9][0-9]-*/[0-9][0-9]-*.ipynb"))
    return sorted(SOLUTIONS.glob("[0-9][0-9]-*.py"))


def pristine_notebook(name: str) -> NotebookNode:
    """The notebook as students get it, from `exercises/`.

    Raises CourseError when it is not built.
    """
    one = assignment(name)
    path = EXERCISES / one.name / f"{one.name}.ipynb"
    if not path.exists():
        raise CourseError(
            f"{path} does not exist; `course generate-assignment {one.number}` makes it"
        )
    return nbformat.read(path, as_version=4)


def grade_id_of(cell: NotebookNode) -> str | None:
    """The grade id of an nbgrader cell, None for any other."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def solution_lines(cell: NotebookNode) -> set[str]:
    """The lines of a source cell that students must not find: solution regions, model answers and
    hidden tests.

    Stripped of indentation and comments; lines with fewer than four words or signs (`return total`)
    are left out.
    """
    whole = cell.metadata.get("nbgrader", {}).get("solution", False) and BEGIN not in cell.source
    lines, inside = set(), whole
    for line in cell.source.split("\n"):
        if BEGIN in line or "BEGIN HIDDEN TESTS" in line:
            inside = True
        elif END in line or "END HIDDEN TESTS" in line:
            inside = whole
        elif inside:
            lines.add(bare(line))
    return {line for line in lines if len(re.findall(r"\w+|[^\w\s]", line)) >= 4}


def bare(line: str) -> str:
    """A line of code without indentation and comment."""
    return re.sub(r"(^|\s+)#.*$", "", line.strip())
