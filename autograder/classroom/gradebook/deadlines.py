"""Due dates, extensions and what late work costs, all in nbgrader's own gradebook and by nbgrader's
own plugin.

A due date is the assignment's, an extension the submission's; what is late follows from nbgrader's
timestamp.txt. What is taken off is the answer of the plugin that nbgrader_config.py names,
`ShareEachDay` below or any other of nbgrader's kind:

    c.AssignLatePenalties.plugin_class = "autograder.classroom.late.ShareEachDay"
    c.ShareEachDay.share = 0.1

nbgrader reckons it while it autogrades. `settle` reckons it again, in the same way, whenever dates
or points given by hand may have changed since. An extension for somebody who has handed in nothing
yet, or while there is no due date, waits in a file, since the gradebook has no place for it, and
goes into the gradebook with the hand-in, or with the date.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from dateutil.parser import ParserError
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from traitlets import Float
from traitlets.config import Config

from autograder import course_layout
from autograder.common.atomic_files import write_whole
from autograder.common.errors import CourseError
from autograder.grading.intake.timestamps import in_utc

SPAN = re.compile(r"(?P<count>\d{1,4})(?P<unit>[mhdw])")
EITHER = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}")  # 03/04/2026 is in March or in April
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class ShareEachDay(LateSubmissionPlugin):
    """For each day or part of one that it is late, a share of the points that the work would have
    had.
    """

    share = Float(0.1, min=0.0, max=1.0, help="the share that a day costs").tag(config=True)
    most = Float(1.0, min=0.0, max=1.0, help="the share that all days together cost at most").tag(
        config=True
    )
    grace_minutes = Float(
        0.0, min=0.0, help="minutes after the due date that cost nothing; they shorten no later day"
    ).tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """The points to take off; None within the grace."""
        if total_seconds_late <= 60 * self.grace_minutes:
            return None
        return score * min(self.most, self.share * math.ceil(total_seconds_late / 86_400))


@dataclass
class Dates:
    """An assignment's due date in UTC (None: none), extensions by student, and those that wait for
    a hand-in or a date.
    """

    due: datetime | None
    extensions: dict[str, timedelta]
    waiting: dict[str, timedelta]

    def to_json(self) -> dict:
        """Plain dictionaries: the date in ISO 8601, spans in seconds."""
        return {
            "due": f"{self.due.isoformat()}+00:00" if self.due else None,
            "extensions": {
                student: span.total_seconds() for student, span in sorted(self.extensions.items())
            },
            "waiting": {
                student: span.total_seconds() for student, span in sorted(self.waiting.items())
            },
        }


def moment(text: str) -> datetime:
    """A date and time in UTC, without a zone as nbgrader keeps it.

    Without one in the text it is UTC. CourseError for a slip.
    """
    if EITHER.match(text.strip()):
        raise CourseError(
            f'{text!r} may be read with the day or the month first: write it as "2026-03-01 23:59'
            ' +0100"'
        )
    try:
        return in_utc(text)
    except (ParserError, OverflowError, ValueError, TypeError) as error:
        raise CourseError(
            f'{text!r} is no date: write it as "2026-03-01 23:59 +0100" ({error})'
        ) from error


def span(text: str) -> timedelta:
    """ "2d", "36h", "90m" or "1w"; "0d" is none. Raises CourseError for anything else."""
    found = SPAN.fullmatch(text.strip())
    if not found:
        raise CourseError(f"{text!r} is no span of time: write it as 2d, 36h, 90m or 1w")
    return timedelta(**{UNITS[found["unit"]]: int(found["count"])})


def dates(gradebook: Gradebook, assignment: str, course_root: Path) -> Dates:
    """What stands in the gradebook, and what waits beside it."""
    try:
        due = gradebook.find_assignment(assignment).duedate
    except MissingEntry:
        due = None
    given = (
        {
            one.student.id: one.extension
            for one in gradebook.assignment_submissions(assignment)
            if one.extension
        }
        if due
        else {}
    )
    return Dates(due, given, _waiting(course_root, assignment))


def set_due(gradebook: Gradebook, assignment: str, course_root: Path, due: datetime | None) -> None:
    """Set or, with None, remove an assignment's due date.

    Extensions then wait for another one: nbgrader cannot reckon with them where there is no date.
    """
    if due is None:
        given = dates(gradebook, assignment, course_root)
        _keep_waiting(course_root, assignment, given.waiting | given.extensions)
        for submission in gradebook.assignment_submissions(assignment):
            submission.extension = None
    gradebook.update_or_create_assignment(assignment, duedate=due)
    gradebook.db.commit()


def extend(
    gradebook: Gradebook, assignment: str, course_root: Path, student: str, more: timedelta
) -> bool:
    """Give a student so much longer than the class has; an earlier extension is replaced.

    False: it waits for a hand-in.

    Raises CourseError where there is no due date: nbgrader could not reckon with the extension.
    """
    if gradebook.find_assignment(assignment).duedate is None:
        raise CourseError(
            f"{assignment} has no due date that could be extended: give one with --date first"
        )
    waiting = _waiting(course_root, assignment)
    waiting.pop(student, None)
    here = _grant(gradebook, assignment, student, more)
    if not here and more:
        waiting[student] = more
    _keep_waiting(course_root, assignment, waiting)
    return here


def settle(gradebook: Gradebook, config: Config, assignment: str, course_root: Path) -> None:
    """Give the extensions that wait for who has handed in since, and reckon anew what is taken off
    for late work.
    """
    try:
        due = gradebook.find_assignment(assignment).duedate
    except MissingEntry:
        return
    waiting = _waiting(course_root, assignment) if due else {}
    left = {
        student: more
        for student, more in waiting.items()
        if not _grant(gradebook, assignment, student, more)
    }
    if left != waiting:
        _keep_waiting(course_root, assignment, left)
    step = AssignLatePenalties(config=config)
    step.init_plugin()
    for submission in gradebook.assignment_submissions(assignment):
        late = (
            submission.total_seconds_late
        )  # 0 without a due date: what was taken off is given back
        for notebook in submission.notebooks:
            off = _penalty(step, submission.student.id, notebook.score, late) or None
            if off != (notebook.late_submission_penalty or None):
                notebook.late_submission_penalty = off
    gradebook.db.commit()


def _penalty(step: AssignLatePenalties, student: str, points: float, seconds_late: float) -> float:
    """The points that the plugin takes off for late work: none if it is not late, and never more
    than there are.
    """
    if seconds_late <= 0:
        return 0.0
    return min(
        points,
        max(0.0, step.plugin_inst.late_submission_penalty(student, points, seconds_late) or 0.0),
    )


def taken_off(
    gradebook: Gradebook, config: Config, assignment: str, course_root: Path
) -> Callable[[str, str | None, float], float]:
    """A function from student, time of a hand-in and points to what the plugin takes off for it,
    with the dates as they are now.

    It asks for a hand-in that need not be the one in the gradebook. Nothing is taken off where
    there is no time or no due date.
    """
    found = dates(gradebook, assignment, course_root)
    step = AssignLatePenalties(config=config)
    step.init_plugin()

    def off(student: str, timestamp: str | None, points: float) -> float:
        if found.due is None or not timestamp:
            return 0.0
        more = found.extensions.get(student) or found.waiting.get(student) or timedelta()
        return _penalty(
            step, student, points, (parse_utc(timestamp) - found.due - more).total_seconds()
        )

    return off


def _grant(gradebook: Gradebook, assignment: str, student: str, more: timedelta) -> bool:
    try:
        gradebook.grant_extension(assignment, student, minutes=more.total_seconds() / 60)
    except MissingEntry:
        return False
    return True


def _waiting(course_root: Path, assignment: str) -> dict[str, timedelta]:
    try:
        kept = json.loads(
            course_layout.extensions(course_root, assignment).read_text(encoding="utf-8")
        )
    except (OSError, ValueError):
        return {}
    return {student: timedelta(seconds=seconds) for student, seconds in kept.items()}


def _keep_waiting(course_root: Path, assignment: str, waiting: dict[str, timedelta]) -> None:
    path = course_layout.extensions(course_root, assignment)
    if waiting or path.exists():
        write_whole(
            path,
            json.dumps(
                {student: more.total_seconds() for student, more in sorted(waiting.items())},
                indent=1,
            ),
        )
