"""Known mistakes and other correct solutions of each exercise, by exercise id.

`m01_static_embeddings.py` holds the mistakes of assignment 01, `a01_static_embeddings.py` the alternatives; both are
loaded on first use. A mistake is a function with the signature of the student's function:

    @mistake("01.ppmi", "log-base-2", caught_by="log", loses=1,
             misconception="You took the logarithm to base 2; PMI here is in nats.")
    def ppmi_log2(counts): ...
"""
import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

_mistakes: dict[str, dict[str, "Mistake"]] = defaultdict(dict)
_alternatives: dict[str, dict[str, "Alternative"]] = defaultdict(dict)


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong solution: the first stage that fails on it, the points it loses, and what the student thinks.

    replaces: the name of the student's function that it stands for, when it is not the exercise's main one.
    """
    name: str
    function: Callable
    caught_by: str
    loses: float
    misconception: str
    replaces: str


@dataclass(frozen=True)
class Alternative:
    """A differently written correct solution."""
    name: str
    function: Callable
    replaces: str


def mistake(exercise: str, name: str, *, caught_by: str, loses: float, misconception: str,
            replaces: str = "") -> Callable:
    """Decorator: register the function below as a mistake of `exercise`."""
    def register(function: Callable) -> Callable:
        _mistakes[exercise][name] = Mistake(name, function, caught_by, loses, misconception, replaces)
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
    return _load(_mistakes, exercise)


def alternatives_of(exercise: str) -> list[Alternative]:
    """The other correct solutions of an exercise id, in the order they were written."""
    return _load(_alternatives, exercise)


def _load(registry: dict, exercise: str) -> list:
    import autograder.mistakes as package
    from autograder.checks.protocol import EXERCISES
    for module in pkgutil.iter_modules(package.__path__):
        if module.name[1:].startswith(f"{exercise[:2]}_"):
            importlib.import_module(f"{package.__name__}.{module.name}")
    main = EXERCISES[exercise].function if exercise in EXERCISES else ""
    return [type(entry)(**{**vars(entry), "replaces": entry.replaces or main}) for entry in registry[exercise].values()]
