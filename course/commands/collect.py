"""`course collect`: what a class handed in, into nbgrader's submitted/."""

import argparse
import json
from pathlib import Path
from typing import Any

from course.folders import new_course_root, say_made
from course.options.assignment import chosen_for
from course.options.database import add_database, take_database

SUMMARY = "copy a class's submissions into nbgrader's submitted/, without touching the originals"
EPILOG = """\
SUBMISSIONS is a platform's download as it comes (Canvas, Moodle: a folder or one zip), or folders
and zips of your own; see `course grade --help`. With --exchange nbgrader's own exchange is
collected instead.

Each notebook is copied to submitted/STUDENT/ASSIGNMENT/ of the course directory, a later attempt
over the copy of an earlier one. The submissions themselves are only read. A folder there that is no
copy of ours is left as it is, and named. Names, the platform's numbers and lateness are noted for
`course grade`, which takes what is collected when it is given no SUBMISSIONS.
Exit codes: 0 all are there, 1 somebody's could not be taken or read, or an entry is nobody's, 2
could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """From where, which assignment, where to."""
    parser.add_argument(
        "submissions", nargs="?", type=Path, metavar="SUBMISSIONS", help="a folder or one zip"
    )
    parser.add_argument("--exchange", action="store_true", help="from nbgrader's exchange")
    parser.add_argument(
        "--assignment",
        default="",
        help="number or name (default: the one that the submissions are named after)",
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=Path("class"),
        metavar="DIR",
        help="nbgrader's course directory (default: class)",
    )
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print what was taken as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when somebody's work could not be taken or an entry is nobody's."""
    from autograder.classroom.grade_class import journal
    from autograder.classroom.submissions.collect import collect
    from autograder.classroom.submissions.identities import of_records
    from autograder.classroom.submissions.metadata import refuse_inside
    from autograder.common.errors import CourseError
    from autograder.grading.assignment import load_assignment

    root = args.course_root
    if (args.submissions is None) == (not args.exchange):
        raise CourseError(
            "give the folder or zip of the submissions, or --exchange for nbgrader's exchange, not"
            " both"
        )
    if args.submissions:
        refuse_inside(args.submissions, **{"--course-root": root})
    made = new_course_root(root)
    loaded = load_assignment(chosen_for(args.submissions, args.assignment, root))
    take_database(args, root, make=True)
    say_made(made)
    if args.exchange:
        return _from_exchange(root, loaded, args.json)
    made = collect(args.submissions, loaded, root, of_records(journal(root, loaded).values()))
    if args.json:
        print(json.dumps(made.to_json(), indent=1))
    else:
        _print_collected(made)
    return 1 if made.problems or made.left_out else 0


def _from_exchange(root: Path, loaded: Any, as_json: bool) -> int:
    from autograder.classroom.submissions.exchange import collect_from_exchange

    folder = collect_from_exchange(root, loaded)
    students = sorted(path.parent.name for path in folder.glob(f"*/{loaded.name}"))
    print(
        json.dumps({"folder": str(folder), "students": students}, indent=1)
        if as_json
        else f"collected  {folder}: {len(students)} students have handed in {loaded.name}"
    )
    return 0


def _print_collected(made: Any) -> None:
    print(
        f"collected  {made.folder}: {len(made.new)} new, {len(made.changed)} handed in again,"
        f" {len(made.same)} as before"
    )
    for student, reason in sorted(made.problems.items()):
        print(f"problem    {student}: {reason}")
    for student, sentences in sorted(made.notes.items()):
        print("\n".join(f"note       {student}: {sentence}" for sentence in sentences))
    for entry, reason in sorted(made.left_out.items()):
        print(f"left out   {entry}: {reason}")
