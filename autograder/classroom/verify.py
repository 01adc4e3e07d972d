"""One verdict again: the copy that was kept, judged anew in the sandbox, beside the record.

For a student who asks how the points came about, and for whoever doubts that a record is true.
Nothing is written.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from autograder import course_layout
from autograder.checks.messages import sentences
from autograder.checks.results import Status
from autograder.classroom.records import everybody, from_copy, is_lost
from autograder.classroom.submissions.metadata import never_judged
from autograder.classroom.submissions.ungraded import kept_copy, unjudged
from autograder.common.errors import CourseError
from autograder.common.safe_names import shown
from autograder.course_layout import SECRET_FILE
from autograder.grading.assignment import course_secret, load_assignment
from autograder.grading.grade import (
    BUDGET_SECONDS,
    Verdict,
    grade_submission,
    sandboxes,
)
from autograder.grading.known_notebooks import examine, refuse
from autograder.grading.result_diff import difference


@dataclass
class Replay:
    """The record, what the same notebook gets now, and what differs: a line an exercise.

    newer: a sentence if later work is not judged yet.
    """

    record: Verdict
    again: Verdict
    path: Path
    differences: list[str] = field(default_factory=list)
    newer: str = ""

    def lines(self) -> list[str]:
        """For a terminal: what was handed in, which checks judged it, each behaviour, and whether
        it came out the same.
        """
        record, again = self.record, self.again
        found = [
            f"student    {record.label}",
            f"record     {self.path}",
            f"notebook   {record.submission}",
            f"checks     {record.checks}"
            + ("" if record.checks == again.checks else f"\n           now {again.checks}"),
            f"isolation  {record.tier}, now {again.tier}",
        ]
        for result in again.results:
            found.append(f"{result['exercise']}  {result['earned']:g} of {result['points']:g}")
            for stage in result["stages"]:
                said = " ".join(sentences(stage)) if stage["status"] != Status.PASSED else ""
                found.append(
                    f"    {stage['name']:<16} {stage['status']:<13} {stage['earned']:g} of"
                    f" {stage['points']:g}  {said}".rstrip()
                )
        found += [
            f"waits      {one['exercise'] or 'the whole submission'}: {one['reason']}"
            for one in again.human
        ]
        found += [f"newer      {self.newer}"] if self.newer else []
        return found + (
            [f"differs    {line}" for line in self.differences]
            or ["the same   every behaviour came out as in the record"]
        )


def replay(
    course_root: Path,
    assignment: str,
    student: str,
    backend: object = None,
    budget: float = BUDGET_SECONDS,
) -> Replay:
    """Judge again what a student's record was made from.

    Raises CourseError where there is no record or no such copy.

    student: the key, the name or the platform's number. budget: seconds that it may use. What was
    given by hand is not part of a verdict.
    """
    loaded, course_root = load_assignment(assignment), course_root.resolve()
    if why := never_judged(course_root, loaded).get(student):
        raise CourseError(f"{student}: {why}")
    record = _find(everybody(course_root, loaded), student, course_root, loaded.name)
    if is_lost(record):
        raise CourseError(f"{course_root}: {record.waits('')}")
    copy = from_copy(course_root, record, loaded) or kept_copy(course_root, loaded, record)
    if copy is None and not record.readable:  # what is kept of it is a page of ours that says so
        raise CourseError(
            f"{record.label}: no notebook was ever judged. The record says: {record.waits('')} What"
            " is handed in now, `course grade` judges"
        )
    if copy is None:
        raise CourseError(
            f"{course_root / 'submitted' / record.student / loaded.name}: the notebook that was"
            f" graded ({record.submission[:12] or 'unreadable'}) is not there; hand it to `course"
            " grade` again"
        )
    secret = course_secret(course_root)  # there is a record: one that is gone is said, not drawn
    loaded.load()
    with sandboxes(loaded, backend, budget) as pool:
        refuse(loaded, examine(loaded, pool, budget))
        again = grade_submission(copy, loaded, secret, pool, budget=budget)
    other = (
        [
            f"{record.student}: the hidden inputs are others; {SECRET_FILE} is not the one that the"
            " record was judged with"
        ]
        if _asks_otherwise(record, again)
        else []
    )
    return Replay(
        record,
        again,
        course_layout.results(course_root),
        [*other, *difference(record, again)],
        unjudged(course_root, loaded, record),
    )


def _asks_otherwise(record: Verdict, again: Verdict) -> bool:
    """Whether an exercise that both have was judged with other seeds."""
    return any(again.seed_ids.get(id, name) != name for id, name in record.seed_ids.items())


def _find(records: dict[str, Verdict], student: str, course_root: Path, assignment: str) -> Verdict:
    # grades.csv has a quote before what a spreadsheet would take for a formula.
    found = next(
        (
            some
            for said in dict.fromkeys([student, student.removeprefix("'")])
            if said
            and (
                some := [
                    one
                    for one in records.values()
                    if said in (one.student, one.name, shown(one.name), one.lms_id, one.label)
                ]
            )
        ),
        [],
    )
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(one.student for one in found)
        raise CourseError(
            f"{student!r} are {len(found)} students of {assignment}: give one of {keys}"
        )
    close = get_close_matches(student, records, n=3)
    raise CourseError(
        f"{course_root}: no record of {student!r} for {assignment}"
        + (f"; did you mean {', '.join(close)}?" if close else "")
    )
