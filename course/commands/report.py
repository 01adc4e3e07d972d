"""`course report`: feedback, grades.csv and class report again, after grading by hand."""
import argparse
import json
from pathlib import Path

SUMMARY = "write the class report from the records of the last grading"
EPILOG = """\
index.html has the spread of the points, what needs a person, each behaviour with the share that earned it and its
discrimination, checks to look at again, misconceptions, time and limits. progress.html has all assignments of the course
root. Both are single files without scripts that ask for nothing. Feedback pages and grades.csv are written again, too.
Exit codes: 0 written, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `course report`."""
    parser.add_argument("--assignment", default="01", help="number or name (default: 01)")
    parser.add_argument("--course-root", type=Path, default=None, metavar="DIR",
                        help="the course root that `course grade` used (default: class)")
    parser.add_argument("--report", type=Path, default=None, metavar="DIR",
                        help="where grades.csv and the pages go (default: report/ in the course root)")
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument("--json", action="store_true", help="print what the pages say as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 0; a missing record is a CourseError."""
    from autograder.classroom.whole_class import class_figures, places, rewrite

    root, report = places(args.course_root, args.report, args.sample)
    grades, page = rewrite(root, report, args.assignment)
    if args.json:
        print(json.dumps({"grades": str(grades), "report": str(page)} | class_figures(root, args.assignment), indent=1))
    else:
        print(f"grades     {grades}\nreport     {page}\nprogress   {page.with_name('progress.html')}")
    return 0
