"""Ask for the gradients of a student's loss; what torch refuses to differentiate is the slip that
it is in other stages.
"""

from torch import Tensor

from autograder.checks.assertions.expect import expect
from autograder.checks.assertions.slips import CHANGED, STALE, note
from autograder.checks.student.base import Student
from autograder.checks.student.requests import StudentError

REFUSED = {
    "a leaf Variable that requires grad is being used in an in-place operation": CHANGED,
    "backward through the graph a second time": STALE,
}


def ask_gradients(
    student: Student,
    name: str,
    arguments: tuple,
    right: dict[int, Tensor],
    cause: str,
    rtol: float = 1e-3,
    atol: float = 1e-5,
    upstream: Tensor | None = None,
) -> None:
    """Compare the gradients of a loss; right: the right one of each argument, by its place.

    upstream: the gradient of the result, where that is no single number. A gradient that never
    comes is a failure with this cause. An argument changed in place, or a graph from an earlier
    call, is noted as that slip, and the rest of the stage counts.
    """
    try:
        found = student.gradients(name, *arguments, upstream=upstream, wrt=tuple(right))
    except StudentError as error:
        slip = next((sentence for text, sentence in REFUSED.items() if text in error.text), None)
        if slip is None:
            raise
        note(slip)
        return
    for came, wanted in zip(found.arguments, right.values()):
        expect(came is not None).is_true(cause=cause)
        expect(came, "The gradient of your loss").close(wanted, rtol=rtol, atol=atol, cause=cause)
