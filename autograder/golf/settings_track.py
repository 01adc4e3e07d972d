"""The settings track: the entry is a JSON object, and our code trains what it describes.

The number of steps is not a setting. One training step's FLOPs are counted, forward and backward,
and training takes as many steps as the budget holds. The model is a LLaMA over byte-level BPE; it
is scored with the context it was trained with, from the artefact (weights in bfloat16 and the
merges), and no code of the entry runs.
"""

import json
import math
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
import torch

from autograder.golf.entry import Entry
from autograder.golf.rules import MAX_ARTEFACT, Invalid, Rules
from reference_impl.measure.flops import count_flops
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.objectives.causal_lm import causal_lm
from reference_impl.training.loop import TrainingConfig, TrainingError, train
from reference_impl.training.schedules import SCHEDULES
from reference_impl.whole import Tokenizer

MAX_STEPS = 20_000
RANGES = {
    "vocab_size": (256, 4096),
    "hidden_size": (16, 512),
    "intermediate_size": (16, 2048),
    "num_layers": (1, 16),
    "num_heads": (1, 16),
    "num_kv_heads": (1, 16),
    "context": (16, 256),
    "batch_size": (1, 128),
    "learning_rate": (1e-5, 0.1),
    "warmup": (0.0, 0.5),
    "weight_decay": (0.0, 1.0),
}


@dataclass(frozen=True)
class GolfSettings:
    """What an entry may choose; the ranges are in RANGES. warmup: fraction of the steps."""

    vocab_size: int = 512
    hidden_size: int = 96
    intermediate_size: int = 256
    num_layers: int = 4
    num_heads: int = 4
    num_kv_heads: int = 2
    context: int = 128
    batch_size: int = 16
    learning_rate: float = 5e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    schedule: str = "cosine"

    def __post_init__(self):
        heads = self.num_heads
        if heads % self.num_kv_heads:
            raise Invalid("settings", f"num_heads {heads} is not a multiple of num_kv_heads")
        if self.hidden_size % (2 * heads):
            raise Invalid(
                "settings", f"hidden_size is not a multiple of 2 x num_heads = {2 * heads}"
            )


def read_settings(entry: Entry) -> GolfSettings:
    """The settings in an entry. Raises Invalid for an unknown name or a value out of range."""
    try:
        given = json.loads(entry.text)
    except (ValueError, RecursionError):
        raise Invalid("settings", "the file is not JSON") from None
    if type(given) is not dict:
        raise Invalid("settings", "the file is not a JSON object")
    kinds = {field.name: field.type for field in fields(GolfSettings)}
    for name, value in given.items():
        if name not in kinds:
            raise Invalid("settings", f"there is no {name[:40]!r}; there are {', '.join(kinds)}")
        _check_value(name, value, kinds[name])
    return GolfSettings(**given)


def _check_value(name: str, value: object, kind: type) -> None:
    if name == "schedule":
        if value not in (*SCHEDULES,):
            raise Invalid("settings", f"schedule is none of {', '.join(SCHEDULES)}")
        return
    low, high = RANGES[name]
    whole = type(value) is int
    if not (whole or kind is float and type(value) is float) or not low <= value <= high:
        number = "an integer" if kind is int else "a number"
        raise Invalid(
            "settings", f"{name} is {str(value)[:40]}: give {number} from {low} to {high}"
        )


@dataclass(frozen=True)
class Trained:
    """The artefact, and the FLOPs that its training took."""

    artefact: bytes
    flops: float


def train_settings(settings: GolfSettings, text: bytes, seed: int, rules: Rules) -> Trained:
    """Train on a text within the FLOP budget. Raises Invalid."""
    torch.manual_seed(seed)
    model = Llama(_config(settings))
    size = 2 * sum(parameter.numel() for parameter in model.parameters())
    if size > MAX_ARTEFACT:
        raise Invalid(
            "artefact size",
            f"the weights have {size:,} bytes in bfloat16, {MAX_ARTEFACT:,} are allowed",
        )
    tokenizer = Tokenizer(_text(text), settings.vocab_size)
    ids = torch.tensor(tokenizer.encode(_text(text)))
    if len(ids) <= settings.context + 1:
        raise Invalid("settings", f"the training text has only {len(ids)} tokens: shorter context")
    batches = partial(_batch, ids, settings, seed)
    each = count_flops(lambda: causal_lm(model, batches(0)).total.backward())
    steps = _steps(each, rules.flops)
    config = TrainingConfig(
        num_steps=steps,
        learning_rate=settings.learning_rate,
        warmup_steps=int(settings.warmup * steps),
        schedule=settings.schedule,
        weight_decay=settings.weight_decay,
        betas=(0.9, 0.95),
        seed=seed,
    )
    try:
        train(model, causal_lm, batches, config, progress=False)
    except TrainingError as error:
        raise Invalid("settings", f"training failed: {error}") from None
    artefact = pack(model, tokenizer)
    if len(artefact) > MAX_ARTEFACT:
        raise Invalid(
            "artefact size", f"it has {len(artefact):,} bytes, {MAX_ARTEFACT:,} are allowed"
        )
    return Trained(artefact, float(each * steps))


def _steps(each: int, budget: float) -> int:
    """How many steps of `each` FLOPs the budget holds. Raises Invalid for none or too many."""
    steps = int(budget // each)
    if not 1 <= steps <= MAX_STEPS:
        raise Invalid(
            "settings",
            f"a step takes {each:.3g} FLOPs, so {budget:.3g} give {steps:,} steps; there must be"
            f" 1 to {MAX_STEPS:,}: change batch_size or the model's size",
        )
    return steps


def _config(settings: GolfSettings) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=settings.vocab_size,
        hidden_size=settings.hidden_size,
        intermediate_size=settings.intermediate_size,
        num_layers=settings.num_layers,
        num_heads=settings.num_heads,
        num_kv_heads=settings.num_kv_heads,
        max_position_embeddings=settings.context,
        tie_word_embeddings=True,
    )


def _text(data: bytes) -> str:
    """Every byte as a character: the same tokens give the same bytes back, wherever it was cut."""
    return data.decode("latin-1")


def _batch(ids: torch.Tensor, settings: GolfSettings, seed: int, number: int) -> dict:
    generator = torch.Generator().manual_seed(1_000_003 * seed + number)
    highest = len(ids) - settings.context - 1
    starts = torch.randint(highest, (settings.batch_size, 1), generator=generator)
    chunk = ids[starts + torch.arange(settings.context + 1)]
    return {"ids": chunk, "labels": chunk}


def pack(model: Llama, tokenizer: Tokenizer) -> bytes:
    """The merges as a line of JSON, then the parameters in bfloat16, in the model's order."""
    head = json.dumps([list(pair) for pair in tokenizer.merges], separators=(",", ":"))
    numbers = torch.cat([one.detach().flatten() for one in model.parameters()])
    return head.encode() + b"\n" + numbers.bfloat16().view(torch.int16).numpy().tobytes()


def unpack(artefact: bytes, settings: GolfSettings) -> tuple[Llama, Tokenizer]:
    """The model and the tokenizer of an artefact of ours."""
    head, _, body = artefact.partition(b"\n")
    tokenizer = Tokenizer("", 256)
    for first, second in json.loads(head):
        pieces = tokenizer.tokens[first] + tokenizer.tokens[second]
        new = tokenizer.ids.setdefault(pieces, len(tokenizer.ids))
        tokenizer.merges[first, second] = len(tokenizer.merges), new
        tokenizer.tokens = list(tokenizer.ids)
    model = Llama(_config(settings))
    numbers = torch.from_numpy(np.frombuffer(body, np.int16).copy()).view(torch.bfloat16)
    with torch.no_grad():
        parameters = list(model.parameters())
        for one, part in zip(parameters, numbers.split([one.numel() for one in parameters])):
            one.copy_(part.view_as(one))
    return model.eval(), tokenizer


def score_settings(artefact: bytes, settings: GolfSettings, passages: np.ndarray) -> float:
    """Bits per byte on passages (B, T), in windows of the trained context; each window is fed the
    token before it.
    """
    model, tokenizer = unpack(artefact, settings)
    start, nats = tokenizer.encode("\n"), 0.0
    for passage in passages:
        ids = torch.tensor(start + tokenizer.encode(_text(passage.tobytes())))
        for first in range(0, len(ids) - 1, settings.context):
            window = ids[None, first : first + settings.context + 1]
            with torch.no_grad():
                nats += float(causal_lm(model, {"ids": window, "labels": window}).total)
    return nats / math.log(2) / passages.size
