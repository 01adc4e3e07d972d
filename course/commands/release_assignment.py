"""`course release-assignment`: what students get of an assignment, as one archive, and through
nbgrader's exchange.
"""

import argparse
import json
import sys
from pathlib import Path

from course.folders import new_course_root, new_place, say_made

SUMMARY = "put an assignment into an archive for students: notebook, checks, no solutions"
EPILOG = """\
The archive holds the notebook, its visible checks with the registered mistakes that explain a wrong
answer, the code that these import, the packages' lock, and a page that says how to begin.
Solutions, alternatives, other chapters' checks and the grader are left out. Functions of the
reference implementation that the exercises do not allow raise an error that says why; so do the
cells after the exercises that need the course's own models.

The checks compute right values, so a student who reads them can find an answer, as in the book.
Grading asks for other inputs, which students do not see.

--exchange also releases the notebook through nbgrader's exchange, whose folder c.Exchange.root in
the course directory's nbgrader_config.py names. Exit codes: 0 written, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and where to."""
    parser.add_argument("assignment", metavar="ASSIGNMENT", help='number or name, such as "01"')
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="FILE",
        help="the zip (default: release/NAME.zip here)",
    )
    parser.add_argument(
        "--with-reference",
        action="store_true",
        help="leave the reference implementation as it is, answers included",
    )
    parser.add_argument("--checks-as-they-are", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--exchange",
        action="store_true",
        help="also release the notebook through nbgrader's exchange",
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=Path("class"),
        metavar="DIR",
        help="nbgrader's course directory, for --exchange (default: class)",
    )
    parser.add_argument("--json", action="store_true", help="print what is in the archive as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Write the archive and say what is in it."""
    from autograder.classroom.submissions.exchange import release_through_exchange
    from autograder.grading.assignment import load_assignment
    from autograder.release.archive import write_archive

    if args.checks_as_they_are:
        print(
            "--checks-as-they-are is no longer needed: an archive always has the checks as"
            " they are",
            file=sys.stderr,
        )
    assignment = load_assignment(args.assignment)
    made = [
        new_place(args.out, "--out"),
        new_course_root(args.course_root) if args.exchange else "",
    ]
    path = args.out or Path("release") / f"{assignment.name}.zip"
    contents = write_archive(assignment, path, args.with_reference)
    exchange = release_through_exchange(args.course_root, assignment) if args.exchange else None
    say_made(*made)
    if args.json:
        report = {
            "path": str(path),
            "files": sorted(contents.files),
            "withheld": contents.withheld,
            "kept": contents.kept,
            "exchange": str(exchange) if exchange else None,
        }
        print(json.dumps(report, indent=1))
        return 0
    kilobytes = path.stat().st_size / 1024
    print(f"written    {path} ({len(contents.files)} files, {kilobytes:.0f} KB)")
    print(f"withheld   {', '.join(contents.withheld) or 'nothing'}")
    if contents.kept:
        print(f"kept       {', '.join(contents.kept)}: the checks or registered mistakes use them")
    if exchange:
        print(f"exchange   {exchange}")
    return 0
