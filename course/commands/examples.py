"""`course examples`: who of a class wrote examples, and how many mistakes those would catch."""

import argparse
import json
from functools import partial
from pathlib import Path

SUMMARY = "list the examples that students of a class wrote, and what those would catch"
EPILOG = """\
Examples are cells that a student added: `from autograder.examples import examples` and
  examples("04.masks", [((torch.tensor([3, 2]), 2, 3), expected), ...])
They are read in the sandbox from the graded notebooks. An example that does not hold catches
nothing. `course report` then has a column of them. Whether they were written before the code cannot
be seen, and nothing enters the gradebook.
Exit codes: 0 listed, 1 some student's examples could not be run, 2 could not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which assignment, and where the class is."""
    parser.add_argument("assignment", metavar="ASSIGNMENT", help='its number, such as "04"')
    parser.add_argument(
        "--course-root",
        type=Path,
        default=None,
        metavar="DIR",
        help="the course directory that `course grade` used (default: class)",
    )
    parser.add_argument("--sample", action="store_true", help="the sample class, in _build/course")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.epilog = EPILOG


def run(args: argparse.Namespace) -> int:
    """Print a row for each student and exercise with examples."""
    from dataclasses import asdict

    from autograder.classroom.grade_class import places, records
    from autograder.classroom.reports.examples_column import write_examples
    from autograder.common.error_boundary import Guard
    from autograder.examples.class_table import rows_of
    from autograder.grading.grade import sandboxes
    from course.folders import course_root_there

    root, _ = places(args.course_root, None, args.sample)
    course_root_there(root)
    loaded, graded = records(root, args.assignment)
    guard, rows, without = Guard(root), [], 0
    with sandboxes(loaded, None) as pool:
        for verdict in (one for one, _ in graded if one.readable):
            found = guard.run(
                verdict.student, "reading its examples", partial(rows_of, loaded, verdict, pool)
            )
            rows += found or []
            without += found == []
    write_examples(root, loaded.name, [asdict(one) for one in rows])
    if args.json:
        said = {"rows": [asdict(one) for one in rows], "without": without}
        said["not_judged"] = dict(guard.troubles)
        print(json.dumps(said, indent=1))
    else:
        print("\n".join(_lines(rows, without, guard.troubles)))
    return 1 if guard.troubles or any(one.reason for one in rows) else 0


def _lines(rows: list, without: int, troubles: dict) -> list[str]:
    found = []
    for one in rows:
        points = "no points yet" if one.points is None else f"{one.points:g} points"
        said = one.reason or (
            f"{one.holding} of {one.examples} hold, catch {one.caught} of {one.mistakes} mistakes"
        )
        found.append(f"{one.student:<16} {one.exercise:<24} {said}; {points}")
    found += [f"{student:<16} not run: {why}" for student, why in troubles.items()]
    return [*found, f"{without} students without examples"]
