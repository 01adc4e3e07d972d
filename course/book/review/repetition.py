"""When a flashcard comes again: FSRS-6, the scheduler of Anki, with its default parameters.

    card = review(NEW, "good", today=0)          stability 2.3 days: due on day 2
    card = review(card, "good", today=2)         stability 11.0 days: due on day 13
    retrievability(10, card.stability)           the probability of recall ten days later

A card's memory has a stability, the days until the probability of recall has fallen to 90 %, and a
difficulty from 1 to 10. The page counts whole days and has no learning steps of minutes: a card
that was forgotten is due on the same day, and a second answer on one day counts as short-term.
book/assets/repeat.js keeps the same rule in the reader's browser; tests/book/test_deck.py compares
both with recorded values of the package `fsrs` (py-fsrs).
"""

import math
from dataclasses import dataclass

GRADES = ("again", "hard", "good", "easy")
AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4
RETENTION = 0.9  # the desired probability of recall when a card is due
LONGEST = 36_500  # days
W = (
    *(0.212, 1.2931, 2.3065, 8.2956),  # stability after the first answer: again to easy
    *(6.4133, 0.8334, 3.0194, 0.001),  # difficulty: first, and how it changes
    *(1.8722, 0.1666, 0.796),  # stability after recall
    *(1.4835, 0.0614, 0.2629, 1.6483),  # stability after a lapse
    *(0.6014, 1.8729),  # hard, easy
    *(0.5425, 0.0912, 0.0658),  # a second answer on one day
    0.1542,  # the decay of the forgetting curve
)
FACTOR = 0.9 ** (-1 / W[20]) - 1


@dataclass(frozen=True)
class Card:
    """What is known of one card: its memory, the days of its last and next answer, and counts.

    A stability of 0 means that the card was never answered.
    """

    stability: float = 0.0
    difficulty: float = 0.0
    last: int = 0
    due: int = 0
    answers: int = 0
    lapses: int = 0


NEW = Card()


def retrievability(days: float, stability: float) -> float:
    """The probability of recall so many days after the last answer."""
    return (1 + FACTOR * days / stability) ** -W[20]


def interval(stability: float, retention: float = RETENTION) -> int:
    """The whole days after which the probability of recall is `retention`."""
    days = stability / FACTOR * (retention ** (-1 / W[20]) - 1)
    return min(max(1, math.floor(days + 0.5)), LONGEST)


def after_recall(
    stability: float,
    difficulty: float,
    recall: float,
    rating: int,
) -> float:
    """The stability after an answer that came, on a later day."""
    gain = math.exp(W[8]) * (11 - difficulty) * stability ** -W[9]
    gain *= math.exp(W[10] * (1 - recall)) - 1
    gain *= {HARD: W[15], GOOD: 1.0, EASY: W[16]}[rating]
    return stability * (1 + gain)


def after_lapse(stability: float, difficulty: float, recall: float) -> float:
    """The stability after an answer that did not come, on a later day."""
    kept = W[11] * difficulty ** -W[12] * ((stability + 1) ** W[13] - 1)
    return min(kept * math.exp(W[14] * (1 - recall)), stability / math.exp(W[17] * W[18]))


def on_the_same_day(stability: float, rating: int) -> float:
    """The stability after another answer on the day of the last one."""
    change = math.exp(W[17] * (rating - 3 + W[18])) * stability ** -W[19]
    return stability * (change if rating == AGAIN else max(change, 1.0))


def first_difficulty(rating: int) -> float:
    """The difficulty after the first answer, before it is limited to 1 to 10."""
    return W[4] - math.exp(W[5] * (rating - 1)) + 1


def next_difficulty(difficulty: float, rating: int) -> float:
    """The difficulty after an answer: damped near 10, and drawn towards that of *easy*."""
    moved = difficulty - W[6] * (rating - 3) * (10 - difficulty) / 9
    return _limited(W[7] * first_difficulty(EASY) + (1 - W[7]) * moved)


def review(card: Card, grade: str, today: int) -> Card:
    """The card after an answer on the day `today`. Raises ValueError for an unknown grade."""
    if grade not in GRADES:
        raise ValueError(f"there is no grade {grade!r}; there are {', '.join(GRADES)}")
    rating, new = GRADES.index(grade) + 1, card.stability == 0
    if new:
        stability, difficulty = W[rating - 1], _limited(first_difficulty(rating))
    else:
        stability = _next_stability(card, rating, today - card.last)
        difficulty = next_difficulty(card.difficulty, rating)
    return Card(
        stability=max(stability, 0.001),
        difficulty=difficulty,
        last=today,
        due=today + (0 if rating == AGAIN else interval(stability)),
        answers=card.answers + 1,
        lapses=card.lapses + (rating == AGAIN and not new),
    )


def _next_stability(card, rating, days):
    if days < 1:
        return on_the_same_day(card.stability, rating)
    recall = retrievability(days, card.stability)
    if rating == AGAIN:
        return after_lapse(card.stability, card.difficulty, recall)
    return after_recall(card.stability, card.difficulty, recall, rating)


def _limited(difficulty):
    return min(max(difficulty, 1.0), 10.0)
