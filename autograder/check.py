"""`check(f)` in a notebook: run the visible checks of the exercise that `f` belongs to, and show the rubric.

It runs the student's function in this process and returns the points as a float, which nbgrader reads as partial
credit. Nothing of it decides a grade: the grader asks again, with other numbers, in a sandbox.
"""
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from autograder.checks.protocol import EXERCISES, Exercise, ExerciseResult, LocalStudent, load_checks, run_exercise
from autograder.checks.registry import mistakes_of
from autograder.checks.rubric import as_html, as_text

# Where `word2serve_me` grows (see `course save`); last, so that it hides nothing.
MYWORK = Path(__file__).resolve().parents[1] / "mywork"
if str(MYWORK) not in sys.path:
    sys.path.append(str(MYWORK))

# All at import, so that no check() has to wait for it.
load_checks()
for _id in EXERCISES:
    mistakes_of(_id)


def check(target: Callable | str) -> float:
    """Check a function, `check(ppmi)`, or an exercise by id, `check("01.predict")`; returns the points earned.

    Whatever the student's code does becomes a sentence in the rubric; an unknown target is explained and earns 0.0.
    """
    namespace = sys._getframe(1).f_globals
    try:
        exercise = find(target)
        if isinstance(target, str):
            student = LocalStudent(namespace)
        else:
            student = LocalStudent({**getattr(target, "__globals__", namespace), target.__name__: target})
        result = run_exercise(exercise, student)
    except LookupError as error:
        print(error.args[0])
        return 0.0
    except KeyboardInterrupt:
        print("The check was interrupted: your code was still running. Is there a loop that does not end?")
        return 0.0
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        print(f"The checker itself failed; this is not your fault. Please report: {type(error).__name__}: {error} "
              f"({last.filename.rsplit('/', 1)[-1]}, line {last.lineno})")
        return 0.0
    show(result, exercise.see)
    return float(result.earned)


def find(target: Callable | str) -> Exercise:
    """The exercise of an id, or of a function by its name. Raises LookupError with a sentence for the student."""
    if isinstance(target, str):
        if target in EXERCISES and EXERCISES[target].stages:
            return EXERCISES[target]
        raise LookupError(f"There is no exercise {target!r} with checks; there are {', '.join(sorted(EXERCISES))}.")
    name = getattr(target, "__name__", None)
    if not callable(target) or name is None:
        raise LookupError(f"check() wants the function itself, or an exercise as \"01.name\"; it got {target!r:.80}. "
                          "Leave out the parentheses after the function's name.")
    matches = [one for one in EXERCISES.values() if name in (one.function, *one.also)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(f'check("{one.id}")' for one in sorted(matches, key=lambda one: one.id))
        raise LookupError(f"Several exercises have a function `{name}`; say which: {ids}.")
    known = ", ".join(sorted(one.function for one in EXERCISES.values() if one.function))
    raise LookupError(f"No exercise has a function named `{name}`. The functions that can be checked are {known}.")


def show(result: ExerciseResult, see: str = "") -> None:
    """Print the rubric, or display it as a table where there is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and hasattr(shell, "kernel"):
        ipython.display.display({"text/html": as_html(result, see), "text/plain": as_text(result, see)}, raw=True)
    else:
        print(as_text(result, see))
