"""What grading may tell of a hidden run.

A student's code sees the hidden inputs and can put them into an exception's text, a type's name or
a key. So of what the student's side says, only that is repeated which it said with the visible seed
too, before any hidden input was sent. Authors' causes hold no drawn numbers, so they may always be
shown.
"""

import builtins
from dataclasses import replace

from autograder.checks.results import CAUSES, StageResult, Status
from autograder.checks.student.tracebacks import PLACE

FIXED = {
    "not_attempted": "A function of this exercise is not written yet, or its cell failed.",
    "error": CAUSES[Status.ERROR],
}


def discreet(hidden: StageResult, visible: StageResult) -> StageResult:
    """The hidden run's result, with texts that are the author's or that the visible run
    gave too.
    """
    if hidden.status in (Status.PASSED, Status.SLIP, Status.CAPPED, Status.FAULT):
        return hidden
    if (hidden.status, hidden.cause) == (visible.status, visible.cause):
        return replace(hidden, detail=visible.detail if _alike(hidden, visible) else _kept(hidden))
    return replace(hidden, cause=FIXED.get(hidden.status, hidden.cause), detail=_kept(hidden))


def _alike(hidden: StageResult, visible: StageResult) -> bool:
    """Whether the visible run's detail is about the same failure: for an exception, the same places
    and kind.
    """
    return hidden.status != Status.ERROR or _kept(hidden) == _kept(visible)


def _kept(result: StageResult) -> str:
    """Of an exception its places and its kind, if that is one of Python's; nothing of anything
    else.

    That the places are the notebook's own is seen to where they arrive, see RemoteStudent.
    """
    if result.status != Status.ERROR:
        return ""
    *lines, last = result.detail.split("\n")
    kind = last.split(":")[0].strip()
    known = kind if isinstance(getattr(builtins, kind, None), type) else "An exception"
    places = [found.group() for line in lines[:6] if (found := PLACE.match(line))]
    return "\n".join([*places, known])
