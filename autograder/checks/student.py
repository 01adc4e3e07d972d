"""What a check sees of a student: functions to call by name, wherever they run.

`Student` is the part that all students share: it records the calls of a stage. A subclass answers one question,
`perform(name, args, kwargs) -> Returned`. `LocalStudent` answers it in this process; the sandbox's remote student
answers it through a pipe. Both follow the same rules, so that a check cannot tell them apart:

- arguments and results are plain copies (`values.cross`): no gradient graph, no shared memory;
- a callable of ours may be an argument. The student gets a function named `implementation` that forwards plain
  copies; when ours raises a builtin exception the student sees that class with the same message, otherwise
  RuntimeError;
- whatever goes wrong on the student's side is a StudentError.
"""
import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from autograder.checks.tracebacks import student_traceback
from autograder.checks.values import Unreadable, cross

KINDS = ("not_attempted", "missing", "error", "time", "memory", "killed", "unreadable", "fault")


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
class Returned:
    """What a call gave back, and the positional arguments as the call left them (in-place changes show there)."""
    value: object
    args: tuple


@dataclass(frozen=True)
class Call:
    """One recorded call: the function's name and what came back, a Returned or a StudentError."""
    name: str
    outcome: Returned | StudentError


class Student:
    """Base of all students: `student.NAME(*args)` returns the value, `student.call("NAME", *args)` a Returned.

    `calls` holds the calls since `new_stage()`. Subclasses define `perform`; one that can die also overrides
    `new_stage` to come back to life (and calls the method here).
    """

    def __init__(self):
        self.calls: list[Call] = []

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.call(name, *args, **kwargs).value

    def new_stage(self) -> None:
        """Forget the recorded calls: another stage begins."""
        self.calls = []

    def call(self, name: str, *args: object, **kwargs: object) -> Returned:
        """Call the student's function `name`. Raises StudentError."""
        try:
            outcome = self.perform(name, args, kwargs)
        except StudentError as error:
            self.calls.append(Call(name, error))
            raise
        self.calls.append(Call(name, outcome))
        return outcome

    def perform(self, name: str, args: tuple, kwargs: dict) -> Returned:
        """Carry the call out. Raises StudentError and nothing else on the student's account."""
        raise NotImplementedError


class LocalStudent(Student):
    """A student whose functions live in this process, in `namespace` (a notebook's globals, or just functions).

    For code that is trusted by whoever runs it: there is no isolation, no time and no memory limit.
    """

    def __init__(self, namespace: Mapping[str, object]):
        super().__init__()
        self._namespace = namespace

    def perform(self, name: str, args: tuple, kwargs: dict) -> Returned:
        """Call the function on copies of the arguments, in this process."""
        function = self._namespace.get(name)
        if not callable(function):
            raise StudentError("missing", f"There is no function named `{name}`: run the cell that defines it.")
        sent, named = tuple(map(_send, args)), {key: _send(item) for key, item in kwargs.items()}
        try:
            value = function(*sent, **named)
        except NotImplementedError as error:
            raise StudentError("not_attempted", f"`{name}` is not written yet: {error}") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:   # SystemExit and the like must not end the check either
            raise StudentError("error", student_traceback(error, getattr(function, "__globals__", None))) from None
        try:
            after = tuple(before if callable(before) else cross(item) for before, item in zip(args, sent))
            return Returned(cross(value), after)
        except Unreadable as reason:
            raise StudentError("unreadable", f"`{name}` returned {reason}.") from None


def _send(argument: object) -> object:
    return guarded(argument) if callable(argument) else cross(argument)


def guarded(function: Callable) -> Callable:
    """Our own callable as a student receives it: nameless, and trading plain copies only."""
    def implementation(*args: object, **kwargs: object) -> object:
        try:
            received = [cross(item) for item in args], {key: cross(item) for key, item in kwargs.items()}
            return cross(function(*received[0], **received[1]))
        except Exception as error:
            kind = type(error) if getattr(builtins, type(error).__name__, None) is type(error) else RuntimeError
            raise kind(str(error)) from None
    return implementation
