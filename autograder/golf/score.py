"""A run of an entry: for each seed a draw, a training, a score, and the checks."""

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from random import Random

from autograder.common.errors import CourseError
from autograder.golf.entry import Entry
from autograder.golf.passages import Draw, draw
from autograder.golf.reference_job import unit_seconds
from autograder.golf.rules import Invalid, Rules
from autograder.golf.sandboxed import Machine
from autograder.golf.settings_track import read_settings, score_settings, train_settings
from autograder.golf.validity import examine

SLACK = 1.5  # times the budget ends a training at once; the exact budget is judged after it


@dataclass(frozen=True)
class Text:
    """What passages are drawn from: the public text, and a private one that replaces it there."""

    public: bytes
    private: bytes = b""
    name: str = "public"


@dataclass(frozen=True)
class SeedResult:
    """One seed. cost: units of processor time, or FLOPs in the settings track."""

    seed: int
    bits_per_byte: float
    artefact_bytes: int
    cost: float


@dataclass(frozen=True)
class RunResult:
    """A valid run. drawn: the number from which its passages and seeds follow."""

    drawn: int
    seeds: tuple[SeedResult, ...]

    @property
    def scores(self) -> list[float]:
        """Bits per byte of each seed."""
        return [one.bits_per_byte for one in self.seeds]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.scores)

    def to_json(self) -> dict:
        """Plain dictionaries and lists."""
        return {"drawn": self.drawn, "seeds": [asdict(one) for one in self.seeds]}

    @classmethod
    def from_json(cls, value: dict) -> "RunResult":
        """The opposite of `to_json`. Raises KeyError or TypeError for something else."""
        return cls(value["drawn"], tuple(SeedResult(**one) for one in value["seeds"]))


def run_entry(
    entry: Entry,
    text: Text,
    machine: Machine,
    drawn: int,
    progress: Callable[[SeedResult], None] = lambda result: None,
) -> RunResult:
    """Train and score an entry for each seed. Raises Invalid for the first check that fails.

    drawn: a number that was drawn after the entry was read; nobody could choose it.
    """
    results = []
    for number in range(machine.rules.seeds):
        random = Random(f"{drawn} {number}")
        made = draw(text.public, machine.rules, random, text.private)
        seed = random.getrandbits(31)
        run = _settings_seed if entry.track == "settings" else _code_seed
        results.append(run(entry, made, machine, seed, random))
        progress(results[-1])
    return RunResult(drawn, tuple(results))


def _settings_seed(
    entry: Entry, made: Draw, machine: Machine, seed: int, random: Random
) -> SeedResult:
    settings = read_settings(entry)
    trained = train_settings(settings, made.training, seed, machine.rules)
    score = score_settings(trained.artefact, settings, made.passages)
    return SeedResult(seed, score, len(trained.artefact), trained.flops)


def _code_seed(entry: Entry, made: Draw, machine: Machine, seed: int, random: Random) -> SeedResult:
    rules, before = machine.rules, unit_seconds(machine)
    limit = SLACK * rules.training_units * before
    artefact, spent = machine.train(entry.text, made.training, seed, limit)
    opener = partial(
        machine.predictor,
        entry.text,
        artefact,
        rules.passages,
        SLACK * rules.prediction_units * before,
    )
    measured = examine(opener, made.passages, made.others, rules, random)
    unit = (before + unit_seconds(machine)) / 2
    for check, seconds, allowed in (
        ("training budget", spent, rules.training_units),
        ("prediction budget", measured.spent, rules.prediction_units),
    ):
        if seconds > allowed * unit:
            raise Invalid(check, f"{seconds / unit:.1f} units are used, {allowed:g} are allowed")
    return SeedResult(seed, measured.bits_per_byte, len(artefact), spent / unit)


def check_text(text: Text, rules: Rules) -> None:
    """Raise CourseError, before anything is trained, for a text that is too short."""
    if text.private and len(text.private) < 2 * rules.passages * rules.length:
        raise CourseError(
            f"the private text has {len(text.private):,} bytes; a draw needs"
            f" {2 * rules.passages * rules.length:,} or more"
        )
