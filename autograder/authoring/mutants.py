"""Mutation testing of checks: is every small change to a right solution noticed?

Each mutant (operators.py) runs through its exercise's stages in a child process with a time limit,
with the visible seed and with two hidden ones. It is killed when it loses points with each of them.
What survives must be listed in `equivalents.py` next to the chapter's checks, with the reason why
it is as right as the solution:

    EQUIVALENT = {"01.ppmi": {"BEFORE  =>  AFTER": "the reason, in a sentence"}}
"""

import ast
import importlib
import linecache
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from autograder.authoring.asked import asked
from autograder.authoring.catalogue import Assignment, folder_of
from autograder.authoring.children import in_children
from autograder.authoring.implementations import reference
from autograder.authoring.operators import Mutant, mutants
from autograder.authoring.wrappers import WRAPPERS, wrapped
from autograder.checks.protocol import Exercise, LocalStudent, rng_for, run_exercise
from autograder.checks.restrictions.names import in_exercise
from autograder.checks.results import Status
from autograder.checks.stages import run_one
from autograder.checks.student.local import OurNamespace
from autograder.common.errors import CourseError

SECONDS = 20.0  # of processor time for one mutant, all seeds; the checks take milliseconds
SECRETS = (b"", b"one", b"two")  # b"" is the visible seed
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Fate:
    """What came of one mutant.

    by: the first stage that failed, "" when it survived. reason: why it is equivalent.
    """

    mutant: Mutant
    by: str
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """All mutants of one exercise. unused: listed as equivalent, but killed or no mutant at all."""

    exercise: str
    fates: list[Fate] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    @property
    def surviving(self) -> list[Fate]:
        """Those that nothing notices and nobody has explained."""
        return [fate for fate in self.fates if not fate.by and not fate.reason]

    def row(self) -> str:
        """One line of the table."""
        killers = Counter(fate.by for fate in self.fates if fate.by)
        by = ", ".join(f"{name} {number}" for name, number in killers.items())
        equal = sum(bool(fate.reason) for fate in self.fates)
        counts = f"{len(self.fates)} | {killers.total()} | {by} | {equal} | {len(self.surviving)}"
        return f"| {self.exercise} | {counts} |"


def mutants_of(one: Assignment, exercise: Exercise) -> list[Mutant]:
    """The mutants of an exercise's solution.

    Changed programs in the order of its code, methods of a class after functions, then wrapped
    functions.
    """
    names, source = [exercise.function, *exercise.also], solution_of(one, exercise)
    try:
        found = mutants(source, [*_kernels(source), *names])
        for body in ast.parse(source).body:
            if isinstance(body, ast.ClassDef) and body.name in names:
                found += _of_class(source, body)
    except SyntaxError as error:
        raise CourseError(
            f"{one.path}: the solution of {exercise.id} is no Python: {error}"
        ) from error
    calls = asked(exercise)
    for name in names:
        found += wrapped(
            source, name, [(call.args, call.value) for call in calls if call.name == name]
        )
    return found


def _of_class(source: str, theirs: ast.ClassDef) -> list[Mutant]:
    """The mutants of a class: those of its methods, which are changed as functions."""
    lines = source.split("\n")
    first, last = theirs.body[0].lineno, theirs.end_lineno
    inner = textwrap.dedent("\n".join(lines[first - 1 : last]))
    depth = " " * theirs.body[0].col_offset
    return [
        replace(
            mutant,
            line=mutant.line + first - 1,
            source="\n".join(
                [*lines[: first - 1], textwrap.indent(mutant.source, depth), *lines[last:]]
            ),
        )
        for mutant in mutants(
            inner, [one.name for one in theirs.body if isinstance(one, ast.FunctionDef)]
        )
    ]


def _kernels(source: str) -> list[str]:
    """The names of the Triton kernels that a cell defines: the exercise's function starts them."""
    return [
        one.name
        for one in ast.parse(source).body
        if isinstance(one, ast.FunctionDef)
        and any(ast.unparse(decorator) == "triton.jit" for decorator in one.decorator_list)
    ]


def solution_of(one: Assignment, exercise: Exercise) -> str:
    """The source of the solution cell, without the marks around the answer."""
    source = one.cells[exercise.id.split(".", 1)[1]][0].source
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def outcome_of(one: Assignment, exercise: Exercise, sample: list[Mutant] | None = None) -> Outcome:
    """Run all mutants of an exercise, or those in `sample`."""
    known = equivalents(exercise)
    every = mutants_of(one, exercise)
    chosen = every if sample is None else sample
    fates = [
        Fate(mutant, by, "" if by else known.get(mutant.name, ""))
        for mutant, by in zip(chosen, killers(exercise, chosen), strict=True)
    ]
    explained = {fate.mutant.name for fate in fates if fate.reason}
    unused = [] if sample is not None else [name for name in known if name not in explained]
    return Outcome(exercise.id, fates, unused)


def equivalents(exercise: Exercise) -> dict[str, str]:
    """Reason by mutant's name, from `equivalents.py` beside the exercise's checks."""
    folder = folder_of(exercise.id[:2])
    if not (folder / "equivalents.py").exists():
        return {}
    return importlib.import_module(f"autograder.chapters.{folder.name}.equivalents").EQUIVALENT.get(
        exercise.id, {}
    )


def killers(exercise: Exercise, chosen: list[Mutant], seconds: float = SECONDS) -> list[str]:
    """For each mutant the first stage that fails; "" when one of the seeds gives it every point.

    They run in forked children. A loop without end is killed after `seconds` and counts as noticed
    ("time"), so does the end of the process ("process").
    """
    return [
        ended or by
        for _, by, ended in in_children(chosen, lambda mutant: _judge(exercise, mutant), seconds)
    ]


def _judge(exercise: Exercise, mutant: Mutant) -> str:
    """The first stage that fails, or \"\" when one of the seeds gives every point."""
    namespace = dict(reference(exercise.id[:2]))
    # Triton reads the text of a kernel again.
    linecache.cache["mutant"] = (
        len(mutant.source),
        None,
        mutant.source.splitlines(keepends=True),
        "mutant",
    )
    exec(compile(mutant.source, "mutant", "exec"), namespace)
    if mutant.wrapper:
        name = mutant.name.split(" ", 1)[0]
        namespace[name] = WRAPPERS[mutant.wrapper][-1](namespace[name])
    first = ""
    for secret in SECRETS:

        def rng(stage: str, secret: bytes = secret) -> object:
            return rng_for(exercise.id, stage, "mutant" if secret else "", secret=secret)

        failed = _first_failure(
            exercise, LocalStudent(OurNamespace(namespace)), rng if secret else None
        )
        if not failed:
            return ""
        first = first or failed
    return first


def _first_failure(
    exercise: Exercise, student: LocalStudent, rng: Callable[[str], object] | None
) -> str:
    """The first stage that loses points. What stands behind it is not run: kernels take seconds."""
    student.withheld = in_exercise(exercise)
    for stage in exercise.stages:
        run = run_one(
            exercise, stage, student, (rng or (lambda name: rng_for(exercise.id, name)))(stage.name)
        )
        if run.result.status != Status.PASSED or run.slips:
            return stage.name
    result = run_exercise(
        exercise, student, rng, mistakes=[]
    )  # slips that show only when all is asked once more
    return next((stage.name for stage in result.stages if stage.earned < stage.points), "")


HEAD = """# Mutants of {name}

A mutant is the solution with one small change. It is killed when it loses points with the visible
seed and with two hidden ones. "by" counts mutants by the first stage that fails; those equivalent
are explained in `equivalents.py`.

| exercise | mutants | killed | by | equivalent | surviving |
| --- | --: | --: | --- | --: | --: |"""


def print_tables(one: Assignment, exercises: Iterable[Exercise], every: bool) -> list[Outcome]:
    """Run all mutants of some exercises and print the outcomes; return them.

    every: whether mutants that are killed are listed as well.
    """
    outcomes = []
    print(HEAD.format(name=one.name), flush=True)
    for exercise in exercises:
        outcomes.append(outcome_of(one, exercise))
        print(outcomes[-1].row(), flush=True)
    for outcome in outcomes:
        if listed := as_list(outcome, every):
            print("\n" + listed)
    return outcomes


def as_list(outcome: Outcome, every: bool = False) -> str:
    """A Markdown list of an exercise's mutants: those not killed, or all; "" for none."""
    lines = [
        f"- line {fate.mutant.line}, `{fate.mutant.name}`: {_said(fate)}"
        for fate in outcome.fates
        if every or not fate.by
    ]
    lines += [
        f"- `{name}` is in `equivalents.py`, but killed or no mutant of this solution"
        for name in outcome.unused
    ]
    return "\n".join([f"**{outcome.exercise}**", "", *lines]) if lines else ""


def _said(fate: Fate) -> str:
    if fate.by:
        return f"killed by {fate.by}"
    return f"equivalent: {fate.reason}" if fate.reason else "**survives**"
