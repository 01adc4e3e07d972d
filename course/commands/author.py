"""`course author`: what somebody who writes exercises runs. A student needs none of it."""

import contextlib
import io
import json
from argparse import Namespace
from collections.abc import Callable

SUMMARY = (
    "for authors of exercises: check, matrix, mutants, prove, try, hand-out, what is not allowed"
)


def add_arguments(parser) -> None:
    """One parser for each of the author's commands."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)

    check = parts.add_parser(
        "check",
        help="run the checks on the reference solution, a known mistake or another right answer",
    )
    _exercise(check)
    check.add_argument(
        "--impl",
        default="reference",
        metavar="IMPL",
        help=(
            "reference, student (the notebook in exercises/), mistake:NAME, alternative:NAME, or"
            " the path of a notebook or Python file, which runs in this process (default:"
            " reference)"
        ),
    )
    check.add_argument("--json", action="store_true", help="print the results as JSON")
    check.set_defaults(part_run=run_check)

    matrix = parts.add_parser(
        "matrix", help="print which stage catches which registered mistake, in Markdown"
    )
    _exercise(matrix)
    matrix.set_defaults(part_run=run_matrix)

    mutants = parts.add_parser(
        "mutants",
        help="print, in Markdown, which small changes to a solution the checks notice",
    )
    _exercise(mutants)
    mutants.add_argument("--all", action="store_true", help="list killed mutants as well")
    mutants.set_defaults(part_run=run_mutants)

    prove = parts.add_parser(
        "prove",
        help=(
            "run every case of the tests of a chapter's exercises, and record in proven.json that "
            "all passed"
        ),
    )
    prove.add_argument(
        "assignment", nargs="*", metavar="ASSIGNMENT", help='such as "01" (default: all)'
    )
    prove.set_defaults(part_run=run_prove)

    tries = parts.add_parser(
        "try",
        help=(
            "run a folder of answers, EXERCISE/right__NAME.py and EXERCISE/wrong__NAME.py, in "
            "process, over forty seeds and in the sandbox"
        ),
    )
    tries.add_argument("folder", metavar="FOLDER")
    tries.add_argument(
        "--assignment",
        required=True,
        metavar="ASSIGNMENT",
        help='whose exercises they answer, such as "01"',
    )
    tries.add_argument("--no-sandbox", action="store_true", help="leave the sandbox out")
    tries.set_defaults(part_run=run_try)

    withheld = parts.add_parser(
        "withheld",
        help="print which callables that a student can import return an exercise's answers",
    )
    _exercise(withheld)
    withheld.set_defaults(part_run=run_withheld)

    out = parts.add_parser(
        "hand-out", help="one notebook for each student, with the faults that were drawn for them"
    )
    out.add_argument("assignment", metavar="ASSIGNMENT")
    out.add_argument(
        "roster",
        metavar="ROSTER",
        help="a text file with a student's id on each line, as in the gradebook",
    )
    out.add_argument(
        "--course-root",
        default="class",
        metavar="DIR",
        help="where the class is graded; its secret draws (default: class)",
    )
    out.add_argument(
        "--to",
        default="hand-out",
        metavar="DIR",
        help="where STUDENT/ASSIGNMENT/ goes (default: hand-out)",
    )
    out.set_defaults(part_run=run_hand_out)
    for part in parts.choices.values():
        if part is not check:
            part.add_argument(
                "--json",
                action="store_true",
                help="print the exit code and the lines as JSON, at the end",
            )


def _exercise(parser) -> None:
    parser.add_argument(
        "exercise",
        nargs="*",
        default=["01"],
        metavar="EXERCISE",
        help=(
            'an assignment, an exercise, or both, such as "01", "01.ppmi" or "01 ppmi"'
            " (default: 01)"
        ),
    )


def run(args) -> int:
    """Run one of them."""
    if args.part == "check":  # it has JSON of its own
        return args.part_run(args)
    return reported(args.part_run, args, args.part)


def reported(part_run: Callable[[Namespace], int], args: Namespace, part: str) -> int:
    """Run a part; with --json print its exit code and its lines as JSON, at the end."""
    if not args.json:
        return part_run(args)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = part_run(args)
    said = {"part": part, "exit_code": code, "lines": out.getvalue().splitlines()}
    print(json.dumps(said, indent=1))
    return code


def chosen(words: list[str]) -> tuple:
    """The assignment and the exercises that the words mean."""
    from autograder.authoring.catalogue import exercises_named

    return exercises_named(
        ".".join(words) if len(words) == 2 and "." not in words[1] else words[-1]
    )


def run_build(args) -> int:
    """Build, or compare, each assignment and say where it is."""
    from autograder.authoring.catalogue import assignment, assignments
    from autograder.authoring.notebooks import build, stale

    chosen = [assignment(name) for name in args.assignment] or assignments()
    if not args.check:
        for one in chosen:
            print(build(one))
        return 0
    complaints = [complaint for complaint in map(stale, chosen) if complaint]
    print(
        "\n".join(complaints)
        or f"{len(chosen)} notebook(s) are what the sources give, and nothing leaks"
    )
    return 1 if complaints else 0


def run_check(args) -> int:
    """The student's `course check`, on any implementation."""
    from course.commands.check import print_results

    one, exercises = chosen(args.exercise)
    return print_results(one, exercises, args.impl, args.json)


def run_matrix(args) -> int:
    """Print a table for each exercise with mistakes; 1 when one is not caught as registered."""
    from autograder.authoring.matrix import print_tables

    return 0 if print_tables(*chosen(args.exercise)) else 1


def run_mutants(args) -> int:
    """Print what came of each mutant; 1 when one survives unexplained."""
    from autograder.authoring.mutants import print_tables

    one, exercises = chosen(args.exercise)
    outcomes = print_tables(one, [each for each in exercises if each.stages], args.all)
    surviving = sum(len(outcome.surviving) for outcome in outcomes)
    total = sum(len(outcome.fates) for outcome in outcomes)
    print(f"\n{surviving} of {total} mutants survive unexplained")
    return 1 if surviving or any(outcome.unused for outcome in outcomes) else 0


def run_prove(args) -> int:
    """Prove each chapter; 1 when a case of one failed, whose record stays as it was."""
    from autograder.authoring.catalogue import assignment, assignments
    from autograder.authoring.proven import prove

    chosen = [assignment(name) for name in args.assignment] or assignments()
    failed = [prove(one) != 0 for one in chosen]  # all of them, also after one that fails
    return int(any(failed))


def run_try(args) -> int:
    """Print what came of each answer; 1 when one is not judged as its name says."""
    from pathlib import Path

    from autograder.authoring.catalogue import assignment
    from autograder.authoring.tries import summary, trials

    done = []
    for one in trials(assignment(args.assignment), Path(args.folder), not args.no_sandbox):
        done.append(one)
        print(one.line(), flush=True)
    print(summary(done))
    return 1 if any(one.problem for one in done) else 0


def run_withheld(args) -> int:
    """Print what answers each exercise; 1 when some of it is open to students."""
    from autograder.authoring import sweep

    one, exercises = chosen(args.exercise)
    swept = sweep.sweep(exercises)
    left = sweep.left_open(one, swept)
    for id, names in swept.found.items():
        complaint = f"; neither withheld nor allowed: {', '.join(left[id])}" if id in left else ""
        print(f"{id}: {', '.join(names) or 'nothing'}{complaint}")
    print(
        f"{sum(swept.tried.values())} callables of {len(swept.tried)} modules were tried; "
        f"{len(swept.ended)} hung or died"
    )
    return 1 if left else 0


def run_hand_out(args) -> int:
    """Write the notebooks and say where they are."""
    from pathlib import Path

    from autograder.common.errors import CourseError
    from autograder.grading.assignment import load_assignment
    from autograder.release.personal_notebooks import hand_out

    try:
        students = [
            line.strip()
            for line in Path(args.roster).read_text(encoding="utf-8").splitlines()
            if line.strip()
        ]
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{args.roster}: the roster cannot be read: {error}") from error
    root = Path(args.course_root).resolve()
    root.mkdir(parents=True, exist_ok=True)
    written = hand_out(load_assignment(args.assignment), students, root, Path(args.to))
    print(
        f"{len(written)} notebooks in {args.to}; grade them with --course-root {args.course_root},"
        " whose secret drew the faults"
    )
    return 0
