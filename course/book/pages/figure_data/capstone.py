"""What the pages of chapter 17 read from the capstone's record, over all of its seeds.

card = Capstone()
card.scores("tune", "sums")            a share for each seed
card.text("tune", "sums")              "0.50", or "0.51 (0.48–0.55)" over several seeds
card.reward_runs()                     for the figure reward-runs
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

from IPython.display import Markdown

from course.book.pages.records import ROOT, record
from course.book.pages.tables import table

STAGES = ("pretrain", "tune", "reinforce")
BROKEN = "capstone_broken"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def shown(values: Iterable[float], digits: int = 2) -> str:
    """The mean, followed by the lowest and the highest where there are several values."""
    values = list(values)
    mean = f"{fmean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def left_table(header: str, rows: Iterable[Sequence[Any]]) -> Markdown:
    """`table` with its columns of words aligned to the left, as outputs are not by themselves."""
    head, marks, *body = table(header, rows).data.split("\n")
    return Markdown("\n".join([head, marks.replace(" --- ", " :--- "), *body]))


class Capstone:
    """The report cards of every seed in the record."""

    @cached_property
    def cards(self) -> list[dict[str, Any]]:
        """One report card for each seed."""
        return record("trained_capstone")["cards"]

    @property
    def seeds(self) -> str:
        """How many seeds there are, in words."""
        count = len(self.cards)
        return f"{NUMBERS[count] if count < len(NUMBERS) else count} seed{'s' * (count != 1)}"

    def each(self, value: Callable[[dict], float]) -> list[float]:
        """A value of each card."""
        return [value(card) for card in self.cards]

    def scores(self, stage: str, task: str) -> list[float]:
        """The fraction of a task that is right after a stage, for each seed."""
        return self.each(lambda card: card["scores"][stage][task]["share"])

    def text(self, stage: str, task: str) -> str:
        """The same as text."""
        return shown(self.scores(stage, task))

    def bits(self, stage: str, text: str) -> list[float]:
        """Bits per byte of held-out text after a stage, for each seed."""
        return self.each(lambda card: card["bits_per_byte"][stage][text])

    def cost(self, stage: str, key: str = "cpu_seconds") -> float:
        """Mean CPU seconds or FLOPs of a stage; 0 where it has none."""
        return fmean(self.each(lambda card: card["costs"][stage].get(key, 0)))

    def apart(self, task: str, before: str = "tune", after: str = "reinforce") -> bool:
        """Whether under every seed a task improves with both intervals apart."""
        return all(
            card["scores"][after][task]["low"] > card["scores"][before][task]["high"]
            for card in self.cards
        )

    def control(self, name: str) -> list[dict[str, Any]]:
        """What a control of the reinforcement recorded, for each seed."""
        return [card["reinforcement"][name] for card in self.cards]

    def reward_runs(self) -> list[dict[str, Any]]:
        """Each reward's run as a mean over seeds, step by step."""
        labels = {"right": "right number", "shuffled": "shuffled", "hacked": "short number"}
        found = []
        for key, label in labels.items():
            runs = [one if key == "right" else one["rewards"] for one in self.control(key)]
            rows = [
                {name: round(fmean(row[name] for row in step), 4) for name in step[0]}
                for step in zip(*runs)
            ]
            found.append({"key": key, "label": label, "rows": rows})
        return found


def broken(part: str) -> dict[str, Any] | None:
    """A part of the record of broken variants; None where it has not been measured."""
    if not (ROOT / "bench" / "results" / f"{BROKEN}.json").is_file():
        return None
    return record(BROKEN).get(part)
