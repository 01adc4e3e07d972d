"""Answers written by somebody who has read only the notebook: what the checks make of them.

A folder holds `NAME_OF_EXERCISE/right__WHAT.py` and `.../wrong__WHAT.py`, each the source of one
solution cell. Every answer runs in this process with the visible seed, with forty hidden ones, and
in the sandbox, where points are given. It is accepted when it earns every point. A verdict that
changes with the seed, or between the two places, is reported.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.catalogue import Assignment, solution_lines
from autograder.authoring.implementations import own_cells, run_cells
from autograder.checks.messages import first_failure, sentences
from autograder.checks.protocol import Exercise, LocalStudent, rng_for, run_exercise
from autograder.checks.restrictions.names import in_chapter
from autograder.checks.results import Status
from autograder.checks.student.timeout import TimedStudent
from autograder.common.errors import CourseError

SEEDS = 40


@dataclass(frozen=True)
class Trial:
    """One answer.

    earned: with the visible seed. lowest, highest: over all seeds. sandbox: points there, None if
    unasked.

    message: the first thing that a student is told, with the name of its stage.
    """

    exercise: str
    name: str
    right: bool
    points: float
    earned: float
    lowest: float
    highest: float
    sandbox: float | None
    message: str

    @property
    def problem(self) -> str:
        """What is not as it should be, or ""."""
        every = [self.lowest, self.highest, *([] if self.sandbox is None else [self.sandbox])]
        if self.right and min(every) < self.points:
            return "RIGHT, REJECTED"
        if not self.right and max(every) >= self.points:
            return "WRONG, ACCEPTED"
        return "CHANGES WITH THE SEED" if max(every) - min(every) > 1e-9 else ""

    def line(self) -> str:
        """What an author reads of it: points at home and in the sandbox, what is not in order, the
        first message.
        """
        place = "" if self.sandbox is None else f", sandbox {self.sandbox:g}"
        return (
            f"{self.exercise} {'right' if self.right else 'wrong'} {self.name}: {self.earned:g} of"
            f" {self.points:g}{place} {self.problem}".rstrip()
            + (f"\n    {self.message}" if self.message else "")
        )


def trials(one: Assignment, folder: Path, in_sandbox: bool = True):
    """Try every answer in a folder, one after the other.

    Raises CourseError for a folder without answers.
    """
    found = sorted(folder.glob("*/right__*.py")) + sorted(folder.glob("*/wrong__*.py"))
    if not found:
        raise CourseError(
            f"{folder} holds no answers: write them as EXERCISE/right__NAME.py and"
            " EXERCISE/wrong__NAME.py"
        )
    for path in sorted(found):
        yield trial(one, one.exercise(path.parent.name), path, in_sandbox)


def trial(one: Assignment, exercise: Exercise, path: Path, in_sandbox: bool) -> Trial:
    """Try one answer."""
    source = path.read_text(encoding="utf-8")
    cells = [*_setup(one), (path.stem, source)]

    def run(secret: bytes):
        namespace, failures = run_cells(iter(cells), path.stem)
        seeds = (
            (lambda stage: rng_for(exercise.id, stage, "try", secret=secret)) if secret else None
        )
        return (
            run_exercise(
                exercise, TimedStudent(LocalStudent(namespace)), seeds, None if not secret else []
            ),
            failures,
        )

    visible, failures = run(b"")
    patient = all(
        stage.status not in (Status.TIME, Status.MEMORY, Status.KILLED) for stage in visible.stages
    )
    earned = [run(f"try {number}".encode())[0].earned for number in range(SEEDS if patient else 0)]
    first = first_failure(visible.stages)
    message = " ".join([f"[{first.name}]", *sentences(first), first.detail]) if first else ""
    kind, _, name = path.stem.partition("__")
    return Trial(
        exercise.id,
        name,
        kind == "right",
        exercise.points,
        visible.earned,
        min([visible.earned, *earned]),
        max([visible.earned, *earned]),
        _in_sandbox(one, exercise, cells) if in_sandbox else None,
        " ".join("; ".join([*failures, message]).split())[:300],
    )


def _setup(one: Assignment) -> list[tuple[str, str]]:
    """The setup cells of the notebook, and no solution."""
    return [
        (label, source)
        for label, source in own_cells(one.notebook.cells)
        if label.startswith("setup") and not solution_lines(one.cells[label][0])
    ]


def _in_sandbox(one: Assignment, exercise: Exercise, cells: list[tuple[str, str]]) -> float:
    """The points in the real sandbox, with a hidden seed."""
    from autograder.sandbox.api.cells import Cell
    from autograder.sandbox.api.opening import open_student

    with open_student(
        [Cell(label, source) for label, source in cells], in_chapter(one.exercises.values())
    ) as student:
        return run_exercise(
            exercise,
            student,
            lambda stage: rng_for(exercise.id, stage, "try", secret=b"sandbox"),
            [],
        ).earned


def summary(done: list[Trial]) -> str:
    """The sums over all answers."""
    wrong, right = [one for one in done if not one.right], [one for one in done if one.right]
    return (
        f"{len(wrong)} wrong, {sum(one.problem == 'WRONG, ACCEPTED' for one in wrong)} of them"
        f" accepted; {len(right)} right, {sum(one.problem == 'RIGHT, REJECTED' for one in right)}"
        f" of them rejected; {sum(one.problem == 'CHANGES WITH THE SEED' for one in done)} change"
        " with the seed"
    )
