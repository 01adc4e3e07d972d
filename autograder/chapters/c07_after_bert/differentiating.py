"""Ask for gradients, and take what torch refuses to differentiate for the slip that it is in the other stages."""
from torch import Tensor

from autograder.chapters.c05_bert_pretraining.test_blanks import REFUSED
from autograder.checks.protocol import Student, StudentError, expect
from autograder.checks.slips import note


def ask_gradients(student: Student, name: str, arguments: tuple, right: dict[int, Tensor], cause: str) -> None:
    """Compare the gradients of a loss; right: the right one of each argument, by its place."""
    try:
        found = student.gradients(name, *arguments, wrt=tuple(right))
    except StudentError as error:
        slip = next((sentence for text, sentence in REFUSED.items() if text in error.text), None)
        if slip is None:
            raise
        note(slip)
        return
    for came, wanted in zip(found.arguments, right.values()):
        expect(came is not None).is_true(cause=cause)
        expect(came, "The gradient of your loss").close(wanted, rtol=1e-3, atol=1e-5, cause=cause)
