"""Which stage catches which known mistake: a table for authors, and its comparison with what the authors meant."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.catalogue import Assignment, folder_of
from autograder.authoring.implementations import namespace_of
from autograder.checks.protocol import Exercise, ExerciseResult, LocalStudent, run_exercise
from autograder.checks.registry import Mistake, mistakes_of


@dataclass(frozen=True)
class Row:
    """One mistake: the stages that fail on it, and what is not as registered ("" when all is)."""

    mistake: Mistake
    failed: list[str]
    lost: float
    problem: str


def judged(exercise: Exercise, mistake: Mistake) -> ExerciseResult:
    """Run one mistake through the stages, with the visible seed."""
    return run_exercise(exercise, LocalStudent(namespace_of(f"mistake:{mistake.name}", exercise)))


def rows_of(
    exercise: Exercise, judge: Callable[[Exercise, Mistake], ExerciseResult] = judged
) -> list[Row]:
    """What every mistake of an exercise gets. judge: for who has the results with the visible seed already."""
    return [_row(mistake, judge(exercise, mistake)) for mistake in mistakes_of(exercise.id)]


def _row(mistake: Mistake, result: ExerciseResult) -> Row:
    failed = [stage.name for stage in result.stages if stage.status not in ("passed", "capped")]
    lost = result.points - result.earned
    problem = ""
    if mistake.caught_by not in failed:
        problem = f"not caught by {mistake.caught_by}"
    elif failed[0] != mistake.caught_by:
        problem = f"{failed[0]} fails before {mistake.caught_by}"
    elif abs(lost - mistake.loses) > 1e-9:
        problem = f"loses {lost:g}, registered {mistake.loses:g}"
    return Row(mistake, failed, lost, problem)


def as_text(exercise: Exercise, rows: list[Row]) -> str:
    """Rows are mistakes, columns stages: X the stage meant to catch it, x another that fails too, . passed."""
    width = max((len(row.mistake.name) for row in rows), default=8)
    names = [stage.name for stage in exercise.stages]
    lines = [
        f"{exercise.id}  ({exercise.points:g} points)",
        f"  {'':<{width}}  {'  '.join(names)}  loses",
    ]
    for row in rows:
        marks = "  ".join(f"{_mark(row, name):<{len(name)}}" for name in names)
        lines.append(
            f"  {row.mistake.name:<{width}}  {marks}  {row.lost:g}  {row.problem}".rstrip()
        )
    return "\n".join(lines)


def as_markdown(exercise: Exercise, rows: list[Row]) -> str:
    """The same as a Markdown table."""
    names = [stage.name for stage in exercise.stages]
    lines = [
        f"**{exercise.id}** ({exercise.points:g} points)",
        "",
        f"| mistake | {' | '.join(names)} | loses |",
        "| --- |" + " :-: |" * len(names) + " --: |",
    ]
    for row in rows:
        marks = " | ".join(_mark(row, name) for name in names)
        lines.append(
            f"| {row.mistake.name} | {marks} | {row.lost:g}{f' ({row.problem})' if row.problem else ''} |"
        )
    return "\n".join(lines)


HEAD = """# Mistakes of {name}

`course author matrix {number}` wrote this file. **X** is the stage meant to catch the mistake, x another that fails
too, a dot a stage that passes.
"""


def as_table(one: Assignment, judge: Callable[[Exercise, Mistake], ExerciseResult] = judged) -> str:
    """The committed file of a chapter: a table for every exercise that has mistakes."""
    tables = [
        as_markdown(exercise, rows)
        for exercise in one.exercises.values()
        if (rows := rows_of(exercise, judge))
    ]
    return "\n\n".join([HEAD.format(name=one.name, number=one.number).rstrip(), *tables]) + "\n"


def write(one: Assignment, judge: Callable[[Exercise, Mistake], ExerciseResult] = judged) -> Path:
    """Write the table of a chapter beside its checks."""
    path = folder_of(one.number) / "matrix.md"
    path.write_text(as_table(one, judge), encoding="utf-8")
    return path


def _mark(row: Row, stage: str) -> str:
    return "." if stage not in row.failed else "X" if stage == row.mistake.caught_by else "x"
