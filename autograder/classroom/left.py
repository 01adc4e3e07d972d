"""What an archive for students still answers: every callable left in its checks, tried as a student's own function.

A callable need not have the student's signature to be an answer: a wrapper of one line hands the arguments on in another
order, leaves some out, adds a constant, asks in float64, or takes one part of the result. Such wrappers are tried first on a
few questions of each stage; one that is right once is then checked as a student's would be, by the archive's own checks.
Runs in a process of its own, by the archive's files alone; what is asked comes from the repository.
"""

import importlib
import inspect
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

CONSTANTS = (0.5, 1, 2, None, True)  # for a parameter that the student's function has not
MOST_WIDE = 4  # arguments that are tried in every order
A_STAGE = 2  # questions of each stage
SECONDS = 60.0  # of processor time for one callable
PARTS = 8
MOST_WRAPPERS = 6  # for one way to ask


def tried(number: str, archive: Path, reference: bool = False) -> dict[str, dict[str, float]]:
    """By callable, the points that it earns in each exercise, where it earns some. reference: the reference's functions, too."""
    from autograder.authoring.asked import asked
    from autograder.authoring.catalogue import assignment
    from autograder.authoring.children import in_children
    from autograder.authoring.sweep import _equal
    from autograder.classroom.replaying import only

    exercises = {id: one for id, one in assignment(number).exercises.items() if one.stages}
    calls = {id: asked(one) for id, one in exercises.items()}
    protocol, local = only(archive)
    ours = protocol.exercises_of(number)
    every = list(_callables(archive, number, reference))

    def work(item: tuple[str, Callable]) -> dict[str, float]:
        return {
            id: best
            for id, exercise in exercises.items()
            if (
                best := _earned(
                    item[1],
                    exercise,
                    calls[id],
                    lambda space, id=id: (
                        protocol.run_exercise(
                            ours[id], local.LocalStudent(local.OurNamespace(space)), mistakes=[]
                        ).earned
                    ),
                    _equal,
                )
            )
        }

    found = {}
    for (name, _), earned, _ended in in_children(every, work, SECONDS, lambda: None):
        for id, points in (earned or {}).items():
            found.setdefault(name, {})[id] = max(points, found.get(name, {}).get(id, 0.0))
    return found


def _earned(
    candidate: Callable,
    exercise: object,
    calls: list,
    judge: Callable[[dict], float],
    equal: Callable,
) -> float:
    """The most points that a wrapper of the callable earns."""
    if inspect.isclass(candidate):
        return judge({name: candidate for name in [exercise.function, *exercise.also]})
    best = 0.0
    for name in dict.fromkeys(call.name for call in calls):
        few: list = []
        for stage in exercise.stages:
            few += [call for call in calls if call.name == name and call.stage == stage.name][
                :A_STAGE
            ]
        for wrapper in wrappers(candidate, len(few[0].args) if few else 0, few, equal):
            best = max(best, judge({name: wrapper}))
    return best


def wrappers(candidate: Callable, given: int, few: list, equal: Callable) -> Iterator[Callable]:
    """Functions of `given` arguments that ask the callable and are right for one of a few questions, in whole or in one part."""
    for ask in _ways(candidate, given):
        found: dict[tuple, Callable] = {}
        for call in few:
            try:
                came = ask(*map(_copy, call.args))
            except Exception:  # whatever it is: then this is no way to ask it
                continue
            for (place, take), (hole, want) in itertools.product(_takes(came), _takes(call.value)):
                if (place, hole) not in found and _right(take, came, want(call.value), equal):
                    found[place, hole] = take
        for (_, hole), take in itertools.islice(found.items(), MOST_WRAPPERS):
            yield lambda *args, ask=ask, take=take, hole=hole: _filled(
                few[0].value, hole, take(ask(*args))
            )


def _right(take: Callable, came: object, wanted: object, equal: Callable) -> bool:
    try:
        return equal(take(came), wanted)
    except Exception:
        return False


def _filled(like: object, hole: object, value: object) -> object:
    """An answer in the form of `like`, with the value as the whole or as one part of it."""
    if hole == ():
        return _like(value, like)
    if isinstance(like, dict):
        return {**like, hole: _like(value, like[hole])}
    return type(like)([*like[:hole], _like(value, like[hole]), *like[hole + 1 :]])


def _ways(candidate: Callable, given: int) -> Iterator[Callable]:
    """Ways to ask: which arguments, in which order, what in the place of others, in which precision."""
    try:
        parameters = list(inspect.signature(candidate).parameters.values())
    except (TypeError, ValueError):
        return
    if any(one.name == "student" for one in parameters):
        return
    loose = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    places = [
        one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    least, most = sum(one.default is one.empty for one in places), given if loose else len(places)
    for used in range(min(given, most), -1, -1):
        if used < least - 1 or used == 0 and given:
            continue
        orders = (
            itertools.permutations(range(given), used)
            if given <= MOST_WIDE
            else [tuple(range(used)), tuple(range(given - used, given))]
        )
        for order in orders:
            for constant in CONSTANTS if used < least else ((),):
                for form in (_as_it_is, _wide, _plain):

                    def ask(*args: object, order=order, constant=constant, form=form) -> object:
                        return candidate(
                            *(form(args[place]) for place in order),
                            *(() if constant == () else (constant,)),
                        )

                    yield ask


def _takes(came: object) -> Iterator[tuple[object, Callable]]:
    """The whole result and its parts, each with a way to take it."""
    yield (), lambda value: value
    if isinstance(came, dict):
        yield from ((key, lambda value, key=key: value[key]) for key in list(came)[:PARTS])
    elif isinstance(came, (tuple, list)):
        yield from (
            (place, lambda value, place=place: value[place])
            for place in range(min(len(came), PARTS))
        )


def _as_it_is(value: object) -> object:
    return value


def _wide(value: object) -> object:
    return (
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
    )


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, torch.Tensor) else value


def _copy(value: object) -> object:
    return (
        value.clone()
        if isinstance(value, torch.Tensor)
        else value.copy()
        if isinstance(value, (np.ndarray, list, dict))
        else value
    )


def _like(value: object, like: object) -> object:
    """The value in the type that is asked for."""
    if isinstance(like, torch.Tensor):
        return torch.as_tensor(value, dtype=like.dtype)
    if type(like) in (int, float) and isinstance(value, (int, float, torch.Tensor, np.generic)):
        return type(like)(value)
    return (
        tuple(value)
        if type(like) is tuple and isinstance(value, list)
        else list(value)
        if type(like) is list and isinstance(value, tuple)
        else value
    )


def _callables(archive: Path, number: str, reference: bool) -> Iterator[tuple[str, Callable]]:
    """Functions and classes defined in the archive's checks, and in its reference."""
    paths = sorted(archive.glob("autograder/chapters/c*/*.py")) + (
        sorted(archive.glob("reference_impl/**/*.py")) if reference else []
    )
    for path in paths:
        name = ".".join(path.relative_to(archive).with_suffix("").parts).removesuffix(".__init__")
        try:
            module = importlib.import_module(name)
        except Exception:  # one that needs a GPU or another system
            continue
        seen: set[int] = set()
        for one in (one for _, value in sorted(vars(module).items()) for one in _in(value)):
            if (
                getattr(one, "__module__", "") == name
                and not hasattr(one, "exercise")
                and id(one) not in seen
            ):
                seen.add(id(one))
                yield f"{name}.{one.__qualname__.partition('.<locals>')[0]}", one


def _in(value: object) -> Iterator[Callable]:
    """A function or class, or those in a list or a dictionary: implementations that a module's functions made stand there."""
    if inspect.isfunction(value) or inspect.isclass(value):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _in(one)


if __name__ == "__main__":
    print(json.dumps(tried(sys.argv[1], Path(sys.argv[2]), "--reference" in sys.argv)))
