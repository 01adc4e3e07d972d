"""Sizes and steps of the pipeline: `FULL`, about half an hour on two cores, and `TINY` for tests.

`changed(FULL, ["tune.replay=0"])` is a recipe with other settings. Each stage has a dataclass of
its own, so that a change of one stage leaves the finished stages before it valid (see `stages`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from autograder.common.errors import CourseError

STAGES = ("tokenizer", "pretrain", "tune", "reinforce", "controls", "export", "report")
CONTEXT = 128
"""Tokens of a training chunk; the model has twice as many positions."""


@dataclass(frozen=True)
class TokenizerSettings:
    """Which text, and how many tokens; None takes every document."""

    vocab_size: int = 1024
    documents: int | None = None


@dataclass(frozen=True)
class PretrainSettings:
    """The LLaMA and its pre-training: 0.86 million parameters with the defaults."""

    hidden_size: int = 128
    intermediate_size: int = 344
    num_layers: int = 4
    num_heads: int = 4
    num_kv_heads: int = 2
    steps: int = 2400
    batch: int = 16
    learning_rate: float = 4e-3
    warmup: int = 100
    checkpoint_every: int = 100


@dataclass(frozen=True)
class TuneSettings:
    """Supervised fine-tuning: examples of each kind per step, and replay of pre-training text."""

    steps: int = 1150
    learning_rate: float = 2e-3
    warmup: int = 30
    character: int = 18
    reversing: int = 13
    sums: int = 16
    conversations: int = 5
    replay: int = 5
    replay_weight: float = 1.25
    without_work: float = 0.45  # fraction of sums that are answered without working them out
    checkpoint_every: int = 100


@dataclass(frozen=True)
class ReinforceSettings:
    """GRPO on sums: two passes over each sampled batch, with replay of what must be kept."""

    steps: int = 20
    prompts: int = 16
    group: int = 8
    passes: int = 2
    learning_rate: float = 1e-4
    warmup: int = 10
    clip: float = 0.2
    beta: float = 0.04
    character: int = 10
    reversing: int = 6
    replay: int = 2
    replay_weight: float = 1.0
    checkpoint_every: int = 5


@dataclass(frozen=True)
class ControlSettings:
    """GRPO again with other rewards: as many steps, and nothing else changed."""

    steps: int = 20


@dataclass(frozen=True)
class EvaluateSettings:
    """How many held-out items each score is taken over."""

    reversing: int = 300
    sums: int = 300
    every_topic_item: int = 1  # 3: each third question about a topic
    chunks: int = 120


@dataclass(frozen=True)
class Recipe:
    """All settings of a run; `name` and `changes` are shown on the report card."""

    name: str = "full"
    changes: tuple[str, ...] = ()
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    pretrain: PretrainSettings = field(default_factory=PretrainSettings)
    tune: TuneSettings = field(default_factory=TuneSettings)
    reinforce: ReinforceSettings = field(default_factory=ReinforceSettings)
    controls: ControlSettings = field(default_factory=ControlSettings)
    evaluate: EvaluateSettings = field(default_factory=EvaluateSettings)


FULL = Recipe()
TINY = Recipe(
    name="tiny",
    tokenizer=TokenizerSettings(vocab_size=320, documents=600),
    pretrain=PretrainSettings(
        hidden_size=32,
        intermediate_size=64,
        num_layers=2,
        num_heads=2,
        num_kv_heads=1,
        steps=24,
        batch=4,
        warmup=4,
        checkpoint_every=8,
    ),
    tune=TuneSettings(
        steps=24,
        warmup=4,
        character=6,
        reversing=4,
        sums=4,
        conversations=1,
        replay=1,
        checkpoint_every=8,
    ),
    reinforce=ReinforceSettings(
        steps=2, prompts=2, group=4, warmup=1, character=2, reversing=2, checkpoint_every=1
    ),
    controls=ControlSettings(steps=1),
    evaluate=EvaluateSettings(reversing=6, sums=6, every_topic_item=40, chunks=8),
)


def changed(recipe: Recipe, changes: Sequence[str]) -> Recipe:
    """The recipe with some settings replaced, each given as "tune.replay=0".

    Raises CourseError for an unknown setting and for a value that it cannot have.
    """
    for change in changes:
        name, _, value = change.partition("=")
        stage, _, setting = name.partition(".")
        if stage not in _with_settings():
            raise CourseError(f"--set {change}: give one of {', '.join(_with_settings())} first")
        settings = getattr(recipe, stage)
        known = [one.name for one in fields(settings)]
        if setting not in known:
            raise CourseError(f"--set {change}: {stage} has {', '.join(known)}")
        found = _number(change, value, getattr(settings, setting))
        recipe = replace(recipe, **{stage: replace(settings, **{setting: found})})
    return replace(recipe, changes=tuple(changes))


def _with_settings() -> list[str]:
    return [one.name for one in fields(Recipe) if one.name not in ("name", "changes")]


def _number(change: str, value: str, before: float | None) -> float:
    """A value of the setting's type, at least 0; a setting that may be None is an int."""
    kind = float if type(before) is float else int
    try:
        found = kind(value)
    except ValueError:
        found = -1
    if not 0 <= found < float("inf"):
        meant = "a number" if kind is float else "an integer"
        raise CourseError(f"--set {change}: give {meant} of at least 0, such as {before or 1}")
    return found
