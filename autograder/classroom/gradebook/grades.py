"""Who has how many points: the verdict, what people gave by hand, and the calendar, put together;
and grades.csv.

What was given by hand counts before what the checks gave. Nothing undecided is ever a zero: it is
None, and `reasons` says why. The sum is nbgrader's own score of a submission, less what late work
costs.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Assignment as AssignmentRow
from nbgrader.api import Grade, Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from sqlalchemy.orm import joinedload, selectinload

from autograder.classroom.submissions.roster import Enrolled
from autograder.common.atomic_files import OWNER_ONLY, write_whole
from autograder.common.safe_names import WHOLE, shown
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict

ABSENT = "Nothing was submitted."
WRITTEN = "A written answer waits to be read."
AGAIN = (
    "Points given by hand are older than what was handed in or judged since; look at the work, and"
    " save the points again in formgrader."
)


@dataclass
class HandGrades:
    """What people and the calendar added: by grade id, points given by hand (None: not yet) and
    comments.

    extra: extra credit by grade id, on top of the points of its cell. again: grade ids whose points
    by hand were given before the work was stored anew. They count, and wait for another look.
    email: the address in the gradebook, if somebody put it there. unjudged: a sentence if newer
    work waits to be judged, see unjudged.py. notes: sentences on what a person must look at beyond
    the verdict. needs_manual_grading: nbgrader's own word for whether a point of it is undecided,
    or was given before the work was stored anew.
    """

    points: dict[str, float | None] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    seconds_late: float = 0.0
    penalty: float = 0.0
    email: str = ""
    unjudged: str = ""
    notes: list[str] = field(default_factory=list)
    needs_manual_grading: bool = False


def looked_up(gradebook: Gradebook, assignment: str) -> list[SubmittedAssignment]:
    """Everything that `hand_grades` asks the gradebook for, of a whole class in a few queries,
    which would be some twenty for each student.

    The gradebook finds it for as long as the list is kept.
    """
    notebooks = selectinload(SubmittedAssignment.notebooks)
    return (
        gradebook.db.query(SubmittedAssignment)
        .join(AssignmentRow, SubmittedAssignment.assignment_id == AssignmentRow.id)
        .filter(AssignmentRow.name == assignment)
        .options(
            joinedload(SubmittedAssignment.student),
            notebooks.selectinload(SubmittedNotebook.grades).joinedload(Grade.cell),
            notebooks.selectinload(SubmittedNotebook.comments),
        )
        .all()
    )


def hand_grades(gradebook: Gradebook, assignment: str, student: str) -> HandGrades:
    """What the gradebook holds beyond the verdict; empty for a submission that it does not know."""
    found = HandGrades()
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return found
    found.seconds_late = submission.total_seconds_late or 0.0
    found.email = submission.student.email or ""
    for notebook in submission.notebooks:
        found.penalty += notebook.late_submission_penalty or 0.0
        for grade in notebook.grades:
            found.needs_manual_grading |= grade.needs_manual_grade
            if grade.extra_credit:
                found.extra[grade.name] = grade.extra_credit
            if grade.needs_manual_grade and (
                grade.manual_score is not None
                or grade.extra_credit
                and grade.auto_score is not None
            ):
                found.again.add(grade.name)
            if grade.manual_score is not None or grade.cell.cell_type == "markdown":
                # An untouched answer is a zero that nbgrader itself gives.
                given = grade.manual_score if grade.manual_score is not None else grade.auto_score
                found.points[grade.name] = (
                    None if grade.needs_manual_grade and grade.manual_score is None else given
                )
        for comment in notebook.comments:
            if comment.manual_comment:
                found.comments[comment.name] = comment.manual_comment
    return found


def exercise_points(
    verdict: Verdict, graded: HandGrades, assignment: Assignment
) -> dict[str, float | None]:
    """Points by exercise id; None where a human has not decided yet.

    What was given by hand counts.
    """
    earned = {result["exercise"]: result["earned"] for result in verdict.results}
    points = {}
    for id, one in assignment.exercises.items():
        cell = grade_cell(id, one.kind)
        if graded.points.get(cell) is not None:
            points[id] = graded.points[cell]
        else:
            points[id] = None if one.kind == "manual" or verdict.waits(id) else earned.get(id)
    return points


def too_many(points: dict[str, float | None], assignment: Assignment) -> list[str]:
    """A sentence for each exercise that has more points than it gives: by hand somebody may have
    hit a key twice.
    """
    return [
        f"{id}: {one:g} points were given by hand, of {assignment.exercises[id].points:g}; if more"
        " was meant, extra credit says so."
        for id, one in points.items()
        if one is not None and one > assignment.exercises[id].points
    ]


def grade_cell(id: str, kind: str) -> str:
    """The grade id under which the gradebook has the points of an exercise."""
    short = id.split(".", 1)[1]
    return short if kind == "manual" else f"{short}-check"


def extra_credit(points: dict[str, float | None], graded: HandGrades) -> dict[str, float]:
    """By exercise id, the extra credit of exercises that have some.

    As with nbgrader, it counts where the points are decided.
    """
    given = {
        id: sum(graded.extra.get(grade_cell(id, kind), 0.0) for kind in ("manual", "checked"))
        for id, one in points.items()
        if one is not None
    }
    return {id: more for id, more in given.items() if more}


def total_points(points: dict[str, float | None], graded: HandGrades) -> float | None:
    """The sum of what is decided and of its extra credit, less the late penalty; None when nothing
    is decided.
    """
    if all(one is None for one in points.values()):
        return None
    return round(
        max(0.0, before_penalty(points, graded) - graded.penalty), 6
    )  # 22 less 2.2 is 19.8, not 19.799999999999997


def before_penalty(points: dict[str, float | None], graded: HandGrades) -> float:
    """The sum of what is decided and of its extra credit, which is nbgrader's score of the
    notebook.
    """
    return sum(one for one in points.values() if one is not None) + sum(
        extra_credit(points, graded).values()
    )


LEADING = ("student", "name", "lms_id", "email", "assignment")
TRAILING = ("extra_credit", "taken_off", "total", "maximum", "late", "borrowed", "needs_human")


def write_all(path: Path, tables: list[Path]) -> Path:
    """Write grades.csv: the rows of several of `write_csv`, with a column for each exercise of
    each; of other assignments they are empty.
    """
    rows, exercises = [], {}
    for table in tables:
        with table.open(encoding="utf-8", newline="") as file:
            found = csv.DictReader(file)
            rows += list(found)
            exercises |= dict.fromkeys(
                name for name in found.fieldnames or () if name not in (*LEADING, *TRAILING)
            )
    text = io.StringIO(newline="")
    out = csv.DictWriter(text, [*LEADING, *exercises, *TRAILING], restval="")
    out.writeheader()
    out.writerows(rows)
    write_whole(path, text.getvalue(), OWNER_ONLY)
    return path


def write_csv(
    path: Path,
    rows: list[tuple[Verdict, HandGrades]],
    assignment: Assignment,
    absentees: Sequence[Enrolled] = (),
) -> Path:
    """Write the csv of one assignment, a row a student, at its end those who submitted nothing.

    student (the key in the gradebook), name, lms_id and email (empty if not known), assignment,
    points by exercise (empty: not decided), extra_credit and taken_off (for late work; both empty
    if there is none), total, which is the sum of all these and never below 0, maximum, late,
    borrowed (chapters in whose place the student put the reference), needs_human.
    """
    text = io.StringIO(newline="")
    out = csv.writer(text)
    out.writerow([*LEADING, *assignment.exercises, *TRAILING])
    most = sum(one.points for one in assignment.exercises.values())
    for verdict, graded in sorted(rows, key=lambda row: row[0].student):
        points = exercise_points(verdict, graded, assignment)
        decided = [f"{one:g}" if one is not None else "" for one in points.values()]
        total, extra = total_points(points, graded), sum(extra_credit(points, graded).values())
        added = [f"{one:g}" if one else "" for one in (extra, graded.penalty)]
        out.writerow(
            [
                spreadsheet_text(verdict.student),
                spreadsheet_text(shown(verdict.name or verdict.student, WHOLE)),
                verdict.lms_id,
                spreadsheet_text(graded.email),
                verdict.assignment,
                *decided,
                *added,
                f"{total:g}" if total is not None else "",
                f"{most:g}",
                lateness(graded.seconds_late, verdict.late),
                spreadsheet_text("; ".join(verdict.borrowed)),
                spreadsheet_text("; ".join(reasons(verdict, points, graded))),
            ]
        )
    for one in absentees:
        who = [spreadsheet_text(word) for word in ("", one.name, one.number, one.email)]
        nothing = [""] * (len(assignment.exercises) + len(TRAILING) - 4)
        out.writerow([*who, assignment.name, *nothing, f"{most:g}", "", "", ABSENT])
    write_whole(path, text.getvalue(), OWNER_ONLY)
    return path


def lateness(seconds: float, said_so: bool = False) -> str:
    """How late, in words: "2 d 3 h", "1 h 20 min", "under 1 min"; "yes" if only the platform says
    it; "" if not late.
    """
    if seconds <= 0:
        return "yes" if said_so else ""
    minutes = int(seconds // 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [(days, "d"), (hours, "h")] if days else [(hours, "h"), (minutes, "min")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "under 1 min"


def reasons(
    verdict: Verdict, points: dict[str, float | None], graded: HandGrades | None = None
) -> list[str]:
    """Why a human is needed, one sentence a reason; empty when every point is decided and nothing
    else is open.
    """
    notes = graded.notes if graded else []
    return list(dict.fromkeys([*open_points(verdict, points, graded), *notes]))


def troubles(
    verdict: Verdict, points: dict[str, float | None], graded: HandGrades | None = None
) -> list[str]:
    """Of `reasons` all but the written answers that are still unread, which are no trouble."""
    unread = _unread(verdict, points)
    return reasons(verdict, {id: one for id, one in points.items() if id not in unread}, graded)


def _unread(verdict: Verdict, points: dict[str, float | None]) -> set[str]:
    """The exercises without points for which nothing is open but that somebody reads them."""
    return {
        id
        for id, one in points.items()
        if one is None and verdict.readable and not verdict.waits(id)
    }


def open_points(
    verdict: Verdict, points: dict[str, float | None], graded: HandGrades | None = None
) -> list[str]:
    """Of `reasons` those that leave points open: none are decided, newer work waits, or those given
    by hand need another look.
    """
    found = [] if verdict.readable or None not in points.values() else [verdict.waits("")]
    found += [graded.unjudged] if graded and graded.unjudged else []
    by_reason: dict[str, list[str]] = {}
    for id, one in points.items():
        if one is None and verdict.readable:
            by_reason.setdefault(verdict.waits(id) or WRITTEN, []).append(id)
        elif one is not None and looks_again(id, graded):
            by_reason.setdefault(AGAIN, []).append(id)
    return found + [f"{', '.join(ids)}: {reason}" for reason, ids in by_reason.items()]


def waiting_answers(
    verdict: Verdict, points: dict[str, float | None], assignment: Assignment
) -> int:
    """How many written answers wait to be read, and for nothing else."""
    return sum(
        points[id] is None and not verdict.waits(id)
        for id, one in assignment.exercises.items()
        if one.kind == "manual"
    )


def looks_again(id: str, graded: HandGrades | None) -> bool:
    """Whether the points by hand of an exercise were given before its work was stored anew."""
    return graded is not None and any(
        grade_cell(id, kind) in graded.again for kind in ("manual", "checked")
    )


def spreadsheet_text(text: str) -> str:
    """Text that a spreadsheet will not take for a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
