"""What chapter 7's short trainings share: batches of stretches, a schedule, held-out blanks.

A batch has 32 stretches of 32 tokens; the rate rises for a tenth of the steps and falls to nothing.
A seed decides the stretches and the blanks, the same for all kinds of run that are held against
each other.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from bert import LENGTH, MASK_ID, VOCAB_SIZE, blank_logits, masking  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.models.bert import BertForMaskedLM  # noqa: E402
from reference_impl.objectives.terms import IGNORED, Terms, token_terms  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

__all__ = [
    "BATCH",
    "LENGTH",
    "MASK_ID",
    "VOCAB_SIZE",
    "apart",
    "blanked",
    "learn",
    "measure",
    "rows_of",
]
BATCH = 32
Batch = dict[str, Tensor]


def apart(seed: int, index: int) -> torch.Generator:
    """The generator of one batch of one run; no batch of the kept models has its number."""
    return torch.Generator().manual_seed(1_000_000 * (seed + 1) + index)


def rows_of(tokens: Tensor, generator: torch.Generator, length: int = LENGTH) -> Tensor:
    """Stretches (B, T) that begin anywhere in the text."""
    starts = torch.randint(len(tokens) - length, (BATCH,), generator=generator)
    return tokens[starts[:, None] + torch.arange(length)]


def blanked(rows: Tensor, generator: torch.Generator, share: float) -> Batch:
    """The rows with [MASK] at a share of the places, and what stood there."""
    ids, labels = masking(share).mask_tokens(rows, generator)
    return {"ids": ids, "labels": labels}


def learn(
    model: nn.Module,
    objective: Callable[[nn.Module, Batch], Terms],
    batches: Callable[[int], Batch],
    *,
    steps: int,
    rate: float,
    seed: int,
) -> list[float]:
    """Train in place; the loss of each step."""
    torch.manual_seed(seed)
    config = TrainingConfig(
        num_steps=steps,
        learning_rate=rate,
        warmup_steps=steps // 10,
        schedule="linear",
        betas=(0.9, 0.98),
        seed=seed,
    )
    history = train(model.train(), objective, batches, config, progress=False).history
    model.eval()
    return [row["loss"] for row in history]


@torch.no_grad()
def measure(model: BertForMaskedLM, blanks: Batch) -> dict[str, float]:
    """Nats a blank, and the share filled right."""
    found = [
        blank_logits(model, {key: part[at : at + 256] for key, part in blanks.items()})
        for at in range(0, len(blanks["ids"]), 256)
    ]
    logits, labels = (torch.cat(parts) for parts in zip(*found, strict=True))
    assert len(labels) == int((blanks["labels"] != IGNORED).sum())
    return {
        "nats": round(float(token_terms(logits, labels).mean), 4),
        "accuracy": round(float((logits.argmax(-1) == labels).double().mean()), 4),
    }
