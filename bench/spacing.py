"""Record what py-fsrs answers, for chapter 16's page on cards and tests/book/test_deck.py.

    pip install fsrs==6.3.2        in an environment of its own: the course does not need it
    python bench/spacing.py        writes book/16-review/fsrs6.json

Forty cards, twelve answers each, at random gaps of 0 to 60 days. The scheduler has no learning
steps and no random shift of intervals, as in the page; everything else is its default.
"""

import json
import random
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

try:
    from fsrs import Card, Rating, Scheduler
except ImportError:
    sys.exit(77)  # no rival here: what is recorded stays

FILE = Path(__file__).resolve().parents[1] / "book" / "16-review" / "fsrs6.json"
START = datetime(2026, 1, 1, tzinfo=UTC)


def answers(scheduler: Scheduler, numbers: random.Random) -> list[list[float]]:
    """One card's answers: day, rating, recall before it, stability, difficulty and interval."""
    card, day, rows = Card(card_id=1), 0, []
    for n in range(12):
        day += numbers.choice((0, 0, 1, 2, 3, 7, 15, 30, 60)) if n else 0
        rating = numbers.choice((1, 2, 3, 3, 3, 4))
        now = START + timedelta(days=day)
        recall = scheduler.get_card_retrievability(card, now)
        card, _ = scheduler.review_card(card, Rating(rating), now)
        wait = (card.due - now).days
        rows.append([day, rating, recall, card.stability, card.difficulty, wait])
    return rows


def main() -> None:
    """Write the file."""
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    numbers = random.Random(16)
    rows = [answers(scheduler, numbers) for _ in range(40)]
    shorter = {
        str(goal): [
            Scheduler(desired_retention=goal, enable_fuzzing=False)._next_interval(stability=s)
            for s in (0.5, 2.3065, 10, 100)
        ]
        for goal in (0.8, 0.9, 0.95)
    }
    found = {
        "package": f"fsrs {version('fsrs')}",
        "parameters": list(scheduler.parameters),
        "columns": ["day", "rating", "recall before", "stability", "difficulty", "interval"],
        "cards": rows,
        "intervals": {"stability": [0.5, 2.3065, 10, 100], "by_retention": shorter},
    }
    FILE.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(f"{sum(map(len, rows))} answers in {FILE}")


if __name__ == "__main__":
    main()
