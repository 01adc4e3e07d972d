"""`course package NN`: your own package of what passes, from which later notebooks import.

`--from reference` puts the reference in the place of a chapter, so that nobody is stuck on an
earlier one; `--from mine` goes back to your own work.
"""

import json
from typing import Any

SUMMARY = "put your functions that pass into your own package, word2serve_me"


def add_arguments(parser) -> None:
    """Which assignment, and which notebook."""
    parser.add_argument("assignment", help='an assignment such as "01"')
    parser.add_argument(
        "notebook",
        nargs="?",
        help=(
            "your notebook, which runs in this process (default: the one in mywork/, or in"
            " this folder where the course is installed as a package)"
        ),
    )
    parser.add_argument(
        "--from",
        dest="whose",
        choices=("reference", "mine"),
        help="whose work stands there from now on; without it what passes is saved",
    )
    parser.add_argument("--json", action="store_true", help="print what was saved as JSON")


def run(args) -> int:
    """Exit code 1 when something was left out."""
    return _stand_in(args) if args.whose else _save(args)


def _stand_in(args) -> int:
    """Put the reference, or the student's own work again, in the place of a chapter."""
    from autograder.authoring import package
    from autograder.authoring.catalogue import assignment
    from autograder.checks.restrictions import reference_imports as borrowed

    one = assignment(args.assignment)
    if args.whose == "reference":
        path = package.use_reference(one).path
        said = (
            f"chapter {one.number} is the reference now: {path}; "
            f"`course package {one.number} --from mine` takes that back"
        )
    else:
        path = package.use_own(one)
        said = f"chapter {one.number} is your own work again: {path}"
    found = {"assignment": one.name, "whose": args.whose, "path": str(path)}
    if args.json:
        print(json.dumps(found | {"borrowed": borrowed.borrowed()}))
    else:
        print(f"{said}\n{borrowed.line(borrowed.borrowed()) or 'nothing is borrowed'}")
    return 0


def _save(args) -> int:
    """Check, save what passes, and say what was left out; 1 when something was."""
    import contextlib
    import sys

    from autograder.authoring import package
    from autograder.authoring.catalogue import assignment
    from autograder.authoring.implementations import student_path
    from autograder.checks.protocol import run_exercise
    from autograder.common.errors import CourseError
    from autograder.grading.assignment import load_assignment
    from course.commands.check import own_notebook
    from course.own_notebook import Own, cells_of, run_cells, taken

    one = assignment(args.assignment)
    path = student_path(args.notebook or own_notebook(one), one.number)
    if path.suffix.lower() != ".ipynb":
        raise CourseError(
            f"{path} is not a notebook: `course package` takes functions out of a notebook's cells"
        )
    cells = cells_of(path, taken(path, load_assignment(one.number)))
    with contextlib.redirect_stdout(sys.stderr):
        module, failures = run_cells(cells, path.name)
        for _, failure in failures:
            print(failure)
        passing, left = [], []
        for exercise in (exercise for exercise in one.exercises.values() if exercise.stages):
            result = run_exercise(exercise, Own(module), mistakes=[])
            (passing if result.earned == result.points else left).append(exercise)
    names = [name for exercise in passing for name in (exercise.function, *exercise.also)]
    saved = package.save(one, cells, names) if names else None
    _print_saved(saved, names, [exercise.id for exercise in left], args.json)
    return 1 if left or not names else 0


def _print_saved(saved: Any, names: list[str], left: list[str], as_json: bool) -> None:
    if as_json:
        path = str(saved.path) if saved else None
        print(json.dumps({"path": path, "saved": names, "left": left}))
        return
    if saved:
        print(f"saved in {saved.path}: {', '.join(names)}")
        print(f"import them with: from word2serve_me.{saved.path.stem} import {names[0]}")
    for id in left:
        print(f"not saved: {id} does not pass yet (`course check {id}`)")
