"""What a check sees of a student: functions to call by name, wherever they run.

`Student` is the part that all students share: it numbers stages and objects and records the calls of a stage. A subclass
answers one question, `perform(request) -> Returned`. `LocalStudent` answers it in this process; the sandbox's remote
student answers it through a pipe. In both the same executor carries the request out beside the student's code (see
`executor`), and what passes is the same (`values` both ways, `arguments` towards the student), so that a check cannot
tell them apart. Whatever goes wrong on the student's side is a StudentError.
"""
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch import Tensor

from autograder.checks import arguments
from autograder.checks.callables import answer, exceeded
from autograder.checks.executor import Executor
from autograder.checks.failed import builtin_exception
from autograder.checks.handles import Gradients, Handle, Outcome, Stream
from autograder.checks.values import PLAIN, Unreadable, cross, same
from autograder.checks.withheld import Paused

KINDS = ("not_attempted", "missing", "withheld", "error", "time", "memory", "killed", "unreadable", "fault")
MIB = 1024 * 1024


class StudentError(Exception):
    """A call that brought no readable value back.

    kind: one of KINDS; "fault" is a library that failed inside a sandbox, which costs no points.
    text: for the student; in an "error", their own lines of the traceback and the message.
    """

    def __init__(self, kind: str, text: str):
        if kind not in KINDS:
            raise ValueError(f"StudentError kind {kind!r} is not one of {', '.join(KINDS)}")
        super().__init__(kind, text)
        self.kind, self.text = kind, text


@dataclass(frozen=True)
class Request:
    """One question to a student's side. do: an operation of the executor. label: how sentences call it. name: of the
    function, method or attribute. of: the object, None for a function. more: what only this operation needs. withheld:
    names that the student's code may not use, with the reason."""
    do: str
    label: str
    name: str = ""
    of: Handle | None = None
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    keep: Handle | None = None
    more: dict = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether it is the call of a function by its name and nothing else."""
        return self.do == "call" and self.of is None and self.keep is None and not self.more


@dataclass(frozen=True)
class Returned:
    """What a call gave back, the positional arguments as the call left them (in-place changes show there), what was
    counted, if that was asked for, whether the call left an argument in autograd's hands, and whether it changed what the
    call before had given."""
    value: object
    args: tuple = ()
    counted: dict[str, int] = field(default_factory=dict)
    tracked: bool = False
    stale: bool = False


@dataclass(frozen=True)
class Call:
    """One recorded call: the function's name, what came back (a Returned or a StudentError), and what it was given.

    changed: whether the call left one of its plain arguments otherwise than it was. again: whether it is the call of a
    function, which may be put to somebody else with the same arguments.
    """
    name: str
    outcome: Returned | StudentError
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    changed: bool = False
    again: bool = False


class Student:
    """Base of all students: `student.NAME(*args)` returns the value, `student.call("NAME", *args)` a Returned.

    `build` and `stream` keep what a call returns as an object of the student's (see `handles`); it lives until the stage
    ends. `calls` holds the calls since `new_stage()`. Subclasses define `perform`; one that can die also overrides
    `new_stage` to come back to life (and calls the method here).
    """

    def __init__(self):
        self.calls: list[Call] = []
        self.stage = 0
        self.withheld: Mapping[str, str] = {}      # see `withholding`; the runner sets it for each exercise
        self.fault = ""       # the name of the fault that was drawn for this student, where the grader knows it

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.call(name, *args, **kwargs).value

    def new_stage(self) -> None:
        """Forget the recorded calls and the objects: another stage begins."""
        self.calls = []
        self.stage += 1

    def call(self, name: str, *args: object, **kwargs: object) -> Returned:
        """Call the student's function `name`. Raises StudentError."""
        return self.ask("call", name, name, args=args, kwargs=kwargs)

    def counted(self, name: str, *args: object, **kwargs: object) -> Returned:
        """Like `call`, with what the call made of tensors in `counted`: counted beside the student, so it only teaches."""
        return self.ask("call", name, name, args=args, kwargs=kwargs, more={"count": True})

    def build(self, name: str, *args: object, **kwargs: object) -> Handle:
        """Call a class (or any function) and keep the object that it gives."""
        return self.keep(name, name, None, args, kwargs)

    def stream(self, name: str, *args: object, **kwargs: object) -> Stream:
        """Call a generator function; its pieces are asked for one by one."""
        return self.keep(name, name, None, args, kwargs, Stream)

    def script(self, commands: Sequence[tuple]) -> list[Outcome]:
        """Many calls of functions in one message: ("draw", logits, 3), ("draw", logits, 4)."""
        return self.run_script("", None, commands, ())

    def gradients(self, name: str, *args: object, upstream: Tensor | None = None, wrt: Sequence[int] = (0,),
                  **kwargs: object) -> Gradients:
        """Call a function and differentiate the result by the arguments at the places `wrt`; see `inside.gradients`."""
        return self.differentiate(name, name, None, args, kwargs, upstream, wrt)

    def kernel(self, name: str, *args: object, seed: int = 1, **kwargs: object) -> Returned:
        """Call a function that launches Triton kernels, in Triton's interpreter, under the harness of `kernels`.

        `counted` holds programs, loads, stores, bytes read and written, and operations. seed: the order of the programs.
        """
        return self.ask("kernel", name, name, args=args, kwargs=kwargs, more={"compile": False, "seed": seed})

    def compiles(self, name: str, *args: object, **kwargs: object) -> list[dict]:
        """Compile the kernels that a function launches, for a Hopper GPU, without running them; one entry a launch.

        A process that interprets cannot compile: at home the list is empty, and grading asks.
        """
        return self.ask("kernel", name, name, args=args, kwargs=kwargs, more={"compile": True}).value

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
                raise StudentError("unreadable", f"`{label}` called the function that it was given more than "
                                                 f"{used_up.budget} times.")
        except StudentError as error:
            self.calls.append(Call(label, error, request.args, request.kwargs, again=request.plain))
            raise
        self.calls.append(Call(label, outcome, request.args, request.kwargs, _changed(request.args, outcome.args),
                               request.plain))
        return outcome

    def keep(self, label: str, name: str, of: Handle | None, args: tuple, kwargs: dict, made: type = Handle):
        """Call, and keep what comes back as a Handle or a Stream."""
        kept = made(self, label)
        self.ask("call", label, name, of=of, args=args, kwargs=kwargs, keep=getattr(kept, "_handle", kept),
                 more={"iterate": made is Stream})
        return kept

    def run_script(self, label: str, of: Handle | None, commands: Sequence[tuple], watch: Sequence[str]) -> list[Outcome]:
        """See `script` here and in `inside`."""
        plain = [(command[0], tuple(command[1:]), {}) for command in commands]
        found = self.ask("script", label, of=of, more={"commands": plain, "watch": list(watch)}).value
        if type(found) is not list or len(found) != len(plain) or not all(map(_is_outcome, found)):
            raise StudentError("unreadable", f"`{label or 'The script'}` did not answer every command.")
        return [Outcome(*one) for one in found]

    def differentiate(self, label: str, name: str, of: Handle | None, args: tuple, kwargs: dict,
                      upstream: Tensor | None, wrt: Sequence[int]) -> Gradients:
        """See `gradients` here and in `inside`."""
        found = self.ask("gradients", label, name, of=of, args=args, kwargs=kwargs,
                         more={"upstream": upstream, "wrt": tuple(wrt)}).value
        if type(found) is not dict or found.keys() != {"value", "arguments", "parameters"}:
            raise StudentError("unreadable", f"`{label}` did not give its gradients.")
        value, by_place, by_name = found["value"], found["arguments"], found["parameters"]
        tensors = [value, *by_place, *by_name.values()] if type(by_place) is list and type(by_name) is dict else [0]
        if type(value) is not Tensor or len(by_place) != len(wrt) or not all(
                one is None or type(one) is Tensor for one in tensors):
            raise StudentError("unreadable", f"`{label}` gave gradients that are not tensors.")
        return Gradients(value, by_place, by_name)

    def pull(self, stream: Handle, count: int) -> dict:
        """The next pieces of a stream; see `Stream.take`."""
        found = self.ask("next", stream._name, of=stream, more={"count": count}).value
        if (type(found) is not dict or found.keys() != {"pieces", "ended"} or type(found["pieces"]) is not list
                or type(found["ended"]) is not bool or len(found["pieces"]) > count
                or len(found["pieces"]) < count and not found["ended"]):
            raise StudentError("unreadable", f"`{stream._name}` did not give its next piece.")
        return found

    def perform(self, request: Request) -> Returned:
        """Carry the request out. Raises StudentError and nothing else on the student's account."""
        raise NotImplementedError

    def cap(self, memory: int):
        """A context manager in which calls have this much memory."""
        raise NotImplementedError


def _is_outcome(one: object) -> bool:
    return type(one) is tuple and list(map(type, one[1:])) == [str, str, dict]


def lowered(request: Request, register: Callable[[Callable], int]) -> dict:
    """The request as the executor takes it, in plain values and `Ours` nodes. Raises Unreadable."""
    sent = tuple(arguments.lower(item, register) for item in request.args)
    more = {name: arguments.lower(item, register) for name, item in request.more.items()}
    return {"do": request.do, "label": request.label, "name": request.name, "args": sent,
            "kwargs": {name: arguments.lower(item, register) for name, item in request.kwargs.items()},
            "kinds": list(map(arguments.kind_of, sent)), "of": request.of and request.of.number,
            "keep": request.keep and request.keep.number, "withheld": dict(request.withheld)} | more


def returned(request: Request, sent: tuple, reply: dict) -> Returned:
    """What an answer means. The reply is hostile beyond its outermost types. Raises StudentError.

    cross() again: which types may pass is decided on this side, whatever the other let through.
    """
    try:
        after = tuple(arguments.raised(ours, low, same, item)
                      for ours, low, (same, item) in zip(request.args, sent, reply["args"] or [(True, None)] * len(sent)))
        counted = cross(reply.get("counted", {}))
        if type(counted) is not dict or not all(type(one) is int for one in counted.values()):
            raise Unreadable("counts that are no numbers")
        return Returned(cross(reply["value"]), after, counted, reply.get("tracked") is True,
                        reply.get("stale") is True)
    except Unreadable as reason:
        raise StudentError("unreadable", f"`{request.label}` returned {reason}.") from None


def _changed(before: tuple, after: tuple) -> bool:
    """Whether an argument of a plain type is not what it was; what is made to be written into is no plain type."""
    return any(type(old) in PLAIN and not same(old, new, 0, 0) for old, new in zip(before, after))


class OurNamespace(dict):
    """Functions of the course's own (a known mistake, a mutant): what is withheld from a student is not withheld from them."""


class LocalStudent(Student):
    """A student whose functions live in this process, in `namespace` (a notebook's globals, or just functions).

    For code that is trusted by whoever runs it: there is no isolation and no time limit, and a cap on memory is kept
    by looking at the tensors that a call made.
    """

    def __init__(self, namespace: Mapping[str, object]):
        super().__init__()
        self._executor = Executor(namespace, self._stand_in, (KeyboardInterrupt,))
        self._ours: dict[int, Callable] = {}
        self._memory: int | None = None
        self._ours_to_answer = isinstance(namespace, OurNamespace)

    def new_stage(self) -> None:
        """Another stage begins: our callables and the student's objects are forgotten."""
        super().new_stage()
        self._ours.clear()

    def perform(self, request: Request) -> Returned:
        """Carry it out on copies of the arguments, in this process."""
        self._executor.begin(self.stage)
        if request.of is not None and request.of.number not in self._executor.objects:
            raise ValueError(f"`{request.of._name}` was made in an earlier stage, or closed; objects live for one stage")
        low = lowered(request, self._register)
        if self._ours_to_answer:
            low["withheld"] = {}
        if self._memory is not None:
            low["count"] = True
        if low.get("compile") and interprets():
            return Returned([])
        delivered = self._deliver(low)
        reply = self._executor.carry_out(delivered)
        if reply["say"] == "error":
            raise StudentError(reply["kind"], reply["text"])
        peak = reply.get("counted", {}).get("peak", 0)
        if self._memory is not None and peak > self._memory:
            raise StudentError("memory", f"`{request.label}` holds {peak / MIB:.0f} MiB of tensors at once; "
                                         f"{self._memory / MIB:.0f} MiB are there for this call.")
        return returned(request, low["args"], reply)

    @contextmanager
    def cap(self, memory: int):
        """Calls in this block may hold `memory` bytes of tensors at once."""
        before, self._memory = self._memory, memory
        try:
            yield
        finally:
            self._memory = before

    def _register(self, function: Callable) -> int:
        self._ours[len(self._ours)] = function
        return len(self._ours) - 1

    def _stand_in(self, number: int) -> Callable:
        return guarded(self._ours[number])

    def _deliver(self, low: object) -> object:
        if isinstance(low, arguments.Ours):
            inner = [low.inner[0].clone(), *low.inner[1:]] if low.tag == "buffer" else low.inner
            return self._executor.deliver(low.tag, inner)
        if type(low) in (list, tuple):
            return type(low)(map(self._deliver, low))
        return {key: self._deliver(item) for key, item in low.items()} if type(low) is dict else cross(low)


def interprets() -> bool:
    """Whether Triton's kernels are interpreted in this process."""
    return "triton" in sys.modules and bool(sys.modules["triton"].knobs.runtime.interpret)


def guarded(function: Callable) -> Callable:
    """Our own callable as a student receives it: nameless, and trading plain copies only."""
    def implementation(*args: object, **kwargs: object) -> object:
        try:
            with Paused():
                return answer(function, args, kwargs)
        except Exception as error:
            raise builtin_exception(type(error).__name__, str(error)) from None
    return implementation
