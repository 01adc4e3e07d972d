"""`course return`: what goes back to the learning platform, grades and feedback together."""

import argparse
from pathlib import Path

from course.commands import export, release_feedback
from course.folders import course_root_there
from course.options.assignment import HELP, chosen
from course.options.database import add_database

SUMMARY = "write what the learning platform takes back: the grades and the feedback pages"
EPILOG = """\
It does what `course export` and `course release-feedback` do, for the platform that the
submissions came from. Exit codes: 0 everybody is in both, 1 somebody is left out and named, 2
could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which class, and which platform where the files do not tell."""
    parser.add_argument("--lms", choices=("canvas", "moodle"), help="default: where they came from")
    parser.add_argument("--assignment", default="", help=HELP)
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help="the course directory that `course grade` used (default: class)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument(
        "--so-far", action="store_true", help="count what is decided where something is not"
    )
    add_database(parser)
    parser.add_argument(
        "--json", action="store_true", help="print both results as JSON, a line each"
    )
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """The larger exit code of the two."""
    from autograder.classroom.grade_class import places

    root, _ = places(args.course_root, None, args.sample)
    args.assignment = chosen(args.assignment, course_root_there(root))
    args.to = args.lms = args.lms or platform_of(root, args.assignment)
    args.out, args.column = None, ""
    return max(export.run(args), release_feedback.run(args))


def platform_of(root: Path, assignment: str) -> str:
    """The platform whose download the submissions came in.

    Raises CourseError if they do not tell.
    """
    from autograder.classroom.grade_class import records
    from autograder.common.errors import CourseError
    from autograder.grading.intake.lms_layouts import MOODLE, canvas

    _, rows = records(root, assignment)
    entries = [Path(record.entry).name for record, _ in rows if record.entry]
    moodle = sum(MOODLE.fullmatch(entry) is not None for entry in entries)
    of_canvas = sum(canvas(entry) is not None for entry in entries)
    if moodle == of_canvas:
        raise CourseError(
            f"{root}: the submissions of {assignment} do not tell which platform they came from: "
            "give --lms canvas or --lms moodle"
        )
    return "moodle" if moodle > of_canvas else "canvas"
