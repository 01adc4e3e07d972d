"""Try to break out, and see what came of it: what `course doctor` and the tests run.

An attempt is an ordinary function of one argument, the facts about this machine that an attacker
could know. Its source is sent into a sandbox as a student's cell and called there. Whether it held
is judged outside, by the traces that a success leaves (see bait.py); the function's own word only
counts against the sandbox: a result that begins with ESCAPED is an escape. An attempt that fails
for another reason than the walls proves nothing and is reported.
"""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from autograder.checks.student.requests import StudentError
from autograder.sandbox.api.cells import Cell
from autograder.sandbox.api.limits import MIB, Limits
from autograder.sandbox.api.opening import open_student
from autograder.sandbox.api.student import MachineBusy
from autograder.sandbox.backends.base import Backend
from autograder.sandbox.selftest.bait import Bait

HELD, ESCAPED, UNTRIED = "held", "ESCAPED", "not tried"
# Small enough that hitting each limit takes a moment, large enough for an interpreter.
TIGHT = Limits(
    memory=256 * MIB,
    tree_memory=384 * MIB,
    tmp=16 * MIB,
    file_size=32 * MIB,
    processes=32,
    call_seconds=10.0,
    restarts=0,
)
ATTEMPTS: dict[str, "Attempt"] = {}


@dataclass(frozen=True)
class Attempt:
    """One way out.

    ends: kinds of StudentError that a wall that holds may cause. must_end: one of them is the only
    good answer. limits: changes to TIGHT.
    """

    name: str
    tries: str
    function: Callable[[dict], str]
    ends: tuple[str, ...] = ()
    must_end: bool = False
    limits: dict = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The function as a cell, without our decorator."""
        text = inspect.getsource(self.function)
        return text[text.index("def ") :]


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt: state is HELD, ESCAPED or UNTRIED, happened a sentence."""

    name: str
    tries: str
    state: str
    happened: str


def attempt(ends: tuple[str, ...] = (), must_end: bool = False, **limits: object) -> Callable:
    """Decorator: register the function below under its name; what it tries is its docstring."""

    def register(function: Callable) -> Callable:
        name = function.__name__.replace("_", "-")
        ATTEMPTS[name] = Attempt(name, function.__doc__, function, ends, must_end, limits)
        return function

    return register


def all_attempts() -> dict[str, Attempt]:
    """Every attempt by name, in the order of the modules that define them."""
    for module in ("escapes_host", "escapes_kernel", "escapes_limits"):
        importlib.import_module(f"autograder.sandbox.selftest.{module}")
    return ATTEMPTS


def try_out(one: Attempt, backend: Backend, bait: Bait) -> Outcome:
    """Run one attempt in a sandbox of its own, without torch, and look at what it left behind."""
    limits = replace(TIGHT, **one.limits)
    bait.renew()
    with open_student(
        [Cell(None, one.source)], ["reference_impl.embeddings.counts"], limits, backend, warm=()
    ) as student:
        if student.cell_errors:
            return Outcome(one.name, one.tries, UNTRIED, student.cell_errors[0].text)
        try:
            said, ended = student.call(one.function.__name__, bait.facts()).value, None
        except StudentError as error:
            said, ended = error.text, error.kind
        except MachineBusy as busy:  # the clock ended it all the same, only later
            said, ended = str(busy), "time"
        printed = student.printed
    traces = bait.traces(f"{said}\n{printed}")
    text = " ".join(str(said).split())[:300]
    if traces:
        return Outcome(one.name, one.tries, ESCAPED, "; ".join(traces))
    if ended is not None:
        return Outcome(
            one.name, one.tries, HELD if ended in one.ends else UNTRIED, f"{ended}: {text}"
        )
    if type(said) is not str or said.startswith(ESCAPED) or one.must_end:
        return Outcome(one.name, one.tries, ESCAPED, text)
    if len(printed) > limits.output_chars + 200:
        return Outcome(
            one.name, one.tries, ESCAPED, f"{len(printed):,} characters of output were kept"
        )
    return Outcome(one.name, one.tries, HELD, text)
