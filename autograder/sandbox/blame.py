"""Whose fault an exception inside the sandbox is: the student's code, or the room that we gave it.

What works at home must not cost a point here. So an exception that says "this installation is broken or incomplete"
and comes from a library's own lines, or an import of a package that is not here, is no error of the student: the
worker reports it as a fault, and the exercise waits for a human. A student can provoke one; it then waits, and earns
nothing by itself.
"""
import errno
import importlib.util
import traceback

OURS = ("autograder", "course", "reference_impl", "solutions", "tests")    # withheld on purpose: asking for it is their error
REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS}                         # what the walls answer
INTERNAL = "INTERNAL ASSERT FAILED"                                         # torch's own word for its own bug


def is_library_fault(error: BaseException, namespace: dict, stage: str) -> bool:
    """Whether `error`, raised under code whose globals are `namespace`, is the room's fault.

    stage: the folder of our own files inside; what they raise on purpose (a withheld module) is the student's error.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)
              if not frame.f_code.co_filename.startswith("<frozen importlib")]
    if isinstance(error, SystemError) or INTERNAL in str(error):
        return True
    if not frames or frames[-1].f_globals is namespace:
        return isinstance(error, ModuleNotFoundError) and _is_not_here(error.name or "")
    if frames[-1].f_code.co_filename.startswith((stage, "<", "cell ")):
        return False
    if isinstance(error, OSError):
        return error.errno in REFUSED
    if isinstance(error, AttributeError):
        return isinstance(error.obj, type(traceback))      # a module that lacks a name: half loaded
    return isinstance(error, (ImportError, NameError))


def _is_not_here(name: str) -> bool:
    """Whether a package is missing as a whole; a misspelt part of one that is here is the student's slip."""
    top = name.partition(".")[0]
    if not top or top in OURS:
        return False
    try:
        return importlib.util.find_spec(top) is None
    except (ImportError, ValueError):
        return True
