"""After checks have changed: what would change, shown before anything is written, and then written.

Judged again are the verdicts by older checks, those of another secret than the class's now, and
those whose record cannot be read, from the copies that were kept, and no others. They go into a
journal of their own, `.regrade/` in the course root, so that records, gradebook and pages are as
they were until `write`; a second run goes on where the first stopped. What was given by hand is no
part of a verdict: it stays, and is marked for another look where the automatic points were stored
anew.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder import course_layout
from autograder.classroom.grade_class import class_rows, grade_class
from autograder.classroom.gradebook.course import course_config, open_gradebook
from autograder.classroom.gradebook.deadlines import taken_off
from autograder.classroom.gradebook.grades import (
    HandGrades,
    before_penalty,
    exercise_points,
    total_points,
)
from autograder.classroom.records import everybody, from_copy, is_lost
from autograder.classroom.reports.changed_points import said
from autograder.classroom.reports.run_summary import Summary, said_foreign
from autograder.classroom.submissions import attempts as hand_ins
from autograder.common.atomic_files import writing
from autograder.common.error_boundary import Guard
from autograder.common.errors import CourseError
from autograder.grading.assignment import Assignment, course_secret, drawn_with
from autograder.grading.executors.local import Here, grade_all
from autograder.grading.grade import BUDGET_SECONDS, SCHEMA, Verdict
from autograder.grading.result_diff import difference
from autograder.grading.results_store import (
    all_verdicts,
    graded_assignments,
    remove_result,
    save_verdict,
)

NOT_READ = "it could not be read then, and nothing of it was kept; hand it to `course grade` again"
OLD_HASH = (
    "{} of them are from an earlier release, which worked out the hash of the checks "
    "otherwise: it cannot be told whether their checks have changed, so they are judged again, once"
)
NO_COPY = "the notebook that was graded is not in submitted/; hand it to `course grade` again"


@dataclass
class Change:
    """One student: what differs, a line an exercise, the sum before and after, and points by hand
    that stay.

    The sums are those of grades.csv, less what late work costs: `after` is what a `write` puts
    there.
    """

    student: str
    lines: list[str]
    before: float | None
    after: float | None
    by_hand: dict[str, float] = field(default_factory=dict)


@dataclass
class Plan:
    """What a regrade would do.

    verdicts: judged again. foreign: whose record is of another secret than the class's now. same:
    come out as before. cannot: no copy, with the reason. old_hash: who has a record of an earlier
    release, with another kind of hash of the checks.
    """

    assignment: str
    verdicts: list[Verdict]
    changes: list[Change] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    cannot: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    old_hash: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        """On whose work the checker itself failed."""
        return [verdict.label for verdict in self.verdicts if verdict.fault]

    def lines(self, details: bool = False) -> list[str]:
        """For a terminal, one line for each student whose sum or results change; details: and one
        for each exercise.
        """
        found = [
            f"affected   {len(self.verdicts) + len(self.cannot)} verdicts of {self.assignment} are"
            " by older checks, or cannot be read"
            + (", or are of another secret" if self.foreign else "")
        ]
        found += [f"checks     {OLD_HASH.format(len(self.old_hash))}"] if self.old_hash else []
        found += (
            [
                said_foreign(self.foreign)
                + "If that is a slip, bring the right file back, and write nothing"
            ]
            if self.foreign
            else []
        )
        for change in self.changes:
            found.append(
                f"changes    {said(change.student, change.before, change.after, change.lines)}"
            )
            found += [f"           {line}" for line in change.lines if details]
            found += [
                f"by hand    {change.student} {id}: {points:g} points stay"
                for id, points in change.by_hand.items()
            ]
        found += (
            [f"same       {len(self.same)} come out as before: {', '.join(self.same)}"]
            if self.same
            else []
        )
        return found + [
            f"cannot     {student}: {reason}" for student, reason in self.cannot.items()
        ]

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return {
            "assignment": self.assignment,
            "affected": len(self.verdicts) + len(self.cannot),
            "changes": [vars(change) for change in self.changes],
            "same": self.same,
            "cannot": self.cannot,
            "foreign": self.foreign,
            "old_hash": self.old_hash,
            "failed": self.failed,
        }


def plan(
    course_root: Path,
    assignment: Assignment,
    backend: object = None,
    jobs: int = 1,
    progress: Callable[[int, int, Verdict], None] | None = None,
    budget: float = BUDGET_SECONDS,
) -> Plan:
    """Judge again what is by older checks and compare; writes only below `.regrade/`.

    CourseError if nothing was graded here.

    budget: seconds that one submission may use.
    """
    course_root, crew = course_root.resolve(), Here(jobs, backend, budget)
    if assignment.name not in graded_assignments(course_root):
        raise CourseError(
            f"{course_root}: nothing of {assignment.name} was graded here; run `course grade` first"
        )
    secret, everyone = course_secret(course_root), everybody(course_root, assignment)
    foreign = {
        student
        for student, one in everyone.items()
        if not drawn_with(secret, student, one.seed_ids)
    }
    older = {
        student: one
        for student, one in everyone.items()
        if is_lost(one) or one.checks != assignment.checks_hash or student in foreign
    }
    copies = {
        student: copy
        for student, one in older.items()
        if (copy := from_copy(course_root, one, assignment))
    }
    stage, config = _stage(course_root, assignment, secret), course_config(course_root)
    todo = hand_ins.counted(
        list(copies.values()),
        assignment,
        course_root,
        config,
        lambda several, where: grade_all(several, assignment, where, crew=crew),
        stage,
    )
    again = grade_all(todo, assignment, stage, progress=progress, crew=crew).verdicts
    rows = class_rows(course_root, assignment, config, Guard(course_root)) if again else []
    made = Plan(
        assignment.name,
        [again[student] for student in sorted(again)],
        cannot={
            one.label: one.waits("") if is_lost(one) else NO_COPY if one.readable else NOT_READ
            for student, one in older.items()
            if student not in copies
        },
        foreign=[everyone[student].label for student in sorted(foreign)],
        old_hash=[one.label for one in older.values() if one.schema != SCHEMA],
    )
    with open_gradebook(config) as gradebook:
        off = taken_off(gradebook, config, assignment.name, course_root)
        for record, graded in rows:
            if record.student in again:
                _compare(made, record, again[record.student], graded, assignment, off)
    return made


def _compare(
    made: Plan,
    record: Verdict,
    again: Verdict,
    graded: HandGrades,
    assignment: Assignment,
    off: Callable[[str, str | None, float], float],
) -> None:
    """Note what differs between a record and another judging of it; off: what late work costs, see
    late.taken_off.
    """
    lines = (
        difference(record, again)
        if not is_lost(record)
        else [f"{record.label}: the record could not be read"]
    )
    if not lines:
        made.same.append(record.label)
        return
    touched = {line.split(" ", 2)[1].rstrip(":") for line in lines if " " in line}
    by_hand = {}
    if is_lost(record):
        touched = set(assignment.exercises)
    for id in assignment.exercises:
        given = graded.points.get(f"{id.split('.', 1)[1]}-check")
        if id in touched and given is not None:
            by_hand[id] = given
    before, points = (
        total_points(exercise_points(record, graded, assignment), graded),
        exercise_points(again, graded, assignment),
    )
    graded = replace(
        graded, penalty=off(again.student, again.timestamp, before_penalty(points, graded))
    )
    made.changes.append(Change(record.label, lines, before, total_points(points, graded), by_hand))


def write(course_root: Path, report: Path, made: Plan, backend: object = None) -> Summary:
    """Make the plan's verdicts the records, then gradebook and pages from the records; a kill is
    mended by the next run.
    """
    course_root = course_root.resolve()
    for verdict in made.verdicts:
        save_verdict(course_root, verdict)
    hand_ins.adopt(course_root, course_root / course_layout.REGRADE, made.assignment)
    summary = grade_class(None, made.assignment, course_root, report, regrade=True, backend=backend)
    summary.submissions = len(made.verdicts)  # they were judged for the plan
    with writing(course_root / course_layout.REGRADE):
        shutil.rmtree(course_root / course_layout.REGRADE, ignore_errors=True)
    return summary


def _stage(course_root: Path, assignment: Assignment, secret: bytes) -> Path:
    """A journal of its own under the class's secret, which is linked and not copied; what was
    judged there under another one is gone.
    """
    stage = course_root / course_layout.REGRADE
    hand_ins.share_secret(course_root, stage)
    attempts = course_layout.attempts(stage).glob("*")
    for folder in (stage, *(one for one in attempts if one.name.isdecimal())):
        for student, kept in all_verdicts(folder, assignment.name).items():
            if kept and not drawn_with(secret, student, kept.seed_ids):
                remove_result(folder, assignment.name, student)
    return stage
