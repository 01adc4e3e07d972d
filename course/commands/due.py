"""`course due`: due dates and extensions, in nbgrader's gradebook."""

import argparse
import json
from pathlib import Path
from typing import Any

from course.folders import course_root_there, new_course_root, say_made
from course.options.assignment import HELP, chosen
from course.options.database import add_database, take_database

DEFAULT_ROOT = Path("class")
SUMMARY = "show or set an assignment's due date and a student's extension, in nbgrader's gradebook"
EPILOG = """\
A date without a zone is UTC: "2026-03-01 23:59 +0100". A span is 90m, 36h, 2d or 1w and counts from
the class's due date; 0d takes an extension away. STUDENT is the key in the gradebook, as in
grades.csv; a student without a submission gets the extension with the first one. `--date none`
takes the date away; extensions wait until another one is set.

What is late follows from nbgrader's timestamp.txt next to the notebook. There is no late penalty
unless the course directory's nbgrader_config.py names a plugin: nbgrader's own, or ours, which
subtracts a fraction of the points for each day.
  c.AssignLatePenalties.plugin_class = "autograder.classroom.late.ShareEachDay"
  c.ShareEachDay.share = 0.1              # of the points, for each day or part of one
  c.ShareEachDay.most = 0.5               # for all days together
  c.ShareEachDay.grace_minutes = 15
After a change the pages are old until `course report` writes them again; the late penalty is
recomputed at once.
Exit codes: 0 shown or set, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, which date, who gets longer."""
    parser.add_argument("assignment", nargs="?", default="", metavar="ASSIGNMENT", help=HELP)
    parser.add_argument("--date", metavar="DATE", help='the due date, or "none"')
    parser.add_argument(
        "--extend",
        metavar="STUDENT=SPAN",
        action="append",
        default=[],
        help="give a student longer; may be repeated",
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=DEFAULT_ROOT,
        metavar="DIR",
        help="nbgrader's course directory (default: class)",
    )
    add_database(parser)
    parser.add_argument("--json", action="store_true", help="print the dates as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Set what was asked for and print what stands."""
    from autograder.classroom.gradebook import deadlines as late
    from autograder.classroom.gradebook.course import (
        CONFIG_FILE,
        open_gradebook,
        prepare_course_root,
    )
    from autograder.common.errors import CourseError
    from autograder.grading.assignment import load_assignment

    root = args.course_root.resolve()
    known_root = root if args.assignment else course_root_there(args.course_root)
    loaded = load_assignment(chosen(args.assignment, known_root, ""))
    date = late.moment(args.date) if args.date not in (None, "none") else None
    spans = _spans(args.extend)
    sets, made = args.date is not None or bool(spans), ""
    if (sets or args.db) and (root.is_dir() or args.course_root == DEFAULT_ROOT):
        made = new_course_root(args.course_root)  # dates are often the first that a class has
    elif not (root / CONFIG_FILE).exists() and course_root_there(args.course_root):
        raise CourseError(
            f"{args.course_root} is no course root, so it has no dates; give --course-root the"
            " folder of the class, or set a date with --date"
        )
    take_database(args, root, make=True)
    say_made(made)
    config = prepare_course_root(root, loaded)
    with open_gradebook(config) as gradebook:
        if args.date is not None:
            late.set_due(gradebook, loaded.name, root, date)
        for student, more in spans.items():
            late.extend(gradebook, loaded.name, root, student, more)
        if sets:
            late.settle(gradebook, config, loaded.name, root)
        found = late.dates(gradebook, loaded.name, root)
    if args.json:
        print(json.dumps({"assignment": loaded.name} | found.to_json(), indent=1))
        return 0
    _print_dates(loaded.name, found)
    return 0


def _spans(words: list[str]) -> dict[str, Any]:
    """How much longer each student gets. Raises CourseError where it is not STUDENT=SPAN."""
    from autograder.classroom.gradebook.deadlines import span
    from autograder.common.errors import CourseError

    spans = {}
    for word in words:
        student, equals, text = word.rpartition("=")
        if not equals or not student:
            raise CourseError(f"--extend {word}: give STUDENT=SPAN, for example ada=2d")
        spans[student] = span(text)
    return spans


def _print_dates(name: str, found: Any) -> None:
    print(
        f"due        {name}: "
        + (f"{found.due:%Y-%m-%d %H:%M} UTC" if found.due else "no date is set")
    )
    why = (
        "; nothing is handed in yet" if found.due else "; it counts from the date that is set next"
    )
    for word, some in (("longer", found.extensions), ("waits", found.waiting)):
        for student, more in sorted(some.items()):
            print(f"{word:<10} {student}: {more}" + (why if word == "waits" else ""))
