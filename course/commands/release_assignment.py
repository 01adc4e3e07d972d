"""`course release-assignment`: what students get of an assignment, as one archive, and through nbgrader's exchange."""

import argparse
import json
from pathlib import Path

from course.folders import new_course_root, new_place, say_made

SUMMARY = "put an assignment into an archive for students: notebook, what it imports, no answers"
EPILOG = """\
In the archive are the notebook, the code that its cells and its visible checks import, the packages' lock, and a page that
says how to begin. No solution, no known mistake, no other chapter's checks and nothing of the grader are in it. What the
exercises withhold stands there without its body: the cells after the exercises that need the course's own models say so.

The visible checks compare with right values. What works these out stands in the archive without its body, or is cut out of its
line, and gives what it gave when the archive was made: with visible seeds a check always asks the same. To find out what can be
recorded, and that it suffices, the reference and one in five of the other right answers and known mistakes are checked with the
repository and once more with the archive (all of them where WORD2SERVE_EVERY_CASE is set, as in the long tests). That takes a
minute or two, with chapters of kernels many more, and nothing is written unless all get the same. What has to stay, because a student's code calls it or because it
is asked about a student's answer, is named under "kept", with the reason.

--exchange also releases the notebook through nbgrader's exchange, whose folder c.Exchange.root in the course root's
nbgrader_config.py names. Exit codes: 0 written, 2 could not run."""


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
        help="leave the reference and the checks as they are, answers included",
    )
    parser.add_argument(
        "--checks-as-they-are",
        action="store_true",
        help="record nothing: quick, and who copies a line of the checks that "
        "works a value out has an answer",
    )
    parser.add_argument(
        "--exchange",
        action="store_true",
        help="release the notebook through nbgrader's exchange, too",
    )
    parser.add_argument(
        "--course-root",
        type=Path,
        default=Path("class"),
        metavar="DIR",
        help="nbgrader's course root, for --exchange (default: class)",
    )
    parser.add_argument("--json", action="store_true", help="print what is in the archive as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Write the archive and say what is in it."""
    from autograder.classroom.exchange import release_through_exchange
    from autograder.classroom.release import release
    from autograder.grading.assignment import load_assignment

    loaded = load_assignment(args.assignment)
    fresh = [
        new_place(args.out, "--out"),
        new_course_root(args.course_root) if args.exchange else "",
    ]
    made = release(
        loaded,
        args.out or Path("release") / f"{loaded.name}.zip",
        args.with_reference,
        args.checks_as_they_are,
    )
    exchanged = release_through_exchange(args.course_root, loaded) if args.exchange else None
    say_made(*fresh)
    if args.json:
        print(
            json.dumps(
                {
                    "path": str(made.path),
                    "files": made.files,
                    "withheld": made.withheld,
                    "kept": made.kept,
                    "recorded": made.recorded,
                    "expressions": made.expressions,
                    "compared": made.compared,
                    "exchange": str(exchanged) if exchanged else None,
                },
                indent=1,
            )
        )
        return 0
    print(
        f"written    {made.path} ({len(made.files)} files, {made.path.stat().st_size / 1024:.0f} KB)"
    )
    print(f"withheld   {', '.join(made.withheld) or 'nothing'}")
    if not (args.with_reference or args.checks_as_they_are):
        print(
            f"recorded   {len(made.recorded)} functions and {made.expressions} expressions of the checks; {made.compared} answers "
            "get the same from the archive as from here"
        )
    for why in dict.fromkeys(made.kept.values()):
        print(
            f"kept       {', '.join(name for name, reason in made.kept.items() if reason == why)}: {why}"
        )
    if exchanged:
        print(f"exchange   {exchanged}")
    return 0
