"""Fine-tuning: a pretrained body under a new head, a few times over a small set of
labelled examples.

Devlin et al. 2019, section 4.1 and appendix A.3 (two to four epochs, a small rate, a
warm-up over the first tenth); Howard and Ruder 2018, section 3.2 (rates by layer: what
lies lower is more general and should change less).

    result = fine_tune(model, sequence_classification, examples, collate,
                       FineTuningConfig(learning_rate=2e-5))

`examples` is any sequence, `collate` makes a batch of some of them. An epoch meets each
example once, in an order drawn anew from the seed and the epoch's number.

Not here: the loop (see `loop`), losses (see `objectives.task_losses`), low-rank
adapters (see `layers`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reference_impl.layers.settings import (
    AtLeastZero,
    Count,
    CountOrZero,
    Positive,
    Rate,
    Settings,
)
from reference_impl.objectives.batches import Batch
from reference_impl.objectives.terms import Terms
from reference_impl.training.loop import TrainingConfig, TrainingResult, train
from reference_impl.training.optimizer import Groups, decay_groups


@dataclass(frozen=True)
class FineTuningConfig(Settings):
    """How to fine-tune. `body` is the name of the pretrained part within the model."""

    learning_rate: AtLeastZero = 2e-5
    epochs: Count = 3
    batch_size: Count = 16
    warmup_share: Rate = 0.1
    weight_decay: AtLeastZero = 0.01
    head_scale: AtLeastZero = 1.0  # how many times the body's rate the head learns at
    layer_decay: Positive = (
        1.0  # each layer learns at so many times the rate of the one above it
    )
    freeze_body: bool = False
    body: str = "bert"
    seed: CountOrZero = 0


def layer_of(name: str) -> int | None:
    """The number of the layer that a parameter of a body belongs to, from its name;
    None for none.
    """
    numbers = [int(part) for part in name.split(".") if part.isdigit()]
    return numbers[0] if numbers else None


def fine_tuning_groups(model: nn.Module, config: FineTuningConfig) -> Groups:
    """Groups with their `scale`: the head's, then each layer's from the top down;
    embeddings lie below the lowest.

    What is in no layer and comes after them all (a pooler, a last norm) learns as the
    top layer does.
    """
    body = model.get_submodule(config.body)
    num_layers = 1 + max(
        (
            number
            for name, _ in body.named_parameters()
            if (number := layer_of(name)) is not None
        ),
        default=-1,
    )
    embeddings = {
        id(module.weight)
        for module in body.modules()
        if isinstance(module, nn.Embedding)
    }
    scale_of = {}
    for name, parameter in body.named_parameters():
        layer = layer_of(name)
        if layer is None:
            layer = (
                -1
                if "embedding" in name or id(parameter) in embeddings
                else num_layers - 1
            )
        scale_of[id(parameter)] = config.layer_decay ** (num_layers - 1 - layer)
    groups = {}
    for group in decay_groups(model, config.weight_decay):
        for parameter in group["params"]:
            scale = scale_of.get(id(parameter), config.head_scale)
            groups.setdefault((scale, group["weight_decay"]), []).append(parameter)
    return [
        {"params": parameters, "scale": scale, "weight_decay": weight_decay}
        for (scale, weight_decay), parameters in sorted(
            groups.items(), key=lambda item: item[0], reverse=True
        )
    ]


def epoch_batches(
    num_examples: int, batch_size: int, seed: int
) -> Callable[[int], list[int]]:
    """A function from a batch's number to the places of its examples; the last of an
    epoch may be smaller.
    """
    per_epoch = math.ceil(num_examples / batch_size)

    def places(number: int) -> list[int]:
        epoch, place = divmod(number, per_epoch)
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        order = torch.randperm(num_examples, generator=generator)
        return order[place * batch_size : (place + 1) * batch_size].tolist()

    return places


def fine_tune(
    model: nn.Module,
    objective: Callable[[nn.Module, Batch], Terms],
    examples: Sequence[Any],
    collate: Callable[[list[Any]], Batch],
    config: FineTuningConfig,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    folder: Path | str | None = None,
    progress: bool = True,
) -> TrainingResult:
    """Train a body and its head on examples, the rate falling to zero in a line;
    evaluate after each epoch.

    With `freeze_body` the body's parameters require no gradient from here on, and its
    dropout still draws. Raises ValueError without examples.
    """
    if not examples:
        raise ValueError("no examples to fine-tune on: give at least one")
    if config.freeze_body:
        model.get_submodule(config.body).requires_grad_(False)
    places = epoch_batches(len(examples), config.batch_size, config.seed)
    per_epoch = math.ceil(len(examples) / config.batch_size)
    num_steps = config.epochs * per_epoch
    training = TrainingConfig(
        num_steps=num_steps,
        learning_rate=config.learning_rate,
        schedule="linear",
        warmup_steps=round(config.warmup_share * num_steps),
        weight_decay=config.weight_decay,
        eval_every=per_epoch,
        checkpoint_every=per_epoch,
        seed=config.seed,
    )
    return train(
        model,
        objective,
        lambda number: collate([examples[place] for place in places(number)]),
        training,
        evaluate,
        folder,
        progress,
        groups=lambda module: fine_tuning_groups(module, config),
    )
