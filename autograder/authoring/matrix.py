"""Which stage catches which registered mistake: a table for authors."""

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.authoring.catalogue import Assignment
from autograder.authoring.implementations import namespace_of
from autograder.checks.mistakes.registry import Mistake, mistakes_of
from autograder.checks.protocol import Exercise, LocalStudent, run_exercise
from autograder.checks.results import Status

HEAD = """# Mistakes of {name}

**X** is the stage meant to catch the mistake, x another that fails as well, a dot one that passes.
"""


@dataclass(frozen=True)
class Row:
    """One mistake: the stages that fail on it, the points it loses, and the problem if any.

    problem: what differs from what its author registered, "" where nothing does.
    """

    mistake: Mistake
    failed: list[str]
    lost: float
    problem: str


def rows_of(exercise: Exercise) -> list[Row]:
    """What every mistake of an exercise gets, with the visible seed."""
    return [_row(exercise, mistake) for mistake in mistakes_of(exercise.id)]


def _row(exercise: Exercise, mistake: Mistake) -> Row:
    student = LocalStudent(namespace_of(f"mistake:{mistake.name}", exercise))
    result = run_exercise(exercise, student)
    failed = [
        stage.name for stage in result.stages if stage.status not in (Status.PASSED, Status.CAPPED)
    ]
    lost = result.points - result.earned
    problem = ""
    if mistake.caught_by not in failed:
        problem = f"not caught by {mistake.caught_by}"
    elif failed[0] != mistake.caught_by:
        problem = f"{failed[0]} fails before {mistake.caught_by}"
    elif abs(lost - mistake.loses) > 1e-9:
        problem = f"loses {lost:g}, registered {mistake.loses:g}"
    return Row(mistake, failed, lost, problem)


def as_markdown(exercise: Exercise, rows: Iterable[Row]) -> str:
    """The table of an exercise in Markdown: rows are mistakes, columns are stages."""
    names = [stage.name for stage in exercise.stages]
    lines = [
        f"**{exercise.id}** ({exercise.points:g} points)",
        "",
        f"| mistake | {' | '.join(names)} | loses |",
        "| --- |" + " :-: |" * len(names) + " --: |",
    ]
    for row in rows:
        marks = " | ".join(_mark(row, name) for name in names)
        problem = f" ({row.problem})" if row.problem else ""
        lines.append(f"| {row.mistake.name} | {marks} | {row.lost:g}{problem} |")
    return "\n".join(lines)


def print_tables(one: Assignment, exercises: Iterable[Exercise]) -> bool:
    """Print a table for each exercise that has mistakes; whether all are caught as registered."""
    print(HEAD.format(name=one.name))
    in_order = True
    for exercise in exercises:
        rows = rows_of(exercise)
        if rows:
            print(as_markdown(exercise, rows) + "\n", flush=True)
        in_order = in_order and not any(row.problem for row in rows)
    return in_order


def _mark(row: Row, stage: str) -> str:
    if stage not in row.failed:
        return "."
    return "X" if stage == row.mistake.caught_by else "x"
