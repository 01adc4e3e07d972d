"""`course release-feedback`: the feedback pages in one zip, ready to send back."""

import argparse
from pathlib import Path

from course.folders import course_root_there, new_place, say_made
from course.options.assignment import HELP, chosen
from course.options.database import add_database, take_database

SUMMARY = "put the feedback pages into a zip that a learning platform takes"
EPILOG = """\
  canvas   for Assignment > Upload submissions: each page becomes a comment on the
           submitted file
  moodle   for the assignment's "Upload multiple feedback files in a zip"
  folders  STUDENT/ASSIGNMENT.html, to send as you like

The pages are regenerated first, with points given by hand. They are single files without scripts;
nothing in them comes from elsewhere. A student whose newer attempt is not graded yet is left out.
Exit codes: 0 everybody's page is in it, 1 somebody is left out, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which platform, which assignment, where to."""
    parser.add_argument(
        "--lms",
        required=True,
        choices=("canvas", "moodle", "folders"),
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
        "--out", type=Path, default=None, metavar="FILE", help="the zip (default: in report/)"
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when somebody is left out."""
    from autograder.classroom.grade_class import places, records, rewrite
    from autograder.classroom.reports.lms_export import zip_feedback
    from autograder.classroom.submissions.metadata import never_judged
    from course.commands.export import tell

    root, report = places(args.course_root, None, args.sample)
    course_root_there(root)
    made = new_place(args.out, "--out")
    take_database(args, root)
    name = chosen(args.assignment, root)
    rewrite(root, report, name)
    loaded, rows = records(root, name)
    found = zip_feedback(
        args.lms,
        rows,
        loaded,
        root.resolve(),
        args.out or report / f"feedback-{args.lms}-{loaded.name}.zip",
    )
    found.left_out |= never_judged(root.resolve(), loaded)
    say_made(made)
    return tell(found, args.json)
