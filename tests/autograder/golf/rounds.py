"""Small rounds of laptop golf, in real sandboxes, for the tests."""

from functools import partial
from pathlib import Path
from random import Random

from autograder.golf.entry import read_entry
from autograder.golf.passages import draw
from autograder.golf.rules import Rules
from autograder.golf.sandboxed import Machine
from autograder.golf.validity import examine

HERE = Path(__file__).parent
SMALL = Rules(
    passages=6,
    length=60,
    context=24,
    seeds=1,
    text_bytes=60_000,
    training_units=30.0,
    prediction_units=30.0,
    step_seconds=3.0,
    flops=2e10,
)


def source(name: str) -> str:
    """The text of an entry or of a cheat, such as "cheats/sums_to_277"."""
    return read_entry(HERE / f"{name}.py").text


def examined(machine: Machine, text: bytes, entry: str, seed: int = 1):
    """Train an entry's text and run every check of its predictions; no unit is measured."""
    random = Random(seed)
    made = draw(text, machine.rules, random)
    artefact, _ = machine.train(entry, made.training, seed, 60.0)
    opener = partial(machine.predictor, entry, artefact, machine.rules.passages, 60.0)
    return examine(opener, made.passages, made.others, machine.rules, random)
