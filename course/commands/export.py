"""`course export`: grades in the form that a learning platform reads."""

import argparse
import json
from pathlib import Path

from course.folders import course_root_there, new_place, say_made
from course.options.assignment import HELP, chosen
from course.options.database import add_database, take_database

SUMMARY = "write the grades for Canvas, Moodle or Gradescope"
EPILOG = """\
  canvas      one csv for Gradebook > Import. --column "NAME (NUMBER)" names the column as in
              Canvas's own export
  moodle      one csv for the assignment's "Upload grading worksheet". A grade that somebody set in
              Moodle since is replaced only if you tick there that it may be
  gradescope  STUDENT/results.json, as its autograder writes them

Points and extra credit given by hand count, and nbgrader's late penalty. A student with something
that needs manual grading is left out and named; --so-far exports what is decided. A student whose
newer attempt is not graded yet is left out in any case. Canvas and Moodle know a student by a
number, which comes with their own download of submissions. Exit codes: 0 all are in it, 1 somebody
is left out, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which platform, which assignment, where to."""
    parser.add_argument(
        "--to",
        required=True,
        choices=("canvas", "moodle", "gradescope"),
        help="for which platform, see below",
    )
    parser.add_argument("--assignment", default="", help=HELP)
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help="the course directory that `course grade` used (default: class)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="PATH",
        help="the file, or for gradescope the folder (default: in report/)",
    )
    parser.add_argument(
        "--column",
        default="",
        metavar="NAME",
        help="the heading of Canvas's column (default: the assignment's name)",
    )
    parser.add_argument(
        "--so-far", action="store_true", help="count what is decided where something is not"
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when somebody is left out."""
    from autograder.classroom.grade_class import places, records
    from autograder.classroom.reports.lms_export import export_grades
    from autograder.classroom.submissions.metadata import never_judged
    from autograder.common.errors import CourseError

    if args.column and args.to != "canvas":
        raise CourseError(
            f"--column {args.column}: only Canvas's csv has a column to name; leave it out for"
            f" {args.to}"
        )
    root, report = places(args.course_root, None, args.sample)
    course_root_there(root)
    take_database(args, root)
    loaded, rows = records(root, chosen(args.assignment, root))
    ending = "" if args.to == "gradescope" else ".csv"
    made = new_place(args.out, "--out", folder=not ending)
    found = export_grades(
        args.to,
        rows,
        loaded,
        args.out or report / f"{args.to}-{loaded.name}{ending}",
        args.column,
        args.so_far,
    )
    found.left_out |= never_judged(root.resolve(), loaded)
    say_made(made)
    return tell(found, args.json)


def tell(made, as_json: bool = False) -> int:
    """Print who is in an Export and who is not, a line a reason; the exit code."""
    if as_json:
        print(
            json.dumps(
                {"path": str(made.path), "students": made.students, "left_out": made.left_out},
                indent=1,
            )
        )
        return 1 if made.left_out else 0
    print(f"written    {made.path} ({made.students} students)")
    by_reason: dict[str, list[str]] = {}
    for student, reason in sorted(made.left_out.items()):
        by_reason.setdefault(reason, []).append(student)
    for reason, students in by_reason.items():
        print(f"left out   {', '.join(students)}: {reason}")
    return 1 if made.left_out else 0
