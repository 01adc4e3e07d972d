"""The reasons for which a person reviews an exercise, and the sentence of each."""

from dataclasses import dataclass
from enum import Enum

MAX_NAMED = 8  # of one kind; a page must not grow with the submission


class ReviewKind(Enum):
    """Why an exercise needs review. The sentence is for people; nothing is decided by it."""

    DEFINED_ELSEWHERE = (
        "This exercise lost points, and `{}` is defined outside of the exercise's cell, or twice "
        "(cell number in the file: {}): the answer may be there."
    )
    MISSING = (
        "The cell of this exercise is not in the notebook: it was deleted, or the notebook is of "
        "an older release. No points were decided."
    )
    INVALID = (
        "This exercise lost points, and its cell is not valid Python, by itself or because it was "
        "split: the answer may be right."
    )
    CHANGED_BELOW = (
        "This exercise lost points, and `{}`, which its cell uses, is set again or deleted in a "
        "cell below: the answer may be right."
    )
    RAISED = (
        "This exercise lost points, and its cell stopped with an error: the answer may be right."
    )
    RAISED_ABOVE = (
        "This exercise lost points, and a cell above it stopped with an error: the answer may be "
        "right."
    )
    TOO_LONG = "The cell is longer than what is read; no points were decided."
    UNREAD = "The cell of this exercise cannot be read ({}); no points were decided."
    ANSWER_ELSEWHERE = (
        "The cell of this answer is {}, and text was added elsewhere in the notebook "
        "(cell number in the file: {}): the answer may be there."
    )
    ANSWER_GONE = (
        "The cell of this answer is not in the notebook, so the answer may have gone with it."
    )


@dataclass(frozen=True)
class ReviewItem:
    """One reason, with what its sentence names."""

    kind: ReviewKind
    details: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return self.kind.value.format(*self.details)


def numbers(places: list[int]) -> str:
    """ "2, 5 and 7", at most MAX_NAMED of them."""
    some = [str(place) for place in places[:MAX_NAMED]]
    if len(places) > MAX_NAMED:
        return ", ".join(some) + f" and {len(places) - MAX_NAMED} more"
    return " and ".join(filter(None, (", ".join(some[:-1]), some[-1])))
