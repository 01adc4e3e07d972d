"""What passes between a check and a student's side: a question, what came back, and the error that
came instead.

A question is a `Request`; `lowered` puts it into plain values for the executor, wherever that runs.
`returned` makes a `Returned` of the executor's reply, trusting nothing in it. `Call` is the record
of both that a stage keeps.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from autograder.checks.assertions.values import Unreadable, cross
from autograder.checks.inputs import arguments
from autograder.checks.student.handles import Handle

KINDS = (
    "not_attempted",
    "missing",
    "withheld",
    "error",
    "time",
    "memory",
    "killed",
    "unreadable",
    "fault",
)


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
    """One question to a student's side.

    do: an operation of the executor. label: how sentences call it. name: of the function, method or
    attribute. of: the object, None for a function. more: what only this operation needs. withheld:
    names that the student's code may not use, with the reason.
    """

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
    """What a call gave back, the positional arguments as the call left them (in-place changes show
    there), what was counted, if that was asked for, whether the call left an argument in autograd's
    hands, and whether it changed what the call before had given.
    """

    value: object
    args: tuple = ()
    counted: dict[str, int] = field(default_factory=dict)
    tracked: bool = False
    stale: bool = False


@dataclass(frozen=True)
class Call:
    """One recorded call: the function's name, what came back (a Returned or a StudentError), and
    what it was given.

    changed: whether the call left one of its plain arguments otherwise than it was. again: whether
    it is the call of a function, which may be put to somebody else with the same arguments.
    """

    name: str
    outcome: Returned | StudentError
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    changed: bool = False
    again: bool = False


def lowered(request: Request, register: Callable[[Callable], int]) -> dict:
    """The request as the executor takes it, in plain values and `Ours` nodes. Raises Unreadable."""
    sent = tuple(arguments.lower(item, register) for item in request.args)
    more = {name: arguments.lower(item, register) for name, item in request.more.items()}
    return {
        "do": request.do,
        "label": request.label,
        "name": request.name,
        "args": sent,
        "kwargs": {name: arguments.lower(item, register) for name, item in request.kwargs.items()},
        "kinds": list(map(arguments.kind_of, sent)),
        "of": request.of and request.of.number,
        "keep": request.keep and request.keep.number,
        "withheld": dict(request.withheld),
    } | more


def returned(request: Request, sent: tuple, reply: dict) -> Returned:
    """What an answer means. The reply is hostile beyond its outermost types. Raises StudentError.

    cross() again: which types may pass is decided on this side, whatever the other let through.
    """
    try:
        after = tuple(
            arguments.raised(ours, low, same, item)
            for ours, low, (same, item) in zip(
                request.args, sent, reply["args"] or [(True, None)] * len(sent)
            )
        )
        counted = cross(reply.get("counted", {}))
        if type(counted) is not dict or not all(type(one) is int for one in counted.values()):
            raise Unreadable("counts that are no numbers")
        return Returned(
            cross(reply["value"]),
            after,
            counted,
            reply.get("tracked") is True,
            reply.get("stale") is True,
        )
    except Unreadable as reason:
        raise StudentError("unreadable", f"`{request.label}` returned {reason}.") from None


def handles_of(request: Request) -> Iterator[Handle]:
    """Every object of the student's that a request mentions."""
    if request.of is not None:
        yield request.of
    stack = [request.args, request.kwargs, request.more]
    while stack:
        one = stack.pop()
        if isinstance(one, Handle):
            yield one
        elif type(one) in (list, tuple, dict):
            stack += one.values() if type(one) is dict else one
