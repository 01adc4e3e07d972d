"""One loop that trains every model here: micro-batches to gradients, gradients to
weights.

    result = train(model, causal_lm, batches, TrainingConfig(
        num_steps=1000, learning_rate=1e-3, warmup_steps=100))

`batches(n)` makes micro-batch n and nothing else decides what is in it; before each,
torch's generator is seeded by the training's seed and n. So a training that was killed
goes on from its last checkpoint as if it never had been, and one that several processes
share draws the same dropout as one that runs alone.

`accumulation` micro-batches make a step. Their terms are summed, not averaged: the
gradient is divided once, by how many terms the whole step had (see `objectives.terms`).

Started by torchrun the same call trains in all processes together (see `distributed`).

Not here: gradient scaling for float16, early stopping. torch must be told apart to be
deterministic on a GPU.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.settings import (
    AtLeastZero,
    Count,
    CountOrZero,
    Positive,
    Rate,
    Settings,
    kinds_of,
)
from reference_impl.objectives.batches import Batch
from reference_impl.objectives.terms import Terms
from reference_impl.training.checkpoint import Checkpoints
from reference_impl.training.distributed import (
    WAYS,
    Loss,
    Processes,
    gathering,
    resting,
)
from reference_impl.training.logs import Log, Row
from reference_impl.training.optimizer import (
    Groups,
    make_optimizer,
    scale_and_clip,
    set_learning_rate,
)
from reference_impl.training.schedules import SCHEDULES, learning_rate


class TrainingError(ValueError):
    """A training that can't go on."""


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """How to train.

    What changes no weight (`eval_every`, `checkpoint_every`, `parallel`) may change
    between starts.

    So may `num_steps` with the constant schedule, whose rate does not depend on where
    the end is.
    """

    num_steps: Count
    learning_rate: AtLeastZero
    warmup_steps: CountOrZero = 0
    schedule: str = "cosine"  # or "linear", "constant", "wsd"
    min_learning_rate: AtLeastZero = 0.0
    weight_decay: AtLeastZero = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    clip_norm: Positive | None = 1.0
    accumulation: Count = 1  # micro-batches a step, over all processes
    autocast: torch.dtype | None = None  # torch.bfloat16; weights stay as they are
    eval_every: Count | None = None  # None: at the end only
    checkpoint_every: Count | None = None  # None: at the end only
    seed: CountOrZero = 0
    parallel: str = "ddp"  # or "fsdp"; under torchrun only

    def check_together(self) -> None:
        """Schedules and ways to share have names; betas are two rates; float16 needs
        gradient scaling, which is not here.
        """
        for name, choices in (("schedule", SCHEDULES), ("parallel", WAYS)):
            if getattr(self, name) not in choices:
                raise ModelInputError(
                    f"{name} {getattr(self, name)!r} is none of {', '.join(choices)}"
                )
        (rate,) = kinds_of(Rate)
        if (
            not isinstance(self.betas, tuple)
            or len(self.betas) != 2
            or not all(map(rate.holds, self.betas))
        ):
            raise ModelInputError(
                f"betas is {self.betas!r}: give a pair of numbers from 0 up to, but not"
                " including, 1"
            )
        if self.autocast not in (None, torch.bfloat16):
            raise ModelInputError(
                f"autocast is {self.autocast!r}: give None or torch.bfloat16"
            )
        if self.min_learning_rate > self.learning_rate:
            raise ModelInputError(
                f"min_learning_rate is {self.min_learning_rate} but learning_rate"
                f" {self.learning_rate}: a schedule comes down, to less than its peak"
            )
        if self.warmup_steps > self.num_steps:
            raise ModelInputError(
                f"warmup_steps is {self.warmup_steps} but num_steps {self.num_steps}:"
                " the rate would not reach its peak"
            )

    def is_due(self, every: int | None, step: int) -> bool:
        """Whether what happens every so many steps happens after this many; it does at
        the end.
        """
        return step == self.num_steps or (every is not None and step % every == 0)


@dataclass(frozen=True)
class TrainingResult:
    """A row for each step: step, loss, learning_rate, gradient_norm, terms (seen so
    far), and what evaluation gave.
    """

    history: list[Row]

    def best(self, name: str, highest: bool = False) -> Row:
        """The row with the lowest, or highest, value of this name: "loss" is
        training's, others are evaluation's.
        """
        rows = [row for row in self.history if name in row]
        if not rows:
            raise ValueError(
                f"no row has {name!r}: rows have"
                f" {', '.join({n: None for r in self.history for n in r})}"
            )
        return (max if highest else min)(rows, key=lambda row: row[name])


def train(
    model: nn.Module,
    objective: Callable[[nn.Module, Batch], Terms],
    batches: Callable[[int], Batch],
    config: TrainingConfig,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    folder: Path | str | None = None,
    progress: bool = True,
    groups: Callable[[nn.Module], Groups] | None = None,
) -> TrainingResult:
    """Train the model in place.

    With a folder, keep logs and checkpoints there, and go on from the newest.

    `groups` makes the optimiser's groups from the model; by default all that is not
    frozen learns at one rate. Raises TrainingError, naming the step, when the loss is
    no number; the last checkpoint stays.
    """
    processes = Processes.join()
    loss = processes.wrap(Loss(model, objective), config.parallel)
    optimizer = make_optimizer(model, config.weight_decay, config.betas, groups)
    checkpoints = Checkpoints(folder, model, optimizer, config, processes)
    done, seen = checkpoints.resume()
    log = Log(
        folder if processes.rank == 0 else None,
        done,
        config.num_steps,
        progress and processes.rank == 0,
    )
    model.train()
    # what an earlier training left, one that ended in an error for instance
    model.zero_grad()
    for step in range(done, config.num_steps):
        rate = learning_rate(
            step,
            config.num_steps,
            config.learning_rate,
            config.warmup_steps,
            config.schedule,
            config.min_learning_rate,
        )
        set_learning_rate(optimizer, rate)
        total, count = 0.0, 0
        numbers = processes.share(step, config.accumulation)
        for number in numbers:
            batch = prepare(batches, number, model, config.seed)
            with gathering(loss, last=number == numbers[-1]):
                with torch.autocast(
                    batch_device(batch),
                    config.autocast,
                    enabled=config.autocast is not None,
                ):
                    terms = loss(batch)
                terms.total.backward()
            total, count = total + terms.total.item(), count + terms.count
        total, count = processes.add(total, count)
        # DDP and FSDP give the mean of the processes' gradients: their number makes it
        # the sum again.
        norm = scale_and_clip(
            model.parameters(), processes.size / max(count, 1), config.clip_norm
        )
        if not math.isfinite(total) or not math.isfinite(norm):
            raise TrainingError(
                f"step {step + 1}: loss {total / max(count, 1)}, gradient norm {norm}; "
                f"{checkpoints.last_words()}. Try a lower learning rate or more warm-up"
            )
        optimizer.step()
        optimizer.zero_grad()
        seen += count
        row = {
            "step": step + 1,
            "loss": total / max(count, 1),
            "learning_rate": rate,
            "gradient_norm": norm,
            "terms": seen,
        }
        if evaluate is not None and config.is_due(config.eval_every, step + 1):
            with resting(loss, model):
                row |= evaluate(model)
        log.add(row)
        if config.is_due(config.checkpoint_every, step + 1):
            checkpoints.save(step + 1, seen)
    log.close()
    return TrainingResult(log.history)


def prepare(
    batches: Callable[[int], Batch], number: int, model: nn.Module, seed: int
) -> Batch:
    """Micro-batch `number` on the model's device, torch's generator seeded for what the
    model draws for it.
    """
    device = next(model.parameters()).device
    batch = {name: tensor.to(device) for name, tensor in batches(number).items()}
    torch.manual_seed(seed * 1_000_003 + number)
    return batch


def batch_device(batch: Batch) -> str:
    """The kind of device that a batch lies on."""
    return next(iter(batch.values())).device.type
