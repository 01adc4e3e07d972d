"""Whose fault an exception inside the sandbox is: the student's code, or the room that we gave it.

What works in the course's environment must not cost a point here. So an exception that says "this
installation is broken or incomplete" and comes from a library's own lines, or an import of a
package that should be here and is not, is no error of the student: the worker reports it as a
fault, and the exercise waits for a human. A student can provoke one; it then waits, and earns
nothing by itself. A package that was never part of the environment (`pandas`, a file of one's own)
is promised to nobody: its import fails for everybody, and is an error as any other.
"""

import errno
import importlib.metadata
import importlib.util
import sys
import traceback
from functools import cache

OURS = (
    "autograder",
    "course",
    "reference_impl",
    "solutions",
    "tests",
)  # withheld on purpose: asking for it is their error
REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS}  # what the walls answer
INTERNAL = "INTERNAL ASSERT FAILED"  # torch's own word for its own bug
STANDARD = sys.stdlib_module_names
NOT_OF_THE_COURSE = (
    "`{}` is no package of the course: grading has those of requirements.lock, and no file of yours"
    " beside the notebook. Write what you need of it into a cell."
)


def is_library_fault(error: BaseException, namespace: dict, stage: str) -> bool:
    """Whether `error`, raised under code whose globals are `namespace`, is the room's fault.

    stage: the folder of our own files inside; what they raise on purpose (a withheld module) is the
    student's error.
    """
    frames = [
        frame
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith("<frozen importlib")
    ]
    if isinstance(error, SystemError) or INTERNAL in str(error):
        return True
    if (
        isinstance(error, ModuleNotFoundError)
        and error.name
        and not promised(error.name.partition(".")[0])
    ):
        return False
    if not frames or frames[-1].f_globals is namespace:
        return isinstance(error, ModuleNotFoundError) and _is_not_here(error.name or "")
    if frames[-1].f_code.co_filename.startswith((stage, "<", "cell ")):
        return False
    if isinstance(error, OSError):
        return error.errno in REFUSED
    if isinstance(error, AttributeError):
        return isinstance(error.obj, type(traceback))  # a module that lacks a name: half loaded
    return isinstance(error, (ImportError, NameError))


def _is_not_here(name: str) -> bool:
    """Whether a package is missing as a whole; a misspelt part of one that is here is the student's
    slip.
    """
    top = name.partition(".")[0]
    if not top or top in OURS:
        return False
    try:
        return importlib.util.find_spec(top) is None
    except (ImportError, ValueError):
        return True


def remark(error: BaseException) -> str:
    """A sentence on an import that cannot work in grading, whatever the student does; "" for any
    other exception.
    """
    top = (
        error.name.partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and error.name
        else ""
    )
    return NOT_OF_THE_COURSE.format(top) if top and not promised(top) and _is_not_here(top) else ""


@cache
def promised(top: str) -> bool:
    """Whether a package is one that the environment should have: Python's own, one that is pinned,
    or one whose installation was noted.

    The note is an installed distribution's list of files, which names what it is imported as; where
    that is gone too, the pin must have the same name as the package.
    """
    if top in STANDARD:
        return True
    try:
        from pinned_names import NAMES
    except ImportError:  # no stage is here
        NAMES = ()
    return top.lower() in NAMES or any(
        _brings(one, top) for one in importlib.metadata.distributions()
    )


def _brings(distribution: importlib.metadata.Distribution, top: str) -> bool:
    files = distribution.read_text("RECORD") or "\n".join(
        (distribution.read_text("top_level.txt") or "").split()
    )
    return any(
        line == top or line.startswith((f"{top}/", f"{top}.")) for line in files.splitlines()
    )
