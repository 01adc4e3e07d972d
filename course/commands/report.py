"""`course report`: feedback, grades.csv and class report again, after grading by hand."""

import argparse
import json
from pathlib import Path

from course.folders import course_root_there, new_place, say_made
from course.options.database import add_database, take_database

SUMMARY = "write the class report from the records of the last grading"
EPILOG = """\
index.html has all assignments of the course directory and leads to the page of each: NAME.html has
the spread of the points, how many submissions need manual grading, which to look at, each test with
the fraction of students that passed it and its discrimination, checks to look at again,
misconceptions, time, memory and limits. All are single files without scripts that ask for nothing.
Feedback pages and NAME.csv are written again, too; grades.csv has the rows of every assignment.
Exit codes: 0 written, 2 could not run."""
SOME = 8  # names in a line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `course report`."""
    parser.add_argument(
        "--assignment", default="", help="number or name (default: each that was graded here)"
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help="the course directory that `course grade` used (default: class)",
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=None,
        metavar="DIR",
        help="where grades.csv and the pages go (default: report/ in the course directory)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print what the pages say as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 0; a missing record is a CourseError."""
    from autograder.classroom.grade_class import (
        behind,
        class_figures,
        graded_here,
        places,
        rewrite,
    )
    from autograder.course_layout import INDEX_PAGE

    root, report = places(args.course_root, args.report, args.sample)
    course_root_there(root)
    made = new_place(args.report, "--report", folder=True)
    take_database(args, root)
    names = [args.assignment] if args.assignment else graded_here(root)
    written = [rewrite(root, report, name) for name in names]
    say_made(made)
    if args.json:
        said = [
            {"grades": str(grades), "report": str(page), "newer": behind(root, name)}
            | class_figures(root, name)
            for name, (grades, page) in zip(names, written)
        ]
        print(json.dumps(said[0] if args.assignment else {"assignments": said}, indent=1))
    else:
        print("\n".join(f"report     {page}" for _, page in written))
        for name in (page.stem for _, page in written):
            if waiting := behind(root, name):
                more = f" and {len(waiting) - SOME} more" if len(waiting) > SOME else ""
                print(
                    f"newer      {name}: {', '.join(waiting[:SOME])}{more} handed in work that is"
                    f" not judged yet; `course grade --assignment {name.split('-')[0]}` judges it"
                )
        print(f"all        {report / INDEX_PAGE}\ngrades     {written[-1][0]}")
    return 0
