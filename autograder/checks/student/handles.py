"""Objects of a student's, seen by a check: `Handle` for any object, `Stream` for a generator.

A handle is a number and nothing else. The object stays on the student's side until the stage ends;
what it returns comes back as plain copies. A handle's own names all begin with an underscore or are
listed here, because every other name is a method of the student's: `cache.append(k, v)`. What the
frame itself can do with an object (weights, gradients, mode, attributes, many commands at once) is
asked through `inside(cache)`.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch import Tensor

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Outcome:
    """One command of a script: its value, or the class and the text of what it raised, and the
    attributes watched.
    """

    value: object
    raised: str = ""
    text: str = ""
    watched: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Gradients:
    """What a call gave and its gradients: by place for arguments, by name for parameters; None
    where none arrived.
    """

    value: Tensor
    arguments: list[Tensor | None]
    parameters: dict[str, Tensor | None]


class Handle:
    """One object that a student made.

    `handle(...)` calls it, `handle.NAME(...)` a method; see `inside`.
    """

    def __init__(self, student: object, name: str):
        self._student, self._name, self.number = student, name, next(_numbers)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._student.ask("call", self._name, "", of=self, args=args, kwargs=kwargs).value

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: inside(self).call(name, *args, **kwargs).value


class inside:  # noqa: N801 - reads as a preposition: inside(model).load(weights)
    """What the frame can do with a student's object.

    Everything raises StudentError with a sentence.

    The questions about weights, mode and gradients need an nn.Module; `get`, `call` and `script`
    any object.
    """

    def __init__(self, handle: Handle):
        self._handle, self._ask, self._name = handle, handle._student.ask, handle._name

    def call(self, method: str, *args: object, **kwargs: object) -> object:
        """Call a method; a Returned, in which arguments that changed in place can be seen."""
        return self._ask(
            "call", f"{self._name}.{method}", method, of=self._handle, args=args, kwargs=kwargs
        )

    def build(self, method: str, *args: object, **kwargs: object) -> Handle:
        """Call a method and keep the object that it returns."""
        return self._handle._student.keep(
            f"{self._name}.{method}", method, self._handle, args, kwargs
        )

    def stream(self, method: str, *args: object, **kwargs: object) -> "Stream":
        """Call a method that is a generator."""
        return self._handle._student.keep(
            f"{self._name}.{method}", method, self._handle, args, kwargs, Stream
        )

    def get(self, path: str) -> object:
        """An attribute, or one further in: "length", "blocks.0.attention.num_heads"."""
        return self._ask("get", f"{self._name}.{path}", path, of=self._handle).value

    def script(self, commands: Sequence[tuple], watch: Sequence[str] = ()) -> list[Outcome]:
        """Many calls of methods in one message: ("append", 3), ("free", 7).

        What one raises does not stop the next.

        watch: attributes that are read after each command.
        """
        return self._handle._student.run_script(self._name, self._handle, commands, watch)

    def load(self, weights: dict[str, Tensor]) -> None:
        """Put our weights in, by name; every name and shape must be the student's, and none may be
        left over.
        """
        self._ask("load", self._name, of=self._handle, args=(weights,))

    def state(self) -> dict[str, Tensor]:
        """Its state_dict, as plain tensors."""
        return self._look("state")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter; one that has two names is listed once, as `named_parameters`
        does.
        """
        return self._look("shapes")

    def learning(self) -> dict[str, bool]:
        """Which parameters ask for a gradient."""
        return self._look("learning")

    def training(self) -> bool:
        """Its mode: True while training, False after eval()."""
        return self._look("training")

    def train(self, mode: bool = True) -> None:
        """Set its mode: `train(False)` is eval()."""
        self._ask("mode", self._name, of=self._handle, args=(mode,))

    def gradients(
        self,
        method: str,
        *args: object,
        upstream: Tensor | None = None,
        wrt: Sequence[int] = (),
        **kwargs: object,
    ) -> Gradients:
        """Call a method ("" for the object itself) and differentiate the result, contracted with
        `upstream`.

        Without `upstream` the result must be one number, a loss. The parameters' gradients stay for
        `update`.
        """
        return self._handle._student.differentiate(
            f"{self._name}.{method}".strip("."), method, self._handle, args, kwargs, upstream, wrt
        )

    def update(self, learning_rate: float) -> None:
        """One step of plain gradient descent with the gradients of the last `gradients`."""
        self._ask("update", self._name, of=self._handle, args=(learning_rate,))

    def _look(self, what: str) -> object:
        return self._handle._student.look_at(self._handle, what)


class Stream:
    """A generator of a student's: pieces are made when they are asked for, and not before."""

    def __init__(self, student: object, name: str):
        self._handle = Handle(student, name)
        self.number, self.ended = self._handle.number, False

    def take(self, count: int) -> list:
        """The next `count` pieces; fewer if it ends before, and then `ended` is True."""
        if self.ended:
            return []
        found = self._handle._student.pull(self._handle, count)
        self.ended = found["ended"]
        return found["pieces"]

    def close(self) -> None:
        """End it early, as a client that goes away does; its `finally` blocks run."""
        if not self.ended:
            self.ended = True
            self._handle._student.ask("close", self._handle._name, of=self._handle)

    def __iter__(self) -> Iterator:
        """Piece by piece, without end if it has none: take(n) is what bounds it."""
        while piece := self.take(1):
            yield piece[0]
