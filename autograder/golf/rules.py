"""What every entry is held to: sizes, budgets, and the checks by name."""

from dataclasses import dataclass

MAX_ENTRY = 64_000  # bytes of the entry's file
MAX_COMPRESSED = 16_000  # bytes of the entry's file under zlib: how much text it could hide
MAX_ARTEFACT = 1_000_000  # bytes of what `train` returns
ALPHABET = 256
KNOWN_BY_HEART = 0.5  # bits per byte of a whole passage that no model of 1 MB reaches on new text

CHECKS = {
    "entry size": "The entry's file has at most 64,000 bytes, and at most 16,000 under zlib.",
    "settings": "Every setting has a known name and a value in its range.",
    "runs": "It defines `train` and `Predictor`, and neither fails nor breaks a limit.",
    "artefact size": "What training leaves has at most 1,000,000 bytes.",
    "training budget": "Training used no more processor time than allowed.",
    "prediction budget": "One pass over the passages used no more processor time than allowed.",
    "one pass": "It answers each position once, in order, before the byte is shown.",
    "probabilities": "At every position 256 probabilities from 0 to 1 add up to 1.",
    "decodes": "A decoder with only the artefact and the code gets every passage back.",
    "frozen state": "Predictions in a passage do not depend on the other passages it has seen.",
    "context": "Predictions do not depend on bytes further back than the allowed context.",
    "no reading ahead": "Predictions do not depend on the byte that is asked for or on later ones.",
    "hidden text": "No passage is known by heart: each costs at least half a bit per byte.",
}


class Invalid(Exception):
    """An entry breaks a rule. check: a name in CHECKS; detail: what was seen."""

    def __init__(self, check: str, detail: str):
        if check not in CHECKS:
            raise ValueError(f"{check!r} is not a check of laptop golf: {', '.join(CHECKS)}")
        super().__init__(f"{check}: {detail}")
        self.check, self.detail = check, detail


@dataclass(frozen=True)
class Rules:
    """The sizes of one round; the defaults are those of the course.

    Processor time is counted in units: one unit is the time of the reference job (see
    `reference_job.py`), which runs on the same machine before and after the entry.
    """

    passages: int = 32  # read side by side, one byte of each at a step
    length: int = 512  # bytes of a passage
    context: int = 256  # bytes before the one to predict that may matter
    seeds: int = 3  # trainings, each scored on passages of its own
    text_bytes: int = 2_000_000  # of the training text
    training_units: float = 240.0
    prediction_units: float = 60.0  # for each pass over the passages
    step_seconds: float = 20.0  # for one step by the clock, against entries that only wait
    flops: float = 3e12  # of one training in the settings track
