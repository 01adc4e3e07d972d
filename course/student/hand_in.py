"""A student's last look before handing in: what the grader takes of the notebook, and what it says
of it, at home.

The notebook goes through the grader's own intake and its own judging, in a fresh process with the
grader's limits, with hidden inputs of a secret that is thrown away: other numbers than in the
notebook, and other ones than in grading. So the points are what grading gives to work that does not
depend on its numbers; written answers wait for a person here as there. The file itself is read and,
only where somebody asks for a copy, written beside its mended ids.
"""

import json
import secrets
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder.checks.messages import first_failure, sentences
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict, grade_submission, sandboxes
from autograder.grading.intake.discovery import Submission
from autograder.grading.notebook.parse import (
    IntakeError,
    cells_of,
    parse,
    raw_cells,
    read_regular_file,
    source_of,
)
from autograder.grading.seeds import Seeds
from course.own_notebook import given_to
from course.student.at_home import AtHome

YOU = "you"


@dataclass
class HandIn:
    """What a look found: the verdict, sentences on the order in which cells were run, and on ids
    that occur twice.
    """

    path: Path
    verdict: Verdict
    order: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every behaviour that is checked is there."""
        return self.verdict.readable and all(
            result["earned"] >= result["points"] for result in self.verdict.results
        )

    def lines(self) -> list[str]:
        """For a terminal: what is taken and left, each exercise with the first thing to mend, and
        the rest.
        """
        verdict = self.verdict
        found = [f"notebook   {self.path}", f"isolation  {verdict.tier}"]
        found += [
            f"taken      {len(verdict.own)} cells that you wrote in, {len(verdict.added)} that you"
            " added"
        ]
        found += [f"left out   {sentence}" for sentence in verdict.ignored]
        found += [f"order      {sentence}" for sentence in self.order] + [
            f"ids        {sentence}" for sentence in self.doubled
        ]
        found += [f"raised     {error}" for error in verdict.cell_errors]
        for result in verdict.results:
            found.append(f"{result['exercise']}  {result['earned']:g} of {result['points']:g}")
            if first := first_failure(result["stages"]):
                found.append(f"    {first['name']}: " + " ".join(sentences(first)))
        return found + [
            f"waits      {one['exercise'] or 'the whole notebook'}: {one['reason']}"
            for one in verdict.human
        ]

    def to_json(self) -> dict:
        """Plain dictionaries and lists, without the sources."""
        kept = ("tier", "results", "human", "ignored", "cell_errors", "borrowed")
        return {
            "path": str(self.path),
            "order": self.order,
            "doubled": self.doubled,
            "complete": self.complete,
        } | {name: getattr(self.verdict, name) for name in kept}


def look(path: Path, assignment: Assignment, backend: object) -> HandIn:
    """Judge a notebook of one's own as the grader would.

    backend: None runs it in this process, without a sandbox.

    Raises CourseError for what is no notebook.
    """
    notebook = _read(path)
    cells, mine = _cells(notebook), Assignment(assignment.name)
    try:
        mine.pristine, faults = given_to(path, assignment, cells_of(notebook))
    except IntakeError as error:
        raise CourseError(f"{path} is not a notebook that can be read ({error})") from error
    seeds = replace(Seeds.drawn(mine, YOU, secrets.token_bytes(32)), faults=faults)
    with sandboxes(assignment, backend) if backend else AtHome() as pool:
        verdict = grade_submission(Submission(YOU, path.resolve()), mine, seeds, pool)
    return HandIn(
        path,
        verdict,
        run_order(cells),
        [
            f"{id!r} names {count} cells; Jupyter wants one name a cell"
            for id, count in _doubled(cells).items()
        ],
    )


def run_order(cells: list[dict]) -> list[str]:
    """How the cells were run last, where that is not from top to bottom: the grader runs them so.

    What has another type than Jupyter writes is passed over; the grader's own words say so.
    """
    code = [cell for cell in cells if cell.get("cell_type") == "code"]
    counts = [count for cell in code if (count := _count(cell))]
    said = [
        f"cell [{one}] stands above cell [{other}], but was run after it; the grader runs from top"
        " to bottom"
        for one, other in zip(counts, counts[1:])
        if one > other
    ]
    idle = sum(1 for cell in code if (source_of(cell) or "").strip() and not _count(cell))
    return said[:3] + (
        [f"{idle} code cells were never run since you opened the notebook"]
        if counts and idle
        else []
    )


def mended(path: Path, target: Path) -> int:
    """Write a copy in which no two cells have one id; returns how many ids are new.

    The original stays as it is.
    """
    if target.resolve() == path.resolve():
        raise CourseError(f"{target} is the notebook itself: name another file for the copy")
    notebook, seen, new = _read(path), set(), 0
    for place, cell in enumerate(_cells(notebook)):
        if "id" in cell and (not isinstance(cell["id"], str) or cell["id"] in seen):
            cell["id"], new = (
                f"{cell['id'][:48] if isinstance(cell['id'], str) else 'cell'}-{place}",
                new + 1,
            )
        if "id" in cell:
            seen.add(cell["id"])
    # Half a surrogate pair has no UTF-8, and stays the escape that it was.
    text = json.dumps(notebook, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text + b"\n")
    return new


def _doubled(cells: list[dict]) -> dict[str, int]:
    return {
        id: count
        for id, count in Counter(
            cell["id"] for cell in cells if isinstance(cell.get("id"), str)
        ).items()
        if count > 1
    }


def _count(cell: dict) -> int:
    count = cell.get("execution_count")
    return count if type(count) is int else 0


def _cells(notebook: dict) -> list[dict]:
    """What is a cell at all, whatever is in it."""
    return [cell for cell in raw_cells(notebook) if isinstance(cell, dict)]


def _read(path: Path) -> dict:
    """The notebook's JSON, by the grader's own intake: a file that it refuses is refused here in
    the same words.
    """
    try:
        notebook = parse(read_regular_file(path.resolve()))
        raw_cells(notebook)
    except (IntakeError, OSError) as error:
        raise CourseError(
            f"{path} is not a notebook that can be read ({error}): give the .ipynb file that you"
            " work in"
        ) from error
    return notebook
