"""The mock exam: which questions it may ask, how many of each chapter, and what one number draws
from them.

    bank = exam_bank(book)                                 every question, in the order of the
                                                           chapters
    draw_exam(bank, blueprint(bank, 30), seed=4711)        the sheet that number 4711 gives,
                                                           everywhere the same

book/assets/exam.js draws the same sheet from the same number in the reader's browser; a test holds
the two together. In the quizzes the right option is the longest far too often. Who always ticks the
longest shall gain nothing here: of such questions the bank takes so many that the right option is
the longest no more often than by chance (`fair`). Not here: texts (questions.py), and what stands
on the page (book/_ext/review.py).
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from course.book.review.questions import ExamQuestion, Option, Question, load_questions

REVIEW = 16  # the chapter of the exam itself asks nothing
QUESTIONS, MINUTES = 30, 45


@dataclass(frozen=True)
class Item:
    """What can be asked: `key` is chapter and id, `written` for the exam or else taken from a quiz;
    sizes are all that a draw needs.
    """

    key: str
    chapter: int
    written: bool
    options: tuple[Option, ...]
    variants: int


@dataclass(frozen=True)
class Asked:
    """A place on a sheet: the item, the order of its options, and which of its variants."""

    key: str
    order: tuple[int, ...]
    variant: int


def exam_bank(book: Path) -> list[Item]:
    """All items of the chapters below `book`, the exam's own questions first in each, and of the
    quizzes those that `fair` keeps.
    """
    bank = []
    for path in sorted(book.glob("[0-9][0-9]-*/questions.yml")):
        questions = load_questions(path)
        if questions.chapter != REVIEW:
            bank += [_item(questions.chapter, one, True) for one in questions.exam]
            bank += fair([_item(questions.chapter, one, False) for one in questions.quiz])
    return bank


def _item(chapter: int, one: Question | ExamQuestion, written: bool) -> Item:
    return Item(
        f"{chapter:02d}.{one.id}", chapter, written, one.options, len(getattr(one, "variants", ()))
    )


def longest_is_right(item: Item) -> bool:
    """Is the right option longer than every other one?"""
    right = [len(option.text) for option in item.options if option.correct]
    return bool(right) and right[0] > max(
        len(option.text) for option in item.options if not option.correct
    )


def fair(items: Sequence[Item]) -> list[Item]:
    """`items` without so many of those whose right option is the longest that their share is at
    most chance; which ones stay, a hash says.
    """
    telling = sorted(
        (one for one in items if longest_is_right(one)),
        key=lambda one: hashlib.sha256(one.key.encode()).digest(),
    )
    kept = [one for one in items if not longest_is_right(one)]
    room = sum((Fraction(1, len(one.options)) for one in kept), Fraction(0))
    for one in telling:
        room += Fraction(1, len(one.options)) - 1  # it adds its chance, and takes one place
        if room < 0:
            break
        kept.append(one)
    return [one for one in items if one in kept]


def blueprint(bank: Sequence[Item], questions: int = QUESTIONS) -> dict[int, int]:
    """How many questions each chapter gets: one after another to the chapter that has fewest so
    far, while it has items left.
    """
    sizes = Counter(item.chapter for item in bank)
    plan = dict.fromkeys(sorted(sizes), 0)
    for _ in range(min(questions, len(bank))):
        plan[
            min(
                (chapter for chapter in plan if plan[chapter] < sizes[chapter]),
                key=lambda chapter: (plan[chapter], -sizes[chapter], chapter),
            )
        ] += 1
    return plan


class Numbers:
    """Random numbers that Python and JavaScript draw alike: 32 bits of state, one multiplication at
    a time.
    """

    def __init__(self, seed: int):
        self.state = seed & 0xFFFFFFFF

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        self.state = (self.state + 0x6D2B79F5) & 0xFFFFFFFF
        mixed = self.state
        mixed = (mixed ^ mixed >> 15) * (mixed | 1) & 0xFFFFFFFF
        mixed ^= (mixed + (mixed ^ mixed >> 7) * (mixed | 61)) & 0xFFFFFFFF
        return (mixed ^ mixed >> 14) * n >> 32

    def some(self, things: Sequence, many: int) -> list:
        """`many` of `things`, each order as likely as any other; all of them if there are fewer."""
        things = list(things)
        for k in range(min(many, len(things))):
            other = k + self.below(len(things) - k)
            things[k], things[other] = things[other], things[k]
        return things[:many]


def draw_exam(bank: Sequence[Item], plan: dict[int, int], seed: int) -> list[Asked]:
    """The exam with the number `seed`: each chapter's share, in random order.

    Half of it, rounded up, was written for the exam.
    """
    numbers, chosen = Numbers(seed), []
    for chapter, many in sorted(plan.items()):
        here = [item for item in bank if item.chapter == chapter]
        written = numbers.some([item for item in here if item.written], (many + 1) // 2)
        chosen += written + numbers.some(
            [item for item in here if not item.written], many - len(written)
        )
    return [
        Asked(
            item.key,
            tuple(numbers.some(range(len(item.options)), len(item.options))),
            numbers.below(item.variants) if item.variants else 0,
        )
        for item in numbers.some(chosen, len(chosen))
    ]


def chance(item: Item) -> float:
    """The probability that a guess is right: nothing for a number that must be typed."""
    return 1 / len(item.options) if item.options else 0.0


def guessing(chances: Sequence[float]) -> tuple[float, float]:
    """How many right answers guesses give: the expected number, and its standard deviation."""
    return sum(chances), math.sqrt(sum(p * (1 - p) for p in chances))


def pass_mark(chances: Sequence[float], deviations: float = 3) -> int:
    """The least number of right answers that lies so many standard deviations above guessing."""
    mean, deviation = guessing(chances)
    return math.ceil(mean + deviations * deviation)


def telling_lengths(bank: Sequence[Item]) -> str | None:
    """What is wrong if the right option is the longest more often than by chance, all items
    together; None if all is well.
    """
    choices = [item for item in bank if item.options]
    found, expected = sum(map(longest_is_right, choices)), sum(map(chance, choices))
    if found <= expected + 1e-9:
        return None
    return (
        f"in {found} of the exam's {len(choices)} questions with options the right one is the"
        f" longest; by chance it would be in {expected:.1f}. Write longer wrong options, or shorter"
        " right ones"
    )
