"""What became of points that were there before, kept until a run has told it: one that is killed
has judged and said nothing.
"""

from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.assignment import Assignment
from autograder.grading.results_store import add_event, events, remove_events

CHANGED = "points changed"  # the kind of event


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
        detail = {"before": change.before, "lines": change.lines}
        add_event(course_root, assignment.name, change.student, CHANGED, detail)


def changes(course_root: Path, assignment: Assignment, of_this_run: list[Changed]) -> list[Changed]:
    """What this run changed, and what an earlier one noted and did not come to tell: by student,
    with the first sum.
    """
    found: dict[str, Changed] = {}
    noted = [
        Changed(student, **detail)
        for student, detail in events(course_root, assignment.name, CHANGED)
    ]
    for one in [*noted, *of_this_run]:
        kept = found.setdefault(one.student, Changed(one.student, one.before))
        kept.lines += [words for words in one.lines if words not in kept.lines]
    return [found[student] for student in sorted(found) if found[student].lines]


def changes_told(course_root: Path, assignment: Assignment) -> None:
    """Forget what `changes` gave: everything of this run is written."""
    remove_events(course_root, assignment.name, CHANGED)


def said(student: str, before: float | None, after: float | None, lines: list[str]) -> str:
    """A student's change as one line: "ada: 31.5 -> 30.8 points (3 exercises changed)".

    lines: what changed, an exercise or a sentence each.
    """
    exercises = sum(" -> " in line for line in lines)
    what = [f"{exercises} exercise{'s' * (exercises > 1)} changed"] * bool(exercises)
    what += [line.partition(": ")[2] for line in lines if " -> " not in line]
    sums = " -> ".join("no points yet" if one is None else f"{one:g}" for one in (before, after))
    return f"{student}: {sums} points ({'; '.join(what)})"
