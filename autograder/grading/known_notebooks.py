"""Two notebooks whose points are known, graded before a class is: does this machine grade right?

A sandbox that works in every other respect can still lack what the checks need inside. Honest work
then earns nothing, or waits for a person, and nobody is told why. So a run first grades the
reference solutions and one registered mistake in each exercise, through the same sandboxes as the
class, and refuses to go on if any point differs twice. Nothing of this is recorded, and the seeds
are fixed: a class's secret has no say in it.
"""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path

from autograder.checks.results import Status
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment, load_assignment
from autograder.grading.executors.messages import Sent
from autograder.grading.grade import (
    BUDGET_SECONDS,
    BUSY,
    FAILED,
    Verdict,
    grade_submission,
    sandboxes,
)
from autograder.grading.seeds import Seeds

SECRET = b"known notebooks"
SHOWN = 5  # differences in a message
REFUSED = (
    "This machine does not grade {} right, so no submission was graded. Notebooks whose points are "
    "known went through the same sandbox first:\n{}\n`course doctor` examines the sandbox; with "
    "--cold each one is started anew"
)
RAN_OUT = "the time ran out"
TOO_BUSY = (
    "The time ran out before {} was graded here, so no submission was graded. Notebooks whose"
    " points are known went through the same sandbox first:\n{}\nTry again when this machine is"
    " less busy"
)
DIED = "the worker died or was silent for too long"


@dataclass(frozen=True)
class KnownNotebook(Sent):
    """A notebook, the points that each exercise deserves, by id, and the seeds for judging it."""

    deserved: dict[str, float] = field(default_factory=dict)
    seeds: Seeds | None = None

    def grade(
        self, assignment: Assignment, pool: object, budget: float, child: object = None
    ) -> Verdict:
        """The result; a budget that is smaller than usual is for the class, and not for this."""
        return grade_submission(
            self, assignment, self.seeds, pool, child, max(budget, BUDGET_SECONDS)
        )


def known_notebooks(assignment: Assignment) -> list[KnownNotebook]:
    """The perfect notebook, and one with a registered mistake in each exercise that has one.

    None if a person reads all of the assignment's answers.
    """
    from autograder.authoring.solution_sources import has_source, reference_sources, with_function
    from autograder.checks.mistakes.registry import mistakes_of

    full = {id: float(one.points) for id, one in assignment.exercises.items() if one.stages}
    if not full:
        return []
    right, deserved = reference_sources(assignment), dict(full)
    wrong = dict(right)
    for id in full:
        # A helper's mistake spreads to its cell's functions; what a factory makes has no lines.
        main = assignment.exercises[id].function
        usable = [
            one for one in mistakes_of(id) if one.replaces == main and has_source(one.function)
        ]
        if usable:
            short = id.split(".", 1)[1]
            wrong[short] = with_function(right[short], usable[0].function, main)
            deserved[id] -= usable[0].loses
    return [
        _known(assignment, "perfect", right, full),
        _known(assignment, "wrong", wrong, deserved),
    ]


def _known(
    assignment: Assignment, name: str, sources: dict[str, str], deserved: dict[str, float]
) -> KnownNotebook:
    """The notebook as students get it, with these sources in its cells."""
    notebook = copy.deepcopy(assignment.pristine)
    for cell in notebook.cells:
        cell.source = sources.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    return KnownNotebook(
        f"the {name} notebook",
        Path(f"{name}.ipynb"),
        content=json.dumps(notebook).encode(),
        deserved=deserved,
        seeds=Seeds.drawn(assignment, name, SECRET),
    )


def differences(known: KnownNotebook, verdict: Verdict | None) -> list[str]:
    """What a known notebook did not earn as deserved, a line an exercise; none if all is right."""
    if verdict is None:
        return [f"{known.student}: {DIED}"]
    if not verdict.readable or not verdict.results:
        return [f"{known.student}: {verdict.waits('') or 'nothing was judged'}"]
    found = []
    for result in verdict.results:
        id, wanted = result["exercise"], known.deserved[result["exercise"]]
        waits = verdict.waits(id)
        if waits or abs(result["earned"] - wanted) > 1e-6:
            earned = "no points were decided" if waits else f"{result['earned']:g} points"
            if _ran_out(result, verdict):
                earned = RAN_OUT
            found.append(
                f"{known.student}, {id}: {earned}, {wanted:g} of {result['points']:g} "
                f"are deserved{_reason(result, waits)}"
            )
    return found


def _ran_out(result: dict, verdict: Verdict) -> bool:
    """Whether time is what an exercise of a known notebook lacked, and not the right points."""
    waits = verdict.waits(result["exercise"])
    stopped = any(stage["status"] == Status.TIME for stage in result["stages"])
    return stopped or waits == BUSY or bool(waits and verdict.stopped_at)


def lacked_time(wrong: list[str]) -> bool:
    """Whether all differences are that the time ran out."""
    return all(f": {RAN_OUT}" in line for line in wrong)


def _reason(result: dict, waits: str) -> str:
    """Of an exercise, in brackets, why it waits, or what the first test that did not pass says."""
    said = waits
    if waits in ("", FAILED):  # the test knows what failed
        said = next(
            (
                stage["detail"] or stage["cause"]
                for stage in result["stages"]
                if stage["status"] != Status.PASSED
            ),
            "",
        )
    return f" ({' '.join(said.split())[:300]})" if said else ""


def refuse(assignment: Assignment, wrong: list[str]) -> None:
    """Raise CourseError if there are differences."""
    if wrong:
        more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise CourseError(
            (TOO_BUSY if lacked_time(wrong) else REFUSED).format(
                assignment.name, "\n".join(f"  {line}" for line in [*wrong[:SHOWN], *more])
            )
        )


def examine(assignment: Assignment, pool: object, budget: float = BUDGET_SECONDS) -> list[str]:
    """The differences when the known notebooks are graded here, in sandboxes of `pool`.

    What differs is tried once more: a busy machine can lose a point by chance.
    """
    found = []
    for known in known_notebooks(assignment):
        if differences(known, known.grade(assignment, pool, budget)):
            found += differences(known, known.grade(assignment, pool, budget))
    return found


def graded_wrong(backend: object, number: str = "01") -> list[str]:
    """What the known notebooks of an assignment earn otherwise than deserved in this backend."""
    assignment = load_assignment(number)
    with sandboxes(assignment, backend) as pool:
        pool.prepare()
        return examine(assignment, pool)
