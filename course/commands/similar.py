"""`course similar`: pairs of students whose code is alike, as notebooks to read."""

import argparse
import json
from pathlib import Path

from course.folders import course_root_there, new_place, say_made
from course.options.assignment import HELP, chosen

SUMMARY = "name pairs of students whose code is alike, to look at; never proof"
EPILOG = """\
Compares what students wrote in an assignment that was graded here, token by token as MOSS does, by
the library copydetect. Renamed variables, other comments and another order make no difference. Left
out is what was given out, and what more than a tenth of the class have. Likeness has innocent
causes: the page shows both cells side by side, and what becomes of it is yours to say. Nothing goes
into gradebook, feedback or exports; no student sees it.
Exit codes: 0 written, 1 there are pairs or somebody's code could not be compared, 2 could not
run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and where to."""
    parser.add_argument("assignment", nargs="?", default="", metavar="ASSIGNMENT", help=HELP)
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
        help="where the page goes (default: report/ in the course directory)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument(
        "--json", action="store_true", help="print the pairs as JSON, without the code"
    )
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Exit code 1 when there is something to look at."""
    from autograder.classroom.grade_class import places, records
    from autograder.classroom.reports.html_pages import assignment_title
    from autograder.classroom.similarity.report import similar, write_similar
    from autograder.common.error_boundary import Guard

    root, report = places(args.course_root, args.report, args.sample)
    course_root_there(root)
    place = new_place(args.report, "--report", folder=True)
    loaded, rows = records(root, chosen(args.assignment, root, ""))
    made = similar(loaded, [verdict for verdict, _ in rows], Guard(root))
    page = write_similar(report / f"{loaded.name}-similar.html", made, assignment_title(loaded))
    say_made(place)
    if args.json:
        print(json.dumps(made.to_json() | {"page": str(page)}, indent=1))
    else:
        print(
            f"compared   {made.compared} students of {loaded.name}: {len(made.pairs)} pairs to"
            " look at"
        )
        for pair in made.pairs:
            print(
                f"pair       {pair['one'].label} and {pair['other'].label}:"
                f" {100 * pair['share']:.0f} % of their rarer code"
            )
        print(
            "\n".join(
                [
                    *(f"unread     {student}: {reason}" for student, reason in made.unread.items()),
                    f"page       {page}",
                ]
            )
        )
        if made.pairs:
            print("Likeness has innocent causes: read both notebooks before you say anything.")
    return 1 if made.pairs or made.unread else 0
