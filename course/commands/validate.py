"""`course validate`: see what the grader will see of your notebook, before you submit it."""

SUMMARY = "see what the grader will see of your notebook, before you submit it"
EPILOG = """\
Nothing is sent. The notebook is read and graded in a fresh process with the grader's limits and
other numbers than in its check cells, and you see what is taken, what is left out, whether cells
were run out of order, and what each exercise gives. On Windows it runs in the command's own
process. With --to a copy is written in which no two cells have one id.
Exit codes: 0 all that is checked is there, 1 something is missing or needs manual grading, 2
could not run."""


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
    parser.add_argument(
        "--to",
        default="",
        metavar="FILE",
        help="also write a copy: a file, or a folder with / behind",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.epilog = EPILOG


def run(args) -> int:
    """Exit code 1 when a point is missing or a person must look."""
    import json
    from pathlib import Path

    from autograder.grading.assignment import load_assignment
    from course.commands.check import number_of
    from course.student.hand_in import look, mended

    path = Path(args.notebook)
    loaded = load_assignment(args.assignment or number_of(str(path)))
    found = look(path, loaded, backend_at_home())
    target = Path(args.to, f"{loaded.name}.ipynb") if args.to.endswith("/") else Path(args.to)
    new = mended(path, target) if args.to else None
    if args.json:
        print(json.dumps(found.to_json() | {"copy": str(target) if args.to else None}, indent=1))
    else:
        print("\n".join(found.lines()))
        print(
            "nothing is written"
            if not args.to
            else f"written    {target}" + (f" ({new} ids are new)" if new else "")
        )
    return 0 if found.complete and not found.verdict.human else 1


def backend_at_home():
    """The strongest here.

    Without walls it is as safe as in Jupyter, since it is your own code; None: in this process.
    """
    import os

    from autograder.common.errors import CourseError

    if not hasattr(os, "fork"):
        return None
    from autograder.sandbox import choose_backend

    try:
        return choose_backend()
    except CourseError:
        return choose_backend("process", allow_unsafe=True)
