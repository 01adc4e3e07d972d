"""`course report`: feedback, grades.csv and class report again, after grading by hand."""
import argparse
from pathlib import Path

SUMMARY = "write the class report from the records of the last grading"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `course report`."""
    parser.add_argument("--assignment", default="01", help="number or name (default: 01)")
    parser.add_argument("--course-root", type=Path, default=None, metavar="DIR",
                        help="the course root that `course grade` used (default: class)")
    parser.add_argument("--report", type=Path, default=None, metavar="DIR",
                        help="where grades.csv and the page go (default: report/ in the course root)")
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")


def run(args: argparse.Namespace) -> int:
    """Exit code 0; a missing record is a CourseError."""
    from autograder.classroom.whole_class import places, rewrite

    grades, page = rewrite(*places(args.course_root, args.report, args.sample), args.assignment)
    print(f"grades     {grades}\nreport     {page}")
    return 0
