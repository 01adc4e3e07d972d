"""Who answers a viva's questions without the code: rules of thumb, and one that learns.

Each rule sees a question's text and options and names a position. `learned_shares` counts, for
the questions of each chapter, which words come with a right option in all others, and picks the
likeliest option: what can be guessed from how questions are made shows up there.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from autograder.viva.kinds.question import BOTH, Question

Asked = Sequence[tuple[str, Question]]  # with the chapter of each


def _likeness(question: Question) -> list[int]:
    """How many words each option shares with the others."""
    words = [set(re.findall(r"\w+", one)) for one in question.options]
    return [sum(len(one & other) for other in words) for one in words]


def _number(option: str) -> float:
    found = re.findall(r"-?\d+\.?\d*", option)
    return float(found[0]) if found else 0.0


def _best(scores: Sequence[float]) -> int:
    return max(range(len(scores)), key=lambda one: scores[one])


def _middle(question: Question) -> int:
    numbers = [_number(one) for one in question.options]
    return numbers.index(sorted(numbers)[len(numbers) // 2])


RULES: dict[str, Callable[[Question], int]] = {
    **{f"always {letter}": lambda _, place=place: place for place, letter in enumerate("abcd")},
    "longest option": lambda one: _best([len(option) for option in one.options]),
    "shortest option": lambda one: _best([-len(option) for option in one.options]),
    "most like the others": lambda one: _best(_likeness(one)),
    "odd one out": lambda one: _best([-like for like in _likeness(one)]),
    "largest number": lambda one: _best([_number(option) for option in one.options]),
    "smallest number": lambda one: _best([-_number(option) for option in one.options]),
    "middle number": _middle,
}


def shares(asked: Asked) -> dict[str, float]:
    """From a rule to its share of right answers."""
    found = {
        name: sum(rule(one) == one.answer for _, one in asked) / len(asked)
        for name, rule in RULES.items()
    }
    return found | {"learned from other chapters": learned_share(asked)}


def learned_share(asked: Asked) -> float:
    """The share of right answers of a naive Bayes guesser; each chapter is left out once."""
    right = 0
    for chapter in {chapter for chapter, _ in asked}:
        known = _counts([one for where, one in asked if where != chapter])
        right += sum(_guess(one, *known) == one.answer for where, one in asked if where == chapter)
    return right / len(asked)


def _counts(questions: Sequence[Question]) -> tuple[Counter, Counter]:
    """How often each trait of an option was seen, and how often of a right one."""
    seen, right = Counter(), Counter()
    for question in questions:
        for place in range(len(question.options)):
            traits = _traits(question, place)
            seen.update(traits)
            if place == question.answer:
                right.update(traits)
    return seen, right


def _guess(question: Question, seen: Counter, right: Counter) -> int:
    def score(place: int) -> float:
        traits = _traits(question, place)
        return sum(math.log((right[one] + 1) / (seen[one] + 4)) for one in traits)

    return _best([score(place) for place in range(len(question.options))])


def _traits(question: Question, place: int) -> set[str]:
    """Words that a reader sees, with what this option says of them."""
    found = {f"{question.kind} {place}"}
    if question.options == BOTH:
        first, second = re.split(r"\(2\)", question.text.split("(1)", 1)[-1])[:2]
        for said, true in ((first, place < 2), (second, place % 2 == 0)):
            found |= {f"{question.kind} {true} {word}" for word in re.findall(r"\w+", said)}
        return found
    option = question.options[place]
    rank = sorted(question.options, key=len).index(option)
    words = {*re.findall(r"\w+", re.sub(r"\d+", "", option)), f"length {rank}"}
    context = " ".join(re.findall(r"exception|no difference|same|differ|shape", question.text))
    return found | {f"{question.kind} {context} {word}" for word in words}
