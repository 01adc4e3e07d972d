"""When a flashcard comes again: the intervals of the cards' page, in the manner of SM-2 (Wozniak
1990).

    card = review(NEW, "good", today=0)          due in one day
    card = review(card, "good", today=1)         then in 2.5 days, rounded; then in 6.25; then in
                                                 15.6

An answer that came well multiplies the interval by the card's ease, one that did not come brings
the card back today. book/assets/repeat.js keeps the same rule in the reader's browser; a test holds
the two together.
"""

import math
from dataclasses import dataclass, replace

GRADES = ("again", "hard", "good", "easy")
LEAST_EASE = 1.3


@dataclass(frozen=True)
class Card:
    """Where one card stands: its interval in days (0: not learned), its ease, the day on which it
    is due, answers and lapses.
    """

    interval: float = 0.0
    ease: float = 2.5
    due: int = 0
    answers: int = 0
    lapses: int = 0


NEW = Card()


def review(card: Card, grade: str, today: int) -> Card:
    """The card after an answer on the day `today`. Raises ValueError for an unknown grade."""
    if grade not in GRADES:
        raise ValueError(f"there is no grade {grade!r}; there are {', '.join(GRADES)}")
    new = card.interval == 0
    interval = {
        "again": 0.0,
        "hard": 1.0 if new else card.interval * 1.2,
        "good": 1.0 if new else card.interval * card.ease,
        "easy": card.ease if new else card.interval * card.ease * 1.3,
    }[grade]
    ease = max(
        LEAST_EASE, card.ease + {"again": -0.2, "hard": -0.15, "good": 0.0, "easy": 0.15}[grade]
    )
    wait = max(1, math.floor(interval + 0.5)) if interval else 0
    return replace(
        card,
        interval=interval,
        ease=ease,
        due=today + wait,
        answers=card.answers + 1,
        lapses=card.lapses + (grade == "again" and not new),
    )
