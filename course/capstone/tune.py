"""The tuning stage: supervised fine-tuning on conversations, with replay of pre-training text.

Without replay the model forgets scripture; without conversations of several exchanges it answers
the first question and nothing after it.
"""

import random
from collections.abc import Sequence

from torch import nn

from course.capstone import tasks
from course.capstone.pretrain import chunk_batch, held_out_bits, make_model, train_stage
from course.capstone.settings import CONTEXT
from course.capstone.stages import Clock, Run
from course.capstone.tokenizer import (
    END,
    START,
    TokenizedText,
    chat_template,
    load_text,
    load_tokenizer,
)
from reference_impl.objectives.batches import Batch
from reference_impl.objectives.causal_lm import causal_lm
from reference_impl.objectives.supervised import Example, Message, supervised_batch
from reference_impl.objectives.terms import Terms

Exchange = tuple[str, str]


class Examples:
    """Lays out conversations, with the student's own `chat_example` if there is one."""

    def __init__(self, run: Run):
        self.tokenizer = load_tokenizer(run)
        self.template = chat_template(self.tokenizer)
        self._own = run.parts.own("chat_example")

    def conversation(self, exchanges: Sequence[Exchange]) -> Example:
        """A conversation of which every answer is learned."""
        roles = ("user", "assistant")
        messages = [
            Message(role, text) for one in exchanges for role, text in zip(roles, one, strict=True)
        ]
        if self._own is None:
            return self.template.example(messages)
        said = [message._asdict() for message in messages]
        ids, labels = self._own(said, self.tokenizer.encode, START, END)
        return Example(list(ids), list(labels))

    def fitting(self, exchanges: list[Exchange], positions: int = 2 * CONTEXT) -> Example:
        """A conversation without the last exchanges that the model has no positions for."""
        while len((example := self.conversation(exchanges)).ids) > positions:
            exchanges = exchanges[:-1]
        return example

    def of(self, item: tasks.Item) -> Example:
        """One question and its answer."""
        return self.conversation([(item.question, item.answer)])

    def prompt(self, question: str, before: Sequence[Exchange] = ()) -> list[int]:
        """A question up to where the assistant answers, after earlier exchanges."""
        messages = []
        for asked, said in before:
            messages += [Message("user", asked), Message("assistant", said)]
        return self.template.prompt([*messages, Message("user", question)])


def prefixed(**parts: Batch) -> Batch:
    """Several batches as one dictionary, which the training loop can move to a device."""
    return {
        f"{name}.{key}": tensor for name, batch in parts.items() for key, tensor in batch.items()
    }


def part_of(batch: Batch, name: str) -> Batch:
    """One of the batches that `prefixed` joined; empty if it is not there."""
    start = f"{name}."
    return {key[len(start) :]: one for key, one in batch.items() if key.startswith(start)}


def tuning_batch(run: Run, examples: Examples, text: TokenizedText, step: int) -> Batch:
    """All examples of a step, which depend on the seed and the step alone.

    Sums are longer than the other answers: padded apart, they cost half as many tokens.
    """
    settings, draw = run.recipe.tune, random.Random(f"tune {run.seed} {step}")
    short = [examples.of(tasks.character(draw)) for _ in range(settings.character)]
    short += [examples.of(tasks.reversing(draw)) for _ in range(settings.reversing)]
    long = [
        examples.of(tasks.sums(draw, without_work=settings.without_work))
        for _ in range(settings.sums)
    ]
    talks = [examples.fitting(conversation(settings, draw)) for _ in range(settings.conversations)]
    parts = {"short": short, "sums": long, "talks": talks}
    batches = {name: supervised_batch(rows) for name, rows in parts.items() if rows}
    if settings.replay:
        seed = 7_000_000_000 + run.seed * 1_000_000 + step
        batches["replay"] = chunk_batch(text, settings.replay, seed)
    return prefixed(**batches)


def conversation(settings, draw: random.Random) -> list[Exchange]:
    """Two or three exchanges, each of any kind, in the proportions of the single ones."""
    found = []
    for _ in range(draw.choice((2, 2, 3))):
        weights = (settings.character, settings.reversing, settings.sums)
        kind = draw.choices(tasks.KINDS, weights)[0]
        if kind == "sums":
            item = tasks.sums(draw, without_work=settings.without_work)
        else:
            item = getattr(tasks, kind)(draw)
        found.append((item.question, item.answer))
    return found


def tuning_objective(replay_weight: float):
    """The mean loss over all labels, plus the weighted loss of replayed text."""

    def objective(model: nn.Module, batch: Batch) -> Terms:
        terms = [
            causal_lm(model, part)
            for name in ("short", "sums", "talks")
            if (part := part_of(batch, name))
        ]
        joined = Terms(sum(one.total for one in terms), sum(one.count for one in terms))
        replay = part_of(batch, "replay")
        if not replay:
            return joined
        return joined.plus(causal_lm(model, replay), replay_weight)

    return objective


def run_stage(run: Run, clock: Clock) -> None:
    """Tune the pre-trained model from the last checkpoint on; write its parameters."""
    settings = run.recipe.tune
    text, examples = load_text(run), Examples(run)
    model = run.load_weights("pretrain", make_model(run))
    objective = tuning_objective(settings.replay_weight)

    def batches(step: int) -> Batch:
        return tuning_batch(run, examples, text, step)

    measured = train_stage(run, "tune", model, objective, batches)
    batch = batches(0)
    run.finish(
        "tune",
        clock,
        tokens_per_step=sum(one.numel() for key, one in batch.items() if key.endswith("ids")),
        bits_per_byte=held_out_bits(run, model.eval(), text),
        **measured,
    )
