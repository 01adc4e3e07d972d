"""`check(f)` in a notebook: run the visible checks of the exercise that `f` belongs to, and show
the rubric.

It runs the student's function in this process and returns the points as a float, which nbgrader
reads as partial credit. Nothing of it decides a grade: the grader asks again, with other numbers,
in a sandbox.
"""

import ast
import re
import sys
import traceback
from collections.abc import Callable

from autograder.checks.exercise import CHAPTERS
from autograder.checks.protocol import (
    EXERCISES,
    Exercise,
    ExerciseResult,
    LocalStudent,
    load_checks,
    run_exercise,
)
from autograder.checks.restrictions import reference_imports as borrowed
from autograder.checks.restrictions.import_hook import stand_ins
from autograder.checks.restrictions.names import in_exercise
from autograder.checks.rubric import as_html, as_text
from autograder.checks.student.timeout import TimedStudent
from autograder.common.course_files import MYWORK
from autograder.notebook_progress import OPENED, below, note

# Where `word2serve_me` grows (see `course package`); last, so that it hides nothing.
if str(MYWORK) not in sys.path:
    sys.path.append(str(MYWORK))


class Points(float):
    """Points that a notebook shows as nothing: the table above says them.

    nbgrader reads the number as partial credit.
    """

    def _repr_html_(self) -> str:
        return "<span></span>"


def check(target: Callable | str) -> float:
    """Check a function, `check(ppmi)`, or an exercise by id, `check("01.predict")`; returns the
    points earned.

    Whatever the student's code does becomes a sentence in the rubric; an unknown target is
    explained and earns 0.0.
    """
    namespace = sys._getframe(1).f_globals
    try:
        exercise, name = find(target, namespace)
        for function in [name] if name else [exercise.function, *exercise.also]:
            if broken := broken_cell(function, namespace):
                print(broken)
                return Points(0.0)
        own = (
            {}
            if isinstance(target, str)
            else {**getattr(target, "__globals__", {}), **namespace, name: target}
        )
        with stand_ins(in_exercise(exercise), namespace.get("__name__", "")):
            result = run_exercise(exercise, TimedStudent(LocalStudent(own or namespace)))
    except LookupError as error:
        print(error.args[0])
        return Points(0.0)
    except KeyboardInterrupt:
        print(
            "The check was interrupted: your code was still running. Is there a loop that does not"
            " end?"
        )
        return Points(0.0)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        print(
            "The checker itself failed; this is not your fault. Please report:"
            f" {type(error).__name__}: {error} ({last.filename.rsplit('/', 1)[-1]}, line"
            f" {last.lineno})"
        )
        return Points(0.0)
    show(result, exercise.see)
    return Points(result.earned)


def find(target: Callable | str, namespace: dict) -> tuple[Exercise, str]:
    """The exercise that is meant, and the name of the function that was given ("" for an exercise
    by its id).

    A lambda, an alias or an object is known by the names that the caller gave it. Of several
    exercises the open notebook's is meant. Raises LookupError with a sentence.
    """
    if isinstance(target, str):
        return _by_id(target), ""
    if not callable(target):
        raise LookupError(
            'check() wants the function itself, or an exercise as "01.name"; it got'
            f" {target!r:.80}. Leave out the parentheses after the function's name."
        )
    bound = [
        name for name, value in namespace.items() if value is target and not name.startswith("_")
    ]
    names = list(dict.fromkeys([*bound, getattr(target, "__name__", "")]))
    load_those_with(names)
    matches = {
        one.id: (one, name)
        for name in names
        if name
        for one in EXERCISES.values()
        if name in (one.function, *one.also)
    }
    here = {id: match for id, match in matches.items() if id.startswith(OPENED["chapter"] + ".")}
    matches = here or matches
    if len(matches) == 1:
        return next(iter(matches.values()))
    if matches:
        ids = ", ".join(f'check("{id}")' for id in sorted(matches))
        shared = next(iter(matches.values()))[1]
        raise LookupError(f"Several exercises have a function `{shared}`; say which: {ids}.")
    load_checks()
    known = ", ".join(sorted(one.function for one in EXERCISES.values() if one.function))
    raise LookupError(
        f"No exercise has a function named `{names[0] or type(target).__name__}`. The functions"
        f" that can be checked are {known}."
    )


def _by_id(id: str) -> Exercise:
    """The exercise of this id, if it has checks. Raises LookupError."""
    number = id.partition(".")[0]
    load_checks(number if number.isdigit() and "." in id else "")
    if id in EXERCISES and EXERCISES[id].stages:
        return EXERCISES[id]
    raise LookupError(
        f"There is no exercise {id!r} with checks; there are {', '.join(sorted(EXERCISES))}."
    )


def load_those_with(names: list[str]) -> None:
    """Import the checks of the chapters that mention one of these functions, and no others."""
    for folder in sorted(CHAPTERS.glob("c[0-9][0-9]_*")):
        text = "".join(
            file.read_text(encoding="utf-8") for file in sorted(folder.glob("test_*.py"))
        )
        if any(f'"{name}"' in text for name in names if name):
            load_checks(folder.name[1:3])


def broken_cell(name: str, namespace: dict) -> str:
    """What to say when the last cell that defines `name` is no Python, so that an older definition
    is still there.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = [cell for cell in namespace.get("In", []) if isinstance(cell, str)]
    defines = re.compile(
        rf"^\s*(?:def|class)\s+{re.escape(name)}\b|^{re.escape(name)}\s*=", re.MULTILINE
    )
    last = next((cell for cell in reversed(cells) if defines.search(cell)), None)
    if shell is None or last is None:
        return ""
    try:
        compile(
            shell.transform_cell(last),
            "cell",
            "exec",
            dont_inherit=True,
            flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        )
    except SyntaxError as error:
        line = (error.text or "").strip()
        return (
            f"The cell that defines `{name}` is no Python yet, so nothing of it was run."
            f" {type(error).__name__} in line {error.lineno}: {error.msg}\n    {line}"
        )
    return ""


def show(result: ExerciseResult, see: str = "") -> None:
    """Print the rubric, or display it as a table where there is a Jupyter kernel; say what is
    borrowed, how far the notebook is, and offer hints.
    """
    text, table = as_text(result, see), as_html(result, see)
    note(result)
    if also := borrowed.line(borrowed.borrowed()):
        text, table = f"{text}\n{also}", f"{table}<p>{also}</p>"
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and hasattr(shell, "kernel"):
        more, folded = below(result)
        text, table = f"{text}\n{more}".rstrip(), f"{table}{folded}"
        ipython.display.display({"text/html": table, "text/plain": text}, raw=True)
    else:
        print(text)
