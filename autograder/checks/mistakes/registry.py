"""Known mistakes and other correct solutions of each exercise, by exercise id.

`autograder/chapters/cNN_*/mistakes_*.py` hold the mistakes of assignment NN,
`solutions/alternatives/NN-*/*.py` its other correct solutions; both are loaded on first use. A
mistake is a function with the signature of the student's function:

    @mistake("01.ppmi", "log-base-2", caught_by="log", loses=1,
             misconception="You took the logarithm to base 2; PMI here is in nats.")
    def ppmi_log2(counts): ...
"""

import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.checks.exercise import EXERCISES, load_modules

ALTERNATIVES = Path(__file__).resolve().parents[3] / "solutions" / "alternatives"
_mistakes: dict[str, dict[str, "Mistake"]] = defaultdict(dict)
_alternatives: dict[str, dict[str, "Alternative"]] = defaultdict(dict)


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong solution: the first stage that fails on it, the points it loses, and what
    the student thinks.

    replaces: the name of the student's function that it stands for, when it is not the exercise's
    main one. remembers: `function` takes no arguments and makes a fresh function, because it keeps
    something between calls.
    """

    name: str
    function: Callable
    caught_by: str
    loses: float
    misconception: str
    replaces: str
    remembers: bool = False

    def made(self) -> Callable:
        """The wrong function, as before its first call."""
        return self.function() if self.remembers else self.function


@dataclass(frozen=True)
class Alternative:
    """A differently written correct solution."""

    name: str
    function: Callable
    replaces: str


def mistake(
    exercise: str,
    name: str,
    *,
    caught_by: str,
    loses: float,
    misconception: str,
    replaces: str = "",
    remembers: bool = False,
) -> Callable:
    """Decorator: register the function below as a mistake of `exercise`; see Mistake."""

    def register(function: Callable) -> Callable:
        _mistakes[exercise][name] = Mistake(
            name, function, caught_by, loses, misconception, replaces, remembers
        )
        return function

    return register


def alternative(exercise: str, name: str, *, replaces: str = "") -> Callable:
    """Decorator: register the function below as another correct solution of `exercise`."""

    def register(function: Callable) -> Callable:
        _alternatives[exercise][name] = Alternative(name, function, replaces)
        return function

    return register


def mistakes_of(exercise: str) -> list[Mistake]:
    """The mistakes of an exercise id, in the order they were written; none is no error."""
    load_modules(exercise[:2], "mistakes_")
    return _of_main(_mistakes, exercise)


def alternatives_of(exercise: str) -> list[Alternative]:
    """The other correct solutions of an exercise id, in the order they were written."""
    for path in sorted(ALTERNATIVES.glob(f"{exercise[:2]}-*/*.py")):
        name = f"alternatives_{exercise[:2]}_{path.stem}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, path)
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    return _of_main(_alternatives, exercise)


def _of_main(registry: dict, exercise: str) -> list:
    """The entries of an exercise; one that names no function stands for the exercise's main one."""
    main = EXERCISES[exercise].function if exercise in EXERCISES else ""
    return [
        type(entry)(**{**vars(entry), "replaces": entry.replaces or main})
        for entry in registry[exercise].values()
    ]
