"""`course verify`: judge one student's notebook again and compare with the record."""

import argparse
import json
from pathlib import Path

from course.assignment_option import HELP, chosen
from course.budget_option import add_budget, budget_of
from course.folders import course_root_there

SUMMARY = "judge one student's notebook again and compare with the record"
EPILOG = """\
The copy that was graded, by its hash, goes through the sandbox with the same hidden inputs; every behaviour is shown with the
sentence of the feedback page. A .course-secret that is gone, or is not the one of the record, is said. Nothing is written: where it differs, `course grade --regrade` changes the record.
Exit codes: 0 the same, 1 something differs, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Who, and where the records lie."""
    parser.add_argument(
        "student",
        metavar="STUDENT",
        help="as in grades.csv: the key, the name or the platform's number",
    )
    parser.add_argument("assignment", nargs="?", default="", metavar="ASSIGNMENT", help=HELP)
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help="the course root that `course grade` used (default: class)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    add_budget(parser, "; give it again if you graded with more")
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="bubblewrap, container or process (default: the strongest)",
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="start the sandbox anew, instead of forking it from one that has imported torch",
    )
    parser.add_argument(
        "--allow-unsafe",
        action="store_true",
        help="with --backend process: run the notebook without isolation, as yourself",
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 0 when every behaviour came out as in the record."""
    from autograder.classroom.replay import replay
    from autograder.classroom.whole_class import places
    from autograder.sandbox import choose_backend

    budget = budget_of(args)
    root, _ = places(args.course_root, None, args.sample)
    name = chosen(args.assignment, course_root_there(root), "")
    found = replay(
        root, name, args.student, choose_backend(args.backend, args.allow_unsafe, args.cold), budget
    )
    print(
        json.dumps(
            {
                "path": str(found.path),
                "differences": found.differences,
                "record": found.record.to_json(),
                "again": found.again.to_json(),
                "newer": found.newer,
            },
            indent=1,
        )
        if args.json
        else "\n".join(found.lines())
    )
    return 1 if found.differences else 0
