"""What a call raises, in a way that is the same at home and in the sandbox: the kind of exception
without its text.
"""

from collections.abc import Callable

from autograder.checks.protocol import StudentError


def raised_by(ask: Callable[[], object]) -> str:
    """ "ValueError" if the student's code raised one, another name for another, "" for none; what
    never got so far is raised again.
    """
    try:
        ask()
    except StudentError as error:
        if error.kind != "error":
            raise
        lines = [line.split(":")[0] for line in error.text.split("\n")]
        return "ValueError" if "ValueError" in lines else lines[-1]
    return ""
