"""A multiple-choice question, and options that say nothing about which of them is right.

Options are drawn so that a reader without the code has to guess: whether a statement is true is
drawn before what it says, a number is at a drawn position of a scale, and of four lines or changes
each could have been the right one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

OPTIONS = 4
TWO = "Two statements about this call:"
WHICH = "Which of them are true?"
BOTH = ("both", "only (1)", "only (2)", "neither")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
LEAST = 2  # 0 and 1 are likely without the code: nobody is asked for them


@dataclass(frozen=True)
class Question:
    """One question: `options`, of which the one at `answer` is right, and why.

    line: of the student's cell, 0 where it is about several. steps: how many lines run before
    it is decided, a measure of difficulty.
    """

    kind: str
    line: int
    text: str
    options: tuple[str, ...]
    answer: int
    why: str
    steps: int

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return dict(vars(self), options=list(self.options))


@dataclass(frozen=True)
class Statement:
    """What is said about a run, whether it is true, and why."""

    text: str
    true: bool
    why: str
    steps: int = 0


def of_two(kind: str, begin: str, end: str, pair: Sequence[Statement]) -> Question:
    """Which of two statements are true."""
    first, second = pair
    text = f"{begin} (1) {first.text}. (2) {second.text}. {end}"
    answer = 2 * (not first.true) + (not second.true)
    why = f"(1) {first.why}. (2) {second.why}."
    return Question(kind, 0, text, BOTH, answer, why, max(first.steps, second.steps))


def two_claims(
    rights: Sequence[int], wrongs: Sequence[set[int]], draw: Random
) -> list[tuple[int, bool]] | None:
    """What is said of two numbers and whether it is true; None where there is too little to say.

    It is never the same of both: two lines of one loop run alike, so that both would be true.
    """
    pools = [wrongs[0] - set(rights), wrongs[1] - set(rights)]
    if rights[0] == rights[1] or min(map(len, pools)) < 2:
        return None
    found: list[tuple[int, bool]] = []
    for right, wrong in zip(rights, pools):
        true = draw.random() < 0.5
        said = right if true else draw.choice(sorted(wrong - {one for one, _ in found}))
        found.append((said, true))
    return found


def scale(right: int, draw: Random) -> tuple[tuple[str, ...], int] | None:
    """Four whole numbers in a row and the position of the right one; None of a small number.

    Each position is as likely as any other: small numbers, of which only some fit, are left out.
    """
    if right < LEAST + OPTIONS - 1:
        return None
    position = draw.randrange(OPTIONS)
    begin = right - position
    return tuple(str(begin + step) for step in range(OPTIONS)), position


def distinct(values: Iterable) -> list:
    """The values without repetitions, in their order."""
    return list(dict.fromkeys(values))
