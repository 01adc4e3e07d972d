"""Mutation testing of checks: is every small change to a right solution noticed?

Each mutant (operators.py) runs through its exercise's stages in a child process with a time limit, with the visible
seed and with two hidden ones. It is killed when it loses points with each of them. What survives must be listed in
`equivalents.py` beside the chapter's checks, with the reason why it is as right as the solution:

    EQUIVALENT = {"01.ppmi": {"BEFORE  =>  AFTER": "the reason, in a sentence"}}

The outcome is committed beside the checks as `mutants.md`, with a hash of solution and checks for each exercise.
"""

import ast
import hashlib
import importlib
import linecache
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder.authoring import operators, wrappers
from autograder.authoring.asked import asked
from autograder.authoring.catalogue import Assignment, folder_of
from autograder.authoring.children import in_children
from autograder.authoring.implementations import reference
from autograder.authoring.operators import Mutant, mutants
from autograder.authoring.wrappers import WRAPPERS, wrapped
from autograder.checks.local_student import OurNamespace
from autograder.checks.protocol import Exercise, LocalStudent, rng_for, run_exercise
from autograder.checks.stages import run_one
from autograder.checks.withholding import in_exercise
from autograder.dependency_hash import code_of, code_of_file
from autograder.errors import CourseError

SECONDS = 20.0  # of processor time for one mutant, all seeds; the checks take milliseconds
SECRETS = (b"", b"one", b"two")  # b"" is the visible seed
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Fate:
    """What came of one mutant. by: the first stage that failed, "" when it survived. reason: why it is equivalent."""

    mutant: Mutant
    by: str
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """All mutants of one exercise. unused: listed as equivalent, but killed or no mutant at all."""

    exercise: str
    hash: str
    fates: list[Fate] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    @property
    def surviving(self) -> list[Fate]:
        """Those that nothing notices and nobody has explained."""
        return [fate for fate in self.fates if not fate.by and not fate.reason]

    def row(self) -> str:
        """One line of the committed table, without the hash."""
        killers = Counter(fate.by for fate in self.fates if fate.by)
        by = ", ".join(f"{name} {number}" for name, number in killers.items())
        equal = sum(bool(fate.reason) for fate in self.fates)
        return f"| {self.exercise} | {len(self.fates)} | {killers.total()} | {by} | {equal} | {len(self.surviving)} |"


def mutants_of(one: Assignment, exercise: Exercise) -> list[Mutant]:
    """The mutants of an exercise's solution: changed programs in the order of its code, methods of a class after functions, then
    wrapped functions."""
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
    """The mutants of a class: those of its methods, which stand as functions while they are changed."""
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
    return Outcome(exercise.id, hash_of(one, exercise), fates, unused)


def equivalents(exercise: Exercise) -> dict[str, str]:
    """Reason by mutant's name, from `equivalents.py` beside the exercise's checks."""
    folder = folder_of(exercise.id[:2])
    if not (folder / "equivalents.py").exists():
        return {}
    return importlib.import_module(f"autograder.chapters.{folder.name}.equivalents").EQUIVALENT.get(
        exercise.id, {}
    )


def killers(exercise: Exercise, chosen: list[Mutant], seconds: float = SECONDS) -> list[str]:
    """For each mutant the first stage that fails; "" when the mutant gets every point with one of the seeds.

    They run in forked children. A loop without end is killed after `seconds` and counts as noticed ("time"), so does the
    end of the process ("process").
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
        if run.result.status != "passed" or run.slips:
            return stage.name
    result = run_exercise(
        exercise, student, rng, mistakes=[]
    )  # slips that show only when all is asked once more
    return next((stage.name for stage in result.stages if stage.earned < stage.points), "")


def hash_of(one: Assignment, exercise: Exercise) -> str:
    """The hash of what decides which mutants an exercise has: its solution, how they are made, which are explained.

    Not of the checks: a sample of the mutants is tried each time, and `course author mutants` tries all.
    """
    digest = hashlib.sha256(code_of(solution_of(one, exercise)).digest)
    digest.update(repr(sorted(equivalents(exercise))).encode())
    for module in (operators, wrappers):
        digest.update(code_of_file(Path(module.__file__), module.__name__).digest)
    return digest.hexdigest()[:16]


def as_text(outcome: Outcome, verbose: bool = True) -> str:
    """What an author reads: a line for each mutant, those to look at marked."""
    lines = [f"{outcome.exercise}: {len(outcome.fates)} mutants"]
    for fate in outcome.fates:
        if verbose or not fate.by:
            said = (
                f"killed by {fate.by}"
                if fate.by
                else f"equivalent: {fate.reason}"
                if fate.reason
                else "SURVIVES"
            )
            lines.append(f"  line {fate.mutant.line:<3} {fate.mutant.name}   [{said}]")
    lines += [
        f"  listed as equivalent, but killed or no mutant of this solution: {name}"
        for name in outcome.unused
    ]
    lines.append(outcome.row())
    return "\n".join(lines)


HEAD = """# Mutants of {name}

`course author mutants {number}` wrote this file. A mutant is the solution with one small change; it is killed when it
loses points with the visible seed and with two hidden ones. "by" counts mutants by the first stage that fails.

| exercise | mutants | killed | by | equivalent | surviving | hash |
| --- | --: | --: | --- | --: | --: | --- |
"""


def as_table(one: Assignment, outcomes: list[Outcome]) -> str:
    """The committed file: counts, and every mutant that is as right as the solution, with the reason."""
    lines = [
        HEAD.format(name=one.name, number=one.number)
        + "\n".join(f"{o.row()} {o.hash} |" for o in outcomes)
    ]
    for outcome in outcomes:
        equal = [fate for fate in outcome.fates if fate.reason]
        if equal:
            lines += ["", f"**{outcome.exercise}**, equivalent:", ""]
            lines += [f"- `{fate.mutant.name}`: {fate.reason}" for fate in equal]
    return "\n".join(lines) + "\n"


def committed(one: Assignment) -> dict[str, tuple[str, str]]:
    """(row without hash, hash) by exercise id, from the committed table; empty when there is none."""
    path = folder_of(one.number) / "mutants.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return dict(_rows(text))


def _rows(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for row, exercise, mark in re.findall(
        r"^(\| (\d\d\.\w+) \|.*\|) (\w{16}) \|$", text, re.MULTILINE
    ):
        yield exercise, (row, mark)


def write(one: Assignment, outcomes: list[Outcome]) -> Path:
    """Write the table of a chapter."""
    path = folder_of(one.number) / "mutants.md"
    path.write_text(as_table(one, outcomes), encoding="utf-8")
    return path
