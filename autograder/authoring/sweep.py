"""Which public callables that a student can import return an exercise's answers.

The callables are those of the packages that a student has (`PLACES` and all of the reference
implementation); the inputs are the calls that the stages make of a right answer (`asked`). One
counts as an answer when its result, or a part of it, is right for more than half of the inputs: two
right programs may differ in border cases. The arguments are tried as tensors and as arrays, and in
the reference in every order. One whose signature does not take so many arguments is not called. A
class is tried where it needs no arguments to be built. The callables run in forked children with
limits on time, memory and files, in an empty folder, since nothing is known of them; one that hangs
or dies there is no answer, and is counted.

What is found has to be withheld or allowed, with a reason, where the exercise is declared, unless
the solution itself calls it. Nothing is stored: `make test-slow` tries everything for each chapter.
"""

import dataclasses
import importlib
import inspect
import itertools
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from autograder.authoring.asked import Asked, asked
from autograder.authoring.catalogue import Assignment, solution_lines
from autograder.authoring.children import in_children
from autograder.checks.assertions.values import Unreadable, cross
from autograder.checks.protocol import Exercise
from autograder.checks.restrictions.guard import GRADERS
from autograder.checks.restrictions.names import in_exercise

PLACES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.linalg",
    "torch.special",
    "torch.fft",
    "torch.Tensor",
    "numpy",
    "numpy.linalg",
    "scipy.special",
    "scipy.linalg",
    "scipy.stats",
    "math",
    "statistics",
    "itertools",
    "collections",
    "course.demo",
)
# What changes the process, the disk or the machine, or waits for somebody.
LEFT_ALONE = (
    "set_",
    "save",
    "load",
    "seed",
    "manual_",
    "compile",
    "from_file",
    "fork",
    "share_memory",
    "memmap",
    "tofile",
    "use_",
    "init",
    "import_",
    "test",
    "lobpcg",
    "serve",
    "main",
    "download",
    "fetch",
    "show_config",
    "vmap",
    "backward",
)
SECONDS = 0.2  # of processor time for one call
PATIENCE = 5.0  # of processor time for one callable, all exercises: for one that no signal ends
MEMORY = 1 << 30
FILE = 1 << 20  # bytes that a callable may write into one file
MOST_ORDERS = 3  # arguments; with more, only the order given
FEW = 5  # calls that are tried first, the smallest
MOST_ITEMS = 8  # of a result, which is looked through


class TooLong(Exception):
    """A callable took more than SECONDS for one call, where a right answer takes milliseconds."""


@dataclass
class Swept:
    """What a sweep found.

    found: by exercise, the callables that answer it. tried: how many were tried, by place. ended:
    which hung or died.
    """

    found: dict[str, list[str]]
    tried: dict[str, int] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)


def sweep(exercises: Iterable[Exercise], places: Sequence[str] = ()) -> Swept:
    """Try all public callables on what the exercises ask; see the module's docstring.

    places: modules to look into; default, all of the reference and PLACES, which takes minutes.
    """
    calls = {one.id: by_function(one) for one in exercises if one.stages}
    every = list(candidates(places or (*reference_modules(), *PLACES)))
    swept = Swept({id: [] for id in calls})

    def ids(candidate: tuple[str, str, Callable]) -> list[str]:
        _, name, function = candidate
        anyhow = name.startswith("reference_impl.")
        return [
            id
            for id, groups in calls.items()
            if any(_answers(function, group, anyhow) for group in groups)
        ]

    with tempfile.TemporaryDirectory() as folder:
        for (place, name, _), answered, ended in in_children(
            every, ids, PATIENCE, lambda: _limit(Path(folder))
        ):
            swept.tried[place] = swept.tried.get(place, 0) + 1
            if ended:
                swept.ended[name] = ended
            for id in answered or []:
                swept.found[id].append(name)
    return swept


def _answers(function: Callable, calls: list[Asked], any_order: bool) -> bool:
    try:
        return returns(function, calls, any_order)
    except TooLong:
        return False


def _limit(folder: Path) -> None:
    """In a child: nothing of ours in reach, and an end to what takes too much."""
    os.chdir(folder)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    if sys.platform == "linux":
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))


def by_function(exercise: Exercise) -> list[list[Asked]]:
    """The calls with arguments, those of one function together.

    There is none for a test, whose answer is whether it complains.
    """
    calls = [call for call in asked(exercise) if call.args and exercise.kind != "write-test"]
    return [
        [call for call in calls if call.name == name]
        for name in dict.fromkeys(call.name for call in calls)
    ]


def unexplained(exercise: Exercise, names: list[str], solution: str) -> list[str]:
    """Those that a student can reach, that nobody allowed and that the solution does not call."""
    withheld = in_exercise(exercise)
    return [
        name
        for name in names
        if name not in exercise.allowed
        and not any(name == one or name.startswith(f"{one}.") for one in withheld)
        and f"{name.rpartition('.')[2]}(" not in solution
    ]


def solution_of(one: Assignment, exercise: Exercise) -> str:
    """The lines of an exercise's solution."""
    return "\n".join(sorted(solution_lines(one.cells[exercise.id.split(".", 1)[1]][0])))


def left_open(one: Assignment, swept: Swept) -> dict[str, list[str]]:
    """What of a sweep is unexplained, by exercise; only exercises for which there is some."""
    left = {
        id: unexplained(one.exercises[id], names, solution_of(one, one.exercises[id]))
        for id, names in swept.found.items()
    }
    return {id: names for id, names in left.items() if names}


def candidates(places: Sequence[str]) -> Iterator[tuple[str, str, Callable]]:
    """Every public callable of these modules, each once: its place, its full name, itself."""
    seen: set[int] = set()
    for place in places:
        owner = torch.Tensor if place == "torch.Tensor" else importlib.import_module(place)
        for name in sorted(dir(owner)):
            function = getattr(owner, name, None)
            if (
                name.startswith("_")
                or name.startswith(LEFT_ALONE)
                or not callable(function)
                or id(function) in seen
            ):
                continue
            ours = place.startswith("reference_impl.")
            if ours and getattr(function, "__module__", place) != place:
                continue  # imported there, defined elsewhere
            seen.add(id(function))
            if inspect.isclass(function):
                function = _instance(function) if place == "torch.nn" else None
            if function is not None:
                yield place, f"{place}.{name}", function


def reference_modules() -> list[str]:
    """Every module of the reference that can be imported here."""
    import reference_impl

    names = [one.name for one in pkgutil.walk_packages(reference_impl.__path__, "reference_impl.")]
    return [name for name in names if name not in GRADERS and can_import(name)]


def can_import(name: str) -> bool:
    """Whether a module can be imported here."""
    try:
        importlib.import_module(name)
    except Exception:  # one that needs a GPU, a server or another system is in no student's way
        return False
    return True


def _instance(kind: type) -> Callable | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            return kind()
    except Exception:
        return None


def returns(function: Callable, calls: list[Asked], any_order: bool = True) -> bool:
    """Whether a callable answers more than half of the calls, with the arguments in one order.

    any_order: try every order, and arrays for tensors; otherwise tensors, then arrays, in the order
    given. Raises TooLong.
    """
    first = calls[0].args
    given = tuple(range(len(first)))
    if not _takes(function, len(first), calls[0].kwargs):
        return False
    orders = (
        list(itertools.permutations(given)) if any_order and len(first) <= MOST_ORDERS else [given]
    )
    few = sorted(calls, key=_size)[:FEW]  # large ones are asked of promising callables only
    return any(
        _gives_most(function, few, order, as_arrays)
        and _gives_most(function, calls, order, as_arrays)
        for order in orders
        for as_arrays in (False, True)
    )


def _size(call: Asked) -> int:
    return sum(one.numel() for one in call.args if isinstance(one, torch.Tensor))


def _gives_most(
    function: Callable, calls: list[Asked], order: tuple[int, ...], as_arrays: bool
) -> bool:
    missed = 0
    for call in calls:
        missed += len(call.args) != len(order) or not _gives(function, call, order, as_arrays)
        if 2 * missed >= len(calls):
            return False
    return True


def _takes(function: Callable, number: int, kwargs: dict) -> bool:
    """Whether the signature has room for so many arguments; True where there is none to look at."""
    try:
        inspect.signature(function).bind(*[None] * number, **kwargs)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _gives(function: Callable, call: Asked, order: tuple[int, ...], as_arrays: bool) -> bool:
    args = [call.args[place] for place in order]
    if as_arrays:
        if not any(isinstance(one, torch.Tensor) for one in args):
            return False
        args = [one.numpy() if isinstance(one, torch.Tensor) else one for one in args]
    args = [
        (
            one.clone()
            if isinstance(one, torch.Tensor)
            else one.copy()
            if isinstance(one, (np.ndarray, list, dict))
            else one
        )
        for one in args
    ]
    signal.setitimer(
        signal.ITIMER_VIRTUAL, SECONDS, SECONDS
    )  # processor time: a busy machine changes nothing
    try:
        return any(_equal(one, call.value) for one in _parts(function(*args, **call.kwargs)))
    except KeyboardInterrupt:
        raise TooLong from None
    except BaseException:  # whatever it is: then this is no answer
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _parts(came: object) -> Iterator[object]:
    """A result and its parts.

    These are items and runs of items of a tuple or list, values of a dict, fields of an object.
    """
    yield came
    if dataclasses.is_dataclass(came) and not isinstance(came, type):
        came = [getattr(came, one.name) for one in dataclasses.fields(came)]
    elif isinstance(came, dict):
        came = list(came.values())
    if isinstance(came, (tuple, list)) and len(came) <= MOST_ITEMS:
        yield from came
        yield from (
            tuple(came[first:last])
            for first in range(len(came))
            for last in range(first + 2, len(came) + 1)
        )


def _equal(came: object, right: object) -> bool:
    """The same numbers, whatever kind of array they come in."""
    try:
        came = cross(
            came.toarray() if hasattr(came, "toarray") else came
        )  # scipy's sparse matrices
    except Unreadable:
        return False
    if isinstance(right, (torch.Tensor, np.ndarray)) or type(right) in (int, float):
        if not isinstance(came, (torch.Tensor, np.ndarray, int, float, list)) or isinstance(
            came, bool
        ):
            return False
        left, wanted = np.asarray(came, dtype=float), np.asarray(right, dtype=float)
        return left.shape == wanted.shape and bool(
            np.allclose(left, wanted, 1e-4, 1e-6, equal_nan=True)
        )
    if type(right) in (list, tuple):
        return (
            type(came) in (list, tuple)
            and len(came) == len(right)
            and all(map(_equal, came, right))
        )
    if type(right) is dict:
        return (
            type(came) is dict
            and came.keys() == right.keys()
            and all(_equal(came[key], right[key]) for key in right)
        )
    return type(came) is type(right) and came == right
