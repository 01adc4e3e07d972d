"""What became of points that were there before, kept until a run has told it: one that is killed
has judged and said nothing.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from autograder import course_layout
from autograder.common.atomic_files import writing
from autograder.grading.assignment import Assignment


@dataclass
class Changed:
    """One student whose results are others than before: the sum in the gradebook then, and a line
    for each exercise.
    """

    student: str
    before: float | None
    lines: list[str] = field(default_factory=list)


def note_change(course_root: Path, assignment: Assignment, change: Changed) -> None:
    """Keep what differs in a verdict that was saved just now, if anything does."""
    if change.lines:
        path = course_layout.changes(course_root, assignment.name)
        with writing(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(change)) + "\n")


def changes(course_root: Path, assignment: Assignment, of_this_run: list[Changed]) -> list[Changed]:
    """What this run changed, and what an earlier one noted and did not come to tell: by student,
    with the first sum.
    """
    found: dict[str, Changed] = {}
    for one in [*_noted(course_layout.changes(course_root, assignment.name)), *of_this_run]:
        kept = found.setdefault(one.student, Changed(one.student, one.before))
        kept.lines += [words for words in one.lines if words not in kept.lines]
    return [found[student] for student in sorted(found) if found[student].lines]


def _noted(path: Path) -> list[Changed]:
    found = []
    for line in (
        path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    ):
        try:
            found.append(Changed(**json.loads(line)))
        except (
            ValueError,
            TypeError,
        ):  # half a line, after a kill; or of a version that kept no sums
            continue
    return found


def changes_told(course_root: Path, assignment: Assignment) -> None:
    """Forget what `changes` gave: everything of this run is written."""
    with writing(course_layout.changes(course_root, assignment.name)):
        course_layout.changes(course_root, assignment.name).unlink(missing_ok=True)


def said(student: str, before: float | None, after: float | None, lines: list[str]) -> str:
    """A student's change as one line: "ada: 31.5 -> 30.8 points (3 exercises changed)".

    lines: what changed, an exercise or a sentence each.
    """
    exercises = sum(" -> " in line for line in lines)
    what = [f"{exercises} exercise{'s' * (exercises > 1)} changed"] * bool(exercises)
    what += [line.partition(": ")[2] for line in lines if " -> " not in line]
    sums = " -> ".join("no points yet" if one is None else f"{one:g}" for one in (before, after))
    return f"{student}: {sums} points ({'; '.join(what)})"
