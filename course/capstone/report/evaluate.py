"""Scores of a model on held-out items, each with a 95 % Wilson interval, and the two controls.

Items are the same for every seed and stage, so that scores can be compared.
"""

import math
import random
from collections.abc import Sequence

from torch import nn

from course.capstone import reinforce, tasks
from course.capstone.pretrain import held_out_bits
from course.capstone.report.decode import decode, text_of
from course.capstone.stages import Clock, Run
from course.capstone.tokenizer import END, load_text
from course.capstone.tune import Examples, Exchange

EARLIER: tuple[Exchange, ...] = (
    ("Hello.", "Well met, traveller."),
    ("Is the river deep?", "Five fathoms at the deepest."),
    ("21+34", "1+4=5, 0+2+3=5, 55"),
    ("backwards: r o a d", "d a o r"),
    ("Do you sing?", "I can only whistle."),
)
"""Exchanges that come before a question, to score later turns of a conversation."""
Score = dict[str, float]


def wilson(right: int, asked: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a fraction; (0, 1) if nothing was asked."""
    if not asked:
        return 0.0, 1.0
    share, spread = right / asked, z * z / asked
    centre = (share + spread / 2) / (1 + spread)
    root = math.sqrt(share * (1 - share) / asked + spread / asked / 4)
    half = z * root / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def score(right: Sequence[bool]) -> Score:
    """How many were right of how many, with the interval."""
    low, high = wilson(sum(right), len(right))
    return {
        "right": sum(right),
        "asked": len(right),
        "share": round(sum(right) / max(len(right), 1), 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


class Scorer:
    """Asks a model held-out items and judges the answers."""

    def __init__(self, run: Run, model: nn.Module):
        self.run, self.model, self.examples = run, model.eval(), Examples(run)

    def said(
        self,
        items: Sequence[tasks.Item],
        before: Sequence[Exchange] = (),
        temperature: float = 0.0,
    ) -> list[str | None]:
        """The answer to each item, after earlier exchanges; None where it did not end.

        As a chat client does, the oldest exchanges are dropped where not all of them fit.
        """
        longest = max(tasks.LONGEST[item.kind] for item in items)
        room = self.model.config.max_position_embeddings - longest
        prompts = []
        for item in items:
            earlier = list(before)
            while len(prompt := self.examples.prompt(item.question, earlier)) > room and earlier:
                earlier.pop(0)
            prompts.append(prompt)
        answers = decode(self.model, prompts, longest, temperature, seed=1)
        return [
            text_of(self.examples.tokenizer, ids) if ids[-1] == END else None for ids in answers
        ]

    def judged(self, items: Sequence[tasks.Item], **how) -> list[bool]:
        """Whether each item was answered right."""
        said = self.said(items, **how)
        return [
            text is not None and item.is_right(text) for item, text in zip(items, said, strict=True)
        ]

    def items(self, kind: str) -> list[tasks.Item]:
        """The held-out items of a kind."""
        settings = self.run.recipe.evaluate
        if kind == "character":
            return tasks.held_out_character()[:: settings.every_topic_item]
        draw, make = random.Random(f"held out {kind}"), getattr(tasks, kind)
        return [make(draw, held_out=True) for _ in range(getattr(settings, kind))]

    def tasks(self) -> dict[str, Score]:
        """Every task, greedy; topics by kind of question; sums sampled; later turns."""
        found = {}
        for kind in tasks.KINDS:
            items = self.items(kind)
            right = self.judged(items)
            found[kind] = score(right)
            for group in sorted({item.group for item in items} - {""}):
                some = [one for item, one in zip(items, right, strict=True) if item.group == group]
                found[f"{kind}, {group}"] = score(some)
            third = items[::3]
            found[f"{kind}, third turn"] = score(self.judged(third, before=EARLIER[:2]))
        sums = self.items("sums")
        for temperature in (0.5, 1.0):
            name = f"sums, temperature {temperature:g}"
            found[name] = score(self.judged(sums, temperature=temperature))
        return found

    def beyond(self) -> dict[str, Score]:
        """Items that nothing in the training prepares for."""
        draw = random.Random("beyond")
        count = max(1, self.run.recipe.evaluate.sums // 5)
        words = [tasks.reversing(draw, True, (7, 9)) for _ in range(count)]
        large = []
        for _ in range(count):
            a, b = draw.randrange(100, 1000), draw.randrange(100, 1000)
            large.append(tasks.Item("sums", f"{a}+{b}", str(a + b)))
        topics = self.items("character")[::3]
        return {
            "sums of three digits": score(self.judged(large)),
            "words of seven to nine letters": score(self.judged(words)),
            "topics after five exchanges": score(self.judged(topics, before=EARLIER)),
        }


def run_stage(run: Run, clock: Clock) -> None:
    """Reinforce twice more, with shuffled and with hacked rewards, and score the sums."""
    steps, found = run.recipe.controls.steps, {}
    plans = (
        reinforce.Reinforcement("controls", "shuffled", shuffled=True, steps=steps),
        reinforce.Reinforcement("controls", "hacked", reinforce.short_number, steps=steps),
    )
    text = load_text(run)
    for plan in plans:
        model, record = reinforce.improve(run, plan)
        scorer = Scorer(run, model)
        items = scorer.items("sums")
        said = scorer.said(items)
        found[plan.name] = record | {
            "sums": score(scorer.judged(items)),
            "worked_out": score([tasks.is_worked_out(text or "") for text in said]),
            "bits_per_byte": held_out_bits(run, model, text),
        }
        run.save_weights("controls", model, f"{plan.name}.safetensors")
    run.finish("controls", clock, **found)
