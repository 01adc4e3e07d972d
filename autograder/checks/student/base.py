"""What a check sees of a student: functions to call by name, wherever they run.

`Student` is the part that all students share: it numbers stages and objects and records the calls
of a stage. A subclass answers one question, `perform(request) -> Returned`. `LocalStudent` answers
it in this process; the sandbox's remote student answers it through a pipe. In both the same
executor carries the request out beside the student's code (see `executor`), and what passes is the
same (`values` both ways, `arguments` towards the student), so that a check cannot tell them apart.
Whatever goes wrong on the student's side is a StudentError.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager

from torch import Tensor

from autograder.checks.assertions.slips import SHAPE, note
from autograder.checks.assertions.values import PLAIN, same
from autograder.checks.inputs.callables import exceeded
from autograder.checks.student.handles import Gradients, Handle, Outcome, Stream
from autograder.checks.student.requests import Call, Request, Returned, StudentError

MIB = 1024 * 1024
LOOKS = {
    "state": Tensor,
    "shapes": tuple,
    "learning": bool,
    "training": None,
}  # of what a dictionary by name is made; None: a flag
COUNTS = {"largest", "allocated", "peak", "copied", "flops"}  # see counters.Counter


class Student:
    """Base of all students: `student.NAME(*args)` returns the value, `student.call("NAME", *args)`
    a Returned.

    `build` and `stream` keep what a call returns as an object of the student's (see `handles`); it
    lives until the stage ends. `calls` holds the calls since `new_stage()`. Subclasses define
    `perform`; one that can die also overrides `new_stage` to come back to life (and calls the
    method here).
    """

    def __init__(self):
        self.calls: list[Call] = []
        self.stage = 0
        self.withheld: Mapping[
            str, str
        ] = {}  # see `withholding`; the runner sets it for each exercise
        # the name of the fault that was drawn for this student, where the grader knows it
        self.fault = ""

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.call(name, *args, **kwargs).value

    def new_exercise(self, withheld: Mapping[str, str], fault: str = "") -> None:
        """Another exercise begins: what it withholds, and the fault that was drawn for it."""
        self.withheld, self.fault = withheld, fault

    def new_stage(self) -> None:
        """Forget the recorded calls and the objects: another stage begins."""
        self.calls = []
        self.stage += 1

    def begin_afresh(self) -> None:
        """Forget all that the student's code kept, where that can be done: its cells run again
        before the next stage.
        """

    def call(self, name: str, *args: object, **kwargs: object) -> Returned:
        """Call the student's function `name`. Raises StudentError."""
        return self.ask("call", name, name, args=args, kwargs=kwargs)

    def counted(self, name: str, *args: object, **kwargs: object) -> Returned:
        """Like `call`, with what the call made of tensors in `counted`: counted beside the student,
        so it only teaches.
        """
        found = self.ask("call", name, name, args=args, kwargs=kwargs, more={"count": True})
        if found.counted.keys() != COUNTS or min(found.counted.values()) < 0:
            raise StudentError(
                "unreadable",
                f"What `{name}` made of tensors was not counted: something else came in the place"
                " of the counts.",
            )
        return found

    def build(self, name: str, *args: object, **kwargs: object) -> Handle:
        """Call a class (or any function) and keep the object that it gives."""
        return self.keep(name, name, None, args, kwargs)

    def stream(self, name: str, *args: object, **kwargs: object) -> Stream:
        """Call a generator function; its pieces are asked for one by one."""
        return self.keep(name, name, None, args, kwargs, Stream)

    def script(self, commands: Sequence[tuple]) -> list[Outcome]:
        """Many calls of functions in one message: ("draw", logits, 3), ("draw", logits, 4)."""
        return self.run_script("", None, commands, ())

    def gradients(
        self,
        name: str,
        *args: object,
        upstream: Tensor | None = None,
        wrt: Sequence[int] = (0,),
        **kwargs: object,
    ) -> Gradients:
        """Call a function and differentiate the result by the arguments at the places `wrt`; see
        `inside.gradients`.
        """
        return self.differentiate(name, name, None, args, kwargs, upstream, wrt)

    def kernel(self, name: str, *args: object, seed: int = 1, **kwargs: object) -> Returned:
        """Call a function that launches Triton kernels, in Triton's interpreter, under the harness
        of `kernels`.

        `counted` holds programs, loads, stores, bytes read and written, and operations. seed: the
        order of the programs.
        """
        return self.ask(
            "kernel", name, name, args=args, kwargs=kwargs, more={"compile": False, "seed": seed}
        )

    def compiles(self, name: str, *args: object, **kwargs: object) -> list[dict]:
        """Compile the kernels that a function launches, for a Hopper GPU, without running them; one
        entry a launch.

        A process that interprets cannot compile: at home the list is empty, and grading asks.
        """
        return self.ask(
            "kernel", name, name, args=args, kwargs=kwargs, more={"compile": True}
        ).value

    @contextmanager
    def capped(self, memory: int):
        """For calls that must do with `memory` bytes: `with student.capped(64 * MIB): ...`."""
        with self.cap(memory):
            yield

    def ask(self, do: str, label: str, name: str = "", **parts: object) -> Returned:
        """Put one request, and record it. Raises StudentError."""
        request = Request(do, label, name, withheld=self.withheld, **parts)
        try:
            outcome = self.perform(request)
            if (used_up := exceeded([request.args, request.kwargs])) is not None:
                raise StudentError(
                    "unreadable",
                    f"`{label}` called the function that it was given more than "
                    f"{used_up.budget} times.",
                )
        except StudentError as error:
            self.calls.append(Call(label, error, request.args, request.kwargs, again=request.plain))
            raise
        self.calls.append(
            Call(
                label,
                outcome,
                request.args,
                request.kwargs,
                _changed(request.args, outcome.args),
                request.plain,
            )
        )
        return outcome

    def keep(
        self,
        label: str,
        name: str,
        of: Handle | None,
        args: tuple,
        kwargs: dict,
        made: type = Handle,
    ):
        """Call, and keep what comes back as a Handle or a Stream."""
        kept = made(self, label)
        self.ask(
            "call",
            label,
            name,
            of=of,
            args=args,
            kwargs=kwargs,
            keep=getattr(kept, "_handle", kept),
            more={"iterate": made is Stream},
        )
        return kept

    def run_script(
        self, label: str, of: Handle | None, commands: Sequence[tuple], watch: Sequence[str]
    ) -> list[Outcome]:
        """See `script` here and in `inside`."""
        plain = [(command[0], tuple(command[1:]), {}) for command in commands]
        found = self.ask(
            "script", label, of=of, more={"commands": plain, "watch": list(watch)}
        ).value
        if (
            type(found) is not list
            or len(found) != len(plain)
            or not all(_is_outcome(one, watch) for one in found)
        ):
            raise StudentError(
                "unreadable", f"`{label or 'The script'}` did not answer every command."
            )
        return [Outcome(*one) for one in found]

    def differentiate(
        self,
        label: str,
        name: str,
        of: Handle | None,
        args: tuple,
        kwargs: dict,
        upstream: Tensor | None,
        wrt: Sequence[int],
    ) -> Gradients:
        """See `gradients` here and in `inside`."""
        found = self.ask(
            "gradients",
            label,
            name,
            of=of,
            args=args,
            kwargs=kwargs,
            more={"upstream": upstream, "wrt": tuple(wrt)},
        ).value
        if type(found) is not dict or found.keys() != {"value", "arguments", "parameters"}:
            raise StudentError("unreadable", f"`{label}` did not give its gradients.")
        value, by_place, by_name = found["value"], found["arguments"], found["parameters"]
        tensors = (
            [value, *by_place, *by_name.values()]
            if type(by_place) is list and type(by_name) is dict
            else [0]
        )
        if (
            type(value) is not Tensor
            or len(by_place) != len(wrt)
            or not all(one is None or type(one) is Tensor for one in tensors)
        ):
            raise StudentError("unreadable", f"`{label}` gave gradients that are not tensors.")
        if value.shape != (
            wanted := () if upstream is None else upstream.shape
        ) and value.numel() == math.prod(wanted):
            note(SHAPE.format(f"What `{label}` returned"))
            value = value.reshape(wanted)
        return Gradients(value, by_place, by_name)

    def pull(self, stream: Handle, count: int) -> dict:
        """The next pieces of a stream; see `Stream.take`."""
        found = self.ask("next", stream._name, of=stream, more={"count": count}).value
        if (
            type(found) is not dict
            or found.keys() != {"pieces", "ended"}
            or type(found["pieces"]) is not list
            or type(found["ended"]) is not bool
            or len(found["pieces"]) > count
            or len(found["pieces"]) < count
            and not found["ended"]
        ):
            raise StudentError("unreadable", f"`{stream._name}` did not give its next piece.")
        return found

    def look_at(self, handle: Handle, what: str) -> object:
        """What an object's module says of itself; see `inside`."""
        found = self.ask("inspect", handle._name, what, of=handle).value
        if not _is_look(found, LOOKS[what]):
            raise StudentError(
                "unreadable", f"`{handle._name}` did not tell its {what}: something else came."
            )
        return found

    def perform(self, request: Request) -> Returned:
        """Carry the request out. Raises StudentError and nothing else on the student's account."""
        raise NotImplementedError

    def cap(self, memory: int):
        """A context manager in which calls have this much memory."""
        raise NotImplementedError


def _is_outcome(one: object, watch: Sequence[str]) -> bool:
    return (
        type(one) is tuple
        and list(map(type, one[1:])) == [str, str, dict]
        and list(one[3]) == list(dict.fromkeys(watch))
    )


def _is_look(found: object, kind: type | None) -> bool:
    if kind is None:
        return type(found) is bool
    return type(found) is dict and all(
        type(name) is str and type(one) is kind for name, one in found.items()
    )


def _changed(before: tuple, after: tuple) -> bool:
    """Whether an argument of a plain type is not what it was; what is made to be written into is no
    plain type.
    """
    return any(
        type(old) in PLAIN and not same(old, new, 0, 0, ordered=True)
        for old, new in zip(before, after)
    )
