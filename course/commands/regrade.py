"""`course regrade`: judge again what is by older checks, show what changes, and write it when asked
to.
"""

import argparse
import json
import sys
from pathlib import Path

from course.commands.grade import CHECKER_FAILED
from course.folders import course_root_there, new_place, say_made
from course.options.assignment import HELP, chosen
from course.options.budget import add_budget, budget_of
from course.options.database import add_database, take_database

SUMMARY = "after checks have changed: show what changes, and write it with --apply"
EPILOG = """\
Only results by older checks, and those whose record cannot be read, are graded again, from the
copies of earlier runs. Without --apply nothing of the class changes: records, gradebook and pages
stay, and the new results are kept for the next run. With --apply the same lines are printed first:
one for each student whose results change, with the sums of grades.csv before and after; --details
has each exercise. Points and comments given by hand stay; those of a changed exercise are named,
and are marked for another look.
Exit codes: 0 nothing changes, or it is written; 1 something would change, or somebody's copy is
not there; 2 could not run, or notebooks whose points are known, which are graded first, did not
earn them here; 3 the checker itself failed on part of the submissions, which the last line
names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and whether to write."""
    parser.add_argument("assignment", nargs="?", default="", metavar="ASSIGNMENT", help=HELP)
    parser.add_argument("--apply", action="store_true", help="write what changes")
    parser.add_argument(
        "--student",
        metavar="STUDENT",
        help=(
            "grade one student's notebook again with the same hidden inputs, and compare with the"
            " record: the key, the name or the platform's number, as in grades.csv; nothing is"
            " written"
        ),
    )
    parser.add_argument(
        "--forget",
        action="store_true",
        help="with --student, the key: remove the results that are stored of this student's work",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument(
        "--details",
        action="store_true",
        help="name every exercise that changes, with its tests",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="submissions at the same time (default: 1)"
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
        help="where the report goes (default: report/ in the course directory)",
    )
    add_budget(parser, "; give it again if you graded with more")
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="bubblewrap, container or process (default: the strongest)",
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="start every sandbox afresh, instead of forking it from one that has imported torch",
    )
    parser.add_argument(
        "--allow-unsafe",
        action="store_true",
        help="with --backend process: run submissions without isolation, as yourself",
    )
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print what changes as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when something would change and is not written."""
    sys.modules.setdefault("rfc3987_syntax", None)  # as in `course grade`
    from autograder.classroom.grade_class import places
    from autograder.classroom.regrade import plan, write
    from autograder.classroom.reports.run_summary import said_failed
    from autograder.common.errors import CourseError
    from autograder.grading.assignment import load_assignment
    from autograder.sandbox import choose_backend
    from course import verify_student

    if args.forget:
        return verify_student.forget(args)
    if args.student is not None:
        if args.apply:
            raise CourseError("--student only compares: leave out --apply, or leave out --student")
        return verify_student.run(args)
    if args.jobs < 1:
        raise CourseError(f"--jobs {args.jobs}: give 1 or more")
    budget = budget_of(args)
    root, report = places(args.course_root, args.report, args.sample)
    course_root_there(root)
    place = new_place(args.report, "--report", folder=True)
    take_database(args, root)
    one = load_assignment(chosen(args.assignment, root, ""))
    backend = choose_backend(args.backend, args.allow_unsafe, args.cold)
    made = plan(root, one, backend, args.jobs, budget=budget)
    if not args.json:
        print("\n".join(made.lines(args.details)), flush=True)
    summary = write(root, report, made, backend) if args.apply and made.verdicts else None
    say_made(place if summary else "")
    if args.json:
        print(json.dumps(made.to_json() | {"written": summary is not None}, indent=1))
    elif summary:
        print("\n".join(summary.lines()))
    elif made.verdicts:
        print("nothing is written: `course regrade --apply` writes it")
    if failed := summary.failed if summary else made.failed:
        said = "" if args.json or summary else said_failed(failed)  # a summary ends with it
        print(said, end="\n" * bool(said))
        return CHECKER_FAILED
    return 1 if made.cannot or (made.changes and not summary) else 0
