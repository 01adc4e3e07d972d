"""A student's exception in the student's own lines: which cell, which line, what it says, and the
message.

Only the standard library, so that the worker inside the sandbox can use it too.
"""

import linecache
import re
import sys
import traceback
from types import FunctionType

MAX_LINES = 6  # of the student's own frames; a runaway recursion has a thousand
MAX_MESSAGE = 600  # characters
PLACE = re.compile(
    r"(cell \d{1,4} \(\w{1,60}\)), line (\d{1,6})\b"
)  # as a sandbox calls a line of a cell
FOREIGN = "a line that is not in the notebook"


def student_traceback(error: BaseException, namespace: dict | None) -> str:
    """The frames of `error` whose globals are `namespace`, innermost last, then "Type: message".

    `namespace` is the `__globals__` of the function that was called; frames of libraries and of
    ours are left out.
    """
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals is namespace
    ]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno or 1))
    shown = [
        f"{place(filename)}, line {line}: {linecache.getline(filename, line).strip()}".removesuffix(
            ": "
        )
        for filename, line in frames[-MAX_LINES:]
    ]
    message = str(error)
    if len(message) > MAX_MESSAGE:
        message = message[:MAX_MESSAGE] + " ..."
    kind = type(error).__name__
    if isinstance(error, AssertionError) and kind != "AssertionError":
        kind = f"AssertionError ({kind})"  # a test may complain with one of its own
    return "\n".join([*shown, f"{kind}: {message}".removesuffix(": ")])


def only_own_places(text: str, lines: dict[str, int]) -> str:
    """What a sandbox says of an exception, with FOREIGN for each place that the notebook does not
    have.

    lines: how many each cell has, by its name. A student may compile code under any name, and so
    say there what a hidden input was.
    """

    def own(line: str) -> bool:
        found = PLACE.match(line)
        name, number = found.groups() if found else ("", "1")
        # One spelling of a number is allowed, without zeros before it: the spelling would say
        # something, too.
        return not found or 1 <= int(number) <= lines.get(name, 0) and number == str(int(number))

    return "\n".join(line if own(line) else FOREIGN for line in text.split("\n"))


def place(filename: str) -> str:
    """How a student knows the place: "Cell In[3]" in Jupyter, otherwise the file's name."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    named = shell.compile.format_code_name(filename) if shell else None
    return " ".join(named) if named else filename.rsplit("/", 1)[-1]


def globals_behind(function: object, otherwise: object) -> object:
    """The globals of the student's code behind a function, method, class or object: theirs are the
    lines to show.
    """
    try:
        inner = getattr(function, "__func__", function)
        if isinstance(inner, FunctionType):
            return inner.__globals__
        kind = inner if isinstance(inner, type) else type(inner)
        frame = getattr(inner, "gi_frame", None)
        if frame is not None:
            return frame.f_globals
        found = [one.__globals__ for one in vars(kind).values() if isinstance(one, FunctionType)]
        return found[0] if found else otherwise
    except Exception:  # an object may answer any question with an exception
        return otherwise
