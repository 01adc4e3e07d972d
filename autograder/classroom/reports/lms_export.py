"""What a learning platform reads back: grades for its gradebook, and feedback pages to hand out.

Canvas     gradebook import: a row a student, found by the number in the column ID. Feedback: files
           called as its own download called them, up to the file's number.
Moodle     the assignment's grading worksheet, a row a participant, and its zip of feedback files,
           called NAME_NUMBER_assignsubmission_file_FILE.
Gradescope a results.json a student, as its autograder writes it.

The columns and the form of the names are those that the platforms' own importers ask for: Canvas's
lib/gradebook_importer.rb and Moodle's
mod/assign/feedback/{offline/importgradeslib,file/importziplib}.php. A student without the
platform's number, or with a number that another one has too, and one of whose points a person must
still decide some, is left out and named.
"""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.checks.messages import first_failure, sentences
from autograder.classroom.gradebook.grades import (
    HandGrades,
    exercise_points,
    extra_credit,
    open_points,
    spreadsheet_text,
    total_points,
)
from autograder.classroom.records import is_lost
from autograder.classroom.reports.feedback import feedback_path
from autograder.classroom.submissions.identities import shared
from autograder.common.atomic_files import OWNER_ONLY, write_whole, writing
from autograder.common.safe_names import WHOLE, shown
from autograder.grading.assignment import Assignment
from autograder.grading.grade import Verdict
from autograder.grading.intake.lms_layouts import MOODLE, canvas

Rows = list[tuple[Verdict, HandGrades]]
WITHOUT_NUMBER = (
    "the platform's number is not known; it comes with the platform's own download of submissions"
)
WITHOUT_FILE = (
    "Canvas takes a page back as a comment on a file that was handed in and knows it by the number"
    " of the file, which a text entry or a link has not: send the page by hand"
)
MISREAD = (
    "in a file's name Canvas would take another number for the student's: send the page by hand"
)
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # of every file in a zip, so that the same pages make the same zip


@dataclass
class Export:
    """Where the file or folder lies, how many students are in it, and who is not, with the
    reason.
    """

    path: Path
    students: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


def export_grades(
    to: str, rows: Rows, assignment: Assignment, path: Path, column: str = "", so_far: bool = False
) -> Export:
    """Write the grades for a platform: `to` is a key of GRADES.

    A file is replaced whole or not at all.

    column: the heading of Canvas's column, "NAME (NUMBER)" as in its own export; else the
    assignment's name, for which Canvas makes a new column. so_far: take the points that are decided
    where some are not.
    """
    made, counted = Export(path), []
    twice = (
        {}
        if to == "gradescope"
        else shared([verdict for verdict, _ in rows], lambda one: _number(one, to))
    )
    for verdict, graded in rows:
        points = exercise_points(verdict, graded, assignment)
        total = total_points(points, graded)
        waits = open_points(verdict, points, graded)
        if is_lost(verdict):
            made.left_out[verdict.label] = verdict.waits("")
        elif to != "gradescope" and not _number(verdict, to):
            made.left_out[verdict.label] = WITHOUT_NUMBER
        elif verdict.student in twice:
            made.left_out[verdict.label] = twice[verdict.student]
        elif total is None or graded.unjudged or waits and not so_far:
            made.left_out[verdict.label] = " ".join(waits)
        else:
            counted.append((verdict, points, extra_credit(points, graded), total))
    made.students = len(counted)
    if to == "gradescope":
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        _take_away(
            path,
            {verdict.student for verdict, _ in rows} - {verdict.student for verdict, *_ in counted},
        )
    GRADES[to](path, counted, assignment, column)
    return made


def _canvas(path: Path, counted: list, assignment: Assignment, column: str) -> None:
    most = sum(one.points for one in assignment.exercises.values())
    _write_csv(
        path,
        ["Student", "ID", "SIS Login ID", "Section", column or assignment.name],
        [["    Points Possible", "", "", "", f"{most:g}"]]
        + [
            [spreadsheet_text(shown(verdict.name, WHOLE)), verdict.lms_id, "", "", f"{total:g}"]
            for verdict, *_, total in counted
        ],
    )


def _moodle(path: Path, counted: list, assignment: Assignment, column: str) -> None:
    """`-` is Moodle's own word for "never": a grade that somebody has set since is only replaced if
    its form is told so.
    """
    most = sum(one.points for one in assignment.exercises.values())
    _write_csv(
        path,
        ["Identifier", "Full name", "Grade", "Maximum grade", "Last modified (grade)"],
        [
            [
                f"Participant {verdict.lms_id}",
                spreadsheet_text(shown(verdict.name, WHOLE)),
                f"{total:g}",
                f"{most:g}",
                "-",
            ]
            for verdict, *_, total in counted
        ],
    )


def _gradescope(path: Path, counted: list, assignment: Assignment, column: str) -> None:
    for verdict, points, extra, total in counted:
        results = {result["exercise"]: result for result in verdict.results}
        tests = [
            {
                "name": id,
                "score": points[id],
                "max_score": one.points,
                "output": _said(results.get(id)),
                "visibility": "visible",
                "status": "passed" if points[id] >= one.points else "failed",
            }
            for id, one in assignment.exercises.items()
            if points[id] is not None
        ]
        tests += [
            {
                "name": f"{id}, extra credit",
                "score": more,
                "max_score": 0,
                "visibility": "visible",
                "status": "passed",
            }
            for id, more in extra.items()
        ]
        record = {
            "score": total,
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "execution_time": round(verdict.seconds),
            "tests": tests,
        }
        write_whole(
            path / verdict.student / "results.json",
            json.dumps(record, indent=1, ensure_ascii=False),
            OWNER_ONLY,
        )


def _take_away(path: Path, students: set[str]) -> None:
    """Remove what an earlier export said of students who are left out now."""
    for student in students:
        with writing(path):
            (path / student / "results.json").unlink(missing_ok=True)


GRADES: dict[str, Callable[[Path, list, Assignment, str], None]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
}


def _said(result: dict | None) -> str:
    """The first behaviour that failed, in the sentences of the feedback page."""
    failed = first_failure(result["stages"]) if result else None
    return " ".join(sentences(failed)) if failed else ""


def _number(verdict: Verdict, platform: str) -> str:
    """This platform's number, "" for one that came from the other's download: there it is somebody
    else's.

    Canvas's anonymous download has a word in its place, which no gradebook knows.
    """
    by_canvas = canvas(verdict.entry)
    foreign = MOODLE.fullmatch(verdict.entry) if platform == "canvas" else by_canvas
    return (
        ""
        if foreign or by_canvas and by_canvas.anonymous or not verdict.lms_id.isdecimal()
        else verdict.lms_id
    )


def _write_csv(path: Path, heading: list[str], lines: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([heading, *lines])
    write_whole(path, text.getvalue(), OWNER_ONLY)


def zip_feedback(
    to: str, rows: Rows, assignment: Assignment, course_root: Path, path: Path
) -> Export:
    """Put the feedback pages that lie in the course root into one zip; `to` is a key of NAMES."""
    made, data, taken = Export(path), io.BytesIO(), set()
    twice = {} if to == "folders" else shared([verdict for verdict, _ in rows])
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for verdict, graded in rows:
            page = feedback_path(course_root, assignment.name, verdict.student)
            name = _apart(NAMES[to](verdict), taken)
            if is_lost(verdict):
                made.left_out[verdict.label] = verdict.waits("")
            elif not name:
                made.left_out[verdict.label] = _why_unnamed(to, verdict)
            elif verdict.student in twice:
                made.left_out[verdict.label] = twice[verdict.student]
            elif graded.unjudged:
                made.left_out[verdict.label] = graded.unjudged
            elif not page.is_file():
                made.left_out[verdict.label] = "there is no feedback page; run `course report`"
            else:
                info = zipfile.ZipInfo(f"{name}{assignment.name}.html", LONG_AGO)
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(info, page.read_bytes())
                made.students += 1
    write_whole(path, data.getvalue(), OWNER_ONLY)
    return made


def _apart(name: str, taken: set[str]) -> str:
    """The name, with a number to it where one is taken that differs in case only: such two folders
    are one on many machines.
    """
    plain, number = name.rstrip("/"), 1
    while name and name.casefold() in taken:
        number += 1
        name = f"{plain} ({number})/"
    taken.add(name.casefold())
    return name


def _canvas_name(verdict: Verdict) -> str:
    """Canvas finds student and file by the two numbers, so they must be those of its download.

    The name before them is for people.
    """
    found = canvas(verdict.entry)
    prefix = (
        re.sub(r"[^\w.-]", "", verdict.entry[: found.start]) if found and found.numbered else ""
    )
    again = canvas(f"{prefix}{found.file}") if prefix else None
    return (
        prefix
        if again and (again.id, again.start, again.numbered) == (found.id, len(prefix), True)
        else ""
    )


def _why_unnamed(to: str, verdict: Verdict) -> str:
    found = canvas(verdict.entry) if to == "canvas" else None
    return WITHOUT_NUMBER if not found else MISREAD if found.numbered else WITHOUT_FILE


def _moodle_name(verdict: Verdict) -> str:
    return (
        f"{verdict.student.replace('_', ' ')}_{verdict.lms_id}_assignsubmission_file_"
        if _number(verdict, "moodle")
        else ""
    )


NAMES: dict[str, Callable[[Verdict], str]] = {
    "canvas": _canvas_name,
    "moodle": _moodle_name,
    "folders": lambda verdict: f"{verdict.student}/",
}
