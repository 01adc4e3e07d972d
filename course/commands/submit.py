"""`course submit`: look at your notebook as the grader will, before you hand it in."""

SUMMARY = "look at your notebook as the grader will, before you hand it in"
EPILOG = """\
With --dry-run nothing is written: the notebook is read and judged in a fresh process with the grader's limits and other
numbers than in its check cells, and you see what is taken, what is left out, whether cells were run out of order, and what
each exercise gives. On Windows it runs in the command's own process. Without it, a copy is written as well, in which no two cells have one id: hand that file in on your
platform; nothing is sent from here.
Exit codes: 0 all that is checked is there, 1 something is missing or waits for a person, 2 could not run."""


def add_arguments(parser) -> None:
    """Which notebook, and whether to write."""
    parser.add_argument(
        "notebook",
        metavar="NOTEBOOK",
        help="your notebook; its name begins with the assignment's number",
    )
    parser.add_argument(
        "--assignment",
        default="",
        metavar="NUMBER",
        help="the assignment, if the name does not say it",
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument(
        "--to", default="", metavar="FILE", help="the copy (default: hand-in/NAME.ipynb)"
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.epilog = EPILOG


def run(args) -> int:
    """Exit code 1 when a point is missing or a person must look."""
    import json
    from pathlib import Path

    from autograder.grading.assignment import load_assignment
    from course.commands.check import _number_of
    from course.hand_in import look, mended

    path = Path(args.notebook)
    loaded = load_assignment(args.assignment or _number_of([str(path)]))
    found = look(path, loaded, _backend())
    target = Path(args.to) if args.to else Path("hand-in") / f"{loaded.name}.ipynb"
    new = None if args.dry_run else mended(path, target)
    if args.json:
        print(
            json.dumps(found.to_json() | {"copy": None if args.dry_run else str(target)}, indent=1)
        )
    else:
        print("\n".join(found.lines()))
        print(
            "nothing is written"
            if args.dry_run
            else f"written    {target}" + (f" ({new} ids are new)" if new else "")
        )
    return 0 if found.complete and not found.verdict.human else 1


def _backend():
    """The strongest here. Without walls it is as safe as in Jupyter, since it is your own code; None: in this process."""
    import os

    from autograder.errors import CourseError

    if not hasattr(os, "fork"):
        return None
    from autograder.sandbox import choose_backend

    try:
        return choose_backend()
    except CourseError:
        return choose_backend("process", allow_unsafe=True)
