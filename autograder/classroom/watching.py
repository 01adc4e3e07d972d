"""Everybody answers the watched checks of an assignment: the reference, answers bent from it, right answers, known mistakes."""

import importlib
import io
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from autograder.authoring.implementations import namespace_of
from autograder.authoring.proven import EVERY, sampled
from autograder.checks import expect as asking
from autograder.checks.exchange import Request, Returned
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.registry import alternatives_of, mistakes_of
from autograder.classroom import recorder
from autograder.classroom.places import Module
from autograder.grading.assignment import Assignment

RUNTIME = "autograder/recorded"
SHARE = 5  # one in so many other answers is tried when an archive is made, and all of them in the long tests
PATIENCE = 3  # bent answers may take so many times as long as right ones: some checks would search for long


class TooLong(BaseException):
    """A check did not end with bent answers."""


class Seen(LocalStudent):
    """A student whose turns the recorder knows of. bend: what becomes of an answer."""

    def __init__(self, namespace: dict, bend: Callable[[object], object] | None = None):
        super().__init__(namespace)
        self._bend = bend

    def perform(self, request: Request) -> Returned:
        """Carry it out, and bend the answer."""
        recorder.state.performing += 1
        try:
            came = super().perform(request)
        finally:
            recorder.state.performing -= 1
        return (
            came
            if self._bend is None
            else replace(came, value=self._bend(came.value), args=tuple(map(self._bend, came.args)))
        )


class Watching:
    """The chapter's modules in the form that reports, loaded in place of the others."""

    def __init__(self, assignment: Assignment, modules: dict[str, Module], folder: Path):
        self.assignment, self.state = assignment, recorder.state
        for path, module in modules.items():
            place = folder / Path(path).relative_to("autograder/chapters")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(module.watched("autograder.classroom.recorder"), encoding="utf-8")
            package = importlib.import_module(module.name.rpartition(".")[0])
            if str(place.parent) not in package.__path__:
                package.__path__.insert(0, str(place.parent))
        self.exercises = {id: one for id, one in assignment.entry.exercises.items() if one.stages}

    def everybody(self) -> dict[str, list]:
        """Watch all answers; by exercise and answer, what came of each stage: status, points, cause, detail."""
        found, took = {}, {}
        for id in self.exercises:
            begun = time.monotonic()
            found[f"{id} reference"] = self._ask(id, "reference")
            took[id] = time.monotonic() - begun
        if bad := [(key, row) for key, rows in found.items() for row in rows if row[1] != "passed"]:
            raise ValueError(f"the reference does not pass: {bad[:2]}")
        self.state.first = False
        for bend in (bent_numbers, bent_things):
            for id in self.exercises:
                with _going_on(), _at_most(1 + PATIENCE * took[id]):
                    self._ask(id, "reference", bend)
        for id, impl in others(self.exercises):
            found[f"{id} {impl}"] = self._ask(id, impl)
        return found

    def written(self, chosen: set[str]) -> set[str]:
        """Write down what the reference's checks ask of these; those for which that was possible."""
        while True:
            self.state.begin(set(chosen))
            for id in self.exercises:
                self._ask(id, "reference")
            if not chosen & self.state.unfit.keys():
                return chosen
            chosen -= self.state.unfit.keys()

    def books(self) -> dict[str, bytes]:
        """The files of what was written down."""
        tree = {"calls": self.state.calls, "values": self.state.values}
        files = {f"{RUNTIME}/calls.json": json.dumps(tree, separators=(",", ":")).encode()}
        for name, array in self.state.arrays.joined().items():
            data = io.BytesIO()
            np.save(data, array, allow_pickle=False)
            files[f"{RUNTIME}/{name}.npy"] = data.getvalue()
        return files

    def _ask(self, id: str, impl: str, bend: Callable | None = None) -> list:
        return rows_of(
            run_exercise(
                self.exercises[id], Seen(namespace_of(impl, self.exercises[id]), bend), mistakes=[]
            )
        )


def rows_of(result: object) -> list:
    """What a student is told of each stage."""
    return [
        [stage.name, stage.status, stage.earned, stage.cause, stage.detail]
        for stage in result.stages
    ]


def others(exercises: dict) -> Iterator[tuple[str, str]]:
    """By exercise other right answers and known mistakes, one in SHARE or all (`proven.EVERY`), as `namespace_of` takes them."""
    share = 1 if os.environ.get(EVERY) else SHARE
    for id in exercises:
        every = [f"alternative:{one.name}" for one in alternatives_of(id)] + [
            f"mistake:{one.name}" for one in mistakes_of(id)
        ]
        yield from ((id, impl) for impl in every if sampled(f"{id} {impl}", share))


def bent_numbers(value: object) -> object:
    """The value with its floats a little off."""
    if type(value) is torch.Tensor:
        return value.detach() * 1.001 + 0.001 if value.is_floating_point() else value
    if type(value) is float:
        return value * 1.001 + 0.001
    return _inside(value, bent_numbers)


def bent_things(value: object) -> object:
    """The value with its whole numbers, texts and truths changed, and with floats far off."""
    if type(value) is torch.Tensor:
        return ~value if value.dtype == torch.bool else value + 1
    if type(value) is bool:
        return not value
    if type(value) in (int, float):
        return value + 1
    if type(value) in (str, bytes):
        return value + (b"~" if type(value) is bytes else "~")
    return _inside(value, bent_things)


def _inside(value: object, bend: Callable) -> object:
    if type(value) in (list, tuple):
        return type(value)(map(bend, value))
    return {key: bend(one) for key, one in value.items()} if type(value) is dict else value


@contextmanager
def _going_on() -> Iterator[None]:
    """No question ends a stage: it gives the value that was asked about."""
    kept = {
        name: getattr(asking.Expectation, name)
        for name in (
            "equals",
            "close",
            "is_tensor",
            "is_a",
            "unpacks",
            "is_finite",
            "between",
            "is_true",
        )
    }

    def forgiving(question: Callable) -> Callable:
        def asked(self, *args: object, **kwargs: object) -> object:
            try:
                return question(self, *args, **kwargs)
            except asking.CheckFailed:
                return self.value

        return asked

    with mock.patch.multiple(
        asking.Expectation, **{name: forgiving(question) for name, question in kept.items()}
    ):
        yield


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End what takes longer, without a word."""

    def over(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
