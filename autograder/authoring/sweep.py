"""What a student could call instead of writing an exercise: every public callable that returns its answers.

The callables are those of the packages that a student has (`PLACES` and all of the reference); the inputs are the calls
that the stages make of a right answer (`asked`). One counts as an answer when it gives, for every input, the right
result, or a part of what it gives does; the arguments are tried as tensors and as arrays, and in the
reference in every order. A class is
tried where it needs no arguments to be built. The sweep runs in a child with limits on time and memory, in an empty
folder, since it calls functions of which it knows nothing.

What is found in the reference is kept in the chapter's `withheld.json`, and so withheld; what is found elsewhere has to
be withheld or allowed, with a reason, where the exercise is declared, unless the solution itself calls it.
"""
import contextlib
import importlib
import inspect
import itertools
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from autograder.authoring.asked import Asked, asked
from autograder.authoring.catalogue import Assignment, folder_of, solution_lines
from autograder.checks.protocol import Exercise
from autograder.checks.values import Unreadable, cross
from autograder.checks.withheld import GRADERS
from autograder.checks.withholding import TABLE, in_exercise

PLACES = ("torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft", "torch.Tensor", "numpy",
          "numpy.linalg", "scipy.special", "scipy.linalg", "scipy.stats", "math", "statistics", "itertools", "collections",
          "course.demo")
# What changes the process, the disk or the machine, or waits for somebody.
LEFT_ALONE = ("set_", "save", "load", "seed", "manual_", "compile", "from_file", "fork", "share_memory", "memmap", "tofile",
              "use_", "init", "import_", "test", "lobpcg", "serve", "main", "download", "fetch", "show_config", "vmap", "backward")
SECONDS = 0.2          # of processor time for one call
MEMORY = 1 << 30
MOST_ORDERS = 3        # arguments; with more, only the order given


class TooLong(Exception):
    """A callable took more than SECONDS for one call; the calls of the checks take milliseconds, so it is no answer."""


def answers(exercises: Iterable[Exercise], places: Sequence[str] = ()) -> dict[str, list[str]]:
    """By exercise: the names of all public callables that return its answers; see the module's docstring.

    places: modules to look into; default, all of the reference and PLACES, which takes minutes.
    """
    calls = {one.id: by_function(one) for one in exercises if one.stages}

    def sweep() -> dict[str, list[str]]:
        found_in = {id: set() for id in calls}
        for name, function in candidates(places or (*reference_modules(), *PLACES)):
            for id, groups in calls.items():
                with contextlib.suppress(TooLong):
                    if any(returns(function, group, name.startswith("reference_impl.")) for group in groups):
                        found_in[id].add(name)
        return {id: sorted(names) for id, names in found_in.items()}
    return in_child(sweep)


def by_function(exercise: Exercise) -> list[list[Asked]]:
    """The calls with arguments, those of one function together; none for a test, whose answer is whether it complains."""
    calls = [call for call in asked(exercise) if call.args and exercise.kind != "write-test"]
    return [[call for call in calls if call.name == name] for name in dict.fromkeys(call.name for call in calls)]


def unexplained(exercise: Exercise, names: list[str], solution: str) -> list[str]:
    """Those that a student can reach, that nobody allowed and that the solution does not call."""
    withheld = in_exercise(exercise)
    return [name for name in names if name not in exercise.allowed
            and not any(name == one or name.startswith(f"{one}.") for one in withheld)
            and f"{name.rpartition('.')[2]}(" not in solution]


def solution_of(one: Assignment, exercise: Exercise) -> str:
    """The lines of an exercise's solution."""
    return "\n".join(sorted(solution_lines(one.cells[exercise.id.split(".", 1)[1]][0])))


def of_reference(swept: dict[str, list[str]]) -> dict[str, list[str]]:
    """What `withheld.json` holds: by exercise, the functions of the reference that answer it."""
    rows = {id: [name for name in names if name.startswith("reference_impl.")] for id, names in swept.items()}
    return {id: names for id, names in rows.items() if names}


def write(one: Assignment, swept: dict[str, list[str]]) -> Path:
    """Put the table beside the checks of the chapter."""
    path = folder_of(one.number) / TABLE
    path.write_text(json.dumps(of_reference(swept), indent=1) + "\n", encoding="utf-8")
    return path


def candidates(places: Sequence[str]) -> Iterator[tuple[str, Callable]]:
    """Every public callable of these modules with the name under which it is defined, each once."""
    seen: set[int] = set()
    for place in places:
        owner = torch.Tensor if place == "torch.Tensor" else importlib.import_module(place)
        for name in sorted(dir(owner)):
            function = getattr(owner, name, None)
            if name.startswith("_") or name.startswith(LEFT_ALONE) or not callable(function) or id(function) in seen:
                continue
            ours = place.startswith("reference_impl.")
            if ours and getattr(function, "__module__", place) != place:
                continue        # imported there, defined elsewhere
            seen.add(id(function))
            if inspect.isclass(function):
                function = _instance(function) if place == "torch.nn" else None
            if function is not None:
                yield f"{place}.{name}", function


def reference_modules() -> list[str]:
    """Every module of the reference that can be imported here."""
    import reference_impl
    names = [one.name for one in pkgutil.walk_packages(reference_impl.__path__, "reference_impl.")]
    return [name for name in names if name not in GRADERS and _imports(name)]


def _imports(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:       # one that needs a GPU, a server or another system is in no student's way
        return False
    return True


def _instance(kind: type) -> Callable | None:
    try:
        return kind()
    except Exception:
        return None


def returns(function: Callable, calls: list[Asked], any_order: bool = True) -> bool:
    """Whether a callable gives the right answer to every call, with the arguments in one and the same order.

    any_order: try every order, and arrays for tensors; otherwise tensors, then arrays, in the order given. Raises TooLong.
    """
    first = calls[0].args
    given = tuple(range(len(first)))
    orders = list(itertools.permutations(given)) if any_order and len(first) <= MOST_ORDERS else [given]
    return any(all(len(call.args) == len(order) and _gives(function, call, order, as_arrays) for call in calls)
               for order in orders for as_arrays in (False, True))


def _gives(function: Callable, call: Asked, order: tuple[int, ...], as_arrays: bool) -> bool:
    args = [call.args[place] for place in order]
    if as_arrays:
        if not any(isinstance(one, torch.Tensor) for one in args):
            return False
        args = [one.numpy() if isinstance(one, torch.Tensor) else one for one in args]
    args = [one.clone() if isinstance(one, torch.Tensor) else one.copy() if isinstance(one, (np.ndarray, list, dict)) else one
            for one in args]
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)      # processor time: a busy machine changes nothing
    try:
        came = function(*args, **call.kwargs)
        return any(_equal(one, call.value) for one in (came, *(came if isinstance(came, tuple) else ())))
    except KeyboardInterrupt:
        raise TooLong from None
    except BaseException:       # whatever it is: then this is no answer
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _equal(came: object, right: object) -> bool:
    """The same numbers, whatever kind of array they come in."""
    try:
        came = cross(came)
    except Unreadable:
        return False
    if isinstance(right, (torch.Tensor, np.ndarray)) or type(right) in (int, float):
        if not isinstance(came, (torch.Tensor, np.ndarray, int, float, list)) or isinstance(came, bool):
            return False
        left, wanted = np.asarray(came, dtype=float), np.asarray(right, dtype=float)
        return left.shape == wanted.shape and bool(np.allclose(left, wanted, 1e-4, 1e-6, equal_nan=True))
    if type(right) in (list, tuple):
        return type(came) in (list, tuple) and len(came) == len(right) and all(map(_equal, came, right))
    if type(right) is dict:
        return type(came) is dict and came.keys() == right.keys() and all(_equal(came[key], right[key]) for key in right)
    return type(came) is type(right) and came == right


def in_child(work: Callable[[], object]) -> object:
    """What `work()` returns, as JSON, from a fork that keeps nothing it changes. Raises RuntimeError if it dies."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            quiet = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(quiet, fd)
            sys.stdout = sys.stderr = open(os.devnull, "w")
            signal.signal(signal.SIGVTALRM, signal.default_int_handler)
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
                if mapped:
                    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
                answer = json.dumps(work()).encode()
                with os.fdopen(write, "wb") as file:
                    file.write(answer)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    if not data:
        raise RuntimeError("the sweep's process ended before it answered")
    return json.loads(data)
