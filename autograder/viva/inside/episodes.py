"""Which calls of a student's function or class are asked about: captured while the checks run.

An episode is what happened to one function or object: a list of [method, arguments, named
arguments], of which the first of an object is `__init__`. It can be played again on any version
of the student's code. `w2s_begin` puts a wrapper around the student's name, `w2s_end` takes it
away and keeps the clearest episode.
"""

import copy
import functools
import inspect
import itertools
import types

import torch

from autograder.viva.inside.describing import shown

MOST_ELEMENTS = 4096  # of all tensors of an episode
MOST_EPISODES = 60
MOST_CALLS = 4  # calls of one object, after it was made
MANY = 5  # entries of a list, letters of a text: enough to see a pattern
PIECES = 20  # of a generator
SPECIAL = ("__init__", "__call__", "__len__", "__getitem__", "__contains__", "__iter__")
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, functools.partial)


class Tape:
    """A function among the arguments: it answers as the original did, also when that is gone."""

    def __init__(self, function=None, answers=()):
        self.function, self.answers = function, list(answers)

    def __call__(self, *args, **kwargs):
        if self.function is None:
            for asked, answer in self.answers:
                if alike(asked, [args, kwargs]):
                    return copied(answer)
            raise LookupError("this was not asked in the recorded run")
        kept = copied([args, kwargs])
        answer = self.function(*args, **kwargs)
        self.answers.append((kept, copied(answer)))
        return answer


def copied(value: object) -> object:
    """A copy that shares nothing with the original, with tapes without their functions."""
    if type(value) is torch.Tensor:
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, torch.Generator):
        made = torch.Generator()
        made.set_state(value.get_state())
        return made
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    if type(value) is dict:
        return {key: copied(one) for key, one in value.items()}
    if type(value) is Tape:
        made = Tape()
        made.answers = value.answers  # it may still be asked while the call runs
        return made
    return copy.deepcopy(value)


def alike(one: object, other: object) -> bool:
    """Whether two results are the same, up to what the order of float operations changes."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if not one.dtype.is_floating_point:
            return torch.equal(one, other)
        return torch.allclose(one.detach(), other.detach(), 1e-4, 1e-6, equal_nan=True)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return one == other or one != one and other != other or abs(one - other) < 1e-6 * abs(one)
    return type(one) is type(other) and (type(one).__eq__ is object.__eq__ or one == other)


# ------------------------------------------------------------------ capturing
def w2s_begin(name: str) -> None:
    """Note the calls of the student's `name`, a function or a class, from now on."""
    w2s_end()
    CAPTURE.update(kernel=False, inside=0, episodes=[], objects=[], undo=[])
    student = w2s_globals.get(name)
    if inspect.isclass(student):
        for key, method in list(vars(student).items()):
            wanted = isinstance(method, types.FunctionType)
            if wanted and (not key.startswith("__") or key in SPECIAL):
                CAPTURE["undo"].append(functools.partial(setattr, student, key, method))
                setattr(student, key, _noting_method(method, key))
    elif callable(student):
        CAPTURE["undo"].append(functools.partial(w2s_globals.__setitem__, name, student))
        w2s_globals[name] = _noting_function(student)


def w2s_end() -> bool:
    """Stop noting; whether a call was noted that can be asked about."""
    for undo in CAPTURE.pop("undo", []):
        undo()
    episodes = [one for one in CAPTURE.get("episodes", []) if _elements(one) <= MOST_ELEMENTS]
    whole = [one for one in episodes if len(one) > 1 or one[0][0] != "__init__"]
    CAPTURE["chosen"] = max(whole or episodes, key=_clarity, default=None)
    return CAPTURE["chosen"] is not None


def w2s_given(calls: list) -> bool:
    """The same for launches of kernels that the grader noted: a list of tuples of arguments."""
    CAPTURE["kernel"] = True
    CAPTURE["episodes"] = [[["", args, {}]] for args in calls]
    return w2s_end()


def _noting_function(function):
    @functools.wraps(function)
    def noting(*args, **kwargs):
        if CAPTURE["inside"] or len(CAPTURE["episodes"]) >= MOST_EPISODES:
            return function(*args, **kwargs)
        args, kwargs, kept = _noted(args, kwargs)
        value = _outermost(function, args, kwargs)
        if kept is not None:
            CAPTURE["episodes"].append([["", *kept]])
        return value

    return noting


def _noting_method(method, key):
    @functools.wraps(method)
    def noting(self, *args, **kwargs):
        if CAPTURE["inside"] or len(CAPTURE["episodes"]) >= MOST_EPISODES:
            return method(self, *args, **kwargs)
        args, kwargs, kept = _noted(args, kwargs)
        value = _outermost(method, (self, *args), kwargs)
        if key == "__init__":
            CAPTURE["objects"].append(self)
            CAPTURE["episodes"].append([[key, *kept]] if kept is not None else [])
            return value
        for known, episode in zip(CAPTURE["objects"], CAPTURE["episodes"]):
            # An object whose call could not be copied is not followed any further.
            if known is self and episode and kept is None:
                episode.append(None)
            elif known is self and _goes_further(episode):
                episode.append([key, *kept])
        return value

    return noting


def _goes_further(episode: list) -> bool:
    """Whether one more call of an object is kept: all until then were, so that it plays alike."""
    return bool(episode) and None not in episode and len(episode) <= MOST_CALLS


def _outermost(function, args, kwargs):
    CAPTURE["inside"] += 1
    try:
        return function(*args, **kwargs)
    finally:
        CAPTURE["inside"] -= 1


def _noted(args, kwargs):
    """The arguments to call with, with tapes for functions, and a copy of them or None."""
    args, kwargs = _taped(args), _taped(kwargs)
    try:
        return args, kwargs, [copied(args), copied(kwargs)]
    except Exception:  # whatever a student's object does when it is copied
        return args, kwargs, None


def _taped(value):
    if isinstance(value, FUNCTIONS):
        return Tape(value)
    if type(value) in (list, tuple):
        return type(value)(map(_taped, value))
    if type(value) is dict:
        return {key: _taped(one) for key, one in value.items()}
    return value


# ------------------------------------------------------------------ choosing
def _elements(episode) -> float:
    if not episode or None in episode:
        return float("inf")
    return sum(one.numel() for step in episode for one in _tensors(step[1:]))


def _clarity(episode) -> tuple:
    """Large is better: axes of different sizes, none of them 0 or 1, then few numbers."""
    sizes, lengths = [], []
    for _, args, kwargs in episode:
        given = [*args, *kwargs.values()]
        sizes += [size for one in _tensors(given) for size in one.shape]
        sizes += [one for one in given if type(one) is int]
        lengths += [len(one) for one in given if isinstance(one, (str, list, tuple, dict))]
    return (
        all(size > 1 for size in [*sizes, *lengths]),
        min(len(episode), 3),
        len({size for size in sizes if size > 1}),
        -_elements(episode),
        -abs(sum(lengths) - MANY * len(lengths)),
        -len(called("f", episode)),
    )


def _tensors(value: object) -> list:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in _tensors(one)]
    return []


def called(name: str, episode: list, parameters: tuple = ()) -> str:
    """The calls of an episode, as a reader would write them."""
    found = []
    for method, args, kwargs in episode:
        names = itertools.chain(parameters if not method else (), itertools.repeat(""))
        given = [f"{key}={shown(one)}" if key else shown(one) for key, one in zip(names, args)]
        given += [f"{key}={shown(one)}" for key, one in kwargs.items()]
        what = f"one = {name}" if method == "__init__" else f"one.{method}" if method else name
        found.append(f"{what}({', '.join(given)})")
    return "; ".join(found)


# ------------------------------------------------------------------ playing
def played(names: dict, name: str, episode: list) -> object:
    """What the last call of an episode gives, of the code in `names`: its value, or the arguments
    that it changed.
    """
    torch.manual_seed(1)
    target, one, value, args = names[name], None, None, ()
    for method, args, kwargs in copied(episode):
        if method == "__init__":
            one = target(*args, **kwargs)
            continue
        function = getattr(one, method) if method else target
        value = (_launched if CAPTURE["kernel"] else _called)(function, args, kwargs)
        if inspect.isgenerator(value):
            value = list(itertools.islice(value, PIECES))
    if value is not None:
        return value
    pairs = zip(_tensors(episode[-1][1]), _tensors(args))
    changed = [after for before, after in pairs if not alike(before, after)]
    return changed[0] if len(changed) == 1 else changed


def _called(function, args, kwargs):
    return function(*args, **kwargs)


def _launched(function, args, kwargs):
    """Call what launches Triton kernels, in the interpreter, which refuses strays and races."""
    from autograder.checks.kernels.interpreter import Harness, run

    harness = Harness([], 0)
    harness._random = InOrder()
    return run(harness, function, args, kwargs, harness.beside)


class InOrder:
    """In the place of the harness's generator: program instances in the order of their ids."""

    def sample(self, places: list, _: int) -> list:
        """The places as they are."""
        return places


CAPTURE: dict = {"kernel": False}
w2s_globals = globals().get("w2s_globals", {})  # the student's, see ask.py
